//! Options of a client.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::OnStderr;
pub use super::call_options::{CallOptions, Progress};
pub(crate) use super::call_options::{OnProgress, OnStatus};
use super::handlers::Handlers;
use super::log_message::LogMessage;
use super::restart::Restart;
use crate::protocol::capabilities::{ClientCapabilities, Implementation};
use crate::protocol::{
    ElicitResult, FormRequest, RawJson, Revision, Root, SamplingRequest, SamplingResult, UrlRequest,
};
use crate::transport::{Frame, OnFrame};
use crate::wire::{Framing, RpcError};

/// Options of a client.
///
/// ```
/// use std::time::Duration;
/// use papertape::client::ClientOptions;
/// use papertape::protocol::ElicitResult;
///
/// let options = ClientOptions::new()
///     .timeout(Duration::from_secs(10))
///     .on_form(|form| async move {
///         eprintln!("the server requests input: {}", form.message);
///         ElicitResult::decline()
///     });
/// ```
#[must_use]
pub struct ClientOptions {
    pub(crate) identity: Implementation,
    pub(crate) revision: Option<Revision>,
    pub(crate) framing: Framing,
    pub(crate) timeouts: Timeouts,
    pub(crate) handler_timeout: Duration,
    pub(crate) task_timeout: Duration,
    pub(crate) probe_timeout: Duration,
    pub(crate) open_timeout: Duration,
    pub(crate) restart: Option<Restart>,
    pub(crate) frame_limit: usize,
    pub(crate) tape: Option<PathBuf>,
    pub(crate) on_frame: Option<OnFrame>,
    pub(crate) on_stderr: Option<OnStderr>,
    pub(crate) handlers: Handlers,
}

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Since it was sent, or since its last progress notification.
    pub(crate) idle: Duration,
    /// In total.
    pub(crate) total: Duration,
}

/// Stands for "no timeout": small enough to be added to any point in time.
pub(super) const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

impl Default for ClientOptions {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            identity: Implementation {
                name: "papertape".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..Implementation::default()
            },
            revision: None,
            framing: Framing::Line,
            timeouts: Timeouts { idle: minute, total: minute },
            handler_timeout: Duration::from_secs(10 * 60),
            task_timeout: Duration::from_secs(60 * 60),
            probe_timeout: Duration::from_secs(2),
            open_timeout: Duration::from_secs(30),
            restart: None,
            frame_limit: 16 * 1024 * 1024,
            tape: None,
            on_frame: None,
            on_stderr: None,
            handlers: Handlers::default(),
        }
    }
}

