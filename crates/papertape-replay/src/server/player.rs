//! A recorded server as a state machine: what a host sends, and what is sent back, without I/O or a clock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use papertape::guess;
use papertape::wire::error::METHOD_NOT_FOUND;
use papertape::wire::message::{Bounds, Message, Rejected, Request, parse, parse_member};
use papertape::wire::{Id, Payload, RpcError};
use serde_json::{Value, json};

use super::sequence::{Item, ItemKind, SUBSCRIPTION, Sequence, sequences};
use crate::call::Call;
use crate::script::{Kind, Script};
use crate::splice;

/// How many requests may be waiting for their responses.
const MOST_RUNNING: usize = 10_000;

/// How many requests of the tape are looked at for an error that names the nearest.
const MOST_NAMED: usize = 1_000;

const BOUNDS: Bounds = Bounds { depth: 512, batch: 1000 };

/// How a [`Player`] plays.
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct Pace {
    /// The delays of the recording, each bounded to a minute.
    pub recorded: bool,
    /// What is waited before each response besides.
    pub delay: Duration,
}

impl Pace {
    fn before(self, item: &Item) -> Duration {
        let recorded = if self.recorded { item.delay } else { Duration::ZERO };
        recorded + if item.kind == ItemKind::Response { self.delay } else { Duration::ZERO }
    }
}

/// Plays the server of a tape for one host.
///
/// Times are those since any start, which is the same for all calls.
#[derive(Debug)]
pub struct Player {
    script: Arc<Script>,
    sequences: Vec<Sequence>,
    /// Sequences by all that a message says, and by what it addresses.
    exact: HashMap<String, Choices>,
    addressed: HashMap<String, Choices>,
    used: HashSet<usize>,
    running: Vec<Running>,
    batches: HashMap<usize, Batch>,
    batch: usize,
    /// The recorded ids of the server's own requests that have been sent.
    ids: HashSet<Id>,
    renamed: u64,
    pace: Pace,
    /// Errors that are sent at once.
    ready: VecDeque<Sent>,
    notes: Vec<String>,
}

/// What a player sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// A message, or a batch of responses, as JSON.
    pub(super) text: String,
    /// The request of the host that it is about.
    pub(super) request: Option<Id>,
    /// It is the response to that.
    pub(super) is_response: bool,
}

/// A sequence that is being played.
#[derive(Debug)]
struct Running {
    sequence: usize,
    /// The next of its items.
    next: usize,
    /// When that is due, if nothing else is waited for.
    due: Duration,
    /// The request of the host.
    id: Option<Id>,
    token: Option<String>,
    is_cancelled: bool,
    /// The server's requests to which the host has not responded.
    asked: Vec<Id>,
    responses: usize,
    batch: Option<usize>,
}

/// The sequences that a message may start.
#[derive(Debug, Default)]
struct Choices {
    unused: VecDeque<usize>,
    last: Option<usize>,
}

impl Choices {
    fn add(&mut self, sequence: usize) {
        self.unused.push_back(sequence);
        self.last = Some(sequence);
    }

    /// The first that has not been played, else the last.
    fn pick(&mut self, used: &HashSet<usize>) -> Option<usize> {
        while self.unused.front().is_some_and(|first| used.contains(first)) {
            self.unused.pop_front();
        }
        self.unused.front().copied().or(self.last)
    }
}

/// The responses to a batch.
#[derive(Debug)]
struct Batch {
    missing: usize,
    responses: Vec<String>,
}

impl Player {
    /// A player of the server of a script.
    #[must_use]
    pub fn new(script: impl Into<Arc<Script>>, pace: Pace) -> Self {
        let script = script.into();
        let sequences = sequences(&script);
        let mut player = Self {
            sequences,
            exact: HashMap::new(),
            addressed: HashMap::new(),
            used: HashSet::new(),
            running: Vec::new(),
            batches: HashMap::new(),
            batch: 0,
            ids: HashSet::new(),
            renamed: 0,
            pace,
            ready: VecDeque::new(),
            notes: Vec::new(),
            script,
        };
        for (index, sequence) in player.sequences.iter().enumerate() {
            let Some(call) = player.script.call(sequence.trigger) else { continue };
            let is_request = sequence.is_request;
            if !is_request || sequence.is_answered(&player.script) {
                player.exact.entry(exact_key(is_request, call)).or_default().add(index);
                player.addressed.entry(addressed_key(is_request, call)).or_default().add(index);
            }
        }
        player.start(0, Duration::ZERO, None, None, None);
        player
    }

