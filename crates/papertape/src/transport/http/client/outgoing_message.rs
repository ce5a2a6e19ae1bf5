//! Queued frames to HTTP requests: what a message is, and the headers that repeat it.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::headers;
use crate::client::Session;
use crate::protocol::meta::PROTOCOL_VERSION;
use crate::protocol::method;
use crate::wire::Id;
use crate::wire::frame::Outgoing;
use crate::wire::message::{self, Bounds, Message, Payload};

/// Messages of our own need no limits.
const BOUNDS: Bounds = Bounds { depth: usize::MAX, batch: 0 };

/// A message to be sent.
#[derive(Debug, Clone)]
pub(super) struct OutgoingMessage {
    pub(super) body: Bytes,
    /// The id, if it is a request.
    pub(super) id: Option<i64>,
    pub(super) method: String,
    /// The headers that repeat its members, in stateless revisions.
    pub(super) headers: HeaderMap,
    /// It is a message of a stateless revision.
    pub(super) is_stateless: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// The frames of the outbox without their line ends: on HTTP a body is a message.
pub(super) fn split(outgoing: &mut Outgoing) -> Vec<Bytes> {
    let all = Bytes::from(std::mem::take(&mut outgoing.bytes));
    let mut start = 0;
    let mut frame = |end: usize| {
        let whole = all.slice(start.min(end)..end);
        start = end;
        let line_end = usize::from(whole.ends_with(b"\n"));
        whole.slice(..whole.len() - line_end)
    };
    std::mem::take(&mut outgoing.ends).into_iter().map(&mut frame).collect()
}

impl OutgoingMessage {
    pub(super) fn read(body: &Bytes, session: &Session) -> Self {
        let mut sent = Self {
            body: body.clone(),
            id: None,
            method: String::new(),
            headers: HeaderMap::new(),
            is_stateless: false,
        };
        let (method, params) = match message::parse(body, BOUNDS) {
            Ok(Payload::Single(Message::Request(request))) => {
                if let Id::Integer(id) = request.id {
                    sent.id = Some(id);
                }
                (request.method, request.params)
            }
            Ok(Payload::Single(Message::Notification(notification))) => {
                (notification.method, notification.params)
            }
            _ => (Cow::Borrowed(""), None),
        };
        sent.method = method.into_owned();
        let params: Params<'_> =
            params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        sent.set_headers(&params, session);
        sent
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method == method
    }

    /// Sets the headers of a message of a stateless revision.
    fn set_headers(&mut self, params: &Params<'_>, session: &Session) {
        let text = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok();
        let meta = params.meta.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let Some(version) = meta.as_ref().and_then(|meta| meta.get(PROTOCOL_VERSION)?.as_str()) else {
            return;
        };
        self.is_stateless = true;
        self.put_plain(headers::PROTOCOL_VERSION, version);
        let method = self.method.clone();
        self.put_plain(headers::METHOD, &method);
        let name = match method.as_str() {
            method::TOOLS_CALL | method::PROMPTS_GET => params.name,
            method::RESOURCES_READ => params.uri,
            method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => params.task_id,
            _ => None,
        };
        let Some(name) = name.and_then(text) else { return };
        self.put(headers::NAME, &name);
        if method != method::TOOLS_CALL {
            return;
        }
        let Some(header_params) = session.header_params(&name) else { return };
        let arguments = params.arguments.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let Some(arguments) = arguments else { return };
        for (name, path) in &*header_params {
            if let Some(value) = headers::param_value(&arguments, path) {
                self.put(&format!("{}{name}", headers::PARAM), &value);
            }
        }
    }

    /// Adds a header that is never base64. An invalid value is left out, and the server reports what is missing.
    fn put_plain(&mut self, name: &'static str, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
    }

    fn put(&mut self, name: &str, value: &str) {
        // Names were validated when the tools were listed.
        if let Ok(name) = HeaderName::try_from(name) {
            self.headers.insert(name, headers::encode(value));
        }
    }
}
