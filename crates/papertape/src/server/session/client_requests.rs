//! Requests of the server's own to a session-based client: elicitation, sampling, roots.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Session;
use crate::protocol::method;
use crate::wire::message::{write_notification, write_request};
use crate::wire::{Id, RpcError};

/// The response of a client.
pub(crate) type ClientResponse = Result<Box<RawValue>, RpcError>;

/// The requests that have no response yet.
#[derive(Default)]
pub(super) struct ClientRequests {
    waiting: BTreeMap<i64, oneshot::Sender<ClientResponse>>,
    last: i64,
    /// No response can come any more.
    ended: bool,
}

/// A request to the client, which is cancelled when this is dropped before the response has come.
pub(crate) struct SentRequest {
    session: Arc<Session>,
    id: i64,
    response: oneshot::Receiver<ClientResponse>,
}

impl Session {
    /// Sends a request to a session-based client.
    pub(crate) fn request(self: &Arc<Self>, method: &str, params: &Value) -> SentRequest {
        let (sender, response) = oneshot::channel();
        let mut parent = self.parent().state();
        let requests = &mut parent.client_requests;
        requests.last += 1;
        let (id, ended) = (requests.last, requests.ended);
        if !ended {
            requests.waiting.insert(id, sender);
        }
        drop(parent);
        if !ended {
            let mut state = self.state();
            state.out.push(|out| write_request(out, &Id::Integer(id), method, Some(params)));
            state.wakeup.wake();
        }
        SentRequest { session: Arc::clone(self), id, response }
    }

    /// Takes a response of the client's; false if it responds to no request of the server's.
    pub(crate) fn take_response(&self, id: &Id, response: ClientResponse) -> bool {
        let Id::Integer(id) = id else { return false };
        let sender = self.parent().state().client_requests.waiting.remove(id);
        match sender {
            Some(sender) => {
                // A handler that no longer waits has dropped its end.
                drop(sender.send(response));
                true
            }
            None => false,
        }
    }

    /// No response can come any more.
    pub(crate) fn end_client_requests(&self) {
        let mut state = self.state();
        state.client_requests.ended = true;
        state.client_requests.waiting.clear();
    }
}

impl SentRequest {
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// The response; `None` if the connection ended before it came.
    pub(crate) async fn response(mut self) -> Option<ClientResponse> {
        (&mut self.response).await.ok()
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        let waiting = self.session.parent().state().client_requests.waiting.remove(&self.id);
        if waiting.is_some() {
            let params = serde_json::json!({"requestId": self.id});
            let mut state = self.session.state();
            state.out.push(|out| write_notification(out, method::CANCELLED, Some(&params)));
            state.wakeup.wake();
        }
    }
}
