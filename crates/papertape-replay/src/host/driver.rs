//! The client of a tape, on the streams of a server: sends what it sent, in its order, and compares what comes back.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use papertape::wire::frame::{Piece, PieceKind};
use papertape::wire::message::{Bounds, Message, parse, parse_member};
use papertape::wire::tape::{Direction, escaped};
use papertape::wire::{Decoder, Id, Payload};
use papertape_tape::{Volatile, json_diff};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::answers::Answers;
use super::carried::Carried;
use super::report::{Failure, Replayed, Report, Update, Verdict};
use crate::call::Call;
use crate::script::{ById, Frame, Kind, Recorded, Script, write_frame};
use crate::splice;

/// The longest frame of a server.
const LONGEST: usize = 64 * 1024 * 1024;

/// How much may wait to be written to a server that does not read, beside the tape's own frames.
const MOST_WAITING: usize = 2 * 1024 * 1024;

/// How many violations are reported, and how many other differences.
const MOST_REPORTED: usize = 20;

const BOUNDS: Bounds = Bounds { depth: 512, batch: 10_000 };

/// How to replay a tape as the host.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub struct HostOptions {
    /// How long to wait for each response.
    pub timeout: Duration,
    /// What may differ.
    pub volatile: Volatile,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), volatile: Volatile::new() }
    }
}

/// How far it is.
#[derive(Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// How many requests have been sent.
    pub sent: usize,
    /// How many there are.
    pub total: usize,
    /// The last of them.
    pub call: &'a Call,
}

/// Why driving has stopped.
pub(super) enum Stop {
    /// The server has closed its stdout.
    Closed,
    Failed(String),
}

/// Drives a server with the client of a script.
pub(super) struct Driver<'a, W> {
    script: &'a Script,
    options: &'a HostOptions,
    on_step: &'a mut (dyn FnMut(&Step<'_>) + Send),
    /// The server's stdin, until it is closed.
    input: Option<W>,
    waiting: Vec<u8>,
    written: usize,
    answers: Answers,
    carried: Carried,
    /// The requests without a response, and where they are in the report.
    open: HashMap<Id, Open>,
    /// How many of them have a response on the tape.
    expected: usize,
    /// How many bytes the tape's own frames have.
    own: usize,
    /// The recorded response of each request, by its index in the script.
    recorded: HashMap<usize, usize>,
    /// All requests that have a response.
    answered: HashSet<Id>,
    /// The methods of the server's requests that have not come in time.
    absent: HashSet<String>,
    report: Report,
    /// The tape has something else than messages, too.
    is_dirty: bool,
    has_response: bool,
}

struct Open {
    /// Its index in the report.
    index: usize,
    /// Its index in the script.
    message: usize,
    sent: Instant,
}

