//! The `params` of a request, before they are written.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::protocol::RawJson;

/// The members of `params`, in the order in which they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(pub(crate) Vec<(String, Param)>);

/// The value of one member.
#[derive(Debug, Clone)]
pub(crate) enum Param {
    Value(Value),
    /// JSON that is written as it is.
    Raw(RawJson),
}

/// Stands for the id of the request in its own `params`.
pub(crate) const OWN_ID: &str = "\u{0}id";

impl Params {
    pub(crate) fn new<const N: usize>(members: [(&str, Value); N]) -> Self {
        members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
    }

    /// The members of an object, or none for `null`; only `_meta` is parsed.
    pub(in crate::client) fn from_json(json: &RawJson) -> Option<Self> {
        let members: Option<BTreeMap<String, RawJson>> = json.parse().ok()?;
        let param = |(name, value): (String, RawJson)| match name == "_meta" {
            true => (name, Param::Value(value.to_value().ok()?)).into(),
            false => Some((name, Param::Raw(value))),
        };
        members.unwrap_or_default().into_iter().map(param).collect::<Option<_>>().map(Self)
    }

    pub(crate) fn push(&mut self, name: &str, value: Value) {
        self.0.push((name.to_owned(), Param::Value(value)));
    }

    pub(crate) fn push_raw(&mut self, name: &str, value: RawJson) {
        self.0.push((name.to_owned(), Param::Raw(value)));
    }

    /// Replaces [`OWN_ID`] as the progress token: the id of a request is not known before it is sent.
    pub(super) fn set_id(&mut self, id: i64) {
        for (name, value) in &mut self.0 {
            if name == "_meta"
                && let Param::Value(value) = value
                && let Some(token) = value.get_mut("progressToken")
                && token == OWN_ID
            {
                *token = Value::from(id);
            }
        }
    }
}

impl FromIterator<(String, Value)> for Params {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Self(members.into_iter().map(|(name, value)| (name, Param::Value(value))).collect())
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            match value {
                Param::Value(value) => map.serialize_entry(name, value)?,
                Param::Raw(value) => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}
