//! Frames to messages, which are distinguished by their members.
//!
//! The envelope is read in one pass and `params` stays raw text until the method is known.
//! Syntax comes before shape: text that is not JSON is a parse error even if its beginning already has the wrong shape.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::RpcError;
use super::id::Id;

/// One JSON-RPC message, borrowed from its frame.
#[derive(Debug)]
pub enum Message<'a> {
    /// Expects exactly one response.
    Request(Request<'a>),
    /// Expects no response.
    Notification(Notification<'a>),
    /// Responds to a request of ours.
    Response(Response<'a>),
}

/// A request, its parameters still raw.
#[derive(Debug)]
pub struct Request<'a> {
    /// The id for the response.
    pub id: Id,
    /// The method's name, unescaped.
    pub method: Cow<'a, str>,
    /// A JSON object, if present.
    pub params: Option<&'a RawValue>,
}

/// A notification, its parameters still raw.
#[derive(Debug)]
pub struct Notification<'a> {
    /// The method's name, unescaped.
    pub method: Cow<'a, str>,
    /// A JSON object, if present.
    pub params: Option<&'a RawValue>,
}

/// A response, which is validated by the sender of the request.
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of the request, if it could be read.
    pub id: Option<Id>,
    /// The `result` member.
    pub result: Option<&'a RawValue>,
    /// The `error` member.
    pub error: Option<&'a RawValue>,
}

/// The content of one frame.
#[derive(Debug)]
pub enum Payload<'a> {
    /// One message.
    Single(Message<'a>),
    /// A batch: the raw members, each to be read with [`parse_member`].
    Batch(Vec<&'a RawValue>),
}

/// Why a frame is not a valid message, and the id for the response if it could be read.
#[derive(Debug)]
pub struct Rejected {
    /// The id, if it could be read.
    pub id: Option<Id>,
    /// The error for the response.
    pub error: RpcError,
    /// It has no `method`, so it was meant as a response.
    pub is_response: bool,
}

impl Rejected {
    fn anonymous(error: RpcError) -> Self {
        Self { id: None, error, is_response: false }
    }
}

/// Limits of a frame.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The maximum nesting of arrays and objects.
    pub depth: usize,
    /// The maximum number of messages in a batch.
    pub batch: usize,
}

/// Reads one frame's body.
///
/// # Errors
/// If the body is not JSON, too deep, or neither a request, a notification, a response nor a batch.
pub fn parse(body: &[u8], bounds: Bounds) -> Result<Payload<'_>, Rejected> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|e| {
        Rejected::anonymous(RpcError::parse(format!(
            "the frame is not UTF-8: invalid byte at offset {} (MCP is UTF-8 JSON)",
            e.valid_up_to()
        )))
    })?;
    let mut json = serde_json::Deserializer::from_str(text);
    let shape = json
        .deserialize_any(ShapeVisitor { batch: bounds.batch })
        .and_then(|shape| json.end().map(|()| shape))
        .map_err(|e| Rejected::anonymous(RpcError::parse(format!("the frame is not JSON: {e}"))))?;
    let too_deep = deeper_than(body, bounds.depth).then(|| {
        RpcError::invalid_request(format!(
            "the message is nested deeper than the limit of {} levels",
            bounds.depth
        ))
    });
    match shape {
        Shape::Object(envelope) => match too_deep {
            Some(error) => Err(envelope.reject(error)),
            None => envelope.into_message().map(Payload::Single),
        },
        Shape::Array(members) => match too_deep {
            Some(error) => Err(Rejected::anonymous(error)),
            None if members.is_empty() => {
                Err(Rejected::anonymous(RpcError::invalid_request("a batch must not be empty")))
            }
            None if members.len() > bounds.batch => {
                let message = format!("the batch is larger than the limit of {} messages", bounds.batch);
                Err(Rejected::anonymous(RpcError::invalid_request(message)))
            }
            None => Ok(Payload::Batch(members)),
        },
        Shape::Scalar(what) => Err(Rejected::anonymous(RpcError::invalid_request(format!(
            "a message must be a JSON object, got {what}"
        )))),
    }
}

