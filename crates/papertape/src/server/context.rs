//! `Cx`: what a handler can do besides returning.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::dispatch::Service;
use super::tool::Registered;
use crate::link::{Link, ReplyTo};
use crate::protocol::{Revision, method, project};
use crate::wire::Id;

/// The call a handler is answering.
///
/// A call that is cancelled is simply not polled again; blocking work that runs elsewhere asks [`Cx::cancelled`].
#[derive(Clone)]
pub struct Cx {
    call: Arc<Call>,
}

/// What is known of a call while it runs. Its flags change under the link's lock only.
pub(crate) struct Call {
    pub(crate) service: Arc<Service>,
    pub(crate) tool: Arc<Registered>,
    pub(crate) link: Arc<Link>,
    /// Where its answer goes.
    pub(crate) to: ReplyTo,
    /// The size of its request.
    pub(crate) bytes: usize,
    pub(crate) revision: Revision,
    pub(crate) progress_token: Option<Id>,
    pub(crate) span: tracing::Span,
    pub(super) flags: Flags,
}

/// What becomes of a call.
#[derive(Default)]
pub(super) struct Flags {
    cancelled: AtomicBool,
    answered: AtomicBool,
    progress: Mutex<LastProgress>,
}

struct LastProgress {
    value: f64,
    sent: Option<Instant>,
    /// The total has been reached, which is told at once, but once only.
    arrived: bool,
}

impl Default for LastProgress {
    fn default() -> Self {
        Self { value: f64::NEG_INFINITY, sent: None, arrived: false }
    }
}

/// Progress is told at most this often, except the first and the last.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(20);

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

impl Cx {
    pub(super) fn new(call: &Arc<Call>) -> Self {
        Self { call: Arc::clone(call) }
    }

    /// Tells the client how far the call has got: `done` of `total`, and a word about it.
    ///
    /// Nothing is sent if the client did not ask, if `done` has not grown, after the answer, or sooner than a client
    /// could make use of; call it as often as is convenient.
    ///
    /// ```
    /// # fn f(cx: papertape::Cx) {
    /// cx.progress(3.0, 10.0, "reading");
    /// cx.progress(4.0, None, None);
    /// # }
    /// ```
    pub fn progress<'m>(
        &self,
        done: f64,
        total: impl Into<Option<f64>>,
        message: impl Into<Option<&'m str>>,
    ) {
        let Some(token) = &self.call.progress_token else { return };
        let total = total.into().filter(|total| total.is_finite());
        // Held until it is sent, so that what several threads tell goes out in order.
        let mut last = self.call.flags.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.is_worth_telling(done, total) {
            return;
        }
        let message = project::progress_message(message.into().map(str::to_owned), self.call.revision);
        let params = ProgressParams { progress_token: token, progress: done, total, message };
        self.call.link.notify_unless(&self.call.flags.answered, method::PROGRESS, &params);
    }

    /// Whether the client has taken the call back, or the connection has ended. For blocking work that should stop.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.call.flags.cancelled.load(Ordering::Relaxed)
    }
}

impl LastProgress {
    /// Whether it is worth telling, in which case it counts as told.
    fn is_worth_telling(&mut self, done: f64, total: Option<f64>) -> bool {
        if !done.is_finite() || done <= self.value {
            return false;
        }
        let now = Instant::now();
        let too_soon = self.sent.is_some_and(|sent| now.duration_since(sent) < BETWEEN_PROGRESS);
        let arrives = !self.arrived && total.is_some_and(|total| done >= total);
        if too_soon && !arrives {
            return false;
        }
        *self = Self { value: done, sent: Some(now), arrived: self.arrived || arrives };
        true
    }
}

impl Call {
    /// From here on nothing more is sent for this call.
    pub(crate) fn set_answered(&self) {
        self.flags.answered.store(true, Ordering::Relaxed);
    }

    /// Nobody waits for this call any more.
    pub(crate) fn set_cancelled(&self) {
        self.set_answered();
        self.flags.cancelled.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("cancelled", &self.cancelled()).finish_non_exhaustive()
    }
}
