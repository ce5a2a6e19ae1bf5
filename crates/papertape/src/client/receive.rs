//! Frames to whoever waits for them. Garbage is noted and never answered.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use tokio::time::timeout;

use super::error::MOST_BYTES;
use super::listen::Change;
use super::options::Progress;
use super::session::{Answer, Session, Trouble, Waiting};
use crate::outbox::{Reply, write_json, write_reply};
use crate::protocol::meta::object;
use crate::protocol::{Revision, method};
use crate::wire::frame::Fault;
use crate::wire::message::{
    self, Bounds, Message, Notification, Payload, Request, Response, id_at_the_beginning,
};
use crate::wire::{Id, RpcError};

/// Deeper than any honest message; a parser would have to recurse.
const BOUNDS: Bounds = Bounds { depth: 127, batch: 1_000 };

/// Requests of the server that may be in the making at once.
const MOST_ANSWERING: usize = 100;

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
    #[serde(borrow, default)]
    notifications: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct NotificationMeta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<&'a RawValue>,
}

impl Session {
    /// One frame from the server.
    pub(crate) fn receive(self: &Arc<Self>, body: &[u8]) {
        match message::parse(body, BOUNDS) {
            Ok(Payload::Single(message)) => self.message(message, body),
            // Only one revision has batches, but nothing is gained by not understanding them.
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

    /// The bytes before the end of the output: a last message whose line end is missing, or nothing.
    pub(crate) fn receive_unfinished(self: &Arc<Self>, body: &[u8]) {
        if message::parse(body, BOUNDS).is_ok() {
            self.receive(body);
        } else {
            self.stray(body);
            self.state().stray.unfinished = true;
        }
    }

    /// Bytes that are no frame.
    pub(crate) fn broken(&self, fault: &Fault, beginning: &[u8]) {
        let id = match fault {
            Fault::TooLong { .. } => id_at_the_beginning(beginning),
            Fault::Header(_) | Fault::Truncated => None,
        };
        if fault.is_fatal() {
            let bytes = beginning.get(..MOST_BYTES).unwrap_or(beginning).to_vec();
            self.state().fault.get_or_insert((fault.to_string(), bytes));
        }
        self.stray(beginning);
        self.fail(id, fault.to_string(), beginning);
    }

    /// Bytes on the wire that are no message: noted, told in errors, and never answered.
    fn stray(&self, bytes: &[u8]) {
        let mut state = self.state();
        if state.own_ways {
            drop(state);
            let text = crate::wire::error::excerpt(&String::from_utf8_lossy(bytes));
            tracing::info!("the server sent what is no MCP message: {text}");
            return;
        }
        state.stray.note(bytes);
        if state.stray.count == 1 {
            let text = crate::wire::error::excerpt(&String::from_utf8_lossy(bytes));
            tracing::info!("the server writes what is no MCP message to stdout: {text}");
        }
    }

    fn rejected(&self, rejected: &message::Rejected, bytes: &[u8]) {
        match &rejected.id {
            Some(id) if rejected.answers => {
                let problem = match rejected.error.message.as_str() {
                    message::NO_METHOD => "an answer has neither `result` nor `error`",
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
            Message::Request(request) => self.asked(request),
            Message::Notification(notification) => self.notified(&notification),
        }
    }

    fn response(&self, response: Response<'_>, bytes: &[u8]) {
        let there = |member: &&RawValue| member.get() != "null";
        let error = response.error.filter(there);
        let answer = match (response.result, error) {
            (Some(result), None) => Ok(Answer::Result(result.to_owned())),
            (None, Some(error)) => read_error(error).map(Answer::Error),
            (Some(result), Some(error)) if result.get() == "null" => read_error(error).map(Answer::Error),
            (Some(_), Some(_)) => Err("an answer has both `result` and `error`".to_owned()),
            (None, None) => Err("an answer's `error` is null".to_owned()),
        };
        match answer {
            // What went wrong with a request that cannot be named can only be about one that is under way.
            Ok(Answer::Error(error)) if response.id.is_none() => {
                let problem = format!("an error without the id of its request: {error}");
                self.fail(None, problem, bytes);
            }
            Ok(answer) => self.answered(response.id.as_ref(), answer),
            Err(problem) => self.fail(response.id, problem, bytes),
        }
    }

    /// Fails the request with that id, or the only one there is if the id is not known.
    fn fail(&self, id: Option<Id>, problem: String, bytes: &[u8]) {
        let id = id.or_else(|| Self::only_waiting(&self.state()).map(Id::Integer));
        if id.is_none() {
            return self.stray(bytes);
        }
        self.answered(id.as_ref(), Answer::Failed(Trouble::broken(problem, bytes)));
    }

    /// Hands an answer to who waits for it. One that nobody waits for is ignored: it may be late, or a second one.
    pub(super) fn answered(&self, id: Option<&Id>, answer: Answer) {
        let number = match id {
            Some(Id::Integer(number)) => Some(*number),
            // Some servers turn every id into a string.
            Some(Id::Text(text)) => text.parse().ok(),
            _ => None,
        };
        let waiting = number.and_then(|number| {
            let mut state = self.state();
            if let Some(way) = state.ways.remove(&number) {
                way.left.notify_one();
            }
            state.waiting.remove(&number)
        });
        match waiting {
            // Whoever no longer waits does not mind.
            Some(Waiting::Call(call)) => drop(call.answer.send(answer)),
            Some(Waiting::Listen(mailbox)) => mailbox.answered(answer),
            None if std::mem::replace(&mut self.state().noted_unasked, true) => {}
            None => tracing::info!(?id, "ignored an answer to no request of ours, as any more of them"),
        }
    }

    /// The server asks something: allowed in legacy revisions only.
    fn asked(self: &Arc<Self>, request: Request<'_>) {
        if self.is_closing() {
            return;
        }
        let mut state = self.state();
        // Before the conversation is open only old servers ask anything.
        let revision = state.revision.unwrap_or(Revision::NEWEST_LEGACY);
        if !revision.opens_with_handshake() {
            tracing::warn!(
                method = %request.method,
                "ignored a request of the server: the revision that it speaks has none"
            );
            return;
        }
        if request.method == method::PING {
            let nothing = Reply::Result(&|out| out.extend_from_slice(b"{}"));
            state.out.push(|out| write_reply(out, &request.id, &nothing));
            drop(state);
            self.wake.notify_one();
            return;
        }
        let refusal = if state.answering.contains_key(&request.id) {
            Some(RpcError::invalid_request(format!("the id {} is in use", request.id)))
        } else if state.answering.len() >= MOST_ANSWERING {
            Some(RpcError::invalid_request("too many requests at once; wait for an answer"))
        } else {
            None
        };
        if let Some(error) = refusal {
            state.out.push(|out| write_reply(out, &request.id, &Reply::Error(&error)));
            drop(state);
            self.wake.notify_one();
            return;
        }
        let session = Arc::clone(self);
        let (id, asked, params) =
            (request.id.clone(), request.method.into_owned(), request.params.map(ToOwned::to_owned));
        let task = tokio::spawn(async move {
            let unanswered = Unanswered { session: &session, id: &id };
            let answering = session.handlers.answer(&asked, params.as_deref(), revision);
            let answer = timeout(session.answering, answering)
                .await
                .unwrap_or_else(|_| Err(RpcError::internal("nobody answered in time")));
            session.reply(&id, answer.as_ref());
            drop(unanswered);
        });
        // It cannot have ended: it needs the lock for that.
        state.begin_answering(request.id, task.abort_handle());
    }

    /// Answers a request of the server, unless the server took it back.
    fn reply(&self, id: &Id, answer: Result<&serde_json::Value, &RpcError>) {
        let mut state = self.state();
        if state.end_answering(id).is_none() {
            return;
        }
        state.out.push(|out| match answer {
            Ok(value) => write_reply(out, id, &Reply::Result(&|out| write_json(out, value))),
            Err(error) => write_reply(out, id, &Reply::Error(error)),
        });
        drop(state);
        self.wake.notify_one();
    }

    fn notified(&self, notification: &Notification<'_>) {
        let params = match notification.params.map(|raw| serde_json::from_str(raw.get())) {
            None => NotificationParams::default(),
            Some(Ok(params)) => params,
            Some(Err(error)) => {
                tracing::info!(%error, method = %notification.method, "ignored a notification that makes no sense");
                return;
            }
        };
        match &*notification.method {
            method::PROGRESS => self.progressed(&params),
            method::CANCELLED => self.cancelled(&params),
            method::ACKNOWLEDGED => {
                if let Some(Waiting::Listen(mailbox)) = self.subscription(&params) {
                    mailbox.acknowledged(params.notifications.map_or("{}", RawValue::get));
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
            method::LOG_MESSAGE => {
                let text = notification.params.map(RawValue::get).unwrap_or_default();
                tracing::debug!("the server logs: {}", crate::wire::error::shortened(text));
            }
            other => tracing::debug!("ignored the notification {}", crate::wire::error::excerpt(other)),
        }
    }

    fn progressed(&self, params: &NotificationParams<'_>) {
        let Some(progress) = params.progress else { return };
        let Some(Id::Integer(id)) = params.progress_token.and_then(|raw| Id::parse(raw.get()).ok()) else {
            return;
        };
        let (mut tell, beat) = match self.state().waiting.get_mut(&id) {
            Some(Waiting::Call(call)) => (call.on_progress.take(), Arc::clone(&call.beat)),
            _ => return,
        };
        beat.notify_one();
        let Some(told) = &mut tell else { return };
        // The caller's own code does not run under our lock.
        told(Progress { progress, total: params.total, message: params.message.clone() });
        if let Some(Waiting::Call(call)) = self.state().waiting.get_mut(&id) {
            call.on_progress = tell;
        }
    }

    /// The server takes a request of its own back, or ends a subscription.
    fn cancelled(&self, params: &NotificationParams<'_>) {
        let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get()).ok()) else { return };
        let mut state = self.state();
        if let Some(abort) = state.end_answering(&id) {
            abort.abort();
        }
        if let Id::Integer(number) = id
            && let Some(Waiting::Listen(_)) = state.waiting.get(&number)
            && let Some(Waiting::Listen(mailbox)) = state.waiting.remove(&number)
        {
            drop(state);
            mailbox.end();
        }
    }

    fn changed(&self, change: &Change, params: &NotificationParams<'_>) {
        if *change == Change::Tools {
            self.state().tools_changed = true;
        }
        let mailboxes = match self.subscription(params) {
            Some(Waiting::Listen(mailbox)) => vec![mailbox],
            Some(Waiting::Call(_)) => return,
            None => self.state().listeners.clone(),
        };
        for mailbox in mailboxes {
            mailbox.deliver(change.clone());
        }
    }

    /// The subscription that a notification belongs to.
    fn subscription(&self, params: &NotificationParams<'_>) -> Option<Waiting> {
        let raw = params.meta.as_ref()?.subscription?;
        let Ok(Id::Integer(id)) = Id::parse(raw.get()) else { return None };
        match self.state().waiting.get(&id) {
            Some(Waiting::Listen(mailbox)) => Some(Waiting::Listen(Arc::clone(mailbox))),
            _ => None,
        }
    }
}

/// A request of the server that is answered even if the caller's handler panics.
struct Unanswered<'a> {
    session: &'a Session,
    id: &'a Id,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.session.reply(self.id, Err(&RpcError::internal("the client failed to answer")));
    }
}

fn read_error(raw: &RawValue) -> Result<RpcError, String> {
    serde_json::from_str(raw.get()).map_err(|error| format!("an answer's `error` makes no sense: {error}"))
}
