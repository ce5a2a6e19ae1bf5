//! A request over HTTP, and what came back.

use std::time::Duration;

use papertape::wire::sse::Decoder;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;

use crate::evidence::{Evidence, Stream};
use crate::finding::Finding;
use crate::http::failure::Failure;
use crate::http::redactor::Redactor;
use crate::stdio::scan_refused::{Refused, tolerant};

/// The longest body that is read, and the longest event.
pub(crate) const MOST: usize = 16 * 1024 * 1024;

/// Headers of responses that are shown. Others may be secret (`Set-Cookie`), and there may be many of them.
const SHOWN: [&str; 12] = [
    "content-type",
    "content-encoding",
    "location",
    "allow",
    "www-authenticate",
    "mcp-session-id",
    "mcp-protocol-version",
    "access-control-allow-origin",
    "access-control-allow-headers",
    "access-control-expose-headers",
    "server",
    "retry-after",
];

/// A request, and what came back.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// The method of the message, or of the request if it has none: for sentences.
    pub(crate) what: String,
    /// The id of the message.
    pub(crate) id: Option<i64>,
    /// The request, without secrets.
    pub(crate) request: Vec<u8>,
    pub(crate) outcome: Result<Response, Failure>,
    /// Until the beginning of the response, or until it failed.
    pub(crate) elapsed: Duration,
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// What was read of the body.
    pub(crate) body: Vec<u8>,
    /// Both as they may be shown, without secrets.
    pub(crate) shown: Shown,
    /// Why it was not read to its end.
    pub(crate) cut: Option<Cut>,
    /// The events of a stream.
    pub(crate) events: Vec<SseEvent>,
    /// The messages in the body.
    pub(crate) messages: Vec<Value>,
    /// What some parsers refuse in a message.
    pub(crate) refused: Option<Refused>,
}

/// A response as it may be shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Shown {
    /// The status line, the headers that are shown, and the body.
    pub(crate) fn new(status: u16, headers: &HeaderMap, body: &[u8], redactor: &Redactor) -> Self {
        let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        let mut head = format!("HTTP {status} {}\n", reason.unwrap_or_default()).into_bytes();
        for name in SHOWN {
            for value in headers.get_all(name) {
                head.extend_from_slice(format!("{name}: ").as_bytes());
                head.extend_from_slice(value.as_bytes());
                head.extend_from_slice(b"\n");
            }
        }
        head.extend_from_slice(b"\n");
        Self { head: redactor.redact_bytes(head), body: redactor.redact_bytes(body.to_vec()) }
    }
}

/// Why a body was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cut {
    /// What was waited for has arrived.
    Enough,
    /// The time is over.
    Timeout,
    /// It is too long.
    TooLong,
    /// The connection broke.
    Broken(String),
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) data: Option<Vec<u8>>,
}

impl SseEvent {
    /// Whether clients read it as a message.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self.name.as_deref(), None | Some("" | "message"))
            && self.data.as_ref().is_some_and(|data| !data.is_empty())
    }
}

/// Decodes what has arrived of a stream.
#[derive(Debug)]
pub(crate) struct Events {
    decoder: Decoder,
    pub(crate) taken: Vec<SseEvent>,
}

/// The most events that are kept.
const MOST_EVENTS: usize = 10_000;

impl Events {
    pub(crate) fn new() -> Self {
        Self { decoder: Decoder::new(MOST), taken: Vec::new() }
    }

    /// Takes the events in these bytes: `false` if there are too many, or one is too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.decoder.push(bytes);
        loop {
            match self.decoder.next_block() {
                Ok(Some(block)) => {
                    let event = block.event;
                    if event.name.is_some() || event.id.is_some() || event.data.is_some() {
                        self.taken.push(SseEvent {
                            name: event.name.map(std::borrow::Cow::into_owned),
                            id: event.id.map(std::borrow::Cow::into_owned),
                            data: event.data.map(std::borrow::Cow::into_owned),
                        });
                    }
                }
                Ok(None) => return self.taken.len() < MOST_EVENTS,
                Err(_) => return false,
            }
        }
    }
}

/// Whether a message is the response to a request.
pub(crate) fn responds_to(message: &Value, id: i64) -> bool {
    message.get("method").is_none() && message.get("id").and_then(Value::as_i64) == Some(id)
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The media type, in lower case, without its parameters.
    pub(crate) fn media_type(&self) -> String {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Takes a message out of the body, or several.
    pub(crate) fn take(&mut self, text: &[u8]) {
        let Some((value, refused)) = tolerant(text) else { return };
        self.refused = self.refused.or(refused);
        match value {
            Value::Array(batch) => self.messages.extend(batch),
            message => self.messages.push(message),
        }
    }

    /// The body as a JSON document.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The code of the JSON-RPC error in the body, if there is one.
    pub(crate) fn error_code(&self) -> Option<i64> {
        let error = |message: &Value| message.pointer("/error/code").and_then(Value::as_i64);
        self.messages.iter().find_map(error).or_else(|| error(&self.json()?))
    }
}

impl Exchange {
    pub(crate) fn response(&self) -> Option<&Response> {
        self.outcome.as_ref().ok()
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.response().map(|response| response.status)
    }

    /// The JSON-RPC response.
    pub(crate) fn message(&self) -> Option<&Value> {
        let id = self.id?;
        self.response()?.messages.iter().find(|message| responds_to(message, id))
    }

    /// Its result.
    pub(crate) fn result(&self) -> Option<&Value> {
        self.message()?.get("result")
    }

    /// The same, to take its content out.
    pub(crate) fn result_mut(&mut self) -> Option<&mut Value> {
        let id = self.id?;
        let messages = &mut self.outcome.as_mut().ok()?.messages;
        messages.iter_mut().find(|message| responds_to(message, id))?.get_mut("result")
    }

    /// Whether the request was served: with a result, or with an error of the method.
    pub(crate) fn is_accepted(&self) -> bool {
        self.response().is_some_and(Response::is_success)
    }

    /// The status, if it says that the caller may not do this, or not so soon.
    pub(crate) fn denied(&self) -> Option<u16> {
        self.status().filter(|status| matches!(status, 401..=403 | 429))
    }

    /// A finding with the request and the response as its evidence.
    pub(crate) fn proves(&self, finding: Finding) -> Finding {
        let finding = finding.evidence(Evidence::bytes(Stream::Http, 0, &self.request));
        match &self.outcome {
            Ok(response) => finding.evidence(Evidence::bytes(
                Stream::Http,
                0,
                &[response.shown.head.as_slice(), &response.shown.body].concat(),
            )),
            Err(failure) => finding.evidence(Evidence::fact(format!("no response: {}", failure.cause))),
        }
    }
}
