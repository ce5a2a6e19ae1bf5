//! Cancels the task of a call that nothing waits for any more.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use serde_json::Map;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::{Client, Session, about};
use crate::client::options::Timeouts;
use crate::client::session::{OutgoingRequest, Params};
use crate::protocol::method;

/// How long to wait for the acknowledgement, of which nothing depends.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Sends `tasks/cancel` when dropped, unless it is disarmed.
pub(super) struct CancelGuard(Option<(Arc<Session>, Params)>);

impl CancelGuard {
    pub(super) fn new(client: &Client, id: &str) -> Self {
        let params = about(id, Map::from_iter(client.meta(false)));
        Self(Some((Arc::clone(client.session()), params)))
    }

    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some((session, params)) = self.0.take() else { return };
        // Without a runtime there is no connection either.
        let Ok(runtime) = Handle::try_current() else { return };
        let request = OutgoingRequest {
            method: method::TASKS_CANCEL,
            params,
            timeouts: Timeouts { idle: TIMEOUT, total: TIMEOUT },
            deadline: Instant::now() + TIMEOUT,
            on_progress: None,
        };
        let mut sending: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(async move { drop(session.request(request).await) });
        // The request is queued at once: the session may be closed right after this.
        if sending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            runtime.spawn(sending);
        }
    }
}
