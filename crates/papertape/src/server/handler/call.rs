//! [`Call`]: what is known of a request while its handler runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::Trace;
use crate::protocol::{LogLevel, Revision};
use crate::server::elicitation::request_state::RequestState;
use crate::server::features::Feature;
use crate::server::service::Service;
use crate::server::session::{ReplyTo, Session};
use crate::wire::Id;

/// What is known of a call while it runs. Its flags change under the lock of its session only.
pub(crate) struct Call {
    pub(crate) service: Arc<Service>,
    /// What it is a call of.
    pub(crate) feature: Feature,
    pub(crate) session: Arc<Session>,
    /// Where its response goes.
    pub(crate) to: ReplyTo,
    /// The size of its request.
    pub(crate) bytes: usize,
    pub(crate) revision: Revision,
    pub(crate) progress_token: Option<Id>,
    pub(crate) span: tracing::Span,
    /// The distributed trace that the request is part of.
    pub(crate) trace: Option<Trace>,
    /// The log level that the request sets, in stateless revisions.
    pub(crate) log_level: Option<LogLevel>,
    /// The capabilities of the client.
    pub(crate) abilities: Abilities,
    /// What was elicited so far.
    pub(crate) request_state: Mutex<RequestState>,
    /// What elicitation state is sealed for, if the client supports elicitation.
    pub(crate) purpose: Vec<u8>,
    pub(crate) flags: Flags,
}

impl Call {
    /// From here on nothing more is sent for this call.
    pub(crate) fn set_answered(&self) {
        self.flags.answered.store(true, Ordering::Relaxed);
    }

    /// The client no longer waits for this call.
    pub(crate) fn set_cancelled(&self) {
        self.set_answered();
        self.flags.cancelled.store(true, Ordering::Relaxed);
    }
}

/// What has become of a call.
#[derive(Default)]
pub(crate) struct Flags {
    pub(crate) cancelled: AtomicBool,
    pub(crate) answered: AtomicBool,
    pub(crate) progress: Mutex<LastProgress>,
}

pub(crate) struct LastProgress {
    value: f64,
    sent: Option<Instant>,
    /// The total has been reached, which is sent at once, but once only.
    arrived: bool,
}

impl Default for LastProgress {
    fn default() -> Self {
        Self { value: f64::NEG_INFINITY, sent: None, arrived: false }
    }
}

/// Progress is sent at most this often, except the first and the last.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(20);

impl LastProgress {
    /// Whether it is to be sent, in which case it counts as sent.
    pub(crate) fn advance(&mut self, done: f64, total: Option<f64>) -> bool {
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
