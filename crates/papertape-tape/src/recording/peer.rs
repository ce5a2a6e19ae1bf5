//! What a client or server says that it is.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The identity of a client or server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: Box<str>,
    /// Its version; empty if it has none.
    pub version: Box<str>,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    version: Cow<'a, str>,
}

impl Peer {
    /// Reads an `Implementation` of MCP.
    pub(super) fn read(json: &RawValue) -> Option<Self> {
        let Members { name, version } = serde_json::from_str(json.get()).ok()?;
        Some(Self { name: super::shortened(&name).into(), version: super::shortened(&version).into() })
    }
}
