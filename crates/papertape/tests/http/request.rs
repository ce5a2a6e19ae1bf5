//! Valid HTTP requests, and every way to make them invalid.

use serde_json::{Value, json};

pub(crate) const MODERN: &str = "2026-07-28";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request whose every part can be changed.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without a body.
    pub(crate) fn new(method: &str, target: &str) -> Self {
        let line = format!("{method} {target} HTTP/1.1");
        Self { line, headers: vec![("Host".to_owned(), "localhost".to_owned())], body: Vec::new() }
    }

    /// A POST of JSON.
    pub(crate) fn post(body: impl Into<Vec<u8>>) -> Self {
        let request = Self::new("POST", "/mcp").header("Content-Type", "application/json");
        request.header("Accept", "application/json, text/event-stream").body(body)
    }

    /// A request of 2026-07-28, as it should be.
    pub(crate) fn modern(id: u64, method: &str, params: &Value) -> Self {
        Self::modern_by(&json!({}), id, method, params)
    }

    /// The same by a client with capabilities.
    pub(crate) fn modern_by(abilities: &Value, id: u64, method: &str, params: &Value) -> Self {
        let mut params = params.clone();
        params["_meta"][VERSION] = json!(MODERN);
        params["_meta"][CAPABILITIES] = abilities.clone();
        let subject = match method {
            "resources/read" => params["uri"].as_str().map(str::to_owned),
            "tools/call" | "prompts/get" => params["name"].as_str().map(str::to_owned),
            _ => None,
        };
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = Self::post(body.to_string()).header("MCP-Protocol-Version", MODERN);
        let request = request.header("Mcp-Method", method);
        match subject {
            Some(subject) => request.header("Mcp-Name", subject),
            None => request,
        }
    }

    /// A call of 2026-07-28.
    pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Self {
        Self::modern(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// As an application hands it on.
    pub(crate) fn handed_on(self) -> axum::extract::Request<String> {
        let mut line = self.line.split(' ');
        let mut request = axum::extract::Request::builder();
        request = request.method(line.next().unwrap()).uri(line.next().unwrap());
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(String::from_utf8(self.body).unwrap()).unwrap()
    }

    /// Adds a header, whether or not it is there.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Takes a header away.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Puts a header in place of what is there.
    pub(crate) fn with(self, name: &str, value: impl Into<String>) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Another first line.
    pub(crate) fn line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    /// The body as JSON, changed.
    pub(crate) fn changed(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut body = serde_json::from_slice(&self.body).unwrap();
        change(&mut body);
        self.body = body.to_string().into();
        self
    }

    /// The bytes that are sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.line).into_bytes();
        let mut framed = self.body.is_empty() && !self.line.starts_with("POST");
        for (name, value) in &self.headers {
            let name = name.to_ascii_lowercase();
            framed |= name == "content-length" || name == "transfer-encoding";
            bytes.extend(format!("{name}: {value}\r\n").bytes());
        }
        if !framed {
            bytes.extend(format!("content-length: {}\r\n", self.body.len()).bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }
}

/// A session as its client knows it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) revision: String,
}

impl Session {
    /// The request that opens a session.
    pub(crate) fn initialize(revision: &str, abilities: &Value) -> Request {
        let params = json!({"protocolVersion": revision, "capabilities": abilities,
            "clientInfo": {"name": "t", "version": "1"}});
        Request::post(
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string(),
        )
    }

    fn sign(&self, request: Request) -> Request {
        let request = request.header("Mcp-Session-Id", &*self.id);
        // Clients of 2025-03-26 do not know that header.
        if &*self.revision < "2025-06-18" {
            return request;
        }
        request.header("MCP-Protocol-Version", &*self.revision)
    }

    /// Any message of the session.
    pub(crate) fn post(&self, message: &Value) -> Request {
        self.sign(Request::post(message.to_string()))
    }

    pub(crate) fn request(&self, id: u64, method: &str, params: &Value) -> Request {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    pub(crate) fn call(&self, id: u64, tool: &str, arguments: &Value) -> Request {
        self.request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) -> Request {
        self.post(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Opens the GET stream for messages outside requests.
    pub(crate) fn get(&self) -> Request {
        self.sign(Request::new("GET", "/mcp").header("Accept", "text/event-stream"))
    }

    /// Resumes a stream.
    pub(crate) fn resume(&self, last: &str) -> Request {
        self.get().header("Last-Event-ID", last)
    }

    pub(crate) fn delete(&self) -> Request {
        self.sign(Request::new("DELETE", "/mcp"))
    }
}
