//! Keywords without subschemas; `type` is not among them, because all nodes have one.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::equal::{are_unique, compare, equal, is_multiple};
use crate::error::ErrorKind;
use crate::pattern::Pattern;

/// A keyword without subschemas. Values of a type that it does not apply to are valid.
#[derive(Debug)]
pub(crate) enum Assertion {
    False,
    Enum(Vec<Value>),
    Const(Value),
    Minimum(Number),
    Maximum(Number),
    ExclusiveMinimum(Number),
    ExclusiveMaximum(Number),
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    Pattern(Box<Pattern>),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    MinProperties(u64),
    MaxProperties(u64),
}

impl Assertion {
    /// Whether it holds for a value.
    #[inline]
    pub(crate) fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::False, _) => false,
            (Self::Enum(options), value) => options.iter().any(|option| equal(option, value)),
            (Self::Const(expected), value) => equal(expected, value),
            (Self::Minimum(limit), Value::Number(number)) => compare(number, limit) != Ordering::Less,
            (Self::Maximum(limit), Value::Number(number)) => compare(number, limit) != Ordering::Greater,
            (Self::ExclusiveMinimum(limit), Value::Number(number)) => {
                compare(number, limit) == Ordering::Greater
            }
            (Self::ExclusiveMaximum(limit), Value::Number(number)) => {
                compare(number, limit) == Ordering::Less
            }
            (Self::MultipleOf(of), Value::Number(number)) => is_multiple(number, of),
            (Self::MinLength(limit), Value::String(text)) => is_as_long(text, *limit),
            (Self::MaxLength(limit), Value::String(text)) => !is_as_long(text, limit.saturating_add(1)),
            (Self::Pattern(pattern), Value::String(text)) => pattern.is_match(text),
            (Self::MinItems(limit), Value::Array(items)) => items.len() as u64 >= *limit,
            (Self::MaxItems(limit), Value::Array(items)) => items.len() as u64 <= *limit,
            (Self::UniqueItems, Value::Array(items)) => are_unique(items),
            (Self::MinProperties(limit), Value::Object(members)) => members.len() as u64 >= *limit,
            (Self::MaxProperties(limit), Value::Object(members)) => members.len() as u64 <= *limit,
            _ => true,
        }
    }

    /// The error of a value for which it does not hold.
    pub(crate) fn error(&self) -> ErrorKind<'_> {
        match self {
            Self::False => ErrorKind::False,
            Self::Enum(options) => ErrorKind::Enum(options),
            Self::Const(expected) => ErrorKind::Const(expected),
            Self::Minimum(limit) => ErrorKind::Minimum(limit),
            Self::Maximum(limit) => ErrorKind::Maximum(limit),
            Self::ExclusiveMinimum(limit) => ErrorKind::ExclusiveMinimum(limit),
            Self::ExclusiveMaximum(limit) => ErrorKind::ExclusiveMaximum(limit),
            Self::MultipleOf(of) => ErrorKind::MultipleOf(of),
            Self::MinLength(limit) => ErrorKind::MinLength(*limit),
            Self::MaxLength(limit) => ErrorKind::MaxLength(*limit),
            Self::Pattern(pattern) => ErrorKind::Pattern(pattern.source()),
            Self::MinItems(limit) => ErrorKind::MinItems(*limit),
            Self::MaxItems(limit) => ErrorKind::MaxItems(*limit),
            Self::UniqueItems => ErrorKind::UniqueItems,
            Self::MinProperties(limit) => ErrorKind::MinProperties(*limit),
            Self::MaxProperties(limit) => ErrorKind::MaxProperties(*limit),
        }
    }

    /// How many steps it takes beyond the usual.
    pub(crate) fn steps(&self) -> u64 {
        match self {
            Self::Enum(options) => options.len() as u64 / 32,
            _ => 0,
        }
    }
}

/// Whether a text has at least `limit` characters.
#[inline]
fn is_as_long(text: &str, limit: u64) -> bool {
    // A character has one to four bytes.
    let bytes = text.len() as u64;
    bytes >= limit && (bytes / 4 >= limit || characters(text) >= limit)
}

// Not inlined, so that the common case stays small.
#[inline(never)]
fn characters(text: &str) -> u64 {
    text.chars().count() as u64
}
