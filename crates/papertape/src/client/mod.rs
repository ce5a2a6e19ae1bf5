//! A client of any MCP server, in whichever revision the server supports.
//!
//! - `open` finds out which revision that is, and opens the session
//! - `session` matches responses and notifications to requests, and handles requests of the server
//! - `requests`, `lists`, `skills`, `subscriptions`: what a client can request, by kind
//! - `tasks`: calls that continue after their response
//! - `typed_call`: tool calls with typed arguments and results
//! - `list_cache`: lists that may still be used
//! - `log_message`: log messages
//! - `restart`: how often a server process is started again
//! - `handlers`: elicitation, sampling and roots, for servers that request input
//! - `clients` with [`config`]: several servers as one; [`model_api`]: their tools for OpenAI, Anthropic and Gemini
//! - `error` with `evidence` and `stderr`: why a request failed

mod call_options;
mod clients;
pub mod config;
mod error;
mod evidence;
mod handlers;
mod input_rounds;
mod list_cache;
mod lists;
mod log_message;
pub mod model_api;
mod names;
mod open;
mod options;
mod requests;
mod restart;
mod session;
mod skill_mismatch;
#[cfg(feature = "skills")]
mod skills;
mod stderr;
mod subscriptions;
mod tasks;
mod typed_call;

use std::collections::HashMap;
use std::fmt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape_schema::Validator;
use serde_json::{Map, Value};
use tokio::sync::watch;

pub use clients::{Clients, Merged, ServerEntry, ServerFailure};
pub(crate) use error::NOT_SENT;
pub use error::{ClientError, ErrorKind};
pub(crate) use evidence::{Evidence, ProcessRecord};
pub(crate) use handlers::Handlers;
use list_cache::ListCache;
pub use lists::ListEntry;
pub use log_message::LogMessage;
pub(crate) use open::{Negotiated, OpenError, Opener};
pub(crate) use options::Timeouts;
pub use options::{CallOptions, ClientOptions, Progress};
pub use restart::Restart;
#[cfg(unix)]
pub(crate) use restart::RestartBudget;
pub(crate) use session::Failure;
pub(crate) use session::Session;
pub use skill_mismatch::SkillMismatch;
pub(crate) use stderr::OnStderr;
#[cfg(unix)]
pub(crate) use stderr::StderrLines;
pub use subscriptions::{Change, Subscription, SubscriptionFilter};
pub use tasks::{Called, TaskHandle, TaskState};

pub use crate::protocol::TaskStatus;
pub use crate::schema::Violation;

use crate::protocol::Revision;
use crate::protocol::capabilities::{Implementation, ServerCapabilities};

/// The timeout of each step of ending a server process: after closing its stdin, and after SIGTERM.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A session with a server.
///
/// Clones share the session. When the last one is dropped the server process is ended, in the background;
/// [`Client::close`] waits for it.
///
/// ```no_run
/// use papertape::stdio::{self, ServerCommand};
/// use serde_json::json;
///
/// #[tokio::main]
/// async fn main() -> Result<(), papertape::client::ClientError> {
///     let client = stdio::connect(ServerCommand::new("papertape").args(["serve", "grammar"])).await?;
///     let result = client.call("conjugate", json!({"verb": "eat", "tense": "past simple", "person": "3sg"})).await?;
///     client.close().await;
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    session: Arc<Session>,
    negotiated: Negotiated,
    timeouts: Timeouts,
    task_timeout: Duration,
    /// The `_meta` of every request of a stateless revision; empty in others.
    meta: Map<String, Value>,
    lists: ListCache,
    /// The output schemas of the tools that have been listed.
    output_schemas: Mutex<HashMap<String, Arc<Validator>>>,
    /// Becomes true when no process of the server is left.
    gone: watch::Receiver<bool>,
    record: Arc<ProcessRecord>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.session.request_close(EXIT_TIMEOUT);
    }
}

