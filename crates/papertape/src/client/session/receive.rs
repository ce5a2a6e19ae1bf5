//! Frames of the server to pending requests, subscriptions and handlers. Output that is not a message is kept for errors and
//! gets no response.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::only_pending;
use super::{Failure, Pending, RequestOutcome, Session};
use crate::callback::unless_it_panics;
use crate::client::error::MOST_BYTES;
use crate::client::options::Progress;
use crate::client::subscriptions::{Change, ChangeQueue};
use crate::protocol::method;
use crate::wire::error::excerpt;
use crate::wire::frame::FrameError;
use crate::wire::message::{
    self, Bounds, Message, Notification, Payload, Request, Response, id_at_the_beginning, object,
};
use crate::wire::{Id, RpcError};

/// Deeper than any useful message; a parser would have to recurse.
const BOUNDS: Bounds = Bounds { depth: 127, batch: 1_000 };

/// The notifications that a session handles itself, besides log messages.
const HANDLED: [&str; 8] = [
    method::PROGRESS,
    method::CANCELLED,
    method::ACKNOWLEDGED,
    method::TOOLS_CHANGED,
    method::PROMPTS_CHANGED,
    method::RESOURCES_CHANGED,
    method::RESOURCE_UPDATED,
    method::TASK_CHANGED,
];

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NotificationParams<'a> {
    #[serde(borrow, default, rename = "_meta", deserialize_with = "object")]
    meta: Option<NotificationMeta<'a>>,
    #[serde(borrow, default)]
    progress_token: Option<&'a RawValue>,
    progress: Option<f64>,
    total: Option<f64>,
    message: Option<String>,
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
    uri: Option<String>,
    task_id: Option<String>,
    #[serde(borrow, default)]
    notifications: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct NotificationMeta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<&'a RawValue>,
}

impl Session {
    /// Handles one frame of the server.
    pub(crate) fn receive(self: &Arc<Self>, body: &[u8]) {
        match message::parse(body, BOUNDS) {
            Ok(Payload::Single(message)) => self.message(message, body),
            // Only one revision has batches, but accepting them does no harm.
            Ok(Payload::Batch(members)) => {
                for member in members {
                    match message::parse_member(member) {
                        Ok(message) => self.message(message, member.get().as_bytes()),
                        Err(rejected) => self.rejected(&rejected, member.get().as_bytes()),
                    }
                }
            }
            Err(rejected) => self.rejected(&rejected, body),
        }
    }

    /// Handles the bytes before the end of the output: a last message without its line end, or stray output.
    pub(crate) fn receive_unfinished(self: &Arc<Self>, body: &[u8]) {
        if message::parse(body, BOUNDS).is_ok() {
            self.receive(body);
        } else {
            self.stray(body);
            self.state().stray.unfinished = true;
        }
    }

    /// Handles bytes that are not a frame.
    pub(crate) fn receive_invalid(&self, error: &FrameError, beginning: &[u8]) {
        let id = match error {
            FrameError::TooLong { .. } => id_at_the_beginning(beginning),
            FrameError::Header(_) | FrameError::Truncated => None,
        };
        if error.is_fatal() {
            let bytes = beginning.get(..MOST_BYTES).unwrap_or(beginning).to_vec();
            self.state().fatal.get_or_insert((error.to_string(), bytes));
        }
        self.stray(beginning);
        self.fail(id, error.to_string(), beginning);
    }

    /// Keeps output that is not a message, for errors. It gets no response.
    fn stray(&self, bytes: &[u8]) {
        let mut state = self.state();
        if state.is_http {
            drop(state);
            let text = excerpt(&String::from_utf8_lossy(bytes));
            tracing::info!("the server sent something that is not an MCP message: {text}");
            return;
        }
        state.stray.add(bytes);
        if state.stray.count == 1 {
            let text = excerpt(&String::from_utf8_lossy(bytes));
            tracing::info!("the server wrote something to stdout that is not an MCP message: {text}");
        }
    }

