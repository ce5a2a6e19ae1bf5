//! Requests in a session, without one, or over HTTP+SSE.

use data_encoding::BASE64;
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::drive::{MODERN, modern};
use crate::http::client::{Client, Request};
use crate::http::exchange::Exchange;
use crate::http::sse::SseStream;

/// How requests are sent to a server that was opened.
#[derive(Debug)]
pub(crate) enum Channel {
    /// In a session-based revision, over Streamable HTTP.
    Session(HttpSession),
    /// In the stateless revision.
    Stateless,
    /// Over HTTP+SSE.
    Sse(Box<SseStream>),
}

/// A session over Streamable HTTP.
#[derive(Debug, Clone)]
pub(crate) struct HttpSession {
    pub(crate) revision: String,
    /// Its id, if the server has given it one.
    pub(crate) id: Option<String>,
}

impl HttpSession {
    /// A request with the headers of the session.
    pub(crate) fn mark(&self, request: Request) -> Request {
        let request = request.header("mcp-protocol-version", &self.revision);
        match &self.id {
            Some(id) => request.header("mcp-session-id", id),
            None => request,
        }
    }

    /// A request that ends it.
    pub(crate) fn end(&self, client: &Client, url: &Url) -> Request {
        self.mark(client.request(Method::DELETE, url.clone()))
    }
}

impl Channel {
    /// Sends a request.
    pub(crate) async fn call(&mut self, client: &Client, method: &str, params: Option<Value>) -> Exchange {
        match self {
            Channel::Session(session) => client.send(session.mark(client.call(method, params))).await,
            Channel::Stateless => client.send(stateless(client, method, params, MODERN)).await,
            Channel::Sse(stream) => Box::pin(stream.call(client, method, params)).await,
        }
    }
}

impl Channel {
    /// Calls a tool. In the stateless revision, its name and some of its arguments are in headers, too.
    pub(crate) async fn call_tool(
        &mut self,
        client: &Client,
        tool: &str,
        input_schema: &Value,
        arguments: Value,
    ) -> Exchange {
        let mut headers = vec![("mcp-name".to_owned(), encoded(tool))];
        mirrored(input_schema, &arguments, &mut headers);
        let params = json!({"name": tool, "arguments": arguments});
        if !matches!(self, Channel::Stateless) {
            return self.call(client, "tools/call", Some(params)).await;
        }
        let request = stateless(client, "tools/call", Some(params), MODERN);
        client.send(headers.iter().fold(request, |request, (name, value)| request.header(name, value))).await
    }
}

/// The headers of arguments whose schemas name one with `x-mcp-header`.
fn mirrored(schema: &Value, arguments: &Value, headers: &mut Vec<(String, String)>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let Some(argument) = arguments.get(name) else { continue };
        let value = match argument {
            Value::String(text) => Some(encoded(text)),
            Value::Bool(_) | Value::Number(_) => Some(argument.to_string()),
            _ => None,
        };
        if let (Some(header), Some(value)) = (property.get("x-mcp-header").and_then(Value::as_str), value) {
            headers.push((format!("mcp-param-{header}"), value));
        }
        mirrored(property, argument, headers);
    }
}

/// Text as the value of a header: in base64 if it is not visible ASCII, or looks as if it were encoded.
fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !text.starts_with("=?base64?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(text.as_bytes())) }
}

/// A request of a stateless revision, with its headers.
pub(crate) fn stateless(client: &Client, method: &str, params: Option<Value>, revision: &str) -> Request {
    let mut params = params.unwrap_or_else(|| json!({}));
    if let Some(members) = params.as_object_mut() {
        members.insert("_meta".to_owned(), modern::meta(revision));
    }
    client.call(method, Some(params)).header("mcp-protocol-version", revision).header("mcp-method", method)
}

/// `initialize` in a revision.
pub(crate) fn initialize(client: &Client, revision: &str) -> Request {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "papertape-check", "version": env!("CARGO_PKG_VERSION")},
    });
    client.call("initialize", Some(params))
}