/// Reads one member of a batch.
///
/// # Errors
/// If the member is neither a request, a notification nor a response.
pub fn parse_member(member: &RawValue) -> Result<Message<'_>, Rejected> {
    let shape = serde_json::Deserializer::from_str(member.get()).deserialize_any(ShapeVisitor { batch: 0 });
    match shape {
        Ok(Shape::Object(envelope)) => envelope.into_message(),
        _ => Err(Rejected::anonymous(RpcError::invalid_request("a member of a batch must be a JSON object"))),
    }
}

/// The maximum size of an id: it is kept as long as the request runs.
const MOST_ID: usize = 64 * 1024;

/// The error of a message that is neither a request nor a response.
pub(crate) const NO_METHOD: &str = "`method` is missing";

/// The members of a message as raw JSON. `None` is absent; `null` is present.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// A member that was given twice.
    duplicate: Option<&'static str>,
    /// `id` was given twice.
    id_is_ambiguous: bool,
}

impl<'a> Envelope<'a> {
    fn readable_id(&self) -> Option<Id> {
        if self.id_is_ambiguous { None } else { self.id.and_then(|raw| Id::parse(raw.get()).ok()) }
    }

    fn into_message(self) -> Result<Message<'a>, Rejected> {
        let Some(method) = self.method else {
            if self.result.is_some() || self.error.is_some() {
                return Ok(Message::Response(Response {
                    id: self.readable_id(),
                    result: self.result,
                    error: self.error,
                }));
            }
            return Err(self.reject(RpcError::invalid_request(NO_METHOD)));
        };
        if let Some(member) = self.duplicate {
            return Err(self.reject(RpcError::invalid_request(format!("`{member}` occurs twice"))));
        }
        let Some(method) = string(method) else {
            return Err(self.reject(RpcError::invalid_request("`method` must be a string")));
        };
        let Some(raw_id) = self.id else {
            // A message without an id gets no response, even if it is invalid.
            return Ok(Message::Notification(Notification {
                method,
                params: object(self.params).unwrap_or(None),
            }));
        };
        if raw_id.get().len() > MOST_ID {
            let message = format!("`id` is longer than {MOST_ID} bytes");
            return Err(Rejected::anonymous(RpcError::invalid_request(message)));
        }
        let id =
            Id::parse(raw_id.get()).map_err(|why| Rejected::anonymous(RpcError::invalid_request(why)))?;
        if self.jsonrpc.is_none_or(|raw| string(raw).as_deref() != Some("2.0")) {
            let got = self.jsonrpc.map_or("nothing".to_owned(), |raw| super::error::excerpt(raw.get()));
            let error = RpcError::invalid_request(format!("`jsonrpc` must be the string \"2.0\", got {got}"));
            return Err(Rejected { id: Some(id), error, is_response: false });
        }
        match object(self.params) {
            Ok(params) => Ok(Message::Request(Request { id, method, params })),
            Err(error) => Err(Rejected { id: Some(id), error, is_response: false }),
        }
    }

    fn reject(&self, error: RpcError) -> Rejected {
        Rejected { id: self.readable_id(), error, is_response: self.method.is_none() }
    }
}

/// A JSON string, unescaped; nothing else.
pub(crate) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// `params`, which must be an object; `null` counts as absent.
fn object(params: Option<&RawValue>) -> Result<Option<&RawValue>, RpcError> {
    let Some(raw) = params else { return Ok(None) };
    match raw.get().as_bytes().first() {
        Some(b'{') => Ok(Some(raw)),
        Some(b'n') => Ok(None),
        _ => Err(RpcError::invalid_params("`params` must be a JSON object")),
    }
}

