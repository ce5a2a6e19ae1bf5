//! `_meta`: metadata of requests and notifications.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::logging::LogLevel;
use crate::wire::Id;
use crate::wire::error::RpcError;

/// The revision of a request, in stateless revisions.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The capabilities of the client, on every request of a stateless revision.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The identity of the server, on every result of a stateless revision.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The minimum level of log messages, on requests of stateless revisions.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The levels, for error messages.
pub(crate) const LOG_LEVELS: &str = "it is debug, info, notice, warning, error, critical, alert or emergency";
/// The identity of the client, on requests of stateless revisions.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The `_meta` of a request, each value as raw JSON. `None` is absent; `null` is present.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RequestMeta<'a> {
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "io.modelcontextprotocol/protocolVersion"
    )]
    protocol_version: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "io.modelcontextprotocol/clientCapabilities"
    )]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    baggage: Option<&'a RawValue>,
}

/// The trace context of a request, in the formats of W3C Trace Context and Baggage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// `00-<trace id>-<span id>-<flags>`.
    pub traceparent: String,
    /// Vendor-specific data.
    pub tracestate: Option<String>,
    /// The baggage.
    pub baggage: Option<String>,
}

impl Trace {
    /// The trace id and the parent span id, if they are well-formed.
    #[must_use]
    pub fn ids(&self) -> Option<(&str, &str)> {
        let mut parts = self.traceparent.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_something = |text: &str| text.bytes().any(|byte| byte != b'0');
        // Later versions may have more parts.
        let sound = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        (sound
            && is_hex(trace, 32)
            && is_hex(span, 16)
            && is_hex(flags, 2)
            && is_something(trace)
            && is_something(span))
        .then_some((trace, span))
    }
}

/// Distinguishes `null` from an absent member.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The same for a value of any kind.
pub(crate) fn present_value<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads a struct from an object only (derived code would accept an array, too); `null` is `None`.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct ObjectVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(ObjectVisitor(PhantomData))
}

impl RequestMeta<'_> {
    /// The revision of the request, known or not.
    ///
    /// # Errors
    /// If it is not a string.
    pub(crate) fn protocol_version(&self) -> Result<Option<String>, RpcError> {
        let Some(raw) = self.protocol_version else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| {
            RpcError::invalid_params(format!("`_meta[\"{PROTOCOL_VERSION}\"]` must be a string"))
        })
    }

    /// The capabilities of the client.
    ///
    /// # Errors
    /// If they are absent or not an object.
    pub(crate) fn client_capabilities(&self) -> Result<&RawValue, RpcError> {
        match self.client_capabilities {
            Some(raw) if raw.get().starts_with('{') => Ok(raw),
            _ => Err(RpcError::invalid_params(format!(
                "`_meta[\"{CLIENT_CAPABILITIES}\"]` must be an object on every request (`{{}}` if the client can do nothing special)"
            ))),
        }
    }

    /// The minimum level of log messages while this request is served.
    ///
    /// # Errors
    /// If it is not a level.
    pub(crate) fn log_level(&self) -> Result<Option<LogLevel>, RpcError> {
        let Some(raw) = self.log_level else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| {
            RpcError::invalid_params(format!("`_meta[\"{LOG_LEVEL}\"]` is not a log level: {LOG_LEVELS}"))
        })
    }

    /// The trace context, if there is one.
    #[must_use]
    pub(crate) fn trace(&self) -> Option<Trace> {
        // No useful trace context is longer.
        let text = |raw: Option<&RawValue>| -> Option<String> {
            raw.filter(|raw| raw.get().len() <= 8 * 1024).and_then(|raw| serde_json::from_str(raw.get()).ok())
        };
        Some(Trace {
            traceparent: text(self.traceparent)?,
            tracestate: text(self.tracestate),
            baggage: text(self.baggage),
        })
    }

    /// The progress token, if the client requests progress notifications.
    ///
    /// # Errors
    /// If it is neither a string nor an integer.
    pub(crate) fn progress_token(&self) -> Result<Option<Id>, RpcError> {
        let Some(raw) = self.progress_token else { return Ok(None) };
        Id::parse(raw.get())
            .map(Some)
            .map_err(|_| RpcError::invalid_params("`_meta.progressToken` must be a string or an integer"))
    }
}

/// The `_meta` of everything that belongs to a subscription.
///
/// A type of its own and not a `Value`, because an id may be an integer that no `Value` can hold.
#[derive(Debug, Serialize)]
pub(crate) struct SubscriptionMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    pub(crate) subscription: &'a Id,
    #[serde(rename = "io.modelcontextprotocol/serverInfo", skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<&'a RawValue>,
}
