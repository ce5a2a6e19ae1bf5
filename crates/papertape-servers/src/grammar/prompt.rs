//! The prompt `explain_tense`.

use papertape::server::Prompt;
use papertape::{Cx, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::KnownVerb;
use super::verbs::{Person, Tense, Verb};
use super::{complete, resource};

/// Explain a tense of an English verb to a learner who speaks Spanish, with the forms from the tutor's table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainTense {
    /// The verb, as its infinitive without "to".
    verb: KnownVerb,
    /// The tense, such as "past simple".
    tense: Tense,
}

pub(super) fn prompt() -> Prompt {
    Prompt::new("explain_tense")
        .title("Explain a tense")
        .complete("verb", complete::verb)
        .complete("tense", complete::tense)
}

/// One message of text: LangChain refuses prompts with embedded resources, and Gemini CLI reads the first message alone.
pub(super) async fn explain_tense(args: ExplainTense, _: Cx) -> Result<String, ToolError> {
    let verb = args.verb.0;
    Ok(format!("{}\n\n{}", request(verb, args.tense), resource::markdown(verb)))
}

fn request(verb: &Verb<'_>, tense: Tense) -> String {
    let (name, kind) = (verb.name, if verb.regular { "a regular" } else { "an irregular" });
    format!(
        "Explain the {} of \"{name}\", {kind} English verb, to a learner who speaks Spanish: how it is formed, when it is \
         used, and which mistake to avoid. Give a short example for each person. Its forms are {}. Take every form from \
         the table that follows.",
        tense.name(),
        forms(verb, tense)
    )
}

/// "I ate (comí), you ate (comiste), he/she/it ate (comió)".
fn forms(verb: &Verb<'_>, tense: Tense) -> String {
    if !tense.has_persons() {
        let (english, spanish) = (verb.english(tense, Person::Third), verb.spanish(tense, Person::Third));
        return format!("{english} ({spanish}) for every person");
    }
    let of = |person: Person| (person.pronoun(), verb.english(tense, person), verb.spanish(tense, person));
    Person::ALL
        .map(of)
        .map(|(pronoun, english, spanish)| format!("{pronoun} {english} ({spanish})"))
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn the_forms_stand_in_the_request() {
        assert_eq!(
            request(table::verb("be").unwrap(), Tense::PastSimple),
            "Explain the past simple of \"be\", an irregular English verb, to a learner who speaks Spanish: how it is \
             formed, when it is used, and which mistake to avoid. Give a short example for each person. Its forms are \
             I was (fui), you were (fuiste), he/she/it was (fue). Take every form from the table that follows."
        );
        assert_eq!(
            forms(table::verb("like").unwrap(), Tense::PresentSimple),
            "I like (me gusta), you like (te gusta), he/she/it likes (le gusta)"
        );
        assert_eq!(
            forms(table::verb("eat").unwrap(), Tense::PastParticiple),
            "eaten (comido) for every person"
        );
        assert_eq!(forms(table::verb("eat").unwrap(), Tense::Infinitive), "eat (comer) for every person");
    }
}
