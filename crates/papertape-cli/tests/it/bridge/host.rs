//! A host of either kind of revision, which writes and reads every message itself.

use std::process::Command;

use papertape_testing::process::Process;
use serde_json::{Value, json};

use crate::examples::example;
use crate::{faulty, papertape};

/// What the hosts of these tests support.
pub(super) fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

pub(super) struct Host {
    pub(super) process: Process,
    /// The `_meta` of each request, in stateless revisions.
    meta: Option<Value>,
    last: u64,
}

impl Host {
    /// A host of 2025-11-25 on the stdio of a command, with its session open.
    pub(super) fn legacy(command: &mut Command, capabilities: &Value) -> Self {
        let mut host = Self { process: Process::start(command), meta: None, last: 0 };
        let client = json!({"name": "old host", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        let opened = host.request("initialize", params);
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
        host.notify("notifications/initialized", &json!({}));
        host
    }

    /// A host of 2026-07-28.
    pub(super) fn modern(command: &mut Command, capabilities: &Value) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "new host", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        Self { process: Process::start(command), meta: Some(meta), last: 0 }
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.process.send(format!("{message}\n"));
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request; its id.
    pub(super) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.last += 1;
        if let Some(meta) = &self.meta {
            let mut all = meta.clone();
            for (name, value) in params["_meta"].as_object().into_iter().flatten() {
                all[name] = value.clone();
            }
            params["_meta"] = all;
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        self.last
    }

    /// Sends a request, and reads its response, which must come next.
    #[track_caller]
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let response = self.process.message();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Reads a request of the server, and responds to it.
    #[track_caller]
    pub(super) fn serve(&mut self, method: &str, result: &Value) -> Value {
        let request = self.process.message();
        assert_eq!(request["method"], method, "{request}");
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        request
    }

    /// Closes stdin; the bridge ends by itself, and well.
    #[track_caller]
    pub(super) fn end(self) {
        let end = self.process.finish();
        assert!(end.status.success(), "{end:?}");
        assert_eq!(end.log, "");
    }
}

/// The example server that has something of everything.
pub(super) fn server() -> String {
    example("bridged").to_str().unwrap().to_owned()
}

/// A bridge in front of a mode of `faulty`.
pub(super) fn in_front_of(mode: &[&str]) -> Command {
    let faulty = faulty();
    let command: Vec<&str> = [&*faulty].into_iter().chain(mode.iter().copied()).collect();
    bridge(&[], &command)
}

/// A bridge with options, in front of a command.
pub(super) fn bridge(options: &[&str], server: &[&str]) -> Command {
    let mut command = papertape(["bridge"].into_iter().chain(options.iter().copied()));
    command.arg("--").args(server);
    command
}
