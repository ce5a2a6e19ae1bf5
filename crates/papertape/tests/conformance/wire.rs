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

/// A conversation in one revision.
pub(crate) struct Wire {
    process: Process,
    pub(crate) revision: &'static str,
    /// What the client says it can be asked.
    capabilities: Value,
    ids: u64,
    /// What else came before the last answer.
    pub(crate) before: Vec<Value>,
}

impl Wire {
    /// A client that can be asked what the suite's own client can be asked.
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

    /// A server that has been asked nothing yet.
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

    /// Opens a legacy conversation by asking for a version; what the server says of itself.
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

    /// Sends a request and gives its id. A modern one says with each what the client is.
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

    /// The answer to a request; what comes before it is kept, and what the server asks meanwhile is answered.
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

    /// The whole answer to a request during which nothing is asked.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id, |question| panic!("nothing was to be asked: {question}"))
    }

    /// The result of a request during which nothing is asked.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        self.checked(method, answer)
    }

    /// The result of a request during which the server asks something by requests of its own.
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

    /// Results of the modern era say what they are, and only those.
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

    /// The notifications of one kind that came before the last answer.
    pub(crate) fn told(&self, method: &str) -> Vec<&Value> {
        self.before.iter().filter(|message| message["method"] == method).map(|it| &it["params"]).collect()
    }

    /// Ends the conversation, which must leave nothing more to say and nothing to complain of.
    pub(crate) fn end(self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "more than was asked: {rest:?}");
    }

    /// Ends a conversation in which somebody listens: that is answered at last, and after it comes nothing.
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

/// What a user says who agrees.
pub(crate) fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// What a model says.
pub(crate) fn sampled(text: &str) -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "test-model", "stopReason": "endTurn"})
}

/// The first text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}
