//! A client that opens a server in a revision, and adds to each request what that revision wants.

use std::io;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use serde_json::{Value, json};

use crate::drive::run::Opening;
use crate::drive::{LATEST_LEGACY, MODERN, legacy, modern};
use crate::stdio::process::ServerProcess;
use crate::stdio::recording::KEPT;
use crate::stdio::session::{NoResponse, Session};

/// A response needs so much room in what is kept of stdout, so that only a message which is too long for SDKs can be cut.
const ROOM: usize = 11 * 1024 * 1024;

/// A server that was opened, to be driven further.
#[derive(Debug)]
pub(crate) struct Client {
    /// The session.
    pub(crate) session: Session,
    /// How it was opened.
    pub(crate) opening: Opening,
    /// The revision that it was opened in.
    pub(crate) revision: String,
    /// What it has declared.
    pub(crate) capabilities: Value,
    /// How long a response may take.
    pub(crate) wait: Duration,
}

impl Client {
    /// Starts a server and opens it. Nothing if it does not open, although it may have done so before.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) async fn open(
        command: &ServerCommand,
        opening: Opening,
        wait: Duration,
    ) -> io::Result<Option<Self>> {
        let mut session = Session::new(ServerProcess::start(command)?);
        let opened = if opening == Opening::Modern {
            let index =
                session.request("server/discover", Some(json!({"_meta": modern::meta(MODERN)})), wait).await;
            index.ok().and_then(|index| session.exchanges.get(index)?.result().cloned())
        } else {
            legacy::initialize(&mut session, LATEST_LEGACY, wait).await.ok().flatten()
        };
        let Some(opened) = opened else { return Ok(None) };
        if opening != Opening::Modern && session.notify("notifications/initialized", None).await.is_err() {
            return Ok(None);
        }
        let revision = match opening {
            Opening::Modern => MODERN,
            _ => opened.get("protocolVersion").and_then(Value::as_str).unwrap_or(LATEST_LEGACY),
        };
        Ok(Some(Self {
            session,
            opening,
            revision: revision.to_owned(),
            capabilities: opened.get("capabilities").cloned().unwrap_or_default(),
            wait,
        }))
    }

    /// What it has declared at a JSON pointer, unless that is false.
    pub(crate) fn declares(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer).is_some_and(|value| !value.is_null() && *value != json!(false))
    }

    /// Whether what is kept of stdout has room for a large response.
    pub(crate) fn has_room(&self) -> bool {
        self.session.process.stdout().bytes.len().saturating_add(ROOM) <= KEPT
    }

    /// Sends a request, to be waited for.
    pub(crate) async fn begin(&mut self, method: &str, mut params: Value) -> Result<usize, NoResponse> {
        if let (Opening::Modern, Some(members)) = (self.opening, params.as_object_mut()) {
            members.insert("_meta".to_owned(), modern::meta(MODERN));
        }
        self.session.begin(method, Some(params)).await
    }

    /// Sends a request and waits for its response: its index.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<usize, NoResponse> {
        let index = self.begin(method, params).await?;
        self.session.response(index, self.wait).await?;
        Ok(index)
    }

    /// Sends a request that every server answers at once.
    pub(crate) async fn begin_ping(&mut self) -> Result<usize, NoResponse> {
        let method = if self.opening == Opening::Modern { "server/discover" } else { "ping" };
        self.begin(method, json!({})).await
    }

    /// The same, and waits for its response.
    pub(crate) async fn ping(&mut self) -> Result<usize, NoResponse> {
        let index = self.begin_ping().await?;
        self.session.response(index, self.wait).await?;
        Ok(index)
    }
}
