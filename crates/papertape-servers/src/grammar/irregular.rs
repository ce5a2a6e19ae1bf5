//! An irregular verb to its three principal parts: the tool `lookup_irregular_verb`.

use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::KnownVerb;
use super::verbs::{Person, Tense};

/// Look up the principal parts of an irregular English verb: write, wrote, written. A regular verb is refused with its
/// -ed form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupIrregularVerb {
    /// The verb, as its infinitive without "to".
    verb: KnownVerb,
}

/// The three forms that an irregular verb is learnt by.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct PrincipalParts {
    /// The bare infinitive.
    infinitive: String,
    /// The past simple; for "be" both forms, as "was/were".
    past_simple: String,
    /// The past participle.
    past_participle: String,
}

pub(super) async fn lookup_irregular_verb(
    args: LookupIrregularVerb,
    _: Cx,
) -> Result<Json<PrincipalParts>, ToolError> {
    principal_parts(args.verb).map(Json).map_err(ToolError::failed)
}

fn principal_parts(KnownVerb(verb): KnownVerb) -> Result<PrincipalParts, String> {
    let past = verb.english(Tense::PastSimple, Person::First);
    if verb.regular {
        let name = verb.name;
        return Err(format!(
            "\"{name}\" is regular: its past simple and its past participle are both \"{past}\""
        ));
    }
    let other = verb.english(Tense::PastSimple, Person::Second);
    Ok(PrincipalParts {
        infinitive: verb.name.to_owned(),
        past_simple: if other == past { past.to_owned() } else { format!("{past}/{other}") },
        past_participle: verb.english(Tense::PastParticiple, Person::First).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    fn ask(verb: &str) -> Result<PrincipalParts, String> {
        principal_parts(KnownVerb(table::verb(verb).unwrap()))
    }

    #[test]
    fn the_irregular_verbs() {
        let table = [
            ("be", "was/were", "been"),
            ("have", "had", "had"),
            ("do", "did", "done"),
            ("go", "went", "gone"),
            ("come", "came", "come"),
            ("see", "saw", "seen"),
            ("eat", "ate", "eaten"),
            ("write", "wrote", "written"),
        ];
        for (verb, past, participle) in table {
            let parts = ask(verb).unwrap();
            assert_eq!(
                (&*parts.infinitive, &*parts.past_simple, &*parts.past_participle),
                (verb, past, participle)
            );
        }
        assert_eq!(table::verbs().iter().filter(|verb| ask(verb.name).is_ok()).count(), table.len());
    }

    #[test]
    fn a_regular_verb_is_refused_with_its_past() {
        assert_eq!(
            ask("study"),
            Err("\"study\" is regular: its past simple and its past participle are both \"studied\"".into())
        );
    }

    #[test]
    fn the_fields_have_the_names_that_callers_expect() {
        assert_eq!(
            serde_json::to_string(&ask("write").unwrap()).unwrap(),
            r#"{"infinitive":"write","past_simple":"wrote","past_participle":"written"}"#
        );
    }
}
