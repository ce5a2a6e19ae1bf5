//! How a client opens a session: `server/discover` negotiates a stateless revision; a server that does not know it is opened
//! with `initialize`, the handshake of the session-based revisions.

mod probe;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::error::{ClientError, ErrorKind};
use super::lists::salvage;
use super::options::Timeouts;
use super::session::{Failure, OutgoingRequest, Params, Session, result_type};
use crate::protocol::capabilities::{ClientCapabilities, Implementation, ServerCapabilities};
use crate::protocol::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO};
use crate::protocol::{Revision, error_code, method, project};
use crate::wire::RpcError;
use crate::wire::error::excerpt;

/// Errors of stateless revisions only: the headers or the `_meta` of the request are wrong.
const STATELESS_ERRORS: [i64; 2] = [error_code::HEADER_MISMATCH, error_code::MISSING_CLIENT_CAPABILITY];

const DISCOVER: &str = "`server/discover`";
const INITIALIZE: &str = "`initialize`";

/// Opens sessions: what the client sends to every server, and how long that may take.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    pub(crate) identity: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    /// The only revision to use, if one is requested.
    pub(crate) revision: Option<Revision>,
    pub(crate) probe_timeout: Duration,
    /// The timeout of everything from the first request to the end of the negotiation.
    pub(crate) open_timeout: Duration,
}

/// The result of the negotiation.
#[derive(Debug, Clone)]
pub(crate) struct Negotiated {
    pub(crate) revision: Revision,
    pub(crate) server: Implementation,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
    /// The revisions that the server names in its response to `server/discover`, which may arrive after the negotiation.
    pub(crate) offered: Arc<OnceLock<Vec<String>>>,
}

/// Why a session could not be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    Failed(ClientError),
    /// It failed after `server/discover`, which some servers do not survive: they exit, or leave it without a response and
    /// then reject `initialize`. A new process may succeed with `initialize` alone.
    AfterProbe(ClientError),
}

