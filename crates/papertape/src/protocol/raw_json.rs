//! JSON text that is passed on without a change.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wire::number;

/// A JSON value as text, which keeps every digit.
///
/// A [`Value`] holds integers of 64 bits and doubles, and rounds what is larger or longer. So arguments and structured
/// results are kept as text: [`RawJson::parse`] reads any type from it (a `u128` exactly), [`RawJson::to_value`] a `Value`,
/// unless that would change a number.
///
/// ```
/// use papertape::protocol::RawJson;
/// let large = RawJson::new("{\"n\": 340282366920938463463374607431768211455}").unwrap();
/// assert!(large.to_value().unwrap_err().to_string().contains("340282366920938463463374607431768211455"));
/// let small = RawJson::from(serde_json::json!({"n": 0.1}));
/// assert_eq!(small.to_value().unwrap()["n"], 0.1);
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

/// A number that no [`Value`] can hold as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the number {0} would be rounded: a JSON value in memory holds integers of 64 bits and doubles (read it as a type that \
     holds it, such as `u128`, or send it as a string)"
)]
pub struct InexactNumber(pub String);

impl RawJson {
    /// From JSON text.
    ///
    /// # Errors
    /// If it is not.
    pub fn new(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// From any value that serde can write as JSON.
    ///
    /// # Errors
    /// If it cannot, such as a map whose keys are not strings.
    pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads a type from it.
    ///
    /// # Errors
    /// If it is something else. A type that holds [`Value`]s gets rounded numbers where these cannot hold them: see
    /// [`RawJson::inexact`].
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// A tree of values.
    ///
    /// # Errors
    /// If a number would be changed by that.
    pub fn to_value(&self) -> Result<Value, InexactNumber> {
        match number::first_inexact(self.get()) {
            None => Ok(self.rounded()),
            Some(number) => Err(InexactNumber(number.to_owned())),
        }
    }

    /// The first number that no [`Value`] can hold, if there is one.
    #[must_use]
    pub fn inexact(&self) -> Option<InexactNumber> {
        number::first_inexact(self.get()).map(|number| InexactNumber(number.to_owned()))
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }

    /// An object with this as its only member.
    pub(crate) fn member_of_an_object(self, name: &str) -> Self {
        // A string and a JSON text can always be written.
        Self::write(&BTreeMap::from([(name, &self)])).unwrap_or(self)
    }

    /// A tree of values in which large numbers are rounded: for inspection, not to be passed on.
    pub(crate) fn rounded(&self) -> Value {
        serde_json::from_str(self.get()).unwrap_or_default()
    }
}

/// Any JSON: as the arguments of a tool it needs the schema of [`Tool::input_schema`](crate::server::Tool::input_schema).
impl JsonSchema for RawJson {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        // A `Value` can always be written.
        Self(RawValue::from_string(value.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl From<Map<String, Value>> for RawJson {
    fn from(members: Map<String, Value>) -> Self {
        Value::Object(members).into()
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        Self::write(value).unwrap_or_else(|_| Self(RawValue::NULL.to_owned()))
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

/// Compares the text: the same value may be written in many ways.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

/// Compares the value.
impl PartialEq<Value> for RawJson {
    fn eq(&self, other: &Value) -> bool {
        self.to_value().is_ok_and(|value| value == *other)
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}
