//! Progress of a call: what a handler may pass, and how often it is sent.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::protocol::{method, project};
use crate::server::handler::context::Cx;
use crate::server::pipeline::run::Call;
use crate::sync::lock;
use crate::wire::Id;

mod sealed {
    pub trait Sealed {}
}

/// A number of any type, for [`Cx::progress`].
pub trait ProgressNumber: sealed::Sealed {
    #[doc(hidden)]
    fn number(self) -> f64;
}

/// A number of any type or `None`, for [`Cx::progress`].
pub trait ProgressTotal: sealed::Sealed {
    #[doc(hidden)]
    fn total(self) -> Option<f64>;
}

/// A text or `None`, for [`Cx::progress`].
pub trait ProgressMessage<'m>: sealed::Sealed {
    #[doc(hidden)]
    fn message(self) -> Option<Cow<'m, str>>;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}

        impl ProgressNumber for $number {
            // Progress of more than 2^53 steps need not be exact.
            #[allow(clippy::allow_attributes, clippy::cast_lossless, reason = "one line for all types")]
            fn number(self) -> f64 {
                self as f64
            }
        }

        impl ProgressTotal for $number {
            fn total(self) -> Option<f64> {
                Some(self.number())
            }
        }
    )*};
}

numbers! { f64 f32 i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

// One type only, so that `None` alone is understood.
impl sealed::Sealed for Option<f64> {}

impl ProgressTotal for Option<f64> {
    fn total(self) -> Option<f64> {
        self
    }
}

impl sealed::Sealed for &str {}
impl sealed::Sealed for &String {}
impl sealed::Sealed for String {}
impl sealed::Sealed for Option<&str> {}

impl<'m> ProgressMessage<'m> for &'m str {
    fn message(self) -> Option<Cow<'m, str>> {
        Some(self.into())
    }
}

impl<'m> ProgressMessage<'m> for &'m String {
    fn message(self) -> Option<Cow<'m, str>> {
        Some(self.into())
    }
}

impl<'m> ProgressMessage<'m> for String {
    fn message(self) -> Option<Cow<'m, str>> {
        Some(self.into())
    }
}

impl<'m> ProgressMessage<'m> for Option<&'m str> {
    fn message(self) -> Option<Cow<'m, str>> {
        self.map(Into::into)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a Id,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl<S> Cx<S> {
    /// Notifies the client of progress: `done` of `total`, and a message.
    ///
    /// Nothing is sent without a progress token in the request, if `done` has not grown, or after the response; and at most one
    /// notification is sent in 20 ms: of several calls within that time the last counts, and is sent at its end. So call it as
    /// often as is convenient. In a [task](crate::server::Tool::long_running) the message is
    /// the task's status (`statusMessage`), because tasks have no progress; it changes twice a second at most.
    ///
    /// ```
    /// fn read(cx: papertape::Cx, files: Vec<String>) {
    ///     cx.progress(3, 10, "reading");
    ///     cx.progress(4.5, None, None);
    ///     for (index, file) in files.iter().enumerate() {
    ///         cx.progress(index, files.len(), format!("reading {file}"));
    ///     }
    /// }
    /// ```
    pub fn progress<'m>(
        &self,
        done: impl ProgressNumber,
        total: impl ProgressTotal,
        message: impl ProgressMessage<'m>,
    ) {
        if let Some(status) = self.call.flags.status.get() {
            if let Some(message) = message.message() {
                status.set(message.into_owned());
            }
            return;
        }
        if self.call.progress_token.is_none() {
            return;
        }
        let (done, total) = (done.number(), total.total().filter(|total| total.is_finite()));
        // Held until it is sent, so that the progress of several threads goes out in order.
        let mut last = lock(&self.call.flags.progress);
        let Some(due) = last.advance(done, total) else { return };
        let step = Step { done, total, message: message.message().map(Cow::into_owned) };
        match due {
            Due::Now => step.send(&self.call),
            Due::At(time) => last.hold_back(step, time, &self.call),
        }
    }
}

/// Progress of a call, as it is sent.
struct Step {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Step {
    fn send(self, call: &Call) {
        let Some(token) = &call.progress_token else { return };
        let message = project::progress_message(self.message, call.revision);
        let params =
            ProgressParams { progress_token: token, progress: self.done, total: self.total, message };
        call.session.notify_unless(&call.flags.answered, method::PROGRESS, &params);
    }
}

/// The last message of a task, from its handler to what stores the task.
#[derive(Debug, Default)]
pub(crate) struct StatusMessages(watch::Sender<Status>);

#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) message: Option<String>,
    /// The handler does not run.
    pub(crate) ended: bool,
}

impl StatusMessages {
    fn set(&self, message: String) {
        self.0.send_modify(|status| status.message = Some(message));
    }

    pub(crate) fn set_ended(&self, ended: bool) {
        self.0.send_modify(|status| status.ended = ended);
    }

    /// What was said last.
    pub(crate) fn last(&self) -> Option<String> {
        self.0.borrow().message.clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Status> {
        self.0.subscribe()
    }
}

/// The progress of a call.
pub(crate) struct LastProgress {
    /// How far it has come.
    value: f64,
    /// When some was last sent.
    sent: Option<Instant>,
    /// The total has been reached, which is sent at once, but once only.
    arrived: bool,
    /// The last that came too soon to be sent.
    held_back: Option<Step>,
    /// Where what is held back waits: handlers may report progress from threads of their own.
    runtime: Option<Handle>,
}

/// When progress is to be sent.
enum Due {
    Now,
    At(Instant),
}

/// Progress is sent at most this often, except the first and the last.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(20);

impl LastProgress {
    /// That of a call which has begun; `wanted` if the client has sent a token for it.
    pub(crate) fn new(wanted: bool) -> Self {
        let runtime = if wanted { Handle::try_current().ok() } else { None };
        Self { value: f64::NEG_INFINITY, sent: None, arrived: false, held_back: None, runtime }
    }

    /// When this is to be sent, if it is more than what came before. Now counts as sent.
    fn advance(&mut self, done: f64, total: Option<f64>) -> Option<Due> {
        if !done.is_finite() || done <= self.value {
            return None;
        }
        self.value = done;
        let now = Instant::now();
        let next = self.sent.map(|sent| sent + BETWEEN_PROGRESS).filter(|next| now < *next);
        let arrives = !self.arrived && total.is_some_and(|total| done >= total);
        if let Some(next) = next.filter(|_| !arrives) {
            return Some(Due::At(next));
        }
        self.sent = Some(now);
        self.arrived |= arrives;
        self.held_back = None;
        Some(Due::Now)
    }

    /// Keeps the last of what comes too soon, and sends it later: a handler may say what it begins, and then be silent for long.
    fn hold_back(&mut self, step: Step, until: Instant, call: &Arc<Call>) {
        // There is one timer at a time, and only where something is held back.
        if self.held_back.replace(step).is_some() {
            return;
        }
        let Some(runtime) = &self.runtime else { return };
        let call = Arc::downgrade(call);
        runtime.spawn(async move {
            tokio::time::sleep_until(until).await;
            let Some(call) = call.upgrade() else { return };
            let mut last = lock(&call.flags.progress);
            if let Some(step) = last.held_back.take() {
                last.sent = Some(Instant::now());
                step.send(&call);
            }
        });
    }
}
