//! What a handler can know of the request that it serves: the HTTP request, the client, `_meta`.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::protocol::capabilities::{Abilities, ClientCapabilities, Implementation};
use crate::protocol::meta::Trace;
use crate::server::handler::context::Cx;
use crate::server::pipeline::{DecodedRequest, RequestMeta};
use crate::server::session::Session;

/// What a request says about itself, kept as text until a handler reads it.
#[derive(Debug, Default)]
pub(crate) struct RequestContext {
    /// The identity of the client, if the request has it.
    client: ShortText,
    /// The capabilities of the client, if there are extensions among them.
    capabilities: Option<Box<str>>,
    /// What `_meta` has that is not the protocol's.
    meta: Option<Box<str>>,
    read: ReadContext,
    /// The HTTP request.
    #[cfg(feature = "http-server")]
    http: Option<Arc<http::request::Parts>>,
}

/// What has been read of it.
#[derive(Debug, Default)]
struct ReadContext {
    client: OnceLock<Option<Arc<Implementation>>>,
    capabilities: OnceLock<Box<ClientCapabilities>>,
    meta: OnceLock<Box<Map<String, Value>>>,
}

impl RequestContext {
    pub(crate) fn new(request: &DecodedRequest<'_>) -> Self {
        let meta = request.params.meta.as_ref().filter(|_| !request.revision.opens_with_handshake());
        let capabilities = meta.and_then(|meta| meta.client_capabilities().ok()).map(|raw| raw.get());
        let has_extensions = |raw: &&str| raw.len() > 2 && raw.contains("\"extensions\"");
        Self {
            client: meta
                .and_then(RequestMeta::client_info)
                .map_or_else(ShortText::default, |raw| raw.get().into()),
            capabilities: capabilities.filter(has_extensions).map(Into::into),
            meta: request.params.meta.as_ref().and_then(RequestMeta::other),
            read: ReadContext::default(),
            #[cfg(feature = "http-server")]
            http: request.http.cloned(),
        }
    }

    fn client(&self, session: &Session) -> Option<&Implementation> {
        let read = || match self.client.get() {
            "" => session.client(),
            raw => serde_json::from_str(raw).ok().map(Arc::new),
        };
        self.read.client.get_or_init(read).as_deref()
    }

    fn capabilities(&self, abilities: Abilities) -> &ClientCapabilities {
        self.read.capabilities.get_or_init(|| {
            let mut capabilities = ClientCapabilities::from(abilities);
            let declared = self.capabilities.as_deref().map(parse).unwrap_or_default();
            if let Some(Value::Object(extensions)) = declared.get("extensions") {
                capabilities.extensions = Some(extensions.clone());
            }
            Box::new(capabilities)
        })
    }

    fn meta(&self, trace: Option<&Trace>) -> &Map<String, Value> {
        self.read.meta.get_or_init(|| {
            let mut meta = self.meta.as_deref().map(parse).unwrap_or_default();
            if let Some(trace) = trace {
                let more = [("tracestate", &trace.tracestate), ("baggage", &trace.baggage)];
                let more = more.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
                let members = [("traceparent", &trace.traceparent)].into_iter().chain(more);
                meta.extend(members.map(|(name, value)| (name.to_owned(), value.as_str().into())));
            }
            Box::new(meta)
        })
    }
}

/// No useful `_meta` is larger, and a JSON tree takes a hundred times the memory of its text.
const MOST_META: usize = 64 * 1024;

fn parse(json: &str) -> Map<String, Value> {
    if json.len() > MOST_META {
        tracing::info!(bytes = json.len(), "`_meta` is too large to be read");
        return Map::new();
    }
    serde_json::from_str(json).unwrap_or_default()
}

