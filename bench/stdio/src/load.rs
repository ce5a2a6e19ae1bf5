//! Requests out, replies in: cheap enough not to be what is measured, yet every reply is checked.
//!
//! Ids have nine digits, so all requests have one length and a call is a copy of the template with its id written
//! in. The first reply is parsed and judged; a later one that equals it but for the id is as good as the first, and
//! one that does not is parsed and judged too.

use anyhow::{Context, Result, bail, ensure};
use memchr::{memchr_iter, memmem};
use serde::Deserialize;
use serde_json::{Value, json};

const FIRST_ID: usize = 100_000_000;
const DIGITS: usize = 9;
/// What a pipe holds.
const PIPE: usize = 64 << 10;
const HEAD: &str = r#"{"jsonrpc":"2.0","id":"#;

/// What a right answer looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    Mcp,
    /// The line itself comes back.
    Copy,
}

pub(crate) struct Load {
    dialect: Dialect,
    revision: String,
    text: String,
    /// A whole line, with `FIRST_ID`.
    call: Vec<u8>,
    /// A reply that was right, and where its id is.
    known: Option<(Vec<u8>, usize)>,
    /// By id: is an answer awaited?
    awaited: Vec<bool>,
    in_flight: usize,
    /// Calls not yet written into `out`.
    queued: usize,
    out: Vec<u8>,
    out_sent: usize,
    /// Bytes from the server: lines in `..lines_end`, the rest of a line in `lines_end..filled`, space after it.
    input: Vec<u8>,
    lines_end: usize,
    filled: usize,
}

#[derive(Deserialize)]
struct Reply {
    jsonrpc: String,
    id: usize,
    result: Value,
}

impl Load {
    pub(crate) fn new(dialect: Dialect, revision: &str, size: usize) -> Self {
        let text: String = "echo this text. ".chars().cycle().take(size).collect();
        let mut load = Self {
            dialect,
            revision: revision.to_owned(),
            text,
            call: Vec::new(),
            known: None,
            awaited: Vec::new(),
            in_flight: 0,
            queued: 0,
            out: Vec::new(),
            out_sent: 0,
            input: vec![0; PIPE],
            lines_end: 0,
            filled: 0,
        };
        let params = json!({"name": "echo", "arguments": {"text": load.text}});
        load.call = load.request("tools/call", params);
        load
    }

    fn is_modern(&self) -> bool {
        self.revision == "2026-07-28"
    }

    fn request(&self, method: &str, mut params: Value) -> Vec<u8> {
        if self.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "stdio-race", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        format!("{HEAD}{FIRST_ID},\"method\":\"{method}\",\"params\":{params}}}\n").into_bytes()
    }

    /// Queues the message that opens the session: `initialize`, or `server/discover` where there is none.
    pub(crate) fn queue_opening(&mut self) {
        let opening = if self.is_modern() {
            self.request("server/discover", json!({}))
        } else {
            let client = json!({"name": "stdio-race", "version": "0"});
            let params = json!({"protocolVersion": self.revision, "capabilities": {}, "clientInfo": client});
            self.request("initialize", params)
        };
        self.out.extend(opening);
        self.awaited.push(false);
    }

    /// Reads the answer to the opening and queues what must follow it.
    pub(crate) fn finish_opening(&mut self) -> Result<()> {
        let line = self.input[..self.lines_end].to_vec();
        self.discard_lines();
        if self.dialect == Dialect::Copy {
            return Ok(());
        }
        let reply: Reply = serde_json::from_slice(&line).with_context(|| wrong(&line))?;
        let agreed = if self.is_modern() {
            reply.result["supportedVersions"]
                .as_array()
                .is_some_and(|v| v.iter().any(|v| v == &self.revision))
        } else {
            reply.result["protocolVersion"] == *self.revision
        };
        ensure!(agreed, "the server does not speak {}: {}", self.revision, wrong(&line));
        if !self.is_modern() {
            self.out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        }
        Ok(())
    }

