//! Deserialisation of verbs, tenses and persons, and their JSON Schema with the allowed values.

use std::borrow::Cow;

use papertape::client::Violation;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};

use super::table;
use super::verbs::{Person, Tense, Verb};

/// Both spellings are in use among tutors and their prompts, so both are in the schema.
const TENSES: [(&str, Tense); 9] = [
    ("infinitive", Tense::Infinitive),
    ("present simple", Tense::PresentSimple),
    ("present_simple", Tense::PresentSimple),
    ("past simple", Tense::PastSimple),
    ("past_simple", Tense::PastSimple),
    ("past participle", Tense::PastParticiple),
    ("past_participle", Tense::PastParticiple),
    ("simple future", Tense::SimpleFuture),
    ("simple_future", Tense::SimpleFuture),
];

const PERSONS: [(&str, Person); 6] = [
    ("1st singular", Person::First),
    ("1sg", Person::First),
    ("2nd singular", Person::Second),
    ("2sg", Person::Second),
    ("3rd singular", Person::Third),
    ("3sg", Person::Third),
];

/// A verb of the table, given by its infinitive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownVerb(pub(crate) &'static Verb<'static>);

impl<'de> Deserialize<'de> for KnownVerb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'_, str>::deserialize(deserializer)?;
        table::verb(&name).map(Self).ok_or_else(|| D::Error::custom(not_a_verb(&name)))
    }
}

impl<'de> Deserialize<'de> for Tense {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        pick(&TENSES, deserializer)
    }
}

impl<'de> Deserialize<'de> for Person {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        pick(&PERSONS, deserializer)
    }
}

fn pick<'de, T: Copy, D: Deserializer<'de>>(words: &[(&str, T)], deserializer: D) -> Result<T, D::Error> {
    let given = Cow::<'_, str>::deserialize(deserializer)?;
    let found = words.iter().find(|(word, _)| *word == given);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let allowed: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        D::Error::custom(format!("{} is none of: {}", quoted(&given), allowed.join(", ")))
    })
}

/// Every tense in every spelling.
pub(crate) fn tense_words() -> impl Iterator<Item = &'static str> {
    TENSES.iter().map(|(word, _)| *word)
}

/// The allowed values are in the tool's own schema: many hosts show a model the schema without following references.
macro_rules! schema_of_words {
    ($type:ty, $name:literal, $words:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $words.collect::<Vec<&str>>() })
            }
        }
    };
}

schema_of_words!(KnownVerb, "Verb", table::verbs().iter().map(|verb| verb.name));
schema_of_words!(Tense, "Tense", tense_words());
schema_of_words!(Person, "Person", PERSONS.iter().map(|(word, _)| *word));

/// The error for an unknown verb: a bare list of allowed values would not show a model that the verb is at fault.
pub(crate) fn explain(violation: &Violation<'_>) -> Option<String> {
    match (violation.argument(), violation.value().as_str()) {
        ("verb", Some(name)) => Some(not_a_verb(name)),
        _ => None,
    }
}

/// Why a value is not accepted as a verb, and what to send instead.
pub(crate) fn not_a_verb(name: &str) -> String {
    match table::readings(name).first() {
        Some(reading) => {
            let verb = reading.verb.name;
            format!("{} is a form of \"{verb}\": give the verb as \"{verb}\"", quoted(name))
        }
        None => format!("{} is out of scope: {}", quoted(name), scope()),
    }
}

/// "this tutor knows 20 verbs: work, play, ...".
pub(crate) fn scope() -> String {
    format!("this tutor knows {} verbs: {}", table::verbs().len(), table::names())
}

/// A caller's text in a message: quoted, on one line, and never longer than a message should be.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() { format!("{shown:?}...") } else { format!("{shown:?}") }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn words<T: JsonSchema>() -> serde_json::Value {
        SchemaGenerator::default().into_root_schema_for::<T>().get("enum").cloned().unwrap_or_default()
    }

    #[test]
    fn every_spelling_is_in_the_schema() {
        assert_eq!(
            words::<Tense>(),
            json!([
                "infinitive",
                "present simple",
                "present_simple",
                "past simple",
                "past_simple",
                "past participle",
                "past_participle",
                "simple future",
                "simple_future"
            ])
        );
        assert_eq!(
            words::<Person>(),
            json!(["1st singular", "1sg", "2nd singular", "2sg", "3rd singular", "3sg"])
        );
        assert_eq!(words::<KnownVerb>().as_array().unwrap().len(), 20);
    }

    #[test]
    fn every_word_in_a_schema_is_understood() {
        for word in words::<Tense>().as_array().unwrap() {
            let tense: Tense = from_value(word.clone()).unwrap();
            assert_eq!(tense.name(), word.as_str().unwrap().replace('_', " "));
        }
        for word in words::<Person>().as_array().unwrap() {
            let person: Person = from_value(word.clone()).unwrap();
            assert_eq!(person.name().chars().next(), word.as_str().unwrap().chars().next());
        }
        for word in words::<KnownVerb>().as_array().unwrap() {
            assert_eq!(from_value::<KnownVerb>(word.clone()).unwrap().0.name, word.as_str().unwrap());
        }
    }

    #[test]
    fn other_values_are_rejected_with_the_remedy() {
        let verbs = "work, play, walk, talk, listen, watch, study, finish, start, look, want, like, \
                     be, have, do, go, come, see, eat, write";
        assert_eq!(not_a_verb("run"), format!("\"run\" is out of scope: this tutor knows 20 verbs: {verbs}"));
        assert_eq!(not_a_verb("ate"), "\"ate\" is a form of \"eat\": give the verb as \"eat\"");
        assert_eq!(not_a_verb(" Eat"), "\" Eat\" is a form of \"eat\": give the verb as \"eat\"");
        assert!(from_value::<KnownVerb>(json!("run")).unwrap_err().to_string().contains("out of scope"));
        assert!(
            from_value::<Tense>(json!("future"))
                .unwrap_err()
                .to_string()
                .contains("\"future\" is none of: infin")
        );
    }

    #[test]
    fn a_quotation_is_short_and_on_one_line() {
        assert_eq!(quoted("comió"), "\"comió\"");
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert_eq!(quoted(&"é".repeat(1000)), format!("\"{}\"...", "é".repeat(60)));
    }
}
