//! Options of a single call.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::options::{FOREVER, Timeouts};
use super::tasks::TaskState;

/// A progress notification.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The progress so far, in units of the server's choice.
    pub progress: f64,
    /// The value of `progress` at which the request is complete, if known.
    pub total: Option<f64>,
    /// A description.
    pub message: Option<String>,
}

pub(crate) type OnProgress = Box<dyn FnMut(Progress) + Send>;
pub(crate) type OnStatus = Box<dyn FnMut(&TaskState) + Send>;

/// Options of a single call, for the methods of [`Client`](crate::Client) that end in `_with`.
///
/// ```
/// use std::time::Duration;
/// use papertape::client::CallOptions;
///
/// let options = CallOptions::new()
///     .timeout(Duration::from_secs(30))
///     .total_timeout(Duration::from_secs(600))
///     .meta("example.com/tenant", "acme")
///     .on_progress(|progress| eprintln!("{} of {:?}", progress.progress, progress.total));
/// ```
#[derive(Default)]
#[must_use]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) total_timeout: Option<Duration>,
    pub(crate) task_timeout: Option<Duration>,
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) on_status: Option<OnStatus>,
    pub(crate) meta: Map<String, Value>,
    pub(crate) fresh: bool,
}

/// The members of `_meta` that MCP defines for requests begin with this, but for the progress token.
const RESERVED: &str = "io.modelcontextprotocol/";

impl CallOptions {
    /// The options of the client, unchanged.
    pub fn new() -> Self {
        Self::default()
    }

    /// The timeout. Each progress notification restarts it, up to [`CallOptions::total_timeout`].
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// The total timeout, regardless of progress notifications; also of a task that the call becomes, unless
    /// [`CallOptions::task_timeout`] is set.
    pub fn total_timeout(mut self, time: Duration) -> Self {
        self.total_timeout = Some(time);
        self
    }

    /// The timeout if the call becomes a task, from the call to its result, in place of
    /// [`ClientOptions::task_timeout`](crate::client::ClientOptions::task_timeout).
    pub fn task_timeout(mut self, time: Duration) -> Self {
        self.task_timeout = Some(time.min(FOREVER));
        self
    }

    /// Requests progress notifications. The callback runs on the connection's task, so it must not block.
    ///
    /// Tasks have no progress notifications: see [`CallOptions::on_status`] for a call that becomes one.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Called with the state of the task that the call has become: at first, and when its status or its message changes.
    pub fn on_status(mut self, callback: impl FnMut(&TaskState) + Send + 'static) -> Self {
        self.on_status = Some(Box::new(callback));
        self
    }

    /// Sends a member of `_meta`, such as `traceparent` or one of your own.
    ///
    /// Members that the protocol sets (`progressToken`, and names that begin with `io.modelcontextprotocol/`) are ignored,
    /// with a warning in the log.
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        if name == "progressToken" || name.starts_with(RESERVED) {
            tracing::warn!("CallOptions::meta: `{name}` is set by the protocol; it was ignored");
        } else {
            self.meta.insert(name, value.into());
        }
        self
    }

    /// Reads a list from the server, even if the one that was read last may still be used (`ttlMs`).
    pub fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    pub(crate) fn timeouts(&self, defaults: Timeouts) -> Timeouts {
        let timeouts = self.timeout.map_or(defaults, |time| defaults.with_idle(time));
        self.total_timeout.map_or(timeouts, |time| timeouts.with_total(time))
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("total_timeout", &self.total_timeout)
            .field("meta", &self.meta.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
