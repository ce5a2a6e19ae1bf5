//! The table as Markdown: the resources `grammar://table` and `grammar://verb/{verb}`.

use std::iter::once;
use std::sync::LazyLock;
use std::time::Duration;

use papertape::protocol::CacheScope;
use papertape::protocol::Role;
use papertape::protocol::content::Annotations;
use papertape::server::{Resource, ResourceTemplate};
use papertape::{Cx, ToolError};
use serde::Deserialize;

use super::arguments::KnownVerb;
use super::verbs::{Person, Tense, Verb};
use super::{complete, table};

/// The MIME type of both resources.
pub(super) const MARKDOWN: &str = "text/markdown";

/// All verbs in one document.
pub(super) fn whole_table() -> Resource {
    Resource::new("grammar://table")
        .name("table")
        .title("All verb forms")
        .description(
            "Every form of every verb this tutor knows, with its Spanish reading: one Markdown table per verb.",
        )
        .mime_type(MARKDOWN)
        .cache(Duration::from_secs(3600), CacheScope::Public)
        .size(u64::try_from(WHOLE_TABLE.len()).unwrap_or(u64::MAX))
        .annotations(hints())
}

pub(super) async fn read_whole_table(_: Cx) -> Result<&'static str, ToolError> {
    Ok(&WHOLE_TABLE)
}

/// One verb in a document of its own.
pub(super) fn one_verb() -> ResourceTemplate {
    ResourceTemplate::new("grammar://verb/{verb}")
        .name("verb")
        .title("The forms of a verb")
        .description(
            "Every form of one verb, with its Spanish reading, as a Markdown table. The verb is given as its infinitive \
             without \"to\": grammar://verb/eat.",
        )
        .mime_type(MARKDOWN)
        .cache(Duration::from_secs(3600), CacheScope::Public)
        .annotations(hints())
        .complete("verb", complete::verb)
}

/// The variable of the URI template. A verb that is not in the table is an unknown resource.
#[derive(Debug, Deserialize)]
pub(super) struct OneVerb {
    verb: KnownVerb,
}

pub(super) async fn read_one_verb(variables: OneVerb, _: Cx) -> Result<String, ToolError> {
    Ok(markdown(variables.verb.0))
}

/// Useful for users and models; the tools cover most uses without it.
fn hints() -> Annotations {
    Annotations::new().audience(Role::User).audience(Role::Assistant).priority(0.5)
}

static WHOLE_TABLE: LazyLock<String> = LazyLock::new(|| {
    let verbs = table::verbs();
    let forms = verbs.len() * Tense::ALL.len() * Person::ALL.len();
    let head = format!(
        "# English verbs\n\n{} verbs and their {forms} forms, with the Spanish reading of each.\n",
        verbs.len()
    );
    verbs.iter().fold(head, |document, verb| format!("{document}\n#{}", markdown(verb)))
});

/// A verb as a heading and a table, which can be read as it is, too.
pub(super) fn markdown(verb: &Verb<'_>) -> String {
    let heads = [
        "tense",
        Person::First.pronoun(),
        Person::Second.pronoun(),
        Person::Third.pronoun(),
        "yo",
        "tú",
        "él/ella",
    ];
    let rows: Vec<[&str; 7]> = once(heads).chain(Tense::ALL.map(|tense| row(verb, tense))).collect();
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            format!("| {} |\n", cells.join(" | "))
        })
        .collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    lines.insert(1, format!("|{}|\n", rule.join("|")));
    let kind = if verb.regular { "regular" } else { "irregular" };
    format!("# {} ({kind})\n\n{}", verb.name, lines.concat())
}

fn row<'a>(verb: &Verb<'a>, tense: Tense) -> [&'a str; 7] {
    let [i, you, he] = Person::ALL.map(|person| verb.english(tense, person));
    let [yo, tu, el] = Person::ALL.map(|person| verb.spanish(tense, person));
    [tense.name(), i, you, he, yo, tu, el]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_a_table_that_can_be_read_as_it_is() {
        assert_eq!(
            markdown(table::verb("like").unwrap()),
            "\
# like (regular)

| tense           | I         | you       | he/she/it | yo         | tú         | él/ella    |
|-----------------|-----------|-----------|-----------|------------|------------|------------|
| infinitive      | like      | like      | like      | gustar     | gustar     | gustar     |
| present simple  | like      | like      | likes     | me gusta   | te gusta   | le gusta   |
| past simple     | liked     | liked     | liked     | me gustó   | te gustó   | le gustó   |
| past participle | liked     | liked     | liked     | gustado    | gustado    | gustado    |
| simple future   | will like | will like | will like | me gustará | te gustará | le gustará |
"
        );
        assert!(markdown(table::verb("eat").unwrap()).starts_with("# eat (irregular)\n\n| tense "));
    }

    #[test]
    fn the_whole_table_has_every_form_once_for_each_person() {
        assert!(
            WHOLE_TABLE.starts_with(
                "# English verbs\n\n20 verbs and their 300 forms, with the Spanish reading of each.\n\n## work (regular)\n\n| "
            ),
            "{}",
            *WHOLE_TABLE
        );
        let verbs: Vec<&str> = WHOLE_TABLE.split("\n## ").skip(1).collect();
        assert_eq!(verbs.len(), 20);
        let mut forms = 0;
        for (text, verb) in verbs.into_iter().zip(table::verbs()) {
            let rows: Vec<Vec<&str>> = text
                .lines()
                .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
                .map(|line| line.split(" | ").map(str::trim).collect())
                .collect();
            for (cells, tense) in rows.iter().skip(1).zip(Tense::ALL) {
                assert_eq!(cells, &row(verb, tense));
                forms += 3;
            }
        }
        assert_eq!(forms, 300);
    }

    #[test]
    fn the_size_is_the_size() {
        assert!(format!("{:?}", whole_table()).contains(&format!("size: Some({})", WHOLE_TABLE.len())));
    }
}
