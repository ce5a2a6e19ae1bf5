//! The check of a recording: what a session that a host had with a server proves about the server.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use papertape::wire::Payload;
use papertape::wire::message::{self, Bounds};
use serde_json::Value;

use crate::code::stdout::{PT0103, PT0114};
use crate::definitions::pages::Pages;
use crate::definitions::{self, Lists};
use crate::drive::calls::Call;
use crate::drive::ending::{Cause, Ended, Ending};
use crate::drive::run::{Opening, Run};
use crate::drive::{Drive, LATEST_LEGACY, MODERN, OLDER};
use crate::evidence::{Evidence, Stream};
use crate::finding::Finding;
use crate::inspect::{count, messages, newer_fields, opening, results, stdout};
use crate::report::Report;
use crate::stdio::recording::Recording;
use crate::stdio::scan::{self, Kind, Scanner};
use crate::stdio::session::{Exchange, Response, Unsolicited};

/// How many requests of a session are kept, and how many other messages.
const MOST: usize = 20_000;

/// The only revision with batches.
const BATCHES: &str = "2025-03-26";

/// A client that leaves earlier may not have waited: the time-out of most SDKs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that is answered when its subscription ends.
const SUBSCRIPTION: &str = "subscriptions/listen";

const BOUNDS: Bounds = Bounds { depth: 127, batch: 1_000 };

/// A session of a host with a server, as it was recorded: what was sent and what came back, in its order.
///
/// ```
/// use std::time::Duration;
/// use papertape_check::{RecordedSession, check_recording};
///
/// let mut session = RecordedSession::stdio();
/// session.request(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, None, Duration::ZERO);
/// session.output(b"listening\n", None, Duration::from_millis(1));
/// session.output(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", None, Duration::from_millis(2));
/// let report = check_recording(vec![session]);
/// assert_eq!(report.findings[0].code.name(), "PT0101");
/// ```
#[derive(Debug)]
pub struct RecordedSession {
    http: bool,
    timed: bool,
    ended: bool,
    /// The server will write no more, and all that it wrote is there.
    complete: bool,
    /// When the client closed its side, or ended the server.
    left: Option<Duration>,
    /// The client has sent what is not a request, so that an error without an id may be the right response.
    invalid_input: bool,
    /// The client has sent batches.
    batches: bool,
    /// The client writes `Content-Length` headers.
    headers: bool,
    exchanges: Vec<Exchange>,
    /// The HTTP exchanges of the requests.
    numbers: Vec<Option<u64>>,
    /// The requests with an id, in an HTTP exchange and anywhere, and those of an exchange that wait for a response.
    ids: HashMap<(Option<u64>, String), Requests>,
    anywhere: HashMap<String, Requests>,
    waiting: HashMap<Option<u64>, BTreeSet<usize>>,
    /// The requests that need no response.
    cancelled: HashSet<usize>,
    unsolicited: Vec<Unsolicited>,
    stdout: Recording,
    stderr: Recording,
    scanner: Scanner,
    last: Duration,
}

impl RecordedSession {
    /// A session on stdio.
    #[must_use]
    pub fn stdio() -> Self {
        Self {
            http: false,
            timed: false,
            ended: false,
            complete: false,
            left: None,
            invalid_input: false,
            batches: false,
            headers: false,
            exchanges: Vec::new(),
            numbers: Vec::new(),
            ids: HashMap::new(),
            anywhere: HashMap::new(),
            waiting: HashMap::new(),
            cancelled: HashSet::new(),
            unsolicited: Vec::new(),
            stdout: Recording::default(),
            stderr: Recording::default(),
            scanner: Scanner::default(),
            last: Duration::ZERO,
        }
    }

    /// Sessions over HTTP: their output is messages without framing, each with a line end.
    #[must_use]
    pub fn http() -> Self {
        Self { http: true, ..Self::stdio() }
    }

    /// Adds a message to the server, without its framing. `exchange` is the number of the HTTP exchange.
    pub fn request(&mut self, body: &[u8], exchange: Option<u64>, time: Duration) {
        self.saw(time);
        match message::parse(body, BOUNDS) {
            Ok(Payload::Single(_)) => self.add(body, exchange, time),
            Ok(Payload::Batch(members)) => {
                self.invalid_input |= self.opened().as_deref() != Some(BATCHES);
                self.batches = true;
                for member in members {
                    match message::parse_member(member) {
                        Ok(_) => self.add(member.get().as_bytes(), exchange, time),
                        Err(_) => self.invalid_input = true,
                    }
                }
            }
            Err(_) => self.invalid_input = true,
        }
    }

    /// Says that the client writes `Content-Length` headers before its messages.
    pub fn with_headers(&mut self) {
        self.headers = true;
    }

