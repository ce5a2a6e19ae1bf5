//! Requests made beforehand, in which only the id changes.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use memchr::memmem;
use serde_json::{Value, json};

/// The length of an id, so that requests do not change theirs.
const DIGITS: usize = 10;

/// The bytes of one request.
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    id_at: usize,
    id: u64,
}

impl Request {
    /// A POST of a message. Its `id`, if it has one, is filled in by [`Request::again`].
    ///
    /// # Errors
    /// If the message cannot be written.
    pub fn new(address: SocketAddr, headers: &[(&str, &str)], mut message: Value) -> Result<Self> {
        let first = 10_u64.pow(DIGITS as u32 - 1);
        let asks = message.get("id").is_some();
        if asks {
            message["id"] = json!(first);
        }
        let body = serde_json::to_string(&message)?;
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let bytes = format!("{head}\r\n{body}").into_bytes();
        let id_at = if asks {
            memmem::find(&bytes, format!("\"id\":{first}").as_bytes()).context("no id")? + "\"id\":".len()
        } else {
            bytes.len()
        };
        Ok(Self { bytes, id_at, id: first })
    }

    /// The bytes of the same request, under the next id.
    pub fn again(&mut self) -> &[u8] {
        self.id += 1;
        let mut rest = self.id;
        for place in self.bytes.iter_mut().skip(self.id_at).take(DIGITS).rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        &self.bytes
    }

    /// The digits of the id that was sent last.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        self.bytes.get(self.id_at..self.id_at + DIGITS).unwrap_or_default()
    }
}

/// What a modern request says of itself.
#[must_use]
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request that stands alone, as in 2026-07-28.
///
/// # Errors
/// If it cannot be written.
pub fn modern(address: SocketAddr, method: &str, name: Option<&str>, mut params: Value) -> Result<Request> {
    params["_meta"] = meta();
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(name.map(|name| ("mcp-name", name)));
    Request::new(address, &headers, json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}))
}
