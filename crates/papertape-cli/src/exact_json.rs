//! JSON that keeps the digits of every number.

use std::collections::BTreeMap;
use std::mem;

use papertape::protocol::RawJson;
use papertape::protocol::raw_json::InexactNumber;
use serde_json::Value;

/// A JSON value, assembled from JSON texts.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(into = "RawJson")]
pub(crate) enum ExactJson {
    /// The text of any value.
    Text(RawJson),
    List(Vec<ExactJson>),
    Object(Members),
}

/// The members of an object.
pub(crate) type Members = BTreeMap<String, ExactJson>;

/// The type of a JSON value, from the most specific one on. `null` comes last: it is rarely meant where a string is allowed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonType {
    Boolean,
    Number,
    List,
    Object,
    Text,
    Null,
}

impl ExactJson {
    /// Parses a JSON text.
    pub(crate) fn json(text: &str) -> Result<Self, serde_json::Error> {
        RawJson::new(text).map(ExactJson::Text)
    }

    /// A JSON string.
    pub(crate) fn text(text: &str) -> Self {
        ExactJson::Text(Value::from(text).into())
    }

    pub(crate) fn json_type(&self) -> JsonType {
        match self {
            ExactJson::List(_) => JsonType::List,
            ExactJson::Object(_) => JsonType::Object,
            ExactJson::Text(json) => match json.get().as_bytes().first() {
                Some(b't' | b'f') => JsonType::Boolean,
                Some(b'[') => JsonType::List,
                Some(b'{') => JsonType::Object,
                Some(b'"') => JsonType::Text,
                Some(b'n') => JsonType::Null,
                _ => JsonType::Number,
            },
        }
    }

    /// Its members, if it is an object.
    pub(crate) fn members(&mut self) -> Option<&mut Members> {
        if let ExactJson::Text(json) = self {
            let members: BTreeMap<String, RawJson> = json.parse().ok()?;
            *self = ExactJson::Object(
                members.into_iter().map(|(name, json)| (name, ExactJson::Text(json))).collect(),
            );
        }
        match self {
            ExactJson::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Appends to a list; a value that is not a list becomes the first item of one.
    pub(crate) fn push(&mut self, item: Self) {
        let mut list = match mem::replace(self, ExactJson::List(Vec::new())) {
            ExactJson::List(list) => list,
            ExactJson::Text(json) => match json.parse::<Vec<RawJson>>() {
                Ok(list) => list.into_iter().map(ExactJson::Text).collect(),
                Err(_) => vec![ExactJson::Text(json)],
            },
            object @ ExactJson::Object(_) => vec![object],
        };
        list.push(item);
        *self = ExactJson::List(list);
    }

    /// The value as a tree, if its numbers are exact there.
    pub(crate) fn to_value(&self) -> Result<Value, InexactNumber> {
        RawJson::from(self.clone()).to_value()
    }
}

impl From<ExactJson> for RawJson {
    fn from(typed: ExactJson) -> Self {
        let written = match typed {
            ExactJson::Text(json) => return json,
            ExactJson::List(list) => RawJson::write(&list),
            ExactJson::Object(members) => RawJson::write(&members),
        };
        // Cannot fail: lists and objects of JSON are JSON.
        written.unwrap_or_else(|_| Value::Null.into())
    }
}

impl From<&Value> for ExactJson {
    fn from(value: &Value) -> Self {
        ExactJson::Text(value.into())
    }
}
