//! The members of a result that describe it: its cache hint, and the server's identity.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::protocol::Revision;
use crate::protocol::capabilities::Implementation;
use crate::protocol::meta::SERVER_INFO;

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

/// `_meta` without the keys that only newer revisions know.
fn legacy_meta(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
    meta.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
    (!meta.is_empty()).then_some(meta)
}