    fn add(&mut self, request: &[u8], number: Option<u64>, sent: Duration) {
        let Ok(request) = serde_json::from_slice::<Value>(request) else { return };
        let method = request.get("method").and_then(Value::as_str).map(str::to_owned);
        if method.as_deref() == Some("notifications/cancelled") {
            let id = request.pointer("/params/requestId").map(key);
            let cancelled = id.and_then(|id| self.anywhere.get(&id)).and_then(|of| of.waiting.last());
            self.cancelled.extend(cancelled);
        }
        let Some(id) = request.get("id").filter(|id| id.is_string() || id.is_number()) else { return };
        let Some(method) = method.filter(|_| self.exchanges.len() < MOST) else { return };
        let (key, index) = (key(id), self.exchanges.len());
        let here = self.ids.entry((number, key.clone())).or_default();
        self.invalid_input |= !here.waiting.is_empty();
        here.add(index);
        self.anywhere.entry(key).or_default().add(index);
        self.waiting.entry(number).or_default().insert(index);
        self.exchanges.push(Exchange { method, request, sent, response: None, more: Vec::new() });
        self.numbers.push(number);
    }

    /// Adds what the server wrote to stdout, with its framing; or a message over HTTP, with a line end.
    pub fn output(&mut self, bytes: &[u8], exchange: Option<u64>, time: Duration) {
        self.saw(time);
        self.stdout.add(bytes, time);
        self.read(exchange, time, false);
    }

    /// Adds what the server wrote to stderr.
    pub fn stderr(&mut self, bytes: &[u8], time: Duration) {
        self.saw(time);
        self.stderr.add(bytes, time);
    }

    /// Ends stdout. Without this, the recording was cut, and an incomplete line at its end is not the server's fault.
    pub fn end(&mut self) {
        self.ended = true;
        self.stdout.ended = Some(self.last);
        self.read(None, self.last, true);
    }

    /// Says that the server will write no more, and that all that crossed is in the recording: a request without a response was
    /// not answered. Without this, its response may have been lost.
    pub fn complete(&mut self) {
        self.complete = true;
    }

    /// Says that the client closed its side, or ended the server: what it did not wait for may have had a response.
    pub fn client_left(&mut self, time: Duration) {
        self.left.get_or_insert(time);
    }

    /// The requests on stdio that were never answered.
    fn unanswered(&self) -> Vec<usize> {
        // A response that is not kept, or without an id, may be the one.
        if !self.complete || self.http || self.invalid_input || self.stdout.is_cut() {
            return Vec::new();
        }
        let is_unanswered = |(index, exchange): (usize, &Exchange)| {
            let not_waited_for = self.left.is_some_and(|left| left.saturating_sub(exchange.sent) < PATIENCE);
            let needs_none =
                not_waited_for || exchange.method == SUBSCRIPTION || self.cancelled.contains(&index);
            (exchange.response.is_none() && !needs_none).then_some(index)
        };
        self.exchanges.iter().enumerate().filter_map(is_unanswered).collect()
    }

    fn saw(&mut self, time: Duration) {
        self.timed |= !time.is_zero();
        self.last = self.last.max(time);
    }

    fn read(&mut self, exchange: Option<u64>, time: Duration, ended: bool) {
        while let Some(piece) = self.scanner.next(&self.stdout.bytes, ended) {
            let Kind::Message(message) = piece.kind else { continue };
            let index = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
            let place = (index(piece.start), index(piece.end - piece.start));
            match message.value {
                Value::Array(batch) => {
                    batch.into_iter().for_each(|value| self.take(value, place, exchange, time));
                }
                value => self.take(value, place, exchange, time),
            }
        }
    }

    fn take(&mut self, value: Value, (offset, length): (u64, u64), number: Option<u64>, time: Duration) {
        let meant = if value.get("method").is_none() { self.meant(&value, number) } else { None };
        if let Some((index, odd_id)) = meant
            && let Some(exchange) = self.exchanges.get_mut(index)
        {
            let elapsed = time.saturating_sub(exchange.sent);
            let response = Response { value, offset, length, elapsed, odd_id, after_end: false };
            match &mut exchange.response {
                Some(_) if exchange.more.len() < MOST => exchange.more.push(response),
                Some(_) => {}
                none => *none = Some(response),
            }
        } else if self.unsolicited.len() < MOST {
            self.unsolicited.push(Unsolicited { value, offset });
        }
    }

