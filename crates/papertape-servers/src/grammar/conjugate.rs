//! A verb, a tense and a person to the form: the tool `conjugate`.

use papertape::{Cx, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::KnownVerb;
use super::verbs::{Person, Tense};

/// Conjugate an English verb: the form of a verb in a tense and a person, for example "ate" for eat, past simple, 3rd
/// singular. The infinitive is the bare form ("eat"), the simple future comes with "will" ("will eat").
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Conjugate {
    /// The verb, as its infinitive without "to".
    verb: KnownVerb,
    /// The tense.
    tense: Tense,
    /// The person. It makes no difference to an infinitive or a past participle.
    person: Person,
}

pub(super) async fn conjugate(args: Conjugate, _: Cx) -> Result<&'static str, ToolError> {
    Ok(form(&args))
}

fn form(args: &Conjugate) -> &'static str {
    args.verb.0.english(args.tense, args.person)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(verb: &str, tense: &str, person: &str) -> &'static str {
        let args = json!({ "verb": verb, "tense": tense, "person": person });
        form(&serde_json::from_value(args).unwrap())
    }

    /// Spelled out by hand rather than taken from the table: a slip has to be made twice to go unnoticed.
    const FORMS: [(&str, [&str; 3], [&str; 3], &str); 20] = [
        ("work", ["work", "work", "works"], ["worked", "worked", "worked"], "worked"),
        ("play", ["play", "play", "plays"], ["played", "played", "played"], "played"),
        ("walk", ["walk", "walk", "walks"], ["walked", "walked", "walked"], "walked"),
        ("talk", ["talk", "talk", "talks"], ["talked", "talked", "talked"], "talked"),
        ("listen", ["listen", "listen", "listens"], ["listened", "listened", "listened"], "listened"),
        ("watch", ["watch", "watch", "watches"], ["watched", "watched", "watched"], "watched"),
        ("study", ["study", "study", "studies"], ["studied", "studied", "studied"], "studied"),
        ("finish", ["finish", "finish", "finishes"], ["finished", "finished", "finished"], "finished"),
        ("start", ["start", "start", "starts"], ["started", "started", "started"], "started"),
        ("look", ["look", "look", "looks"], ["looked", "looked", "looked"], "looked"),
        ("want", ["want", "want", "wants"], ["wanted", "wanted", "wanted"], "wanted"),
        ("like", ["like", "like", "likes"], ["liked", "liked", "liked"], "liked"),
        ("be", ["am", "are", "is"], ["was", "were", "was"], "been"),
        ("have", ["have", "have", "has"], ["had", "had", "had"], "had"),
        ("do", ["do", "do", "does"], ["did", "did", "did"], "done"),
        ("go", ["go", "go", "goes"], ["went", "went", "went"], "gone"),
        ("come", ["come", "come", "comes"], ["came", "came", "came"], "come"),
        ("see", ["see", "see", "sees"], ["saw", "saw", "saw"], "seen"),
        ("eat", ["eat", "eat", "eats"], ["ate", "ate", "ate"], "eaten"),
        ("write", ["write", "write", "writes"], ["wrote", "wrote", "wrote"], "written"),
    ];

    #[test]
    fn all_three_hundred_forms() {
        let mut count = 0;
        for (verb, present, past, participle) in FORMS {
            let future = format!("will {verb}");
            for (index, persons) in
                [["1st singular", "1sg"], ["2nd singular", "2sg"], ["3rd singular", "3sg"]]
                    .into_iter()
                    .enumerate()
            {
                for (tenses, right) in [
                    (["infinitive", "infinitive"], verb),
                    (["present simple", "present_simple"], present[index]),
                    (["past simple", "past_simple"], past[index]),
                    (["past participle", "past_participle"], participle),
                    (["simple future", "simple_future"], future.as_str()),
                ] {
                    for tense in tenses {
                        for person in persons {
                            assert_eq!(ask(verb, tense, person), right, "{verb}, {tense}, {person}");
                        }
                    }
                    count += 1;
                }
            }
        }
        assert_eq!(count, 300);
    }
}
