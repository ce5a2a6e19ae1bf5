//! Requests in a session, without one, or over HTTP+SSE.

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