    fn rejected(&self, rejected: &message::Rejected, bytes: &[u8]) {
        match &rejected.id {
            Some(id) if rejected.is_response => {
                let problem = match rejected.error.message.as_str() {
                    message::NO_METHOD => "a response has neither `result` nor `error`",
                    other => other,
                };
                self.fail(Some(id.clone()), problem.to_owned(), bytes);
            }
            _ => self.stray(bytes),
        }
    }

    fn message(self: &Arc<Self>, message: Message<'_>, bytes: &[u8]) {
        match message {
            Message::Response(response) => self.response(response, bytes),
            Message::Request(request) if self.is_own(&request) => {
                let problem =
                    format!("it echoes its input (the client's own `{}` came back)", request.method);
                self.fail(Some(request.id), problem, bytes);
            }
            Message::Request(request) => self.handle(request),
            Message::Notification(notification) => self.notification(&notification),
        }
    }

    /// Whether a request is the one that this client has just sent to open the session, which servers do not send.
    fn is_own(&self, request: &Request<'_>) -> bool {
        [method::INITIALIZE, method::DISCOVER].contains(&&*request.method)
            && matches!(request.id, Id::Integer(id) if self.state().pending.contains_key(&id))
    }

    fn response(&self, response: Response<'_>, bytes: &[u8]) {
        let present = |member: &&RawValue| member.get() != "null";
        let error = response.error.filter(present);
        let outcome = match (response.result, error) {
            (Some(result), None) => Ok(RequestOutcome::Result(result.to_owned())),
            (None, Some(error)) => read_error(error).map(RequestOutcome::Error),
            (Some(result), Some(error)) if result.get() == "null" => {
                read_error(error).map(RequestOutcome::Error)
            }
            (Some(_), Some(_)) => Err("a response has both `result` and `error`".to_owned()),
            (None, None) => Err("the `error` of a response is null".to_owned()),
        };
        match outcome {
            // An error without an id can only be about a pending request.
            Ok(RequestOutcome::Error(error)) if response.id.is_none() => {
                let problem = format!("an error without the id of its request: {error}");
                self.fail(None, problem, bytes);
            }
            Ok(outcome) => self.resolve(response.id.as_ref(), outcome),
            Err(problem) => self.fail(response.id, problem, bytes),
        }
    }

    /// Fails the request with that id; or the only pending one, if the id is not known.
    fn fail(&self, id: Option<Id>, problem: String, bytes: &[u8]) {
        let id = id.or_else(|| only_pending(&self.state()).map(Id::Integer));
        if id.is_none() {
            return self.stray(bytes);
        }
        self.resolve(id.as_ref(), RequestOutcome::Failed(Failure::protocol(problem, bytes)));
    }

    /// Ends a pending request. A response to none is ignored: it may be late, or a second one.
    pub(super) fn resolve(&self, id: Option<&Id>, outcome: RequestOutcome) {
        let number = match id {
            Some(Id::Integer(number)) => Some(*number),
            // Some servers turn every id into a string.
            Some(Id::Text(text)) => text.parse().ok(),
            _ => None,
        };
        let pending = number.and_then(|number| {
            let mut state = self.state();
            if let Some(exchange) = state.exchanges.remove(&number) {
                exchange.responded.notify_one();
            }
            state.pending.remove(&number)
        });
        match pending {
            // The receiver may have been dropped just now.
            Some(Pending::Call(call)) => drop(call.outcome.send(outcome)),
            Some(Pending::Listen(queue)) => queue.finish(outcome),
            None if std::mem::replace(&mut self.state().logged_unexpected, true) => {}
            None => {
                tracing::info!(?id, "ignored a response to no pending request; further ones are not logged")
            }
        }
    }