    /// Takes the body of a frame of the host.
    pub fn receive(&mut self, body: &[u8], now: Duration) {
        match parse(body, BOUNDS) {
            Ok(Payload::Single(message)) => self.message(message, body, now, None),
            Ok(Payload::Batch(members)) => {
                self.batch += 1;
                let batch = self.batch;
                // One more than there are, so that it is not complete before all of it has been read.
                self.batches.insert(batch, Batch { missing: 1, responses: Vec::new() });
                for member in members {
                    match parse_member(member) {
                        Ok(message) => self.message(message, member.get().as_bytes(), now, Some(batch)),
                        Err(rejected) => self.reject(&rejected, Some(batch)),
                    }
                }
                self.count_down(batch);
            }
            Err(rejected) => self.reject(&rejected, None),
        }
    }

    /// Takes what is not a frame.
    pub fn refuse(&mut self, why: &str) {
        self.respond_error(None, &RpcError::parse(why), None);
    }

    /// When something is to be sent next.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        self.running.iter().filter_map(|running| self.due(running)).min()
    }

    /// The next message that is due, as JSON.
    pub fn poll(&mut self, now: Duration) -> Option<String> {
        self.poll_sent(now).map(|sent| sent.text)
    }

    /// The next message that is due.
    pub(super) fn poll_sent(&mut self, now: Duration) -> Option<Sent> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let due =
                self.running.iter().enumerate().filter_map(|(at, running)| Some((at, self.due(running)?)));
            let (at, time) = due.min_by_key(|(_, due)| *due)?;
            if time > now {
                return None;
            }
            if let Some(sent) = self.step(at, now) {
                return Some(sent);
            }
        }
    }

    /// What a user should know, since the last call: requests that were matched by their names alone, or not at all.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// When the next item of a sequence is due; nothing while the host has to respond or to cancel first.
    fn due(&self, running: &Running) -> Option<Duration> {
        let item = self.item(running);
        let is_ready =
            |item: &Item| item.awaits <= running.responses && (running.is_cancelled || !item.is_after_cancel);
        item.is_none_or(is_ready).then_some(running.due)
    }

    fn item(&self, running: &Running) -> Option<&Item> {
        self.sequences.get(running.sequence)?.items.get(running.next)
    }

    fn message(&mut self, message: Message<'_>, body: &[u8], now: Duration, batch: Option<usize>) {
        match message {
            Message::Request(request) => {
                if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
                    batch.missing += 1;
                }
                self.request(&request, body, now, batch);
            }
            Message::Notification(notification) => {
                let call = Call::new(&notification.method, notification.params);
                if call.method == "notifications/cancelled" {
                    let text = std::str::from_utf8(body).unwrap_or_default();
                    let id = splice::value(text, &["params", "requestId"]);
                    self.cancel(id.and_then(|id| Id::parse(id).ok()).as_ref());
                    return;
                }
                // What a server did when it was told once is not done again.
                let found = self.find(false, &call).filter(|(found, _)| !self.used.contains(found));
                if let Some((sequence, _)) = found {
                    self.start(sequence, now, None, None, None);
                }
            }
            Message::Response(response) => self.response(response.id, now),
        }
    }

    /// The host has responded to a request of the server.
    fn response(&mut self, id: Option<Id>, now: Duration) {
        let Some(id) = id else { return };
        let asked = |running: &mut Running| {
            let at = running.asked.iter().position(|asked| *asked == id)?;
            running.asked.remove(at);
            running.responses += 1;
            Some(())
        };
        let Some(at) = self.running.iter_mut().position(|running| asked(running).is_some()) else { return };
        let item = self.running.get(at).and_then(|running| self.item(running));
        let due = now + item.map_or(Duration::ZERO, |item| self.pace.before(item));
        if let Some(running) = self.running.get_mut(at) {
            running.due = due;
        }
    }

    fn request(&mut self, request: &Request<'_>, body: &[u8], now: Duration, batch: Option<usize>) {
        let call = Call::new(&request.method, request.params);
        if self.running.len() >= MOST_RUNNING {
            let error = RpcError::internal(format!("{MOST_RUNNING} requests are running already"));
            return self.respond_error(Some(&request.id), &error, batch);
        }
        let Some((sequence, how)) = self.find(true, &call) else {
            if call.method == "ping" {
                let text = json!({"jsonrpc": "2.0", "id": request.id, "result": {}}).to_string();
                let request = Some(request.id.clone());
                return self.push(Sent { text, request, is_response: true }, batch);
            }
            let error = self.unmatched(&call);
            self.notes.push(error.message.clone());
            return self.respond_error(Some(&request.id), &error, batch);
        };
        if how == Match::Addressed {
            let number =
                self.script.number(self.sequences.get(sequence).and_then(|sequence| sequence.trigger));
            self.notes.push(format!(
                "{call}: not with these parameters on the tape; the response is that to request {number}"
            ));
        }
        let text = std::str::from_utf8(body).unwrap_or_default();
        let token = splice::value(text, &["params", "_meta", "progressToken"]).map(str::to_owned);
        self.start(sequence, now, Some(request.id.clone()), token, batch);
    }

    fn start(
        &mut self,
        sequence: usize,
        now: Duration,
        id: Option<Id>,
        token: Option<String>,
        batch: Option<usize>,
    ) {
        self.used.insert(sequence);
        let first = self.sequences.get(sequence).and_then(|sequence| sequence.items.first());
        let due = now + first.map_or(Duration::ZERO, |item| self.pace.before(item));
        let (asked, responses, is_cancelled) = (Vec::new(), 0, false);
        self.running.push(Running {
            sequence,
            next: 0,
            due,
            id,
            token,
            is_cancelled,
            asked,
            responses,
            batch,
        });
    }

    /// The sequence for a message: the first that has not been played, else the last.
    fn find(&mut self, is_request: bool, call: &Call) -> Option<(usize, Match)> {
        let used = &self.used;
        let exact = self.exact.get_mut(&exact_key(is_request, call)).and_then(|found| found.pick(used));
        if let Some(exact) = exact {
            return Some((exact, Match::Exact));
        }
        let addressed = self.addressed.get_mut(&addressed_key(is_request, call))?.pick(used)?;
        // Whatever the parameters of these are, another host has others.
        let how = if call.name.is_none() { Match::Exact } else { Match::Addressed };
        Some((addressed, how))
    }

    /// The error for a request that is not on the tape.
    fn unmatched(&self, call: &Call) -> RpcError {
        let calls = || {
            self.sequences
                .iter()
                .filter(|sequence| sequence.is_request)
                .filter_map(|sequence| Some((sequence, self.script.call(sequence.trigger)?)))
                .take(MOST_NAMED)
        };
        let same_method = || calls().filter(|(_, other)| other.method == call.method);
        if let Some((sequence, _)) = same_method().find(|(_, other)| other.addresses_the_same(call)) {
            let number = self.script.number(sequence.trigger);
            return RpcError::internal(format!("the tape has no response to {call} (request {number})"));
        }
        if same_method().next().is_none() {
            let known = calls().map(|(_, other)| other.method.as_str());
            let hint = guess::hint(&call.method, known);
            return RpcError::new(METHOD_NOT_FOUND, format!("the tape has no {call}{hint}"));
        }
        let name = call.name.as_deref().unwrap_or_default();
        let names = same_method().filter_map(|(_, other)| other.name.as_deref());
        let near = guess::nearest(name, names);
        let near = same_method().find(|(_, other)| other.name.as_deref() == near);
        let nearest = near.or_else(|| same_method().next()).map(|(sequence, other)| {
            format!("; the nearest is {other}, request {}", self.script.number(sequence.trigger))
        });
        RpcError::invalid_params(format!("the tape has no {call}{}", nearest.unwrap_or_default()))
    }

    pub(super) fn cancel(&mut self, id: Option<&Id>) {
        let Some(at) = self.running.iter().position(|running| id.is_some() && running.id.as_ref() == id)
        else {
            return;
        };
        let sequence = self.running.get(at).and_then(|running| self.sequences.get(running.sequence));
        let after = sequence.and_then(|sequence| sequence.items.iter().position(|item| item.is_after_cancel));
        match (after, self.running.get_mut(at)) {
            (Some(after), Some(running)) => {
                running.next = running.next.max(after);
                running.is_cancelled = true;
            }
            _ => {
                let batch = self.running.swap_remove(at).batch;
                batch.into_iter().for_each(|batch| self.count_down(batch));
            }
        }
    }

    /// Plays the next item of a sequence; nothing if there is nothing to send.
    fn step(&mut self, at: usize, now: Duration) -> Option<Sent> {
        let running = self.running.get_mut(at)?;
        let sequence = self.sequences.get(running.sequence)?;
        let Some(item) = sequence.items.get(running.next) else {
            self.running.swap_remove(at);
            return None;
        };
        let recorded = self.script.messages.get(item.message)?;
        let mut text = recorded.text.to_string();
        running.next += 1;
        let mut batch = None;
        let is_sent = match item.kind {
            ItemKind::Response => {
                batch = running.batch;
                if let Some(id) = &running.id {
                    let id = written(id);
                    splice::replace(&mut text, &["id"], &id);
                    splice::replace(&mut text, &["result", "_meta", SUBSCRIPTION], &id);
                }
                true
            }
            // A host that has not asked for progress must not get any.
            ItemKind::Progress => running.token.as_ref().is_some_and(|token| {
                splice::replace(&mut text, &["params", "progressToken"], token);
                true
            }),
            ItemKind::Notification => {
                if let Some(id) = &running.id {
                    splice::replace(&mut text, &["params", "_meta", SUBSCRIPTION], &written(id));
                }
                true
            }
            ItemKind::Request => {
                if let Kind::Request(id, _) = &recorded.kind {
                    let mut id = id.clone();
                    if !self.ids.insert(id.clone()) {
                        self.renamed += 1;
                        id = Id::from(format!("replay-{}", self.renamed).as_str());
                        splice::replace(&mut text, &["id"], &written(&id));
                    }
                    running.asked.push(id);
                }
                true
            }
        };
        if let Some(item) = sequence.items.get(running.next) {
            running.due = now + self.pace.before(item);
        }
        if !is_sent {
            return None;
        }
        let is_response = item.kind == ItemKind::Response;
        let sent = Sent { text, request: running.id.clone(), is_response };
        if batch.is_some() {
            self.push(sent, batch);
            return None;
        }
        Some(sent)
    }

    fn reject(&mut self, rejected: &Rejected, batch: Option<usize>) {
        // A response gets no response.
        if rejected.is_response && rejected.id.is_some() {
            return;
        }
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.missing += 1;
        }
        self.respond_error(rejected.id.as_ref(), &rejected.error, batch);
    }

    fn respond_error(&mut self, id: Option<&Id>, error: &RpcError, batch: Option<usize>) {
        let request = id.cloned();
        let id = id.map_or(Value::Null, |id| serde_json::to_value(id).unwrap_or_default());
        let text = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
        self.push(Sent { text, request, is_response: true }, batch);
    }

    /// Sends a response, or keeps it until its batch is complete.
    fn push(&mut self, response: Sent, batch: Option<usize>) {
        let waiting = batch.and_then(|batch| Some((batch, self.batches.get_mut(&batch)?)));
        let Some((batch, waiting)) = waiting else { return self.ready.push_back(response) };
        waiting.responses.push(response.text);
        self.count_down(batch);
    }

    /// A batch waits for one response less.
    fn count_down(&mut self, batch: usize) {
        let Some(waiting) = self.batches.get_mut(&batch) else { return };
        waiting.missing = waiting.missing.saturating_sub(1);
        if waiting.missing == 0
            && let Some(done) = self.batches.remove(&batch)
            && !done.responses.is_empty()
        {
            let text = format!("[{}]", done.responses.join(","));
            self.ready.push_back(Sent { text, request: None, is_response: true });
        }
    }
}

/// How a message was found on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Exact,
    /// By its method and what it addresses.
    Addressed,
}

fn exact_key(is_request: bool, call: &Call) -> String {
    format!("{is_request}\n{}\n{}", call.method, call.params)
}

fn addressed_key(is_request: bool, call: &Call) -> String {
    format!("{is_request}\n{}\n{}\n{:?}", call.method, call.goes_on, call.name)
}

/// An id as JSON.
fn written(id: &Id) -> String {
    let mut json = Vec::new();
    id.write(&mut json);
    String::from_utf8(json).unwrap_or_default()
}

#[cfg(test)]
mod tests;
