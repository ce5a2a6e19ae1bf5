//! A session with a server process that goes on after a fault: requests, the responses to them, and all else that arrives.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::stdio::process::{SendError, ServerProcess};
use crate::stdio::scan::{Kind, Piece, Scanner};

/// How many messages are kept that answer nothing.
const UNSOLICITED: usize = 1000;

/// Bytes without a line end are taken for a message if nothing follows them for so long.
const IDLE: Duration = Duration::from_millis(300);

/// A response without our id may have been meant for something else: the one with it may follow for so long.
const EXACT: Duration = Duration::from_millis(500);

/// How long a server may leave its stdin full.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// How messages are written to stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One on a line.
    Lines,
    /// After a `Content-Length` header, as in LSP.
    Headers,
}

/// A request and its response.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// The method.
    pub(crate) method: String,
    /// The request as it was sent.
    pub(crate) request: Value,
    /// When it was sent, after the start of the process.
    pub(crate) sent: Duration,
    /// The first response to it.
    pub(crate) response: Option<Response>,
    /// Later ones.
    pub(crate) more: Vec<Response>,
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    /// The message.
    pub(crate) value: Value,
    /// Where it is on stdout.
    pub(crate) offset: u64,
    /// Its length there.
    pub(crate) length: u64,
    /// From the request until it arrived.
    pub(crate) elapsed: Duration,
    /// Its id is not the one of the request, but can only mean it: another type, or null.
    pub(crate) odd_id: bool,
    /// It arrived after our end of stdin was closed.
    pub(crate) after_end: bool,
}

/// A message that answers none of our requests.
#[derive(Debug, Clone)]
pub(crate) struct Unsolicited {
    /// The message.
    pub(crate) value: Value,
    /// Where it is on stdout.
    pub(crate) offset: u64,
}

impl Exchange {
    /// The result, if there is one. The style of JSON-RPC 1, in which the other member is null, has a finding of its own.
    pub(crate) fn result(&self) -> Option<&Value> {
        let value = &self.response.as_ref()?.value;
        value.get("result").filter(|result| !result.is_null() || self.error().is_none())
    }

    /// The error, if there is one.
    pub(crate) fn error(&self) -> Option<&Value> {
        self.response.as_ref()?.value.get("error").filter(|error| !error.is_null())
    }
}

/// The end of the input of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputEnd {
    /// When it came, after the start of the process.
    pub(crate) at: Duration,
    /// How many bytes before it the server had not read then, if that is known.
    pub(crate) unread: Option<u64>,
}

/// Why a request has no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoResponse {
    /// It did not come in time.
    Timeout,
    /// The process has exited.
    Exited,
    /// Stdout has ended, but the process goes on.
    OutputEnded,
    /// The request could not be written.
    NotSent(SendError),
}

/// A session with a server.
#[derive(Debug)]
pub(crate) struct Session {
    /// The process.
    pub(crate) process: ServerProcess,
    /// Requests in the order in which they were sent.
    pub(crate) exchanges: Vec<Exchange>,
    /// What arrived beside responses.
    pub(crate) unsolicited: Vec<Unsolicited>,
    /// How messages are written.
    pub(crate) framing: Framing,
    /// The end of its input, once that has been closed.
    pub(crate) input_end: Option<InputEnd>,
    scanner: Scanner,
    next_id: i64,
    /// How many bytes of stdout have been looked at.
    seen: usize,
}

impl Session {
    /// A session with a process that was just started.
    pub(crate) fn new(process: ServerProcess) -> Self {
        Self {
            process,
            exchanges: Vec::new(),
            unsolicited: Vec::new(),
            framing: Framing::Lines,
            input_end: None,
            scanner: Scanner::default(),
            next_id: 1,
            seen: 0,
        }
    }

