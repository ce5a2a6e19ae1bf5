//! A subject and a verb form to whether they agree: the tool `check_subject_verb_agreement`.

use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{quoted, scope};
use super::subject::{self, Subject};
use super::table;
use super::verbs::{Person, Tense, Verb};

/// Check whether a subject and a verb form agree, as in "she eats" but not "she eat", and name the form that does. A bare
/// form such as "eat" is judged as present simple. The number of a noun is found by a rule of thumb; a subject that could
/// be one or many is refused with what to write instead.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckAgreement {
    /// The subject: a pronoun ("she"), a noun with what belongs to it ("the cats"), or several ("Ana and Luis").
    subject: String,
    /// One form of a verb, without the subject: "eat", "eats", "ate", "will eat".
    verb_form: String,
}

/// Whether the two agree, and why.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Agreement {
    /// Whether the verb form is right after the subject.
    agrees: bool,
    /// The subject that was judged.
    subject: String,
    /// The verb form that was judged.
    verb_form: String,
    /// The form that is right after the subject in that tense; the same as the form given if the two agree.
    expected: String,
    /// Why, in one sentence.
    explanation: String,
}

pub(super) async fn check_subject_verb_agreement(
    args: CheckAgreement,
    _: Cx,
) -> Result<Json<Agreement>, ToolError> {
    judge(args.subject.trim(), args.verb_form.trim()).map(Json).map_err(ToolError::failed)
}

fn judge(subject: &str, verb_form: &str) -> Result<Agreement, String> {
    let Some(reading) = table::readings(verb_form).into_iter().next() else {
        return Err(format!(
            "{} is not a form this tutor knows: give one form such as \"eats\" or \"ate\"; {}",
            quoted(verb_form),
            scope()
        ));
    };
    let who = subject::read(subject).map_err(|doubt| format!("{} {doubt}", quoted(subject)))?;
    // The first reading decides, and a bare form ("eat", "be") is taken as an attempt at the present.
    let tense = if reading.tense == Tense::Infinitive { Tense::PresentSimple } else { reading.tense };
    let expected = expected(who, reading.verb, tense);
    let agrees = table::tidy(verb_form) == expected;
    let explanation = if tense == Tense::PastParticiple {
        format!(
            "{} is a past participle, which cannot follow a subject without a form of \"have\": {} takes \"{expected}\".",
            quoted(verb_form),
            quoted(subject)
        )
    } else if reading.verb.row(tense).english.are_alike() {
        format!(
            "{} is the {} of \"{}\", which is the same for every subject.",
            quoted(verb_form),
            tense.name(),
            reading.verb.name
        )
    } else {
        let not = if agrees { String::new() } else { format!(", not {}", quoted(verb_form)) };
        format!(
            "{} is {}, so the {} of \"{}\" is \"{expected}\"{not}.",
            quoted(subject),
            describe(who),
            tense.name(),
            reading.verb.name
        )
    };
    Ok(Agreement {
        agrees,
        subject: subject.to_owned(),
        verb_form: verb_form.to_owned(),
        expected,
        explanation,
    })
}

/// The right form. The table has no plural, but English has the same forms there as for "you".
fn expected(who: Subject, verb: &Verb<'_>, tense: Tense) -> String {
    let person = match who {
        Subject::I => Person::First,
        Subject::You | Subject::Many => Person::Second,
        Subject::One => Person::Third,
    };
    let form = verb.english(tense, person);
    match (tense, who) {
        (Tense::PastParticiple, Subject::One) => format!("has {form}"),
        (Tense::PastParticiple, _) => format!("have {form}"),
        _ => form.to_owned(),
    }
}

fn describe(who: Subject) -> &'static str {
    match who {
        Subject::I => "the first person singular",
        Subject::You => "the second person",
        Subject::One => "the third person singular, like \"he\", \"she\" and \"it\"",
        Subject::Many => "plural, like \"we\" and \"they\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn she_eats() {
        assert_eq!(
            judge("she", "eat"),
            Ok(Agreement {
                agrees: false,
                subject: "she".into(),
                verb_form: "eat".into(),
                expected: "eats".into(),
                explanation: "\"she\" is the third person singular, like \"he\", \"she\" and \"it\", so the present simple \
                              of \"eat\" is \"eats\", not \"eat\"."
                    .into(),
            })
        );
    }

    #[test]
    fn what_agrees() {
        let table = [
            ("she", "eats"),
            ("I", "eat"),
            ("I", "am"),
            ("you", "are"),
            ("he", "is"),
            ("we", "are"),
            ("they", "have"),
            ("the cat", "has"),
            ("the cats", "eat"),
            ("Ana and Luis", "go"),
            ("Ana", "studies"),
            ("the news", "is"),
            ("James", "watches"),
            ("people", "do"),
            ("she", "ate"),
            ("they", "worked"),
            ("I", "was"),
            ("it", "was"),
            ("we", "were"),
            ("you and I", "were"),
            ("the bus", "will come"),
            ("He", " Writes "),
        ];
        for (subject, form) in table {
            let verdict = judge(subject, form).unwrap();
            assert!(verdict.agrees, "{verdict:?}");
            assert_eq!(verdict.expected, form.trim().to_lowercase());
        }
    }

    #[test]
    fn what_does_not_agree() {
        let table = [
            ("she", "go", "goes"),
            ("I", "is", "am"),
            ("I", "eats", "eat"),
            ("they", "was", "were"),
            ("you", "was", "were"),
            ("she", "were", "was"),
            ("she", "have", "has"),
            ("we", "am", "are"),
            ("Ana and Luis", "likes", "like"),
            ("the cats", "plays", "play"),
            ("each of the cats", "play", "plays"),
            ("she", "be", "is"),
            ("she", "come", "comes"),
            ("she", "eaten", "has eaten"),
            ("they", "gone", "have gone"),
            ("I", "been", "have been"),
        ];
        for (subject, form, expected) in table {
            let verdict = judge(subject, form).unwrap();
            assert!(!verdict.agrees, "{verdict:?}");
            assert_eq!(verdict.expected, expected, "{verdict:?}");
            assert!(verdict.explanation.contains(&format!("\"{expected}\"")), "{verdict:?}");
        }
    }

    #[test]
    fn some_forms_are_the_same_for_every_person() {
        for form in ["ate", "wanted", "will be"] {
            let explanation = judge("she", form).unwrap().explanation;
            assert!(explanation.ends_with("is the same for every subject."), "{explanation}");
        }
    }

    #[test]
    fn an_unknown_form_and_a_doubtful_subject_are_refused() {
        let error = judge("she", "run").unwrap_err();
        assert!(error.starts_with("\"run\" is not a form this tutor knows"), "{error}");
        assert!(error.ends_with("see, eat, write"), "{error}");
        assert!(
            judge("the sheep", "eat").unwrap_err().starts_with("\"the sheep\" could be one or many: put")
        );
        assert!(judge("", "eat").unwrap_err().starts_with("\"\" is not a subject"));
    }
}
