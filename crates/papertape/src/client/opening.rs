//! How a client opens a conversation: it asks what the server speaks, and falls back to the handshake of older revisions.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::error::{ClientError, ErrorKind};
use super::options::Timing;
use super::outcome;
use super::session::{Asking, Params, Session, Trouble};
use crate::protocol::capabilities::{ClientCapabilities, Implementation, ServerCapabilities};
use crate::protocol::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO};
use crate::protocol::{Revision, method, project};
use crate::wire::error::excerpt;

/// A modern server does not speak the revision it was asked in.
pub(super) const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// Only modern servers answer with these: what the request says about itself is wrong.
const MODERN_COMPLAINTS: [i64; 2] = [-32020, -32021];

/// What is said to every server.
#[derive(Debug, Clone)]
pub(crate) struct Introduction {
    pub(crate) identity: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    /// The only revision to speak.
    pub(crate) revision: Option<Revision>,
    pub(crate) probe_timeout: Duration,
    /// For the whole opening, whatever it takes.
    pub(crate) open_timeout: Duration,
}

/// What is known of a server once the conversation is open.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) revision: Revision,
    pub(crate) server: Implementation,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
    /// The revisions that the server names in its answer to `server/discover`, which may come after the opening.
    pub(crate) offered: Arc<OnceLock<Vec<String>>>,
}

/// Why a conversation did not open.
#[derive(Debug)]
pub(crate) enum NotOpened {
    Failed(ClientError),
    /// It failed after `server/discover`, which the server may not have been able to bear: it exited, or left that without
    /// an answer and then refused `initialize`. A new process may do better with `initialize` alone.
    AfterProbe(ClientError),
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

/// What the probe told.
pub(super) enum Probed {
    Modern(Box<Opened>),
    /// It speaks this, or at least nothing newer that it would have told.
    Legacy(Revision),
    Failed(Trouble),
}

impl Introduction {
    /// The `_meta` of a modern request.
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

    /// When an opening that begins now must be over.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.open_timeout
    }

    /// Opens a conversation; unless a revision is wanted, by asking first what the server speaks. `has_read` is ready when
    /// the server has read that question, or when that cannot be known.
    pub(crate) async fn open(
        &self,
        session: &Arc<Session>,
        has_read: impl Future<Output = ()>,
        deadline: Instant,
    ) -> Result<Opened, NotOpened> {
        match self.revision {
            Some(revision) if revision.opens_with_handshake() => {
                self.initialize(session, revision, deadline).await.map_err(NotOpened::Failed)
            }
            Some(revision) => self.open_modern(session, revision, deadline).await.map_err(NotOpened::Failed),
            None => self.probe(session, has_read, deadline).await,
        }
    }

    /// Opens a conversation without asking what the server speaks.
    pub(crate) async fn open_with_handshake(
        &self,
        session: &Arc<Session>,
        deadline: Instant,
    ) -> Result<Opened, ClientError> {
        self.initialize(session, Revision::NEWEST_LEGACY, deadline).await
    }