impl ClientOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name and version of the client (`clientInfo`).
    pub fn identity(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.identity =
            Implementation { name: name.into(), version: version.into(), ..Implementation::default() };
        self
    }

    /// Uses this revision only. By default the newest revision that the server supports is negotiated.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// The framing of sent messages: one per line by default. Received messages may use either framing.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// The timeout of a request: 60 s. Each progress notification restarts it, up to [`ClientOptions::total_timeout`].
    ///
    /// A total timeout that is less than this is raised to it.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeouts = self.timeouts.with_idle(time);
        self
    }

    /// The total timeout of a request, regardless of progress notifications: 60 s, or the timeout if that is more.
    pub fn total_timeout(mut self, time: Duration) -> Self {
        self.timeouts = self.timeouts.with_total(time);
        self
    }

    /// The timeout of the handlers of elicitation and sampling requests: 10 minutes for each request, or for all of one result
    /// that requests input (2026-07-28). A handler that takes longer is dropped: the server receives an error in session-based
    /// revisions, and the request fails with [`ErrorKind::HandlerFailed`](crate::client::ErrorKind::HandlerFailed) in 2026-07-28.
    /// It is the same for a handler that panics.
    ///
    /// While a handler runs, the timeouts of requests are paused: a user may think for longer than a server may take.
    pub fn handler_timeout(mut self, time: Duration) -> Self {
        self.handler_timeout = time.min(FOREVER);
        self
    }

    /// How long [`Client::call`](crate::Client::call) waits for a call that has become a task: 1 hour. Each request about the task has the ordinary timeouts.
    pub fn task_timeout(mut self, time: Duration) -> Self {
        self.task_timeout = time.min(FOREVER);
        self
    }

    /// Whether to declare the tasks extension, so that servers of 2026-07-28 may turn calls into tasks: yes by default.
    /// [`Client::call`](crate::Client::call) waits for them.
    pub fn tasks(mut self, declared: bool) -> Self {
        self.handlers.set_tasks(declared);
        self
    }

    /// How long a server may leave `server/discover` without a response, as older ones do, before `initialize` is sent too:
    /// 2 s, counted from when a server process has read the request. A later response still counts.
    pub fn probe_timeout(mut self, time: Duration) -> Self {
        self.probe_timeout = time.min(FOREVER);
        self
    }

    /// The timeout of opening a session: 30 s, from starting the server to the end of the negotiation, with every attempt;
    /// a server that has to be started twice does not get more.
    pub fn open_timeout(mut self, time: Duration) -> Self {
        self.open_timeout = time.min(FOREVER);
        self
    }

    /// Starts a server process again that has exited by itself. By default its session ends.
    ///
    /// Calls that were running fail ([`ErrorKind::Closed`](crate::client::ErrorKind::Closed)) and are not repeated, as the server
    /// may have acted on them; later ones wait for the new process, within their timeouts. The revision stays the same.
    /// Subscriptions are renewed, and report everything as changed. When there were too many restarts, the session ends.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = Some(restart);
        self
    }

    /// The maximum size of a frame: 16 MiB.
    pub fn frame_limit(mut self, bytes: usize) -> Self {
        self.frame_limit = bytes;
        self
    }

    /// Records every frame, in both directions, into a file. An existing tape is renamed to `NAME.old`.
    pub fn tape(mut self, path: impl Into<PathBuf>) -> Self {
        self.tape = Some(path.into());
        self
    }

    /// Called with every frame, in both directions. It runs on the connection's task, so it must not block.
    pub fn on_frame(mut self, see: impl FnMut(&Frame<'_>) + Send + 'static) -> Self {
        self.on_frame = Some(Box::new(see));
        self
    }

    /// Called with each line that a server process writes to stderr, without its line end. It runs on the task that reads
    /// stderr, so it must not block. A line of more than 64 KiB comes in parts. The text is the server's: escape control
    /// characters before it reaches a terminal.
    ///
    /// ```
    /// use papertape::client::ClientOptions;
    ///
    /// let options = ClientOptions::new().on_stderr(|line| eprintln!("the server: {}", line.escape_debug()));
    /// ```
    pub fn on_stderr(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stderr = Some(Arc::new(callback));
        self
    }

    /// Called with every log message of the server, also while no call is running. It runs on the connection's task, so it
    /// must not block.
    ///
    /// Servers of stateless revisions send log messages to clients that request a level:
    /// [`Client::set_log_level`](crate::Client::set_log_level).
    ///
    /// ```
    /// use papertape::client::ClientOptions;
    ///
    /// let options = ClientOptions::new().on_log(|message| eprintln!("{:?}: {message}", message.level));
    /// ```
    pub fn on_log(mut self, callback: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.handlers.set_log(callback);
        self
    }

    /// Called with the method and the params of every notification that the client does not handle itself, such as those of
    /// extensions. It runs on the connection's task, so it must not block.
    ///
    /// ```
    /// use papertape::client::ClientOptions;
    ///
    /// let options = ClientOptions::new().on_notification(|method, params| eprintln!("{method}: {params}"));
    /// ```
    pub fn on_notification(mut self, callback: impl Fn(&str, RawJson) + Send + Sync + 'static) -> Self {
        self.handlers.set_notification(callback);
        self
    }

    /// Handles form elicitation. Without this, the client does not declare the capability.
    pub fn on_form<F>(mut self, handler: impl Fn(FormRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.set_form(handler);
        self
    }

    /// Handles URL elicitation. A URL must never be opened without the user's consent.
    pub fn on_url<F>(mut self, handler: impl Fn(UrlRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.set_url(handler);
        self
    }

    /// Handles sampling: requests for a completion by the client's model.
    pub fn on_sampling<F>(mut self, handler: impl Fn(SamplingRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<SamplingResult, RpcError>> + Send + 'static,
    {
        self.handlers.set_sampling(handler);
        self
    }

    /// Declares that the model behind [`ClientOptions::on_sampling`] can use tools, so that servers may pass some.
    pub fn sampling_tools(mut self) -> Self {
        self.handlers.set_sampling_tools();
        self
    }

    /// Declares MCP Apps: the host shows the pages of tools. [`ToolDefinition::ui`](crate::protocol::ToolDefinition::ui) is the
    /// page of a tool, [`ResourceContents::ui`](crate::protocol::ResourceContents::ui) what the page may use.
    pub fn apps(mut self) -> Self {
        self.handlers.set_apps();
        self
    }

    /// Handles every request of the server that has no handler of its own, by its method and its params as they came, and
    /// declares these capabilities: for proxies, which pass requests on. Errors go to the server.
    ///
    /// ```
    /// use papertape::client::ClientOptions;
    /// use papertape::protocol::capabilities::{Abilities, ClientCapabilities};
    /// use papertape::wire::RpcError;
    ///
    /// let forms = ClientCapabilities::from(Abilities { form: true, ..Abilities::default() });
    /// let options = ClientOptions::new().on_request(forms, |method, params| async move {
    ///     eprintln!("the server requests {method}: {params}");
    ///     Err(RpcError::method_not_found(&method))
    /// });
    /// ```
    pub fn on_request<F>(
        mut self,
        capabilities: ClientCapabilities,
        handler: impl Fn(String, RawJson) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, RpcError>> + Send + 'static,
    {
        self.handlers.set_request(capabilities, handler);
        self
    }

    /// The roots, for servers that request them.
    pub fn roots(mut self, roots: Vec<Root>) -> Self {
        self.handlers.set_roots(roots);
        self
    }
}

impl Timeouts {
    pub(crate) fn with_idle(self, time: Duration) -> Self {
        let time = time.min(FOREVER);
        Self { idle: time, total: self.total.max(time) }
    }

    pub(crate) fn with_total(self, time: Duration) -> Self {
        let time = time.min(FOREVER);
        Self { idle: self.idle.min(time), total: time }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("identity", &self.identity.name)
            .field("revision", &self.revision)
            .field("framing", &self.framing)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
