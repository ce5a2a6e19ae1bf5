//! Subscriptions of session-based revisions when the notification stream, the session or the server process is lost.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "http-client")]
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::client::error::ErrorKind;
use crate::client::options::Timeouts;
#[cfg(feature = "http-client")]
use crate::client::session::Failure;
use crate::client::session::{OutgoingRequest, Params, RequestOutcome, Session};
use crate::protocol::method;

/// The timeout of each `resources/subscribe`.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Session {
    /// The stream of notifications that belong to no request is lost (on HTTP): subscriptions end with the reason. The result is
    /// notified when there is a new subscription.
    #[cfg(feature = "http-client")]
    pub(crate) fn fail_subscriptions(&self, why: &Failure) -> Arc<Notify> {
        let wanted = Arc::new(Notify::new());
        let mut state = self.state();
        state.stream_wanted = Some(Arc::clone(&wanted));
        let lost = std::mem::take(&mut state.subscribers);
        drop(state);
        for queue in lost {
            queue.finish(RequestOutcome::Failed(Failure::new(copy(&why.kind), &*why.stage)));
        }
        wanted
    }

    /// Subscribes to the resources again, because the server may have lost the subscriptions. If it may have sent
    /// notifications meanwhile, everything is reported as changed.
    pub(crate) async fn resubscribe(self: &Arc<Self>, missed: bool) {
        let subscribers = self.state().subscribers.clone();
        for queue in subscribers {
            let agreed = queue.agreed();
            for uri in &agreed.resource_subscriptions {
                let request = OutgoingRequest {
                    method: method::SUBSCRIBE,
                    params: Params::new([("uri", uri.clone().into())]),
                    timeouts: Timeouts { idle: TIMEOUT, total: TIMEOUT },
                    deadline: Instant::now() + TIMEOUT,
                    on_progress: None,
                };
                if let Err(failure) = self.request(request).await {
                    // Its process has exited, too: the subscription waits for the next one.
                    if matches!(failure.kind, ErrorKind::Closed) && self.will_resume() {
                        return;
                    }
                    self.state().subscribers.retain(|other| !Arc::ptr_eq(other, &queue));
                    queue.finish(RequestOutcome::Failed(failure));
                    break;
                }
            }
            if missed {
                agreed.changes().for_each(|change| queue.deliver(change));
            }
        }
    }
}

/// The same failure for another subscription.
#[cfg(feature = "http-client")]
fn copy(kind: &ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Unreachable(why) => ErrorKind::Unreachable(why.clone()),
        ErrorKind::Http { status, message } => ErrorKind::Http { status: *status, message: message.clone() },
        ErrorKind::Unauthorized(why) => ErrorKind::Unauthorized(why.clone()),
        ErrorKind::Protocol(problem) => ErrorKind::Protocol(problem.clone()),
        ErrorKind::Closed => ErrorKind::Closed,
        other => ErrorKind::Protocol(other.to_string()),
    }
}
