//! A client of any MCP server, in whichever revision the server supports.
//!
//! - `open` finds out which revision that is, and opens the session
//! - `session` matches responses and notifications to requests, and handles requests of the server
//! - `requests`, `lists`, `skills`, `subscriptions`: what a client can request, by kind
//! - `handlers`: elicitation, sampling and roots, for servers that request input
//! - `error` with `evidence` and `stderr`: why a request failed

mod error;
mod evidence;
mod handlers;
mod input_rounds;
mod lists;
mod open;
mod options;
mod requests;
mod session;
mod skill_mismatch;
#[cfg(feature = "skills")]
mod skills;
mod stderr;
mod subscriptions;

use std::collections::HashMap;
use std::fmt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape_schema::Validator;
use tokio::sync::watch;

pub use error::{ClientError, ErrorKind};
pub(crate) use evidence::{Evidence, ProcessRecord};
pub(crate) use handlers::Handlers;
pub use lists::ListEntry;
pub(crate) use open::{Negotiated, OpenError, Opener};
pub(crate) use options::Timeouts;
pub use options::{CallOptions, ClientOptions, Progress};
#[cfg(feature = "http-client")]
pub(crate) use session::Failure;
pub(crate) use session::Session;
pub use skill_mismatch::SkillMismatch;
pub use subscriptions::{Change, Subscription, SubscriptionFilter};

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
/// # async fn f() -> Result<(), papertape::client::ClientError> {
/// use papertape::stdio::{self, ServerCommand};
/// use serde_json::json;
///
/// let client = stdio::connect(ServerCommand::new("papertape").args(["serve", "grammar"])).await?;
/// let result = client.call("conjugate", json!({"verb": "eat", "tense": "past_simple", "person": "3sg"})).await?;
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    session: Arc<Session>,
    opener: Opener,
    negotiated: Negotiated,
    timeouts: Timeouts,
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
        opener: Opener,
        negotiated: Negotiated,
        timeouts: Timeouts,
        gone: watch::Receiver<bool>,
        record: Arc<ProcessRecord>,
    ) -> Self {
        let output_schemas = Mutex::default();
        Self {
            shared: Arc::new(Shared { session, opener, negotiated, timeouts, output_schemas, gone, record }),
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