impl OpenError {
    #[cfg(unix)]
    pub(crate) fn into_error(self) -> ClientError {
        match self {
            Self::Failed(error) | Self::AfterProbe(error) => error,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    instructions: Value,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Value,
    #[serde(default)]
    instructions: Value,
}

/// What the response to `server/discover` means.
enum Discovered {
    Stateless(Box<Negotiated>),
    /// The server is to be opened with `initialize`, in this revision.
    Legacy(Revision),
    Failed(Failure),
}

impl Opener {
    /// The `_meta` of a request of a stateless revision.
    pub(crate) fn meta(&self, revision: Revision) -> Map<String, Value> {
        let mut meta = Map::new();
        let mut put = |name: &str, value: Value| drop(meta.insert(name.to_owned(), value));
        put(PROTOCOL_VERSION, revision.as_str().into());
        put(CLIENT_INFO, to_value(&project::implementation(self.identity.clone(), revision)));
        put(
            CLIENT_CAPABILITIES,
            to_value(&project::client_capabilities(self.capabilities.clone(), revision)),
        );
        meta
    }

    /// The deadline of a negotiation that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.open_timeout
    }

    /// Opens a session; unless a revision is requested, with `server/discover` first. `has_read` is ready when the server
    /// has read that request, or when that cannot be known.
    pub(crate) async fn open(
        &self,
        session: &Arc<Session>,
        has_read: impl Future<Output = ()>,
        deadline: Instant,
    ) -> Result<Negotiated, OpenError> {
        match self.revision {
            Some(revision) if revision.opens_with_handshake() => {
                self.initialize(session, revision, deadline).await.map_err(OpenError::Failed)
            }
            Some(revision) => {
                self.open_stateless(session, revision, deadline).await.map_err(OpenError::Failed)
            }
            None => self.probe(session, has_read, deadline).await,
        }
    }

    /// Opens a session with `initialize` alone.
    #[cfg(unix)]
    pub(crate) async fn open_with_initialize(
        &self,
        session: &Arc<Session>,
        deadline: Instant,
    ) -> Result<Negotiated, ClientError> {
        self.initialize(session, Revision::NEWEST_LEGACY, deadline).await
    }

    async fn open_stateless(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> Result<Negotiated, ClientError> {
        let discovered = self.read_discovered(self.discover(session, revision, deadline).await);
        let negotiated = require_stateless(discovered, revision)
            .map_err(|failure| Self::error(session, DISCOVER, *failure))?;
        session.set_revision(negotiated.revision);
        Ok(negotiated)
    }

    /// The error of a negotiation that failed.
    fn error(session: &Session, operation: &str, failure: Failure) -> ClientError {
        session.error(operation, failure).limited_by("ClientOptions::open_timeout")
    }

    /// [`Opener::open`] on HTTP, where every server responds to `server/discover` at once, if only with an error.
    #[cfg(feature = "http-client")]
    pub(crate) async fn open_on_http(&self, session: &Arc<Session>) -> Result<Negotiated, ClientError> {
        let deadline = self.deadline();
        if let Some(revision) = self.revision.filter(|revision| revision.opens_with_handshake()) {
            return self.initialize(session, revision, deadline).await;
        }
        let wanted = self.revision.unwrap_or(Revision::MODERN);
        let mut response = self.discover(session, wanted, deadline).await;
        // Some servers reject the first request whatever revision it has, only to name those that they support.
        if matches!(&response, Err(Failure { kind: ErrorKind::Rpc(error), .. }) if supports(error, wanted)) {
            response = self.discover(session, wanted, deadline).await;
        }
        let failed = |failure| Self::error(session, DISCOVER, failure);
        let response = match response {
            Err(failure) if !may_be_legacy(&failure.kind) => return Err(failed(failure)),
            response => response,
        };
        match (self.read_discovered(response), self.revision) {
            (Discovered::Legacy(revision), None) => self.initialize(session, revision, deadline).await,
            (discovered, _) => require_stateless(discovered, wanted).map_err(|failure| failed(*failure)),
        }
    }

    fn discover(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> impl Future<Output = Result<Box<RawValue>, Failure>> + Send + use<> {
        let params = Params::new([("_meta", Value::Object(self.meta(revision)))]);
        let request = self.request(method::DISCOVER, params, deadline);
        let session = Arc::clone(session);
        async move { session.request(request).await }
    }

    /// A request that is a part of the negotiation.
    fn request(&self, method: &'static str, params: Params, deadline: Instant) -> OutgoingRequest<'static> {
        let timeouts = Timeouts { idle: self.open_timeout, total: self.open_timeout };
        OutgoingRequest { method, params, timeouts, deadline, on_progress: None }
    }

    /// Interprets the response to `server/discover`. One that only a server of a stateless revision would send is believed;
    /// any other means that the server does not know the method.
    fn read_discovered(&self, response: Result<Box<RawValue>, Failure>) -> Discovered {
        match response {
            Ok(raw) => match serde_json::from_str::<DiscoverResult>(raw.get()) {
                Ok(result) => match result_type::check_complete(&raw) {
                    Ok(()) => self.choose(&result.supported_versions.clone(), Some(result)),
                    Err(failure) => Discovered::Failed(*failure),
                },
                Err(error) => {
                    tracing::debug!(%error, "the result of `server/discover` is invalid");
                    Discovered::Legacy(Revision::NEWEST_LEGACY)
                }
            },
            Err(Failure { kind: ErrorKind::Rpc(error), .. })
                if error.code == error_code::UNSUPPORTED_PROTOCOL_VERSION =>
            {
                let supported: Vec<String> = supported(&error).map(str::to_owned).collect();
                self.choose(&supported, None)
            }
            Err(failure) => match &failure.kind {
                ErrorKind::Rpc(error) if STATELESS_ERRORS.contains(&error.code) => {
                    Discovered::Failed(failure)
                }
                ErrorKind::Closed | ErrorKind::TimedOut(_) => Discovered::Failed(failure),
                _ => Discovered::Legacy(Revision::NEWEST_LEGACY),
            },
        }
    }

    /// Chooses the newest revision that both sides support.
    fn choose(&self, theirs: &[String], discovered: Option<DiscoverResult>) -> Discovered {
        let common = |wanted: &Revision| theirs.iter().any(|name| name == wanted.as_str());
        let unsupported = |wanted| {
            let kind = ErrorKind::Unsupported { theirs: theirs.to_vec(), wanted };
            Discovered::Failed(Failure::new(kind, "the response arrived"))
        };
        let mut ours = Revision::ALL.into_iter().filter(common);
        match (ours.find(|revision| !revision.opens_with_handshake()), discovered) {
            (Some(revision), Some(result)) => Discovered::Stateless(Box::new(Negotiated {
                revision,
                server: read_or_default(result.meta.get(SERVER_INFO).unwrap_or(&Value::Null), "serverInfo"),
                capabilities: read_or_default(&result.capabilities, "capabilities"),
                instructions: result.instructions.as_str().map(str::to_owned),
                offered: Arc::new(OnceLock::from(theirs.to_vec())),
            })),
            // It supports the revision, but has not sent its capabilities.
            (Some(revision), None) => {
                Discovered::Stateless(Box::new(without_details(revision, theirs.to_vec())))
            }
            _ if self.revision.is_some() => unsupported(self.revision),
            _ => match Revision::ALL
                .into_iter()
                .filter(common)
                .find(|revision| revision.opens_with_handshake())
            {
                Some(revision) => Discovered::Legacy(revision),
                None => unsupported(None),
            },
        }
    }

    /// `initialize` and `notifications/initialized`.
    async fn initialize(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> Result<Negotiated, ClientError> {
        let negotiated = self.send_initialize(session, revision, deadline).await?;
        Self::finish_handshake(session, &negotiated);
        Ok(negotiated)
    }

    /// Sends `notifications/initialized`, which ends the handshake.
    fn finish_handshake(session: &Session, negotiated: &Negotiated) {
        session.set_revision(negotiated.revision);
        session.notify(method::INITIALIZED, None);
    }

    /// Sends `initialize`.
    async fn send_initialize(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> Result<Negotiated, ClientError> {
        let failed = |failure| Self::error(session, INITIALIZE, failure);
        let params = Params::new([
            ("protocolVersion", revision.as_str().into()),
            ("capabilities", to_value(&project::client_capabilities(self.capabilities.clone(), revision))),
            ("clientInfo", to_value(&project::implementation(self.identity.clone(), revision))),
        ]);
        let request = self.request(method::INITIALIZE, params, deadline);
        let raw = session.request(request).await.map_err(failed)?;
        let result: InitializeResult = serde_json::from_str(raw.get()).map_err(|error| {
            let problem = format!("the result is invalid: {error}");
            failed(Failure::protocol(problem, raw.get().as_bytes()))
        })?;
        let agreed = Revision::parse(&result.protocol_version).filter(|agreed| agreed.opens_with_handshake());
        let agreed = match agreed {
            Some(agreed) if self.revision.is_none_or(|wanted| wanted == agreed) => agreed,
            _ => {
                let theirs = vec![excerpt(&result.protocol_version).trim_matches('"').to_owned()];
                let kind = ErrorKind::Unsupported { theirs, wanted: self.revision };
                return Err(failed(Failure::new(kind, "the response arrived")));
            }
        };
        Ok(Negotiated {
            revision: agreed,
            server: read_or_default(&result.server_info, "serverInfo"),
            capabilities: read_or_default(&result.capabilities, "capabilities"),
            instructions: result.instructions.as_str().map(str::to_owned),
            offered: Arc::default(),
        })
    }
}

/// What was negotiated, if it is a stateless revision; `wanted` is the one that was requested.
fn require_stateless(discovered: Discovered, wanted: Revision) -> Result<Negotiated, Box<Failure>> {
    match discovered {
        Discovered::Stateless(negotiated) => Ok(*negotiated),
        Discovered::Failed(failure) => Err(Box::new(failure)),
        Discovered::Legacy(_) => {
            let kind = ErrorKind::Unsupported { theirs: Vec::new(), wanted: Some(wanted) };
            Err(Box::new(Failure::new(kind, "the response arrived")))
        }
    }
}

/// A server that supports a revision and has not sent anything else.
fn without_details(revision: Revision, offered: Vec<String>) -> Negotiated {
    Negotiated {
        revision,
        server: Implementation::default(),
        capabilities: ServerCapabilities::default(),
        instructions: None,
        offered: Arc::new(OnceLock::from(offered)),
    }
}

/// The revisions that an error names as supported.
fn supported(error: &RpcError) -> impl Iterator<Item = &str> {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    supported.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether the server rejected a revision and names the same revision as supported.
#[cfg(feature = "http-client")]
fn supports(error: &RpcError, wanted: Revision) -> bool {
    error.code == error_code::UNSUPPORTED_PROTOCOL_VERSION
        && supported(error).any(|name| name == wanted.as_str())
}

/// Whether a server that failed like this may be one that does not know `server/discover`.
#[cfg(feature = "http-client")]
fn may_be_legacy(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Rpc(_) | ErrorKind::Protocol(_) => true,
        // Redirects, forbidden, too many requests, and errors of a proxy in front of the server.
        ErrorKind::Http { status, .. } => !matches!(status, 300..=399 | 403 | 429 | 502..=504),
        _ => false,
    }
}

fn to_value<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|_| json!({}))
}

/// Reads an object member by member: an invalid one does not spoil the others.
fn read_or_default<T>(value: &Value, name: &str) -> T
where
    T: serde::de::DeserializeOwned + serde::Serialize + Default,
{
    let mut problems = Vec::new();
    let read = salvage(value, &mut problems);
    for problem in problems {
        tracing::info!("the server's `{name}` is invalid: {problem}");
    }
    read
}