impl<'a, W: AsyncWrite + Unpin> Driver<'a, W> {
    pub(super) fn new(
        script: &'a Script,
        options: &'a HostOptions,
        input: W,
        on_step: &'a mut (dyn FnMut(&Step<'_>) + Send),
    ) -> Self {
        let mut report = Report::default();
        let mut open = ById::default();
        let mut recorded = HashMap::new();
        for (index, message) in script.messages.iter().enumerate() {
            match (&message.kind, message.direction) {
                (Kind::Request(id, call), Direction::ToServer) => {
                    open.insert(id, message.exchange, index);
                    report.requests.push(Replayed {
                        number: script.number(Some(index)),
                        call: call.clone(),
                        verdict: Verdict::NotSent,
                        time: None,
                        update: None,
                    });
                }
                (Kind::Response(Some(id)), Direction::ToClient) => {
                    if let Some(request) = open.remove(id, message.exchange) {
                        recorded.insert(request, index);
                    }
                }
                _ => {}
            }
        }
        let is_dirty = script.messages.iter().any(|message| {
            message.direction == Direction::ToClient
                && matches!(message.kind, Kind::Other | Kind::Response(None))
        });
        Self {
            script,
            options,
            on_step,
            input: Some(input),
            waiting: Vec::new(),
            written: 0,
            answers: Answers::of(script),
            carried: Carried::default(),
            open: HashMap::new(),
            expected: 0,
            own: script.frames.iter().map(|frame| frame.bytes.len()).sum(),
            recorded,
            answered: HashSet::new(),
            absent: HashSet::new(),
            report,
            is_dirty,
            has_response: false,
        }
    }

    /// Sends everything; why it stopped before the end of the tape.
    pub(super) async fn run<R: AsyncRead + Unpin>(&mut self, output: &mut Output<R>) -> Result<(), Stop> {
        let mut requests = 0;
        let script = self.script;
        let mut first = 0;
        for messages in script.messages.chunk_by(|one, next| one.frame == next.frame) {
            let here = first..first + messages.len();
            first = here.end;
            let Some((frame, message)) =
                messages.first().and_then(|message| Some((script.frames.get(message.frame)?, message)))
            else {
                continue;
            };
            let is_response = messages.iter().all(|message| matches!(message.kind, Kind::Response(_)));
            match message.direction {
                Direction::ToServer if is_response => {
                    for response in here {
                        self.wait_for_request(response, output).await?;
                    }
                }
                Direction::ToServer => {
                    self.send(frame, messages);
                    for (index, message) in here.zip(messages) {
                        let Kind::Request(id, call) = &message.kind else { continue };
                        self.sent(requests, index, id, call);
                        requests += 1;
                    }
                }
                Direction::ToClient => {
                    for message in messages {
                        let Kind::Response(Some(id)) = &message.kind else { continue };
                        self.wait(output, |driver| !driver.is_expected(id))
                            .await?
                            .map_or(Ok(()), |_| self.late(id))?;
                    }
                }
            }
        }
        // What is sent last has no response that is waited for.
        self.wait(output, |driver| driver.waiting.is_empty() || driver.input.is_none()).await?;
        Ok(())
    }

    /// The report, without what the end of the process tells.
    pub(super) fn finish(mut self) -> Report {
        for open in std::mem::take(&mut self.open).into_values() {
            let is_compared = self.recorded.contains_key(&open.message);
            if let Some(replayed) = self.report.requests.get_mut(open.index) {
                replayed.verdict = if is_compared { Verdict::NoResponse } else { Verdict::NotCompared };
            }
        }
        self.report
    }

    /// Reads what the server writes after the end of the tape, until its stdout ends.
    pub(super) async fn rest<R: AsyncRead + Unpin>(&mut self, output: &mut Output<R>, listens: bool) {
        while output.output.read_buf(output.decoder.space()).await.unwrap_or(0) > 0 {
            if !listens || self.receive(&mut output.decoder).is_err() {
                output.decoder = Decoder::new(LONGEST);
            }
        }
        if let Some(piece) = output.decoder.finish()
            && matches!(piece.kind, PieceKind::Unfinished(_) | PieceKind::Broken(_))
        {
            self.violation(format!("its stdout ends within a message: {}", excerpt(piece.raw)));
        }
    }

    /// Closes the server's stdin.
    pub(super) fn close(&mut self) {
        self.input = None;
    }

    /// The request that has waited longest for its response.
    pub(super) fn oldest_open(&self) -> Option<String> {
        let is_compared = |open: &&Open| self.recorded.contains_key(&open.message);
        let oldest = self.open.values().filter(is_compared).min_by_key(|open| open.index)?;
        let replayed = self.report.requests.get(oldest.index)?;
        Some(format!("{} (request {})", replayed.call, replayed.number))
    }

    fn is_expected(&self, id: &Id) -> bool {
        self.open.get(id).is_some_and(|open| self.recorded.contains_key(&open.message))
    }

    fn late(&self, id: &Id) -> Result<(), Stop> {
        let replayed = self.open.get(id).and_then(|open| self.report.requests.get(open.index));
        let what = replayed.map(|replayed| format!("{} (request {})", replayed.call, replayed.number));
        Err(Stop::Failed(format!(
            "no response to {} within {} s (--timeout)",
            what.unwrap_or_default(),
            self.options.timeout.as_secs_f64()
        )))
    }

    fn sent(&mut self, number: usize, message: usize, id: &Id, call: &Call) {
        let open = Open { index: number, message, sent: Instant::now() };
        self.answered.remove(id);
        self.expected += usize::from(self.recorded.contains_key(&message));
        if let Some(before) = self.open.insert(id.clone(), open) {
            // Its id is used again.
            self.expected -= usize::from(self.recorded.contains_key(&before.message));
        }
        (self.on_step)(&Step { sent: number + 1, total: self.report.requests.len(), call });
    }

    fn send(&mut self, frame: &Frame, messages: &[Recorded]) {
        let text = if frame.is_batch { None } else { messages.first().map(|message| &*message.text) };
        match text.and_then(|text| self.carried.applied(text)) {
            Some(text) => write_frame(&mut self.waiting, &text, frame.framing),
            None if frame.is_framed => self.waiting.extend_from_slice(&frame.bytes),
            None => {
                let text = String::from_utf8_lossy(frame.body());
                write_frame(&mut self.waiting, &text, frame.framing);
            }
        }
    }

    /// Waits for the request of the server to which the client of the tape has responded.
    async fn wait_for_request<R: AsyncRead + Unpin>(
        &mut self,
        response: usize,
        output: &mut Output<R>,
    ) -> Result<(), Stop> {
        let Some((request, call)) = self.answers.missing(response) else { return Ok(()) };
        let (call, number) = (call.clone(), self.script.number(Some(request)));
        // Pings and the like come when the server likes.
        if call.method == "ping" || self.absent.contains(&call.method) {
            self.answers.give_up(response);
            return Ok(());
        }
        let was_expected = self.expected > 0;
        let is_done = |driver: &Self| {
            // The requests that made it ask have their responses.
            let is_over = was_expected && driver.expected == 0;
            driver.answers.missing(response).is_none() || is_over
        };
        self.wait(output, is_done).await?;
        if self.answers.missing(response).is_some() {
            self.other(format!("the server did not send {call} (request {number} on the tape)"));
            self.absent.insert(call.method);
            self.answers.give_up(response);
        }
        Ok(())
    }

    /// Writes and reads until something is the case, or the time is up, which is returned.
    async fn wait<R: AsyncRead + Unpin>(
        &mut self,
        output: &mut Output<R>,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<Option<TimeIsUp>, Stop> {
        let deadline = Instant::now() + self.options.timeout;
        loop {
            if is_done(self) {
                return Ok(None);
            }
            let rest = self.waiting.get(self.written..).unwrap_or_default();
            let can_write = !rest.is_empty() && self.input.is_some();
            let write = async {
                match &mut self.input {
                    Some(input) => input.write(rest).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                read = output.output.read_buf(output.decoder.space()) => {
                    if read.unwrap_or(0) == 0 {
                        return Err(Stop::Closed);
                    }
                    self.receive(&mut output.decoder)?;
                }
                written = write, if can_write => match written {
                    Ok(count) if count > 0 => self.advance(count),
                    // It is about to exit; what it has written until then is read.
                    _ => self.input = None,
                },
                () = sleep_until(deadline) => return Ok(Some(TimeIsUp)),
            }
        }
    }

    fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written >= self.waiting.len() {
            self.waiting.clear();
            self.written = 0;
        }
    }

    fn receive(&mut self, decoder: &mut Decoder) -> Result<(), Stop> {
        while let Some(Piece { raw, kind, .. }) = decoder.next_piece() {
            match kind {
                PieceKind::Frame(body) => self.frame(body)?,
                PieceKind::Broken(error) => {
                    let is_fatal = error.is_fatal();
                    self.violation(format!("{error}: {}", excerpt(raw)));
                    if is_fatal {
                        return Err(Stop::Failed(format!("its stdout cannot be read any more: {error}")));
                    }
                }
                PieceKind::Unfinished(_) | PieceKind::Blank | PieceKind::Skipped => {}
            }
        }
        Ok(())
    }

    fn frame(&mut self, body: &[u8]) -> Result<(), Stop> {
        match parse(body, BOUNDS) {
            Ok(Payload::Single(message)) => {
                let text = std::str::from_utf8(body).unwrap_or_default();
                self.message(message, text.trim_start_matches('\u{feff}').trim())
            }
            Ok(Payload::Batch(members)) => {
                members.into_iter().try_for_each(|member| match parse_member(member) {
                    Ok(message) => self.message(message, member.get()),
                    Err(rejected) => {
                        self.violation(format!(
                            "{}: {}",
                            rejected.error.message,
                            excerpt(member.get().as_bytes())
                        ));
                        Ok(())
                    }
                })
            }
            Err(rejected) => {
                if !self.is_dirty {
                    self.violation(format!("{}: {}", rejected.error.message, excerpt(body)));
                }
                Ok(())
            }
        }
    }

    fn message(&mut self, message: Message<'_>, text: &str) -> Result<(), Stop> {
        match message {
            Message::Response(response) => {
                self.has_response = true;
                match response.id.as_ref().and_then(|id| self.open.remove(id)) {
                    Some(open) => {
                        self.answered.extend(response.id);
                        self.expected -= usize::from(self.recorded.contains_key(&open.message));
                        self.response(&open, text);
                    }
                    None if response.id.as_ref().is_some_and(|id| self.answered.contains(id)) => {
                        self.violation(format!(
                            "a second response to one request: {}",
                            excerpt(text.as_bytes())
                        ));
                    }
                    None if response.id.is_none() && self.is_dirty => {}
                    None => {
                        self.violation(format!("a response to no request: {}", excerpt(text.as_bytes())));
                    }
                }
                Ok(())
            }
            Message::Request(request) => {
                self.answer(&request.id, &Call::new(&request.method, request.params));
                if self.is_flooding() {
                    return Err(Stop::Failed(
                        "it sends requests without end, and does not read the responses".to_owned(),
                    ));
                }
                Ok(())
            }
            Message::Notification(_) => Ok(()),
        }
    }

    /// Whether more waits to be written than the tape has.
    fn is_flooding(&self) -> bool {
        self.waiting.len().saturating_sub(self.written) > self.own.saturating_add(MOST_WAITING)
    }

    /// Compares a response with that of the tape.
    fn response(&mut self, open: &Open, text: &str) {
        let Some(replayed) = self.report.requests.get_mut(open.index) else { return };
        replayed.time = Some(open.sent.elapsed());
        let recorded = self.recorded.get(&open.message);
        let Some((response, recorded)) =
            recorded.and_then(|index| Some((*index, self.script.messages.get(*index)?)))
        else {
            replayed.verdict = Verdict::NotCompared;
            return;
        };
        let old = parsed(&recorded.text);
        let mut new = parsed(text);
        let is_changed = self.carried.learn(&old, &mut new);
        let found = json_diff(&old, &new, &self.options.volatile);
        if found.is_empty() {
            replayed.verdict = Verdict::Same;
            return;
        }
        replayed.verdict = Verdict::Different(found);
        let text = if is_changed { new.to_string() } else { text.to_owned() };
        replayed.update = Some(Update { response, text });
    }

    /// Responds to a request of the server as the client of the tape did.
    fn answer(&mut self, id: &Id, call: &Call) {
        let mut written = Vec::new();
        id.write(&mut written);
        let id_text = String::from_utf8(written).unwrap_or_default();
        let found = self.answers.find(call).and_then(|index| self.script.messages.get(index));
        let (text, framing) = match found {
            Some(recorded) => {
                let mut text = recorded.text.to_string();
                splice::replace(&mut text, &["id"], &id_text);
                let framing = self.script.frames.get(recorded.frame).map(|frame| frame.framing);
                (text, framing.unwrap_or_default())
            }
            None if call.method == "ping" => {
                (json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string(), self.framing())
            }
            None if self.answers.leaves(&call.method) => return,
            None => {
                self.other(format!("the server sends {call}, to which the tape has no response"));
                let message = format!("the tape has no response to {call}");
                let error = json!({"code": -32601, "message": message});
                (json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string(), self.framing())
            }
        };
        write_frame(&mut self.waiting, &text, framing);
    }

    fn framing(&self) -> papertape::wire::Framing {
        let sent = self.script.frames.iter().find(|frame| frame.direction == Direction::ToServer);
        sent.map_or_else(Default::default, |frame| frame.framing)
    }

    fn other(&mut self, text: String) {
        if self.report.others.len() < MOST_REPORTED && !self.report.others.contains(&text) {
            self.report.others.push(text);
        }
    }

    fn violation(&mut self, text: String) {
        if self.report.violations.len() < MOST_REPORTED {
            self.report.violations.push(text);
        }
    }

    /// What ended it, for a person.
    pub(super) fn fail(&mut self, cause: String) {
        let at_start = !self.has_response;
        self.report.failure = Some(Failure { cause, at_start });
    }
}

/// The time is up.
pub(super) struct TimeIsUp;

/// The stdout of a server.
pub(super) struct Output<R> {
    output: R,
    decoder: Decoder,
}

impl<R> Output<R> {
    pub(super) fn new(output: R) -> Self {
        Self { output, decoder: Decoder::new(LONGEST) }
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The beginning of what a server has written.
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let beginning = escaped(bytes.get(..SHOWN).unwrap_or(bytes).trim_ascii_end());
    if bytes.len() > SHOWN { format!("{beginning} ...") } else { beginning }
}

#[cfg(test)]
mod tests;
