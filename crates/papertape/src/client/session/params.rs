//! The `params` of a request, before they are written.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::protocol::meta::PROTOCOL_VERSION;
use crate::protocol::{RawJson, Revision};

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

    /// The member of that name, if it is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match &self.0.iter().find(|(member, _)| member == name)?.1 {
            Param::Value(value) => value.as_str().map(ToOwned::to_owned),
            Param::Raw(raw) => raw.parse().ok(),
        }
    }

    /// The revision that its `_meta` names.
    pub(super) fn revision(&self) -> Option<Revision> {
        match &self.0.iter().find(|(name, _)| name == "_meta")?.1 {
            Param::Value(meta) => Revision::parse(meta.get(PROTOCOL_VERSION)?.as_str()?),
            Param::Raw(_) => None,
        }
    }

    /// Its `_meta`, which is added if there is none. `None` if it is not an object.
    pub(super) fn meta(&mut self) -> Option<&mut Map<String, Value>> {
        if !self.0.iter().any(|(name, _)| name == "_meta") {
            self.push("_meta", Map::new().into());
        }
        match &mut self.0.iter_mut().find(|(name, _)| name == "_meta")?.1 {
            Param::Value(meta) => meta.as_object_mut(),
            Param::Raw(_) => None,
        }
    }

    pub(crate) fn push(&mut self, name: &str, value: Value) {
        self.0.push((name.to_owned(), Param::Value(value)));
    }

    pub(crate) fn push_raw(&mut self, name: &str, value: RawJson) {
        self.0.push((name.to_owned(), Param::Raw(value)));
    }

    /// Adds members to `_meta`; those that it has already take precedence.
    pub(in crate::client) fn push_meta(&mut self, meta: Map<String, Value>) {
        if meta.is_empty() {
            return;
        }
        match self.0.iter_mut().find(|(name, _)| name == "_meta") {
            Some((_, Param::Value(Value::Object(given)))) => {
                for (name, value) in meta {
                    given.entry(name).or_insert(value);
                }
            }
            Some(_) => {}
            None => self.push("_meta", meta.into()),
        }
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