impl Client {
    pub(crate) fn new(
        session: Arc<Session>,
        opener: &Opener,
        negotiated: Negotiated,
        (timeouts, task_timeout): (Timeouts, Duration),
        gone: watch::Receiver<bool>,
        record: Arc<ProcessRecord>,
    ) -> Self {
        let revision = negotiated.revision;
        let meta = if revision.opens_with_handshake() { Map::new() } else { opener.meta(revision) };
        Self {
            shared: Arc::new(Shared {
                session,
                negotiated,
                timeouts,
                task_timeout,
                meta,
                lists: ListCache::default(),
                output_schemas: Mutex::default(),
                gone,
                record,
            }),
        }
    }

    /// The revision of the session.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.shared.negotiated.revision
    }

    /// The newest revision that the server has offered, if that is newer than the one of the session: it may be one that
    /// this client does not know, or the server was so slow to respond to `server/discover` that an older one was negotiated
    /// (see [`ClientOptions::probe_timeout`]).
    #[must_use]
    pub fn newer_revision(&self) -> Option<&str> {
        self.revision().newer_among(self.shared.negotiated.offered.get()?)
    }

    /// The name and version of the server (`serverInfo`). The name is empty if the server does not send it.
    #[must_use]
    pub fn server(&self) -> &Implementation {
        &self.shared.negotiated.server
    }

    /// The capabilities of the server.
    #[must_use]
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.shared.negotiated.capabilities
    }

    /// The server's `instructions` for a model.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.shared.negotiated.instructions.as_deref()
    }

    /// Forgets what the server process has written to stderr so far: later errors quote only what follows. Without effect once the
    /// session has ended, because then stderr has the reason.
    pub fn forget_stderr(&self) {
        if !self.session().has_ended() && self.shared.record.exit().is_none() {
            self.shared.record.forget_stderr();
        }
    }

    /// What the server process has written to stdout so far that is not an MCP message, in words. This client skips it; hosts
    /// may reject the server.
    #[must_use]
    pub fn stray_output(&self) -> Option<String> {
        self.session().stray_output()
    }

    /// Whether the session has ended: the server process has exited and is not started again, the connection is closed, or
    /// [`Client::close`] was called. Every further request fails.
    ///
    /// A session on HTTP in a stateless revision has no connection, and ends only when it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.session().has_ended()
    }

    /// Waits until the session has ended, as [`Client::is_closed`] tells. The future does not keep the session open: it ends, too,
    /// when the last clone of the client is dropped.
    ///
    /// ```
    /// use papertape::{Server, memory};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), papertape::client::ClientError> {
    ///     let client = memory::connect(Server::new("notes", "1.0.0")).await?;
    ///     let closed = tokio::spawn(client.closed());
    ///     assert!(!client.is_closed());
    ///     client.close().await;
    ///     closed.await.unwrap();
    ///     Ok(())
    /// }
    /// ```
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let session = Arc::clone(self.session());
        async move { session.ended().await }
    }

    /// Why the session has ended: the server process has exited, or the connection was closed. `None` before, and if this side
    /// has closed it.
    #[must_use]
    pub fn why_closed(&self) -> Option<ClientError> {
        let session = self.session();
        let by_itself = session.has_ended() && !session.is_closing();
        by_itself
            .then(|| session.error("keeping the session open", Failure::new(ErrorKind::Closed, NOT_SENT)))
    }

    /// Closes the session, ends the server process, and waits until no process of its group is left.
    ///
    /// Its stdin is closed; if it does not exit, it gets SIGTERM and then SIGKILL, each after 2 s.
    /// Returns the exit status, if the server was a process.
    pub async fn close(self) -> Option<ExitStatus> {
        self.session().request_close(EXIT_TIMEOUT);
        let mut gone = self.shared.gone.clone();
        // If the sender was dropped, the server is gone, too.
        drop(gone.wait_for(|gone| *gone).await);
        self.shared.record.exit()
    }

    fn session(&self) -> &Arc<Session> {
        &self.shared.session
    }

    fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.negotiated.server.name)
            .field("revision", &self.shared.negotiated.revision)
            .finish_non_exhaustive()
    }
}