    async fn open_modern(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> Result<Opened, ClientError> {
        let trouble =
            |trouble| self.error(session, "opening the conversation with `server/discover`", trouble);
        match self.read_probe(self.discover(session, revision, deadline).await) {
            Probed::Modern(opened) => {
                session.set_revision(opened.revision);
                Ok(*opened)
            }
            Probed::Failed(failed) => Err(trouble(failed)),
            Probed::Legacy(_) => Err(trouble(Trouble::new(
                ErrorKind::Unsupported { theirs: Vec::new(), wanted: Some(revision) },
                "the server was asked what it speaks",
            ))),
        }
    }

    /// The error for an opening that came to nothing.
    pub(super) fn error(&self, session: &Session, doing: &str, trouble: Trouble) -> ClientError {
        session.error(doing, trouble).limited_by("ClientOptions::open_timeout")
    }

    /// The same on HTTP, where a server that is there answers at once, if only to say no.
    #[cfg(feature = "http")]
    pub(crate) async fn open_on_http(&self, session: &Arc<Session>) -> Result<Opened, ClientError> {
        let deadline = self.deadline();
        if let Some(revision) = self.revision.filter(|revision| revision.opens_with_handshake()) {
            return self.initialize(session, revision, deadline).await;
        }
        let wanted = self.revision.unwrap_or(Revision::MODERN);
        let mut probed = self.discover(session, wanted, deadline).await;
        // Some servers refuse the first request whatever it names, to tell what they speak.
        if matches!(&probed, Err(Trouble { kind: ErrorKind::Rpc(error), .. }) if names(error, wanted)) {
            probed = self.discover(session, wanted, deadline).await;
        }
        let trouble = |trouble| self.error(session, "asking the server what it speaks", trouble);
        let probed = match probed {
            Err(failed) if !may_be_older(&failed.kind) => return Err(trouble(failed)),
            probed => probed,
        };
        match (self.read_probe(probed), self.revision) {
            (Probed::Modern(opened), _) => Ok(*opened),
            (Probed::Failed(failed), _) => Err(trouble(failed)),
            (Probed::Legacy(_), Some(wanted)) => Err(trouble(Trouble::new(
                ErrorKind::Unsupported { theirs: Vec::new(), wanted: Some(wanted) },
                "the server was asked what it speaks",
            ))),
            (Probed::Legacy(revision), None) => self.initialize(session, revision, deadline).await,
        }
    }

    pub(super) fn discover(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> impl Future<Output = Result<Box<RawValue>, Trouble>> + Send + use<> {
        let params = Params::new([("_meta", Value::Object(self.meta(revision)))]);
        let asking = self.asking(method::DISCOVER, params, deadline);
        let session = Arc::clone(session);
        async move { session.request(asking).await }
    }

    /// A request that is a part of the opening.
    fn asking(&self, method: &'static str, params: Params, last: Instant) -> Asking<'static> {
        let timing = Timing { silence: self.open_timeout, longest: self.open_timeout };
        Asking { method, params, timing, last, on_progress: None }
    }

    /// What an answer to `server/discover` means. Anything that only a modern server would say is believed; everything
    /// else means that the server is older than the question.
    pub(super) fn read_probe(&self, probed: Result<Box<RawValue>, Trouble>) -> Probed {
        match probed {
            Ok(raw) => match serde_json::from_str::<DiscoverResult>(raw.get()) {
                Ok(result) => match outcome::check_complete(&raw) {
                    Ok(()) => self.choose(&result.supported_versions.clone(), Some(result)),
                    Err(trouble) => Probed::Failed(*trouble),
                },
                Err(error) => {
                    tracing::debug!(%error, "the answer to `server/discover` makes no sense");
                    Probed::Legacy(Revision::NEWEST_LEGACY)
                }
            },
            Err(Trouble { kind: ErrorKind::Rpc(error), .. })
                if error.code == UNSUPPORTED_PROTOCOL_VERSION =>
            {
                let supported = error.data.as_ref().and_then(|data| data.get("supported"));
                let supported = supported.and_then(Value::as_array).into_iter().flatten();
                let supported: Vec<String> = supported.filter_map(Value::as_str).map(str::to_owned).collect();
                self.choose(&supported, None)
            }
            Err(trouble) => match &trouble.kind {
                ErrorKind::Rpc(error) if MODERN_COMPLAINTS.contains(&error.code) => Probed::Failed(trouble),
                ErrorKind::Closed | ErrorKind::TimedOut(_) => Probed::Failed(trouble),
                _ => Probed::Legacy(Revision::NEWEST_LEGACY),
            },
        }
    }

    /// The newest revision that both speak.
    fn choose(&self, theirs: &[String], discovered: Option<DiscoverResult>) -> Probed {
        let common = |wanted: &Revision| theirs.iter().any(|name| name == wanted.as_str());
        let unsupported = |wanted| {
            let kind = ErrorKind::Unsupported { theirs: theirs.to_vec(), wanted };
            Probed::Failed(Trouble::new(kind, "the server told what it speaks"))
        };
        let mut ours = Revision::ALL.into_iter().filter(common);
        match (ours.find(|revision| !revision.opens_with_handshake()), discovered) {
            (Some(revision), Some(result)) => Probed::Modern(Box::new(Opened {
                revision,
                server: read_or_default(result.meta.get(SERVER_INFO).unwrap_or(&Value::Null), "its name"),
                capabilities: read_or_default(&result.capabilities, "its capabilities"),
                instructions: result.instructions.as_str().map(str::to_owned),
                offered: Arc::new(OnceLock::from(theirs.to_vec())),
            })),
            // It speaks that, but does not tell what it offers.
            (Some(revision), None) => Probed::Modern(Box::new(unknown(revision, theirs.to_vec()))),
            _ if self.revision.is_some() => unsupported(self.revision),
            _ => match Revision::ALL
                .into_iter()
                .filter(common)
                .find(|revision| revision.opens_with_handshake())
            {
                Some(revision) => Probed::Legacy(revision),
                None => unsupported(None),
            },
        }
    }

    /// The whole handshake of the older revisions.
    async fn initialize(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> Result<Opened, ClientError> {
        let opened = self.ask_to_initialize(session, revision, deadline).await?;
        Self::finish_handshake(session, &opened);
        Ok(opened)
    }

    /// Tells the server that what it has answered to `initialize` is agreed.
    pub(super) fn finish_handshake(session: &Session, opened: &Opened) {
        session.set_revision(opened.revision);
        session.notify(method::INITIALIZED, None);
    }

    /// Sends `initialize`; nothing is agreed yet.
    pub(super) async fn ask_to_initialize(
        &self,
        session: &Arc<Session>,
        revision: Revision,
        deadline: Instant,
    ) -> Result<Opened, ClientError> {
        let trouble = |trouble| self.error(session, "opening the conversation with `initialize`", trouble);
        let params = Params::new([
            ("protocolVersion", revision.as_str().into()),
            ("capabilities", to_value(&project::client_capabilities(self.capabilities.clone(), revision))),
            ("clientInfo", to_value(&project::implementation(self.identity.clone(), revision))),
        ]);
        let asking = self.asking(method::INITIALIZE, params, deadline);
        let raw = session.request(asking).await.map_err(trouble)?;
        let result: InitializeResult = serde_json::from_str(raw.get()).map_err(|error| {
            let problem = format!("the answer to `initialize` makes no sense: {error}");
            trouble(Trouble::broken(problem, raw.get().as_bytes()))
        })?;
        let spoken = Revision::parse(&result.protocol_version).filter(|spoken| spoken.opens_with_handshake());
        let spoken = match spoken {
            Some(spoken) if self.revision.is_none_or(|wanted| wanted == spoken) => spoken,
            _ => {
                let theirs = vec![excerpt(&result.protocol_version).trim_matches('"').to_owned()];
                let kind = ErrorKind::Unsupported { theirs, wanted: self.revision };
                return Err(trouble(Trouble::new(kind, "the server answered `initialize`")));
            }
        };
        Ok(Opened {
            revision: spoken,
            server: read_or_default(&result.server_info, "its name"),
            capabilities: read_or_default(&result.capabilities, "its capabilities"),
            instructions: result.instructions.as_str().map(str::to_owned),
            offered: Arc::default(),
        })
    }
}

/// A server of which nothing is known but what it speaks.
fn unknown(revision: Revision, offered: Vec<String>) -> Opened {
    Opened {
        revision,
        server: Implementation::default(),
        capabilities: ServerCapabilities::default(),
        instructions: None,
        offered: Arc::new(OnceLock::from(offered)),
    }
}

/// Whether an error says that the server does not speak what was asked for, and names the same as what it speaks.
#[cfg(feature = "http")]
fn names(error: &crate::wire::RpcError, wanted: Revision) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    error.code == UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|supported| supported.iter().any(|name| name == wanted.as_str()))
}

/// Whether a server that failed in this way may only be older than the question.
#[cfg(feature = "http")]
fn may_be_older(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Rpc(_) | ErrorKind::Protocol(_) => true,
        // Not allowed, too many requests, or something before the server that does not find it.
        ErrorKind::Http { status, .. } => !matches!(status, 300..=399 | 403 | 429 | 502..=504),
        _ => false,
    }
}

fn to_value<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|_| json!({}))
}

/// What a server says of itself, member by member: one that makes no sense does not spoil the others.
fn read_or_default<T>(value: &Value, what: &str) -> T
where
    T: serde::de::DeserializeOwned + serde::Serialize + Default,
{
    let mut problems = Vec::new();
    let read = super::listing::salvage(value, &mut problems);
    for problem in problems {
        tracing::info!("the server does not say {what} well: {problem}");
    }
    read
}
