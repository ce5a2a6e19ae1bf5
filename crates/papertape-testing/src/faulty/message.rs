//! Messages of the client.

use serde_json::{Value, json};

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request, a notification or a response.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) value: Value,
    /// Came in `Content-Length` framing.
    pub(crate) headers: bool,
    /// Is a request of 2026-07-28, and this server knows what that is.
    pub(crate) modern: bool,
}

impl Message {
    /// Empty for a response.
    pub(crate) fn method(&self) -> &str {
        self.value["method"].as_str().unwrap_or_default()
    }

    /// Null for a notification.
    pub(crate) fn id(&self) -> &Value {
        &self.value["id"]
    }

    pub(crate) fn params(&self) -> &Value {
        &self.value["params"]
    }

    pub(crate) fn meta(&self, key: &str) -> &Value {
        &self.value["params"]["_meta"][key]
    }

    /// The name of the tool, if one is called.
    pub(crate) fn tool(&self) -> &str {
        let name = if self.method() == "tools/call" { self.params()["name"].as_str() } else { None };
        name.unwrap_or_default()
    }

    /// The tool's argument `text`.
    pub(crate) fn text(&self) -> &str {
        self.params()["arguments"]["text"].as_str().unwrap_or_default()
    }

    /// A notification of progress on this request.
    pub(crate) fn progress(&self, progress: impl Into<Value>) -> Value {
        let params = json!({"progressToken": self.meta("progressToken"), "progress": progress.into()});
        notification("notifications/progress", &params)
    }
}

pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The result of a tool.
pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// A value with one member set.
pub(crate) fn with(mut value: Value, member: &str, new: impl Into<Value>) -> Value {
    value[member] = new.into();
    value
}

/// A value without one of its members.
pub(crate) fn without(mut value: Value, member: &str) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.remove(member);
    }
    value
}
