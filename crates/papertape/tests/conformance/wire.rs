//! A client that writes lines to the server's process and reads what comes back.

use std::process::Command;

use serde_json::{Value, json};

use crate::process::Process;

/// The revisions that open with `initialize`, oldest first.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one that does not.
pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Every revision, oldest first.
pub(crate) fn everyone() -> impl Iterator<Item = &'static str> {
    LEGACY.into_iter().chain([MODERN])
}

/// A session in one revision.
pub(crate) struct Wire {
    process: Process,
    pub(crate) revision: &'static str,
    /// The client capabilities.
    capabilities: Value,
    ids: u64,
    /// The other messages before the last response.
    pub(crate) before: Vec<Value>,
}

impl Wire {
    /// A client with the capabilities of the suite's own client.
    pub(crate) fn open(revision: &'static str) -> Self {
        Self::open_with(revision, json!({"sampling": {}, "elicitation": {}}))
    }

    pub(crate) fn open_with(revision: &'static str, capabilities: Value) -> Self {
        let mut wire = Self::start(revision, capabilities);
        if revision != MODERN {
            let opened = wire.handshake(revision);
            assert_eq!(opened["protocolVersion"], revision, "{opened}");
        }
        wire
    }

    /// A server that has received no request yet.
    pub(crate) fn start(revision: &'static str, capabilities: Value) -> Self {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/conformance_server");
        assert!(
            built.exists(),
            "{} has not been built: `cargo test` builds the examples, `cargo test --test conformance` does not",
            built.display()
        );
        let process = Process::start(Command::new(built).arg("--stdio"));
        Self { process, revision, capabilities, ids: 0, before: Vec::new() }
    }

    /// Opens a legacy session with a version; the initialize result.
    pub(crate) fn handshake(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": self.capabilities,
            "clientInfo": {"name": "conformance", "version": "1.0.0"}});
        let opened = self.result("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        opened
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.process.send(format!("{message}\n"));
    }

    pub(crate) fn next(&mut self) -> Value {
        self.process.message()
    }

    /// Sends a request and gives its id. A modern one has client info and capabilities.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.ids += 1;
        if self.revision == MODERN {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "conformance", "version": "1.0.0"});
            let declared = &mut meta["io.modelcontextprotocol/clientCapabilities"];
            if declared.is_null() {
                *declared = self.capabilities.clone();
            }
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}));
        self.ids
    }

    /// The response to a request; messages before it are kept, and server requests get a response.
    fn answer(&mut self, id: u64, mut answer: impl FnMut(&Value) -> Value) -> Value {
        self.before.clear();
        loop {
            let message = self.next();
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                let result = answer(&message);
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
            self.before.push(message);
        }
    }

    /// The whole response to a request without server requests.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id, |question| panic!("nothing was to be asked: {question}"))
    }

    /// The result of a request without server requests.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        self.checked(method, answer)
    }

    /// The result of a request with server requests.
    pub(crate) fn result_asking(
        &mut self,
        method: &str,
        params: Value,
        answer: impl FnMut(&Value) -> Value,
    ) -> Value {
        let id = self.begin(method, params);
        let answer = self.answer(id, answer);
        self.checked(method, answer)
    }

    /// Results of stateless revisions have a `resultType`, and only those.
    fn checked(&self, method: &str, mut answer: Value) -> Value {
        let result = answer["result"].take();
        assert!(result.is_object(), "{} {method}: {answer}", self.revision);
        let says = result.get("resultType").is_some();
        assert_eq!(says, self.revision == MODERN, "{} {method}: {result}", self.revision);
        result
    }

    /// The error of a request.
    pub(crate) fn error(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert!(answer.get("result").is_none(), "{} {method}: {answer}", self.revision);
        answer["error"].take()
    }

    /// The result of a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The result of a tool that is called with more than arguments.
    pub(crate) fn call_with(&mut self, tool: &str, more: &Value) -> Value {
        self.result("tools/call", call_params(tool, more))
    }

    /// The notifications of one kind before the last response.
    pub(crate) fn notifications(&self, method: &str) -> Vec<&Value> {
        self.before.iter().filter(|message| message["method"] == method).map(|it| &it["params"]).collect()
    }

    /// Ends the session; nothing more may arrive, and the server must have no complaint.
    pub(crate) fn end(self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "more than was asked: {rest:?}");
    }

    /// Ends a session with a subscription: that gets its result last.
    pub(crate) fn end_listening(self) {
        let rest = self.rest();
        let last = rest.last().unwrap();
        assert_eq!(last["result"]["resultType"], "complete", "{rest:?}");
    }

    fn rest(self) -> Vec<Value> {
        let end = self.process.finish();
        assert_eq!(end.is_clean().log, "", "something was written to stderr");
        end.messages()
    }
}

/// The parameters of a call with more than arguments.
pub(crate) fn call_params(tool: &str, more: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {}});
    for (member, value) in more.as_object().unwrap() {
        params[member] = value.clone();
    }
    params
}

/// The response of a user who accepts.
pub(crate) fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// The response of a model.
pub(crate) fn sampled(text: &str) -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "test-model", "stopReason": "endTurn"})
}

/// The first text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}
