//! Strings to values: the variables of a URI or the arguments of a prompt, as the type that a handler takes.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapDeserializer, StrDeserializer, UnitDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::wire::error::excerpt;

/// The most characters of an error: it may quote a value of the client.
const LONGEST_ERROR: usize = 2000;

/// Reads a struct from named words. A number or a boolean is read from its word when the field wants one. An error names the field
/// and its word.
pub(crate) fn read<T: DeserializeOwned>(words: &BTreeMap<String, String>) -> Result<T, String> {
    let entries = words.iter().map(|(name, text)| (name.as_str(), Word { name, text }));
    let read = T::deserialize(MapDeserializer::<_, Error>::new(entries));
    match read {
        // A unit type takes nothing.
        Err(error) if words.is_empty() => {
            T::deserialize(UnitDeserializer::<Error>::new()).map_err(|_| error.0)
        }
        read => read.map_err(|error| bounded(error.0)),
    }
}

/// A text of at most [`LONGEST_ERROR`] characters, which ends with a whole word.
fn bounded(text: String) -> String {
    let Some(head) = text.char_indices().nth(LONGEST_ERROR).and_then(|(end, _)| text.get(..end)) else {
        return text;
    };
    let words = head.rsplit_once(char::is_whitespace).map_or(head, |(words, _)| words);
    format!("{words} …")
}

#[derive(Debug)]
struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    /// Without the whole value, which may be long: what is allowed would be cut off.
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let allowed: Vec<String> = expected.iter().map(|name| format!("{name:?}")).collect();
        Self(format!("{} is not one of {}", excerpt(variant), allowed.join(", ")))
    }
}

#[derive(Clone, Copy)]
struct Word<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'de> IntoDeserializer<'de, Error> for Word<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Word<'_> {
    /// `NaN`, `inf` and what is too large.
    fn is_beyond_numbers(self) -> bool {
        self.text.parse::<f64>().is_ok_and(|number| !number.is_finite())
    }

    fn error(self, why: impl fmt::Display) -> Error {
        Error(format!("{} is {}: {why}", excerpt(self.name), excerpt(self.text)))
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $kind:expr),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            // What is not a number in JSON is not one here either.
            let plain = self.text.starts_with(|c: char| c == '-' || c.is_ascii_alphanumeric());
            match self.text.parse() {
                Ok(value) if plain && !self.is_beyond_numbers() => visitor.$visit(value),
                _ => Err(self.error(format_args!("it is not {}", $kind))),
            }
        }
    )*};
}

macro_rules! integer {
    ($type:ty) => {
        format_args!("an integer from {} to {}", <$type>::MIN, <$type>::MAX)
    };
}

impl<'de> Deserializer<'de> for Word<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.text).map_err(|error: Error| self.error(error))
    }

    parsed! {
        deserialize_bool visit_bool "a boolean, true or false",
        deserialize_i8 visit_i8 integer!(i8),
        deserialize_i16 visit_i16 integer!(i16),
        deserialize_i32 visit_i32 integer!(i32),
        deserialize_i64 visit_i64 integer!(i64),
        deserialize_i128 visit_i128 integer!(i128),
        deserialize_u8 visit_u8 integer!(u8),
        deserialize_u16 visit_u16 integer!(u16),
        deserialize_u32 visit_u32 integer!(u32),
        deserialize_u64 visit_u64 integer!(u64),
        deserialize_u128 visit_u128 integer!(u128),
        deserialize_f32 visit_f32 "a number", deserialize_f64 visit_f64 "a number",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor
            .visit_enum(StrDeserializer::<Error>::new(self.text))
            .map_err(|error| Error(format!("{}: {error}", excerpt(self.name))))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Words {
        text: String,
        count: u8,
        exact: Option<bool>,
        colour: Option<Colour>,
    }

    fn read(words: &[(&str, &str)]) -> Result<Words, String> {
        let words: BTreeMap<_, _> = words.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        super::read(&words)
    }

    #[test]
    fn words_are_parsed_by_the_field_type() {
        assert_eq!(
            read(&[("text", "12"), ("count", "12"), ("exact", "true"), ("colour", "red")]),
            Ok(Words { text: "12".into(), count: 12, exact: Some(true), colour: Some(Colour::Red) })
        );
        assert_eq!(
            read(&[("text", ""), ("count", "0")]),
            Ok(Words { text: String::new(), count: 0, exact: None, colour: None })
        );
        assert_eq!(
            read(&[("text", ""), ("count", "300")]),
            Err("\"count\" is \"300\": it is not an integer from 0 to 255".into())
        );
        assert_eq!(read(&[("text", "")]), Err("missing field `count`".into()));
        let error = read(&[("text", ""), ("count", "1"), ("colour", "blue")]).unwrap_err();
        assert_eq!(error, "\"colour\": \"blue\" is not one of \"red\"");
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Tense {
        PresentSimple,
        PresentContinuous,
        PresentPerfect,
        PastSimple,
        PastContinuous,
        FutureSimple,
    }

    #[derive(Debug, Deserialize)]
    struct Verb {
        #[expect(dead_code, reason = "only errors are read")]
        tense: Tense,
    }

    #[test]
    fn an_error_has_all_that_is_allowed_and_no_more_of_the_word_than_fits() {
        for word in ["present".to_owned(), "a word ".repeat(100_000)] {
            let error = super::read::<Verb>(&[("tense".to_owned(), word)].into()).unwrap_err();
            assert!(error.ends_with("\"past_continuous\", \"future_simple\""), "{error}");
            assert!(error.len() < 500, "{error}");
        }
    }

    #[derive(Debug)]
    struct Never;

    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(serde::de::Error::custom(format_args!("cannot be: {text}")))
        }
    }

    #[derive(Debug, Deserialize)]
    struct Fails {
        #[expect(dead_code, reason = "only errors are read")]
        text: Never,
    }

    #[test]
    fn an_error_that_quotes_its_value_is_cut_between_words() {
        let word = "some words ".repeat(10_000);
        let error = super::read::<Fails>(&[("text".to_owned(), word)].into()).unwrap_err();
        assert!(error.starts_with("cannot be: some words"), "{error}");
        assert!(error.ends_with(" …") && error.len() < 2100, "{error}");
        assert!(["some …", "words …"].iter().any(|end| error.ends_with(end)), "{error}");
    }
}
