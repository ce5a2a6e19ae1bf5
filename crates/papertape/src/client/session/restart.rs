//! A session whose server process is started again: what was pending fails, and new requests wait for the new process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{OutgoingRequest, Params, Pending, RequestOutcome, Session};
use crate::client::options::Timeouts;
use crate::client::subscriptions::ChangeQueue;
use crate::protocol::{Revision, method};

/// The timeout of `logging/setLevel`, on which nothing waits.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Session {
    /// From now on the session outlives its server process.
    pub(crate) fn allow_restarts(&self) {
        self.state().can_restart = true;
    }

    /// Requests wait for the server process, or fail until it is started at the given time.
    pub(crate) fn set_restart(&self, at: Option<Instant>) {
        self.state().restart_at = at;
        self.room.notify_waiters();
    }

    /// The server process was started again and negotiated: waiting requests are sent, and subscriptions renewed. `meta` is that
    /// of requests of a stateless revision.
    pub(crate) async fn resume(self: &Arc<Self>, meta: Map<String, Value>) {
        let (listens, has_handshake) = self.reopen();
        self.room.notify_waiters();
        // At once: a server that leaves one of them without a response must not keep the others from being sent.
        tokio::join!(self.set_log_level_again(has_handshake), self.subscribe_again(listens, meta));
    }

    async fn set_log_level_again(self: &Arc<Self>, has_handshake: bool) {
        if let Some(level) = self.log_level.get().filter(|_| has_handshake) {
            let level = serde_json::to_value(level).unwrap_or_default();
            let request = OutgoingRequest {
                method: method::SET_LEVEL,
                params: Params::new([("level", level)]),
                timeouts: Timeouts { idle: TIMEOUT, total: TIMEOUT },
                deadline: Instant::now() + TIMEOUT,
                on_progress: None,
            };
            if let Err(failure) = self.request(request).await {
                tracing::warn!("setting the log level again failed: {}", failure.kind);
            }
        }
    }

    async fn subscribe_again(self: &Arc<Self>, listens: Vec<Arc<ChangeQueue>>, meta: Map<String, Value>) {
        for queue in listens {
            self.listen_again(&queue, meta.clone()).await;
        }
        self.resubscribe(true).await;
    }

    /// Lets requests pass again. Returns the subscriptions to be renewed, and whether the revision is a session-based one.
    fn reopen(&self) -> (Vec<Arc<ChangeQueue>>, bool) {
        let mut state = self.state();
        state.suspended = false;
        state.restart_at = None;
        state.restarts += 1;
        // What the last process has violated is not the cause of later failures.
        state.fatal = None;
        // It may be another version of the server.
        state.tools_changed = true;
        state.list_changes.iter_mut().for_each(|count| *count += 1);
        let has_handshake = state.revision.is_some_and(Revision::opens_with_handshake);
        (std::mem::take(&mut state.suspended_listens), has_handshake)
    }

    /// Renews a subscription of a stateless revision, and reports what may have changed meanwhile.
    async fn listen_again(self: &Arc<Self>, queue: &Arc<ChangeQueue>, meta: Map<String, Value>) {
        if queue.has_ended() {
            return;
        }
        let requested = queue.requested();
        let mut params = Params::new([("notifications", requested.to_json())]);
        params.push_meta(meta);
        match self.send(method::LISTEN, params, Pending::Listen(Arc::clone(queue))).await {
            Ok(id) => {
                queue.set_id(id);
                // It may have been dropped just now.
                if queue.has_ended() {
                    self.give_up(id, true);
                }
                requested.changes().for_each(|change| queue.deliver(change));
            }
            Err(failure) => queue.finish(RequestOutcome::Failed(failure)),
        }
    }
}