    pub(crate) fn queue_calls(&mut self, calls: usize) {
        self.queued += calls;
        self.in_flight += calls;
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The next bytes for the server: about a pipe full, so that long texts do not pile up here.
    pub(crate) fn outgoing(&mut self) -> &[u8] {
        while self.queued > 0 && self.out.len() < PIPE {
            let id_at = self.out.len() + HEAD.len();
            self.out.extend_from_slice(&self.call);
            write_digits(&mut self.out[id_at..id_at + DIGITS], FIRST_ID + self.awaited.len());
            self.awaited.push(true);
            self.queued -= 1;
        }
        &self.out[self.out_sent..]
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.out_sent += bytes;
        if self.out_sent == self.out.len() {
            self.out.clear();
            self.out_sent = 0;
        }
    }

    /// Where the next bytes from the server go.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.filled == self.input.len() {
            self.input.resize(2 * self.filled, 0);
        }
        &mut self.input[self.filled..]
    }

    /// Takes note of bytes that were read. Is there a whole line?
    pub(crate) fn received(&mut self, bytes: usize) -> bool {
        let new = &self.input[self.filled..self.filled + bytes];
        if let Some(newline) = memchr::memrchr(b'\n', new) {
            self.lines_end = self.filled + newline + 1;
        }
        self.filled += bytes;
        self.lines_end > 0
    }

    /// Judges the lines received and says how many there were.
    pub(crate) fn take_replies(&mut self) -> Result<usize> {
        let mut replies = 0;
        let mut start = 0;
        for end in memchr_iter(b'\n', &self.input[..self.lines_end]) {
            let line = &self.input[start..end];
            start = end + 1;
            replies += 1;
            let id = match self.known.as_ref().and_then(|known| same_but_for_id(line, known)) {
                Some(id) => id,
                None => {
                    let id = self.judge(line)?;
                    let id_at =
                        memmem::find(line, id.to_string().as_bytes()).context("an id of nine digits")?;
                    self.known = Some((line.to_vec(), id_at));
                    id
                }
            };
            match id.checked_sub(FIRST_ID).and_then(|n| self.awaited.get_mut(n)) {
                Some(awaited @ true) => *awaited = false,
                _ => bail!("no such request is pending: {}", wrong(line)),
            }
        }
        self.discard_lines();
        self.in_flight -= replies;
        Ok(replies)
    }

    /// Parses a reply, checks all that matters in it, and returns its id.
    fn judge(&self, line: &[u8]) -> Result<usize> {
        if self.dialect == Dialect::Copy {
            let sent = (self.call.strip_suffix(b"\n").unwrap_or_default().to_vec(), HEAD.len());
            return same_but_for_id(line, &sent).with_context(|| wrong(line));
        }
        let reply: Reply = serde_json::from_slice(line).with_context(|| wrong(line))?;
        let result = &reply.result;
        let right = reply.jsonrpc == "2.0"
            && result["content"] == json!([{"type": "text", "text": self.text}])
            && result["isError"].as_bool() != Some(true)
            && (result["resultType"] == "complete") == self.is_modern();
        ensure!(right, "{}", wrong(line));
        Ok(reply.id)
    }

    fn discard_lines(&mut self) {
        self.input.copy_within(self.lines_end..self.filled, 0);
        self.filled -= self.lines_end;
        self.lines_end = 0;
    }
}

/// The id of a line that differs from a known one in nothing else.
fn same_but_for_id(line: &[u8], (known, id_at): &(Vec<u8>, usize)) -> Option<usize> {
    let id_end = id_at + DIGITS;
    let same =
        line.len() == known.len() && line[..*id_at] == known[..*id_at] && line[id_end..] == known[id_end..];
    let digits = line.get(*id_at..id_end)?;
    (same && digits.iter().all(u8::is_ascii_digit))
        .then(|| digits.iter().fold(0, |id, digit| 10 * id + usize::from(digit - b'0')))
}

fn write_digits(place: &mut [u8], mut number: usize) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn wrong(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let shown: String = line.chars().take(500).collect();
    format!("wrong answer: {shown}{}", if shown.len() < line.len() { " ..." } else { "" })
}
