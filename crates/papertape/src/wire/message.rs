//! Frames to messages, which are distinguished by their members, and messages to JSON.
//!
//! The envelope is read in one pass and `params` stays raw text until the method is known.
//! Syntax comes before shape: text that is not JSON is a parse error even if its beginning already has the wrong shape.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
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
                params: params_object(self.params).unwrap_or(None),
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
        match params_object(self.params) {
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
fn params_object(params: Option<&RawValue>) -> Result<Option<&RawValue>, RpcError> {
    let Some(raw) = params else { return Ok(None) };
    match raw.get().as_bytes().first() {
        Some(b'{') => Ok(Some(raw)),
        Some(b'n') => Ok(None),
        _ => Err(RpcError::invalid_params("`params` must be a JSON object")),
    }
}

/// Distinguishes `null` from an absent member.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The same for a value of any kind.
pub(crate) fn present_value<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads a struct from an object only (derived code would accept an array, too); `null` is `None`.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct ObjectVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(ObjectVisitor(PhantomData))
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

impl<'de> Deserialize<'de> for Key<'de> {
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

/// The content of a response.
pub(crate) enum Reply<'a> {
    /// Writes the result's JSON.
    Result(&'a dyn Fn(&mut Vec<u8>)),
    Error(&'a RpcError),
}

pub(crate) fn write_request<P: Serialize>(out: &mut Vec<u8>, id: &Id, method: &str, params: Option<&P>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(out);
    out.push(b',');
    write_method(out, method, params);
}

pub(crate) fn write_notification<P: Serialize>(out: &mut Vec<u8>, method: &str, params: Option<&P>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    write_method(out, method, params);
}

fn write_method<P: Serialize>(out: &mut Vec<u8>, method: &str, params: Option<&P>) {
    out.extend_from_slice(b"\"method\":");
    write_json(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        write_json(out, params);
    }
    out.push(b'}');
}

pub(crate) fn write_reply(out: &mut Vec<u8>, id: &Id, reply: &Reply<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(out);
    match reply {
        Reply::Result(write) => {
            out.extend_from_slice(b",\"result\":");
            write(out);
        }
        Reply::Error(error) => {
            out.extend_from_slice(b",\"error\":");
            write_json(out, error);
        }
    }
    out.push(b'}');
}

pub(crate) fn write_anonymous_error(out: &mut Vec<u8>, omit_id: bool, error: &RpcError) {
    out.extend_from_slice(if omit_id {
        b"{\"jsonrpc\":\"2.0\",\"error\":"
    } else {
        &b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"[..]
    });
    write_json(out, error);
    out.push(b'}');
}

/// Appends JSON made of our own types, which have string keys only and so cannot fail to be written.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests;