    fn notification(&self, notification: &Notification<'_>) {
        let method = &*notification.method;
        if method == method::LOG_MESSAGE {
            return self.handlers.log(notification.params.map_or("{}", RawValue::get));
        }
        if !HANDLED.contains(&method) {
            return self.handlers.notification(method, notification.params);
        }
        let params = match notification.params.map(|raw| serde_json::from_str(raw.get())) {
            None => NotificationParams::default(),
            Some(Ok(params)) => params,
            Some(Err(error)) => {
                tracing::info!(%error, %method, "ignored a notification with invalid params");
                return;
            }
        };
        match method {
            method::PROGRESS => self.progress(&params),
            method::CANCELLED => self.cancelled(&params),
            method::ACKNOWLEDGED => {
                if let Some(queue) = self.subscription(&params) {
                    queue.acknowledge(params.notifications.map_or("{}", RawValue::get));
                }
            }
            method::TOOLS_CHANGED => self.changed(&Change::Tools, &params),
            method::PROMPTS_CHANGED => self.changed(&Change::Prompts, &params),
            method::RESOURCES_CHANGED => self.changed(&Change::Resources, &params),
            method::RESOURCE_UPDATED => {
                if let Some(uri) = &params.uri {
                    self.changed(&Change::Resource(uri.clone()), &params);
                }
            }
            method::TASK_CHANGED => {
                if let Some(id) = &params.task_id {
                    self.changed(&Change::Task(id.clone()), &params);
                }
            }
            _ => {}
        }
    }

    fn progress(&self, params: &NotificationParams<'_>) {
        let Some(progress) = params.progress else { return };
        let Some(Id::Integer(id)) = params.progress_token.and_then(|raw| Id::parse(raw.get()).ok()) else {
            return;
        };
        let (mut on_progress, progressed) = match self.state().pending.get_mut(&id) {
            Some(Pending::Call(call)) => (call.on_progress.take(), Arc::clone(&call.progressed)),
            _ => return,
        };
        progressed.notify_one();
        let Some(callback) = &mut on_progress else { return };
        // The callback does not run under our lock.
        let news = Progress { progress, total: params.total, message: params.message.clone() };
        unless_it_panics("on_progress", || callback(news));
        if let Some(Pending::Call(call)) = self.state().pending.get_mut(&id) {
            call.on_progress = on_progress;
        }
    }

    /// The server cancels a request of its own, or ends a subscription.
    fn cancelled(&self, params: &NotificationParams<'_>) {
        let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get()).ok()) else { return };
        self.stop_handling(&id);
        let mut state = self.state();
        if let Id::Integer(number) = id
            && let Some(Pending::Listen(_)) = state.pending.get(&number)
            && let Some(Pending::Listen(queue)) = state.pending.remove(&number)
        {
            drop(state);
            queue.end();
        }
    }

    fn changed(&self, change: &Change, params: &NotificationParams<'_>) {
        if let Some(at) = change.list_index() {
            let mut state = self.state();
            state.tools_changed |= *change == Change::Tools;
            if let Some(count) = state.list_changes.get_mut(at) {
                *count += 1;
            }
        }
        let queues = match self.subscription(params) {
            Some(queue) => vec![queue],
            None => self.state().subscribers.clone(),
        };
        for queue in queues {
            queue.deliver(change.clone());
        }
    }

    /// The subscription that a notification belongs to.
    fn subscription(&self, params: &NotificationParams<'_>) -> Option<Arc<ChangeQueue>> {
        let raw = params.meta.as_ref()?.subscription?;
        let Ok(Id::Integer(id)) = Id::parse(raw.get()) else { return None };
        match self.state().pending.get(&id) {
            Some(Pending::Listen(queue)) => Some(Arc::clone(queue)),
            _ => None,
        }
    }
}

fn read_error(raw: &RawValue) -> Result<RpcError, String> {
    serde_json::from_str(raw.get()).map_err(|error| format!("the `error` of a response is invalid: {error}"))
}