    /// The request that a response is meant for, and whether the id is not quite that of the request: of the same exchange, then
    /// one of another that waits, then the only one with this id, then the only one that waits.
    fn meant(&mut self, response: &Value, number: Option<u64>) -> Option<(usize, bool)> {
        let id = response.get("id").filter(|id| id.is_string() || id.is_number());
        let said = id.map(key);
        let here = said.as_ref().and_then(|said| self.ids.get(&(number, said.clone())));
        let anywhere = said.as_ref().and_then(|said| self.anywhere.get(said));
        let first =
            |requests: Option<&Requests>| requests.and_then(|requests| requests.waiting.first().copied());
        let index = match (first(here).or(first(anywhere)), here, anywhere) {
            (Some(index), ..) => index,
            // Clients use ids again, over HTTP all of them the same.
            (None, Some(here), Some(anywhere)) if anywhere.count == 1 => here.last,
            (None, _, Some(_)) => return None,
            (None, _, None) => {
                let waiting = self.waiting.get(&number).filter(|waiting| waiting.len() == 1)?;
                *waiting.first()?
            }
        };
        let asked = self.exchanges.get(index)?.request.get("id")?;
        let (is_odd, asked) = (Some(asked) != id, key(asked));
        let of = self.numbers.get(index).copied().flatten();
        for requests in
            [self.ids.get_mut(&(of, asked.clone())), self.anywhere.get_mut(&asked)].into_iter().flatten()
        {
            requests.waiting.remove(&index);
        }
        if let Some(waiting) = self.waiting.get_mut(&of) {
            waiting.remove(&index);
        }
        Some((index, is_odd))
    }

    fn into_run(mut self) -> Run {
        // The rest of a recording that was cut.
        if !self.ended && !self.stdout.is_cut() {
            let end = memchr::memrchr(b'\n', &self.stdout.bytes).map_or(0, |at| at + 1);
            let is_framed = self.stdout.bytes.trim_ascii_start().get(..8);
            if !is_framed.is_some_and(|start| start.eq_ignore_ascii_case(b"content-")) {
                self.stdout.bytes.truncate(end);
                self.stdout.total = u64::try_from(end).unwrap_or(u64::MAX);
            }
        }
        let opened = self.opened();
        let is_modern = |exchange: &Exchange| {
            let version = exchange.request.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
            version.is_some_and(|version| version == MODERN)
        };
        let initialize = self.exchanges.iter().find(|exchange| exchange.method == "initialize");
        let opening = match initialize {
            Some(exchange) => {
                let asked = exchange.request.pointer("/params/protocolVersion").and_then(Value::as_str);
                let older = OLDER.into_iter().find(|older| Some(*older) == asked);
                older.map_or(Opening::Legacy(LATEST_LEGACY), Opening::Older)
            }
            None if self.exchanges.iter().any(is_modern) => Opening::Modern,
            None => Opening::Legacy(LATEST_LEGACY),
        };
        if !self.timed {
            self.stdout.forget_times();
            self.stderr.forget_times();
        }
        let stderr_before = self.stderr.total;
        let lists = lists(&mut self.exchanges, opening == Opening::Modern);
        Run {
            opening,
            opened,
            failure: None,
            silence: None,
            pieces: scan::scan_kept(&self.stdout),
            exchanges: self.exchanges,
            unsolicited: self.unsolicited,
            lists,
            stdout: self.stdout,
            stderr: self.stderr,
            input_end: None,
            ended: Ended {
                tried: Ending::EndOfInput,
                cause: Cause::EndOfInput,
                status: None,
                time: self.last,
                took: Duration::ZERO,
                grace: Duration::ZERO,
                left: Vec::new(),
                stderr_before,
            },
        }
    }

    /// The revision of the session, if the server has agreed to one.
    fn opened(&self) -> Option<String> {
        self.exchanges.iter().find_map(|exchange| {
            let result = exchange.result()?;
            match exchange.method.as_str() {
                "initialize" => result.get("protocolVersion")?.as_str().map(str::to_owned),
                _ => {
                    let meta = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
                    exchange.request.pointer(meta)?.as_str().map(str::to_owned)
                }
            }
        })
    }
}

/// The requests with one id.
#[derive(Debug, Default)]
struct Requests {
    waiting: BTreeSet<usize>,
    count: usize,
    last: usize,
}

impl Requests {
    fn add(&mut self, index: usize) {
        self.waiting.insert(index);
        self.count += 1;
        self.last = index;
    }
}

/// What ids have in common that differ only in their type: 1, 1.0 and "1".
fn key(id: &Value) -> String {
    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    match text.strip_suffix(".0") {
        Some(integer) if id.is_f64() => integer.to_owned(),
        _ => text,
    }
}

/// What was listed last, taken out of the results.
fn lists(exchanges: &mut [Exchange], is_modern: bool) -> Lists {
    let mut lists = Lists { is_modern, ..Lists::default() };
    for (method, member) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let mut pages = Pages::default();
        for exchange in exchanges.iter_mut().filter(|exchange| exchange.method == method) {
            let is_first = exchange.request.pointer("/params/cursor").is_none();
            let Some(response) = &mut exchange.response else { continue };
            let Some(result) = response.value.get_mut("result").filter(|result| !result.is_null()) else {
                continue;
            };
            // A list that is read again begins again.
            if is_first {
                pages = Pages::default();
            }
            lists.bytes += response.length;
            pages.take(&mut lists, (method, member), result);
        }
        match method {
            "tools/list" => lists.tools = std::sync::Arc::new(pages.entries),
            "resources/list" => lists.resources = pages.entries,
            "prompts/list" => lists.prompts = pages.entries,
            _ => lists.templates = pages.entries,
        }
    }
    lists
}

