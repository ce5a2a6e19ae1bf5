//! JSON as it was typed: every number keeps its digits.

use std::collections::BTreeMap;
use std::mem;

use papertape::protocol::RawJson;
use papertape::protocol::raw_json::InexactNumber;
use serde_json::Value;

/// A JSON value, put together from texts.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(into = "RawJson")]
pub(crate) enum Typed {
    /// The text of any value.
    Text(RawJson),
    List(Vec<Typed>),
    Object(Members),
}

/// The members of an object.
pub(crate) type Members = BTreeMap<String, Typed>;

/// What kind of value it is, from the most particular one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Boolean,
    Number,
    List,
    Object,
    Text,
    Null,
}

impl Typed {
    /// A text that is JSON.
    pub(crate) fn json(text: &str) -> Result<Self, serde_json::Error> {
        RawJson::new(text).map(Typed::Text)
    }

    /// A text that is meant as it is.
    pub(crate) fn text(text: &str) -> Self {
        Typed::Text(Value::from(text).into())
    }

    pub(crate) fn sort(&self) -> Sort {
        match self {
            Typed::List(_) => Sort::List,
            Typed::Object(_) => Sort::Object,
            Typed::Text(json) => match json.get().as_bytes().first() {
                Some(b't' | b'f') => Sort::Boolean,
                Some(b'[') => Sort::List,
                Some(b'{') => Sort::Object,
                Some(b'"') => Sort::Text,
                Some(b'n') => Sort::Null,
                _ => Sort::Number,
            },
        }
    }

    /// Its members, if it is an object.
    pub(crate) fn members(&mut self) -> Option<&mut Members> {
        if let Typed::Text(json) = self {
            let members: BTreeMap<String, RawJson> = json.parse().ok()?;
            *self =
                Typed::Object(members.into_iter().map(|(name, json)| (name, Typed::Text(json))).collect());
        }
        match self {
            Typed::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Makes a list longer; what is no list becomes the first of one.
    pub(crate) fn push(&mut self, item: Self) {
        let mut list = match mem::replace(self, Typed::List(Vec::new())) {
            Typed::List(list) => list,
            Typed::Text(json) => match json.parse::<Vec<RawJson>>() {
                Ok(list) => list.into_iter().map(Typed::Text).collect(),
                Err(_) => vec![Typed::Text(json)],
            },
            object @ Typed::Object(_) => vec![object],
        };
        list.push(item);
        *self = Typed::List(list);
    }

    /// A tree of values, if that has its numbers.
    pub(crate) fn to_value(&self) -> Result<Value, InexactNumber> {
        RawJson::from(self.clone()).to_value()
    }
}

impl From<Typed> for RawJson {
    fn from(typed: Typed) -> Self {
        let written = match typed {
            Typed::Text(json) => return json,
            Typed::List(list) => RawJson::write(&list),
            Typed::Object(members) => RawJson::write(&members),
        };
        // Lists and objects of JSON are JSON.
        written.unwrap_or_else(|_| Value::Null.into())
    }
}

impl From<&Value> for Typed {
    fn from(value: &Value) -> Self {
        Typed::Text(value.into())
    }
}