enum Shape<'a> {
    Object(Envelope<'a>),
    Array(Vec<&'a RawValue>),
    Scalar(&'static str),
}

struct ShapeVisitor {
    /// How many members of an array are kept; one more shows that there were too many.
    batch: usize,
}

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(Key(key)) = map.next_key()? {
            let (name, slot) = match &*key {
                "jsonrpc" => ("jsonrpc", &mut envelope.jsonrpc),
                "id" => ("id", &mut envelope.id),
                "method" => ("method", &mut envelope.method),
                "params" => ("params", &mut envelope.params),
                "result" => ("result", &mut envelope.result),
                "error" => ("error", &mut envelope.error),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(map.next_value()?).is_some() {
                envelope.duplicate.get_or_insert(name);
                envelope.id_is_ambiguous |= name == "id";
            }
        }
        Ok(Shape::Object(envelope))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while members.len() <= self.batch {
            match seq.next_element()? {
                Some(member) => members.push(member),
                None => return Ok(Shape::Array(members)),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape::Array(members))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Shape::Scalar("null"))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Shape::Scalar("a boolean"))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar("a number"))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar("a number"))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar("a number"))
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Shape::Scalar("a string"))
    }
}

/// A member's name, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> de::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Whether valid JSON nests deeper than `limit`.
fn deeper_than(json: &[u8], limit: usize) -> bool {
    // Few messages have as many brackets as the limit; only those are scanned.
    if memchr::memchr2_iter(b'{', b'[', json).nth(limit).is_none() {
        return false;
    }
    let (mut depth, mut deepest) = (0usize, 0);
    outside_strings(json, |byte| match byte {
        b'{' | b'[' => {
            depth += 1;
            deepest = deepest.max(depth);
        }
        b'}' | b']' => depth = depth.saturating_sub(1),
        _ => {}
    });
    deepest > limit
}

/// The id of a message of which only the beginning is available, if it precedes every large member.
#[must_use]
pub fn id_at_the_beginning(beginning: &[u8]) -> Option<Id> {
    // The members before a large one are small.
    let text = String::from_utf8_lossy(beginning.get(..NEAR).unwrap_or(beginning));
    let mut rest = text.trim_start_matches('\u{feff}').trim_start().strip_prefix('{')?;
    loop {
        rest = rest.trim_start().trim_start_matches(',');
        let mut key = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let name = key.next()?.ok()?;
        rest = rest.get(key.byte_offset()..)?.trim_start().strip_prefix(':')?;
        let mut value = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let raw = value.next()?.ok()?;
        if name == "id" {
            return Id::parse(raw.get()).ok();
        }
        rest = rest.get(value.byte_offset()..)?;
    }
}

/// How far [`id_at_the_beginning`] looks.
const NEAR: usize = 4 * 1024;