    /// Sends a request and waits for its response: its index in `exchanges`.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: Option<Value>,
        wait: Duration,
    ) -> Result<usize, NoResponse> {
        let index = self.begin(method, params).await?;
        self.response(index, wait).await?;
        Ok(index)
    }

    /// Sends a request: its index in `exchanges`.
    pub(crate) async fn begin(&mut self, method: &str, params: Option<Value>) -> Result<usize, NoResponse> {
        let mut request = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method});
        self.next_id += 1;
        if let (Some(params), Some(members)) = (params, request.as_object_mut()) {
            members.insert("params".to_owned(), params);
        }
        let sent = self.process.elapsed();
        self.exchanges.push(Exchange {
            method: method.to_owned(),
            request: request.clone(),
            sent,
            response: None,
            more: Vec::new(),
        });
        self.send(&request).await?;
        Ok(self.exchanges.len() - 1)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&mut self, method: &str, params: Option<Value>) -> Result<(), NoResponse> {
        let mut notification = json!({"jsonrpc": "2.0", "method": method});
        if let (Some(params), Some(members)) = (params, notification.as_object_mut()) {
            members.insert("params".to_owned(), params);
        }
        self.send(&notification).await
    }

    /// Sends any message.
    pub(crate) async fn send(&mut self, message: &Value) -> Result<(), NoResponse> {
        let text = message.to_string();
        let bytes = match self.framing {
            Framing::Lines => format!("{text}\n"),
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
        };
        self.process.send(bytes.as_bytes(), SEND_TIMEOUT).await.map_err(NoResponse::NotSent)
    }

    /// Waits for the response to a request.
    pub(crate) async fn response(&mut self, index: usize, wait: Duration) -> Result<(), NoResponse> {
        let odd = |session: &Self| {
            session.exchanges.get(index).and_then(|exchange| Some(exchange.response.as_ref()?.odd_id))
        };
        self.receive_until(wait, |session| odd(session).is_some()).await?;
        if odd(self) == Some(true) && !self.is_spelt_otherwise(index) {
            let _ = self.receive_until(EXACT.min(wait), |session| odd(session) == Some(false)).await;
        }
        Ok(())
    }

    /// Whether the id of a response is that of its request but for its type.
    fn is_spelt_otherwise(&self, index: usize) -> bool {
        self.exchanges.get(index).is_some_and(|exchange| {
            let said = exchange.response.as_ref().and_then(|response| response.value.get("id")?.as_str());
            said.is_some() && said == exchange.request.get("id").map(ToString::to_string).as_deref()
        })
    }

    /// Receives for so long, or until stdout has ended.
    pub(crate) async fn settle(&mut self, wait: Duration) {
        let _ = self.receive_until(wait, |_| false).await;
    }

    /// Receives until there is what is waited for.
    pub(crate) async fn receive_until(
        &mut self,
        wait: Duration,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<(), NoResponse> {
        let deadline = Instant::now() + wait;
        let mut arrivals = self.process.arrivals();
        loop {
            arrivals.mark_unchanged();
            let ended = self.process.stdout().ended.is_some();
            self.read(ended).await;
            if done(self) {
                return Ok(());
            }
            if ended {
                // The end of stdout is seen before that of the process.
                let exited = self.process.exits_within(Duration::from_secs(1)).await.is_some();
                return Err(if exited { NoResponse::Exited } else { NoResponse::OutputEnded });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // What is not kept is not read.
            if left.is_zero() || self.process.stdout().is_cut() {
                return Err(NoResponse::Timeout);
            }
            let arrived = tokio::select! {
                arrived = timeout(left.min(IDLE), arrivals.changed()) => arrived.is_ok(),
                // A child process may hold stdout open.
                _ = self.process.exited() => true,
            };
            if self.process.exit().is_some() {
                self.process.exited().await;
                self.read(true).await;
                return if done(self) { Ok(()) } else { Err(NoResponse::Exited) };
            }
            if !arrived && self.has_unterminated_message() {
                self.read(true).await;
                if done(self) {
                    return Ok(());
                }
            }
        }
    }

    /// The bytes of a response, or the beginning of them.
    pub(crate) fn stdout_of(&self, response: &Response) -> Vec<u8> {
        let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let start = index(response.offset);
        let end = start.saturating_add(index(response.length.min(4096)));
        self.process.stdout().bytes.get(start..end).unwrap_or_default().to_vec()
    }

    /// Ends its input.
    pub(crate) fn end_input(&mut self) {
        let end = InputEnd { at: self.process.elapsed(), unread: self.process.unread() };
        self.input_end.get_or_insert(end);
        self.process.close_stdin();
    }

    /// Whether what has arrived is a message but for the end of its line.
    fn has_unterminated_message(&self) -> bool {
        let stdout = self.process.stdout();
        let mut scanner = self.scanner.clone();
        scanner.position() < stdout.bytes.len()
            && std::iter::from_fn(|| scanner.next(&stdout.bytes, true))
                .any(|piece| matches!(piece.kind, Kind::Message(_)))
    }

    /// Takes what has arrived.
    async fn read(&mut self, ended: bool) {
        loop {
            let (piece, time) = {
                let stdout = self.process.stdout();
                // Once no more bytes are kept, there is nothing to look at again.
                let is_new = stdout.bytes.len() > self.seen || ended;
                let next = if is_new { self.scanner.next(&stdout.bytes, ended) } else { None };
                let Some(piece) = next else {
                    self.seen = stdout.bytes.len();
                    return;
                };
                let time = stdout.time_of(piece.end.saturating_sub(1)).unwrap_or_default();
                (piece, time)
            };
            self.take(piece, time).await;
        }
    }

    async fn take(&mut self, piece: Piece, time: Duration) {
        let Kind::Message(message) = piece.kind else { return };
        let place = (offset(piece.start), offset(piece.end - piece.start));
        match message.value {
            Value::Array(batch) => {
                for value in batch {
                    self.take_message(value, place, time).await;
                }
            }
            value => self.take_message(value, place, time).await,
        }
    }

    async fn take_message(&mut self, value: Value, (offset, length): (u64, u64), time: Duration) {
        if value.get("method").is_none()
            && let Some((index, odd_id)) = self.meant(value.get("id").unwrap_or(&Value::Null))
            && let Some(exchange) = self.exchanges.get_mut(index)
        {
            let elapsed = time.saturating_sub(exchange.sent);
            let response =
                Response { value, offset, length, elapsed, odd_id, after_end: self.input_end.is_some() };
            // What has the id of the request is its response, whatever came before.
            let later = match &mut exchange.response {
                Some(first) if first.odd_id && !odd_id => Some(std::mem::replace(first, response)),
                Some(_) => Some(response),
                none => {
                    *none = Some(response);
                    None
                }
            };
            exchange.more.extend(later.filter(|_| exchange.more.len() < UNSOLICITED));
            return;
        }
        let answer = answer(&value);
        if self.unsolicited.len() < UNSOLICITED {
            self.unsolicited.push(Unsolicited { value, offset });
        }
        if let Some(answer) = answer {
            // A server that does not read it will not read what comes next, either.
            let _ = self.send(&answer).await;
        }
    }

    /// The request that a response with an id is meant for, and whether the id is not quite that of the request.
    fn meant(&self, id: &Value) -> Option<(usize, bool)> {
        let number = match id {
            Value::Number(number) =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "1.0 is 1, and anything else is no id of ours"
                )]
                number.as_i64().or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64))
            }
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let found = self.exchanges.iter().position(|exchange| {
            exchange.request.get("id").and_then(Value::as_i64) == number && number.is_some()
        });
        if let Some(index) = found {
            return Some((index, !id.is_i64() && !id.is_u64()));
        }
        let mut waiting =
            self.exchanges.iter().enumerate().filter(|(_, exchange)| exchange.response.is_none());
        match (waiting.next(), waiting.next()) {
            (Some((index, _)), None) => Some((index, true)),
            _ => None,
        }
    }
}

/// What a client without capabilities responds to a message of the server, if that is a request.
fn answer(value: &Value) -> Option<Value> {
    let id = value.get("id").filter(|id| id.is_string() || id.is_number())?;
    let method = value.get("method")?.as_str()?;
    Some(if method == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        let message = format!("{method}: this client has not declared that capability");
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}})
    })
}

fn offset(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
