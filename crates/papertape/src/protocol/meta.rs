//! `_meta`: metadata of requests and notifications.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::wire::Id;

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