/// Visits the bytes of valid JSON that are not within strings.
pub(crate) fn outside_strings(json: &[u8], mut visit: impl FnMut(u8)) {
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        if !in_string {
            in_string = byte == b'"';
            visit(byte);
        } else if escaped {
            escaped = false;
        } else {
            escaped = byte == b'\\';
            in_string = byte != b'"';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Message, Payload, parse};
    use crate::wire::error::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR};

    const BOUNDS: Bounds = Bounds { depth: 127, batch: 100 };

    /// What a body is, in few words: `request 7 m {..}`, `-32600 7`, ...
    fn read(body: &[u8]) -> String {
        let raw = |raw: Option<&serde_json::value::RawValue>| raw.map_or("-", |raw| raw.get()).to_owned();
        match parse(body, BOUNDS) {
            Ok(Payload::Single(Message::Request(r))) => {
                format!("request {} {} {}", r.id, r.method, raw(r.params))
            }
            Ok(Payload::Single(Message::Notification(n))) => {
                format!("notification {} {}", n.method, raw(n.params))
            }
            Ok(Payload::Single(Message::Response(r))) => format!("response {:?}", r.id),
            Ok(Payload::Batch(members)) => format!("batch {}", members.len()),
            Err(rejected) => match rejected.id {
                Some(id) => format!("{} {id}", rejected.error.code),
                None => format!("{} –", rejected.error.code),
            },
        }
    }

    fn check(body: &str, expected: &str) {
        assert_eq!(read(body.as_bytes()), expected, "{body}");
    }

    #[test]
    fn messages_are_classified_by_their_members() {
        check(r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#, "request 7 m -");
        check(
            r#"{"params":{"a":[1]},"method":"m","id":"7","jsonrpc":"2.0","more":{}}"#,
            r#"request "7" m {"a":[1]}"#,
        );
        check(r#"{"jsonrpc":"2.0","method":"m","params":null}"#, "notification m -");
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "response Some(7)");
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "response None");
        check(r#"[{"jsonrpc":"2.0"},1]"#, "batch 2");
        check("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}", "request 7 m -");
        check(r#"{"jsonrpc":"2.0","\u0069d":7,"method":"tools\/list"}"#, "request 7 tools/list -");
    }

    #[test]
    fn the_id_is_kept_when_the_rest_is_wrong() {
        for body in [
            r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#,
            r#"{"jsonrpc":2.0,"id":7,"method":"m"}"#,
            r#"{"id":7,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":null}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"Method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"m","method":"m"}"#,
        ] {
            check(body, &format!("{INVALID_REQUEST} 7"));
        }
        for params in ["[1]", "\"x\"", "5"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{params}}}"#);
            check(&body, &format!("{INVALID_PARAMS} 7"));
        }
    }

    #[test]
    fn an_invalid_message_has_no_id() {
        for body in [
            "1",
            "null",
            "\"x\"",
            "{}",
            "[]",
            "true",
            "1.5",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
        ] {
            check(body, &format!("{INVALID_REQUEST} –"));
        }
        for id in ["1.5", "null", "true", "[1]", "{}", "1e400"] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), &format!("{INVALID_REQUEST} –"));
        }
        check(&format!("[{}]", vec!["1"; 101].join(",")), &format!("{INVALID_REQUEST} –"));
    }

    #[test]
    fn syntax_comes_before_shape() {
        for body in [
            "hello",
            "",
            "[1,",
            "{\"id\":7",
            "{} {}",
            "{} x",
            "nul",
            "[1,]",
            "{\"a\":\"\t\"}",
            "\"\\x\"",
            "01",
        ] {
            check(body, &format!("{PARSE_ERROR} –"));
        }
        for body in [&b"\"\xff\xfe\""[..], b"\"\xc0\x80\"", b"\"\xed\xa0\x80\"", b"\x00{}", b"\"\x00\""] {
            assert_eq!(read(body), format!("{PARSE_ERROR} –"));
        }
    }

    #[test]
    fn the_id_of_a_beginning() {
        let id = |text: &str| super::id_at_the_beginning(text.as_bytes()).map(|id| id.to_string());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"a":"xxx"#), Some("7".to_owned()));
        assert_eq!(id(r#" { "id" : "a" , "result":"#), Some("\"a\"".to_owned()));
        for nothing in
            [r#"{"result":{"id":7"#, r#"{"result":{},"i"#, "{", "", "[{\"id\":7}]", r#"{"id":null,"#]
        {
            assert_eq!(id(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn depth_is_bounded_without_recursion() {
        let nested = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":{open}{close}}}}}"#)
        };
        assert!(read(nested(125).as_bytes()).starts_with("request 7"));
        for levels in [126, 1_000, 100_000] {
            assert_eq!(read(nested(levels).as_bytes()), format!("{INVALID_REQUEST} 7"));
        }
        check(&"[".repeat(100_000), &format!("{PARSE_ERROR} –"));
        check(&"{\"a\":".repeat(1_000_000), &format!("{PARSE_ERROR} –"));
        // Brackets in strings are not levels.
        let brackets =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"\"{}"}}}}"#, "[".repeat(500));
        assert!(read(brackets.as_bytes()).starts_with("request 7"));
    }
}
