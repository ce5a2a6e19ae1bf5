//! The members of a result that describe it: its type, its cache hint, and the server's identity.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
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
pub enum CacheScope {
    /// Any cache, for every client.
    Public,
    /// Only a cache of the client that sent the request.
    Private,
}

/// Appends a result's JSON: `body` as it is, and in stateless revisions also `resultType`, the cache hint and the
/// server's identity.
///
/// `body` must be an object in the shape of `revision` without any of those members. A result with a `_meta` of its own
/// gets the identity through [`call_result`](super::call_result).
///
/// # Errors
/// If `body` cannot be written as JSON.
pub(crate) fn write_result<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    revision: Revision,
    body: &T,
    hint: Option<CacheHint>,
    identity: Option<&RawValue>,
) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *out, body)?;
    if !revision.results_describe_themselves() {
        return Ok(());
    }
    out.pop();
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(b"\"resultType\":\"complete\"");
    if let Some(hint) = hint {
        out.extend_from_slice(b",\"ttlMs\":");
        serde_json::to_writer(&mut *out, &hint.ttl_ms)?;
        out.extend_from_slice(b",\"cacheScope\":");
        serde_json::to_writer(&mut *out, &hint.cache_scope)?;
    }
    if let Some(identity) = identity {
        out.extend_from_slice(b",\"_meta\":{\"");
        out.extend_from_slice(SERVER_INFO.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(identity.get().as_bytes());
        out.push(b'}');
    }
    out.push(b'}');
    Ok(())
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
