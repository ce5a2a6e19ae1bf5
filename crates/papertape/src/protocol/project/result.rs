//! The members of a result that describe it: its cache hint, and the server's identity.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::protocol::Revision;
use crate::protocol::capabilities::Implementation;
use crate::protocol::meta::SERVER_INFO;
use crate::wire::members::{self, Members};

/// How long a result may be cached, and by which caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CacheHint {
    /// In milliseconds; 0 disables caching.
    pub ttl_ms: u64,
    /// By which caches.
    pub cache_scope: CacheScope,
}

impl CacheHint {
    /// A hint with a time to live.
    #[must_use]
    pub(crate) fn new(time: Duration, cache_scope: CacheScope) -> Self {
        Self { ttl_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX), cache_scope }
    }
}

/// Which caches may keep a result (`cacheScope`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheScope {
    /// Any cache, for every client.
    Public,
    /// Only a cache of the client that sent the request.
    Private,
}

/// A result of a stateless revision with the server's identity.
#[must_use]
pub(crate) fn described(mut result: Map<String, Value>, identity: &Implementation) -> Map<String, Value> {
    let identity = serde_json::to_value(identity).unwrap_or_default();
    let own = result.entry("_meta").or_insert_with(|| json!({}));
    if let Some(own) = own.as_object_mut() {
        own.entry(SERVER_INFO).or_insert(identity);
    }
    result
}

/// The `_meta` of a result.
pub(super) fn meta(
    meta: Option<Map<String, Value>>,
    revision: Revision,
    identity: &Implementation,
) -> Option<Map<String, Value>> {
    if !revision.results_describe_themselves() {
        return meta.and_then(legacy_meta);
    }
    meta.map(|mut meta| {
        meta.entry(SERVER_INFO).or_insert_with(|| serde_json::to_value(identity).unwrap_or_default());
        meta
    })
}

/// The result of a method that is not MCP's, given as JSON: as it is, but for the members that describe a result.
#[must_use]
pub(crate) fn method_result<'a>(result: &'a str, revision: Revision, identity: &RawValue) -> Cow<'a, str> {
    let Ok(Members(mut members)) = Members::read(result) else { return Cow::Borrowed("{}") };
    let at = members.iter().position(|(name, _)| name == "_meta");
    let own = at.and_then(|at| members.get(at)).map_or("{}", |(_, meta)| meta.get());
    let own: Members<'_> = Members::read(own).unwrap_or(Members(Vec::new()));
    let describes = revision.results_describe_themselves();
    let mut meta = own.0;
    if !describes {
        // Nothing of a newer revision reaches an older peer.
        let before = (members.len(), meta.len());
        members.retain(|(name, _)| name != RESULT_TYPE);
        meta.retain(|(name, _)| !name.starts_with("io.modelcontextprotocol/"));
        if before == (members.len(), meta.len()) {
            return Cow::Borrowed(result);
        }
    } else if !meta.iter().any(|(name, _)| name == SERVER_INFO) {
        meta.push((SERVER_INFO.into(), identity));
    }
    let meta = RawValue::from_string(members::object(meta.iter().map(|(name, value)| (&**name, *value))));
    let meta = meta.unwrap_or_else(|_| RawValue::NULL.to_owned());
    members.retain(|(name, _)| name != "_meta");
    let complete = to_raw_value("complete").unwrap_or_default();
    if describes && !members.iter().any(|(name, _)| name == RESULT_TYPE) {
        members.push((RESULT_TYPE.into(), &complete));
    }
    if meta.get() != "{}" {
        members.push(("_meta".into(), &meta));
    }
    Cow::Owned(members::object(members.iter().map(|(name, value)| (&**name, *value))))
}

/// What kind of result it is, in stateless revisions.
const RESULT_TYPE: &str = "resultType";

/// `_meta` without the keys that only newer revisions know.
fn legacy_meta(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
    meta.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
    (!meta.is_empty()).then_some(meta)
}