/// Reports what recorded sessions prove about their server: what is wrong with its stdout, with how it opened, with its messages,
/// with the results of its tools, and with what it lists.
///
/// What it does with input that was not recorded is not known, and neither is why it ended.
#[must_use]
pub fn check_recording(sessions: Vec<RecordedSession>) -> Report {
    let http = sessions.iter().any(|session| session.http);
    let timed = sessions.iter().any(|session| session.timed);
    let is_cut = sessions.iter().any(|session| session.stdout.is_cut() || session.exchanges.len() >= MOST);
    let invalid_input: Vec<bool> = sessions.iter().map(|session| session.invalid_input).collect();
    let batches = sessions.iter().any(|session| session.batches);
    let headers = sessions.iter().any(|session| session.headers);
    let unanswered: Vec<Vec<usize>> = sessions.iter().map(RecordedSession::unanswered).collect();
    let mut drive =
        Drive { runs: sessions.into_iter().map(RecordedSession::into_run).collect(), ..Drive::default() };
    let mut findings = if http { Vec::new() } else { stdout::inspect(&drive) };
    // A batch is answered with one, and headers with headers.
    findings.retain(|finding| !(batches && finding.code == PT0114 || headers && finding.code == PT0103));
    findings.extend(opening::inspect_recorded(&drive));
    for (run, invalid_input) in drive.runs.iter_mut().zip(&invalid_input) {
        findings.extend(messages::inspect_recorded(run, *invalid_input));
    }
    for (run, unanswered) in drive.runs.iter().zip(&unanswered) {
        findings.extend(messages::unanswered(run, unanswered));
    }
    findings.extend(newer_fields::inspect(&drive));
    let lists = drive.lists();
    findings.extend(definitions::inspect_both(&lists, drive.session_based_lists()));
    findings.extend(drive.runs.iter().flat_map(calls));
    let mut seen = HashSet::new();
    findings.retain(|finding| {
        seen.insert((finding.code.name(), finding.subject.clone(), finding.message.clone()))
    });
    for evidence in findings.iter_mut().flat_map(|finding| &mut finding.evidence) {
        relabel(evidence, http);
    }
    let mut report = Report::new(findings, crate::check::summary(&drive, &lists));
    report.server.first_response = report.server.first_response.filter(|_| timed);
    report.steps = drive.runs.iter().map(step).collect();
    report.skipped.push(
        "what a recording does not show: other revisions, invalid input, how it ends; `papertape check TARGET` tries these"
            .to_owned(),
    );
    if invalid_input.contains(&true) {
        report.skipped.push("ids of responses: the client has sent what is not a request".to_owned());
    }
    if is_cut {
        report.skipped.push("the rest of a recording that is too long to be inspected as a whole".to_owned());
    }
    report
}

/// What is wrong with the results of tools, once for each tool.
fn calls(run: &Run) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (index, exchange) in run.exchanges.iter().enumerate().filter(|(_, one)| one.method == "tools/call") {
        let Some(name) = exchange.request.pointer("/params/name").and_then(Value::as_str) else { continue };
        let tool = run.lists.tools.iter().find(|tool| tool.get("name").is_some_and(|other| other == name));
        let output_schema = tool.and_then(|tool| tool.get("outputSchema")).cloned();
        let call = Call {
            tool: name.to_owned(),
            output_schema,
            read_only: false,
            call: index,
            failure: None,
            ping: None,
        };
        let new = results::inspect(run, &call);
        let is_known =
            |new: &Finding| found.iter().any(|old| old.code == new.code && old.subject == new.subject);
        let new: Vec<Finding> = new.into_iter().filter(|new| !is_known(new)).collect();
        found.extend(new);
    }
    found
}

/// Over HTTP there is no stdout.
fn relabel(evidence: &mut Evidence, http: bool) {
    let Evidence::Bytes { stream, offset, .. } = evidence else { return };
    if http && *stream == Stream::Stdout {
        (*stream, *offset) = (Stream::Http, 0);
    }
}

fn step(run: &Run) -> String {
    let requests = count(u64::try_from(run.exchanges.len()).unwrap_or(u64::MAX), "request");
    match &run.opened {
        Some(revision) => format!("read a recording of {requests}, in {revision}"),
        None => format!("read a recording of {requests}; it was not opened"),
    }
}

#[cfg(test)]
mod tests;