/// Text that is kept without an allocation if it is short: the identity of a client comes with every stateless request.
enum ShortText {
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

const SHORT: usize = 127;

impl ShortText {
    fn get(&self) -> &str {
        match self {
            ShortText::Short(length, bytes) => bytes
                .get(..usize::from(*length))
                .and_then(|bytes| str::from_utf8(bytes).ok())
                .unwrap_or_default(),
            ShortText::Long(text) => text,
        }
    }
}

impl From<&str> for ShortText {
    fn from(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(text.as_bytes());
                ShortText::Short(length, bytes)
            }
            _ => ShortText::Long(text.into()),
        }
    }
}

impl Default for ShortText {
    fn default() -> Self {
        ShortText::Short(0, [0; SHORT])
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// What is known of the request and its client.
impl<S> Cx<S> {
    /// The HTTP request that the call came in: method, URI, headers, and the extensions that surrounding layers have inserted.
    /// `None` on stdio, Unix sockets and in memory.
    ///
    /// A [task](crate::server::Tool::long_running) sees the request that created it. Headers may hold credentials: do not pass
    /// them on to other services, or log them.
    #[cfg(feature = "http-server")]
    #[must_use]
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.call.context.http.as_deref()
    }

    /// What a surrounding tower layer or axum middleware has inserted into the extensions of the HTTP request.
    ///
    /// ```
    /// use papertape::{Cx, ToolError};
    ///
    /// #[derive(Clone)]
    /// struct Tenant(String);
    ///
    /// async fn tenant(_: (), cx: Cx) -> Result<String, ToolError> {
    ///     let tenant = cx.extension::<Tenant>().ok_or("this needs a tenant")?;
    ///     Ok(tenant.0.clone())
    /// }
    /// ```
    #[cfg(feature = "http-server")]
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.http()?.extensions.get()
    }

    /// The name and version of the client, if it has sent them. Nothing vouches for them: they are for logs and statistics.
    #[must_use]
    pub fn client(&self) -> Option<&Implementation> {
        self.call.context.client(&self.call.session)
    }

    /// The capabilities of the client. In session-based revisions MCP Apps is the only extension in them.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.call.context.capabilities(self.call.abilities)
    }

    /// The members of the request's `_meta` that are not the protocol's own, such as `com.example/tenant` and `traceparent`: they
    /// can be passed on as they are. The protocol's own are in other methods of the context. Numbers over 64 bits are rounded;
    /// a `_meta` of over 64 KiB is not read.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        self.call.context.meta(self.trace())
    }

    /// An id of the session that the request belongs to: on HTTP, in session-based revisions. It is the same for all requests of
    /// a session, also on other replicas, and it is not the secret that the client sends as `Mcp-Session-Id`.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.call.session.id()
    }

    /// A value that is kept for the session and dropped when it ends, such as a connection of its own: the one of this type, made
    /// if there is none. `None` in stateless revisions, which have no sessions.
    ///
    /// `make` must not use the context: what takes long is begun later, in a `OnceCell` for example.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use papertape::{Cx, ToolError};
    ///
    /// #[derive(Default)]
    /// struct Calls(AtomicU64);
    ///
    /// async fn count(_: (), cx: Cx) -> Result<String, ToolError> {
    ///     let calls = cx.session_value(Calls::default).ok_or("this needs a client with a session")?;
    ///     Ok(format!("call {}", calls.0.fetch_add(1, Ordering::Relaxed) + 1))
    /// }
    /// ```
    #[must_use]
    pub fn session_value<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        self.call.revision.opens_with_handshake().then(|| self.call.session.value(make)).flatten()
    }

    /// The revision of the protocol, for logs. Handlers are the same for all revisions.
    #[must_use]
    pub fn revision(&self) -> impl fmt::Display + fmt::Debug + use<S> {
        self.call.revision
    }
}

#[cfg(test)]
mod tests {
    use super::{SHORT, ShortText};

    #[test]
    fn text_of_any_length_is_kept() {
        for length in [0, 1, SHORT, SHORT + 1, 255, 256, 1_000] {
            let text = "x".repeat(length);
            assert_eq!(ShortText::from(&*text).get(), text);
            assert_eq!(matches!(ShortText::from(&*text), ShortText::Short(..)), length <= SHORT);
        }
    }
}
