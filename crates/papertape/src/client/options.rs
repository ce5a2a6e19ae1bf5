//! How a client behaves, and whom it asks when a server asks back.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use super::answer::Handlers;
use crate::protocol::capabilities::Implementation;
use crate::protocol::{
    ElicitResult, FormRequest, Revision, Root, SamplingRequest, SamplingResult, UrlRequest,
};
use crate::transport::{Frame, OnFrame};
use crate::wire::{Framing, RpcError};

/// How a client behaves.
///
/// ```
/// use std::time::Duration;
/// use papertape::ClientOptions;
/// use papertape::protocol::ElicitResult;
///
/// let options = ClientOptions::new()
///     .timeout(Duration::from_secs(10))
///     .on_form(|form| async move {
///         eprintln!("the server asks: {}", form.message);
///         ElicitResult::decline()
///     });
/// ```
#[must_use]
pub struct ClientOptions {
    pub(crate) identity: Implementation,
    pub(crate) revision: Option<Revision>,
    pub(crate) framing: Framing,
    pub(crate) timing: Timing,
    /// How long a handler may take to answer the server.
    pub(crate) answering: Duration,
    pub(crate) probe_timeout: Duration,
    pub(crate) open_timeout: Duration,
    /// The largest frame in bytes.
    pub(crate) frame: usize,
    pub(crate) tape: Option<PathBuf>,
    pub(crate) on_frame: Option<OnFrame>,
    pub(crate) handlers: Handlers,
}

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Without a sign of life.
    pub(crate) silence: Duration,
    /// Whatever happens.
    pub(crate) longest: Duration,
}

/// Longer than anybody waits, and short enough to reckon with.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

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
            timing: Timing { silence: minute, longest: minute },
            answering: Duration::from_secs(10 * 60),
            probe_timeout: Duration::from_secs(2),
            open_timeout: Duration::from_secs(30),
            frame: 16 * 1024 * 1024,
            tape: None,
            on_frame: None,
            handlers: Handlers::default(),
        }
    }
}

impl ClientOptions {
    /// What most clients want.
    pub fn new() -> Self {
        Self::default()
    }

    /// How the client introduces itself.
    pub fn identity(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.identity =
            Implementation { name: name.into(), version: version.into(), ..Implementation::default() };
        self
    }

    /// Speaks this revision and no other. Otherwise the server is asked what it speaks.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// How what is sent is framed: a line per message, unless told otherwise. What comes is understood either way.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// How long a call may take: 60 s. Each word of progress begins it anew, up to [`ClientOptions::longest`].
    ///
    /// If that was less, it becomes the same.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timing = self.timing.with_timeout(time);
        self
    }

    /// How long a call may take whatever progress it makes: 60 s, or the time-out if that is more.
    pub fn longest(mut self, time: Duration) -> Self {
        self.timing = self.timing.with_longest(time);
        self
    }

    /// How long the handlers of the server's questions may take each time: 10 minutes.
    ///
    /// That time does not count as the call's: a person may think for longer than a server may.
    pub fn answer_timeout(mut self, time: Duration) -> Self {
        self.answering = time.min(FOREVER);
        self
    }

    /// How long a server may leave `server/discover` unanswered, as older ones may, before `initialize` is tried too: 2 s,
    /// counted from when a server that was started has read the question. An answer that comes later still counts.
    pub fn probe_timeout(mut self, time: Duration) -> Self {
        self.probe_timeout = time.min(FOREVER);
        self
    }

    /// How long the whole opening may take: 30 s. That is until the server has said what it speaks and offers, with all
    /// that has to be tried for it; a server that has to be started twice gets no more time.
    pub fn open_timeout(mut self, time: Duration) -> Self {
        self.open_timeout = time.min(FOREVER);
        self
    }

    /// The most bytes a frame may have: 16 MiB.
    pub fn frame_limit(mut self, bytes: usize) -> Self {
        self.frame = bytes;
        self
    }

    /// Records every frame, both ways, into a file. A tape that is there already is kept beside it, as `NAME.old`.
    pub fn tape(mut self, path: impl Into<PathBuf>) -> Self {
        self.tape = Some(path.into());
        self
    }

    /// Shows every frame, both ways, as it crosses. It is called on the connection's own task, so it should be quick.
    pub fn on_frame(mut self, see: impl FnMut(&Frame<'_>) + Send + 'static) -> Self {
        self.on_frame = Some(Box::new(see));
        self
    }

    /// Answers forms that a server has for the user. Without this, the server is told that there is nobody to ask.
    pub fn on_form<F>(mut self, answer: impl Fn(FormRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.set_form(answer);
        self
    }

    /// Answers for the user when a server wants a page visited. A page must never be opened without consent.
    pub fn on_url<F>(mut self, answer: impl Fn(UrlRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.set_url(answer);
        self
    }

    /// Answers for a model when a server wants one to go on.
    pub fn on_sampling<F>(mut self, answer: impl Fn(SamplingRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<SamplingResult, RpcError>> + Send + 'static,
    {
        self.handlers.set_sampling(answer);
        self
    }

    /// Says that the model behind [`ClientOptions::on_sampling`] can use tools, so that servers may give it some.
    pub fn sampling_tools(mut self) -> Self {
        self.handlers.set_sampling_tools();
        self
    }

    /// Where the user's files are, for servers that ask.
    pub fn roots(mut self, roots: Vec<Root>) -> Self {
        self.handlers.set_roots(roots);
        self
    }
}

impl Timing {
    pub(crate) fn with_timeout(self, time: Duration) -> Self {
        let time = time.min(FOREVER);
        Self { silence: time, longest: self.longest.max(time) }
    }

    pub(crate) fn with_longest(self, time: Duration) -> Self {
        let time = time.min(FOREVER);
        Self { silence: self.silence.min(time), longest: time }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("identity", &self.identity.name)
            .field("revision", &self.revision)
            .field("framing", &self.framing)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

/// How far a call has got, in the server's own measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// So much is done.
    pub progress: f64,
    /// Of so much.
    pub total: Option<f64>,
    /// A word about it.
    pub message: Option<String>,
}

/// How one call differs from the others.
#[derive(Default)]
#[must_use]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) longest: Option<Duration>,
    pub(crate) on_progress: Option<OnProgress>,
}

pub(crate) type OnProgress = Box<dyn FnMut(Progress) + Send>;

impl CallOptions {
    /// A call like any other.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long it may take. Each word of progress begins it anew, up to [`CallOptions::longest`].
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// How long it may take whatever progress it makes.
    pub fn longest(mut self, time: Duration) -> Self {
        self.longest = Some(time);
        self
    }

    /// Asks for progress. It is called on the connection's own task, so it should be quick.
    pub fn on_progress(mut self, tell: impl FnMut(Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(tell));
        self
    }

    pub(crate) fn timing(&self, usual: Timing) -> Timing {
        let timing = self.timeout.map_or(usual, |time| usual.with_timeout(time));
        self.longest.map_or(timing, |time| timing.with_longest(time))
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("longest", &self.longest)
            .finish_non_exhaustive()
    }
}
