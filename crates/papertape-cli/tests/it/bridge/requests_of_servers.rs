//! Elicitation, sampling and roots: requests of servers in session-based revisions, `input_required` in stateless ones.

use serde_json::{Value, json};

use super::Host;
use super::host::{bridge, capabilities, in_front_of};
use crate::faulty;

fn sample() -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": "Ada"}, "model": "m"})
}

fn roots() -> Value {
    json!({"roots": [{"uri": "file:///home/ada", "name": "home"}]})
}

/// What the tool `book` tells about the responses.
#[track_caller]
fn booked(response: &Value) -> Value {
    serde_json::from_str(response["result"]["content"][0]["text"].as_str().expect("a text")).unwrap()
}

#[test]
fn a_legacy_host_gets_requests_for_what_a_modern_server_needs() {
    let mut host = Host::legacy(&mut in_front_of(&["--modern", "books"]), &capabilities());
    let id = host.begin("tools/call", json!({"name": "book", "arguments": {"text": "x"}}));
    let asked = host.serve("elicitation/create", &json!({"action": "accept", "content": {"seat": "12A"}}));
    assert_eq!(asked["params"]["message"], "Which seat?");
    let mut methods = Vec::new();
    for _ in 0..2 {
        let request = host.process.message();
        let result = if request["method"] == "roots/list" { roots() } else { sample() };
        methods.push(request["method"].as_str().unwrap().to_owned());
        host.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }
    methods.sort();
    assert_eq!(methods, ["roots/list", "sampling/createMessage"]);
    let response = host.process.message();
    assert_eq!(response["id"], id);
    let booked = booked(&response);
    assert_eq!(booked["seat"]["content"]["seat"], "12A");
    assert_eq!(booked["who"], sample());
    assert_eq!(booked["where"], roots());
    assert_eq!(booked["problems"], json!([]));
    host.end();
}

#[test]
fn a_modern_host_gets_input_requests_for_what_a_legacy_server_requests() {
    let mut host = Host::modern(&mut in_front_of(&["--legacy", "books"]), &capabilities());
    let discovered = host.request("server/discover", json!({}));
    assert_eq!(discovered["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "faulty books");
    let original = json!({"name": "book", "arguments": {"text": "x"}});
    let mut response = host.request("tools/call", original.clone());
    let mut asked = Vec::new();
    while response["result"]["resultType"] == "input_required" {
        let mut next = original.clone();
        next["requestState"] = response["result"]["requestState"].clone();
        next["inputResponses"] = json!({});
        for (key, request) in response["result"]["inputRequests"].as_object().unwrap() {
            let method = request["method"].as_str().unwrap();
            asked.push(method.to_owned());
            next["inputResponses"][key] = match method {
                "elicitation/create" => json!({"action": "accept", "content": {"seat": "12A"}}),
                "roots/list" => roots(),
                _ => sample(),
            };
        }
        response = host.request("tools/call", next);
    }
    asked.sort();
    assert_eq!(asked, ["elicitation/create", "roots/list", "sampling/createMessage"]);
    let booked = booked(&response);
    assert_eq!(booked["seat"]["content"]["seat"], "12A");
    assert_eq!(booked["who"], sample());
    assert_eq!(booked["where"], roots());
    host.end();
}

#[test]
fn a_server_knows_what_the_host_supports() {
    for (mode, modern_host) in [("--modern", false), ("--legacy", true)] {
        let mut command = in_front_of(&[mode, "books"]);
        let mut host = if modern_host {
            Host::modern(&mut command, &json!({}))
        } else {
            Host::legacy(&mut command, &json!({}))
        };
        let response = host.call("book", &json!({}));
        assert!(response.to_string().contains("this needs elicitation"), "{response}");
        host.end();
    }
}

#[test]
fn a_refusal_of_the_host_is_that_of_the_bridge() {
    let server = ["--legacy", "asks", "roots/list"];
    // A modern host without roots: the server is told so.
    let mut host = Host::modern(&mut in_front_of(&server), &json!({"elicitation": {}}));
    let response = host.call("fault", &json!({}));
    let text = response["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("-32602") && text.contains("the host does not support roots"), "{text}");
    host.end();
}

/// A server that requests the roots as soon as its session is open, and tells what it got.
const ASKS_AT_ONCE: &str = r#"read -r opening
printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
read -r initialized
printf '%s\n' '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
while read -r line; do echo "got $line" >&2; done"#;

#[test]
fn a_legacy_host_is_asked_while_no_call_is_running() {
    let mut command = bridge(&["--revision", "2025-11-25"], &["sh", "-c", ASKS_AT_ONCE]);
    let mut host = Host::legacy(&mut command, &capabilities());
    host.serve("roots/list", &roots());
    host.process.wait_for_log("file:///home/ada");
}

#[test]
fn a_change_of_roots_is_announced_to_a_legacy_server() {
    let mut command = bridge(&["--revision", "2025-11-25"], &[&faulty(), "--legacy", "books"]);
    let mut host = Host::legacy(&mut command, &capabilities());
    host.notify("notifications/roots/list_changed", &json!({}));
    while !host.call("was_heard", &json!({})).to_string().contains("roots/list_changed") {}
    host.end();
}

#[test]
fn an_error_of_the_host_is_one_for_the_server() {
    let server = [&faulty(), "--legacy", "asks", "roots/list"];
    let mut host = Host::legacy(&mut bridge(&["--revision", "2025-11-25"], &server), &capabilities());
    host.begin("tools/call", json!({"name": "fault", "arguments": {}}));
    let request = host.process.message();
    let error = json!({"code": -1, "message": "the user has said no"});
    host.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    let told = host.process.message();
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the user has said no") && text.contains("-1"), "{text}");
    host.end();
}

#[test]
fn a_request_that_the_server_cancels_is_cancelled_on_the_host() {
    let server = [&faulty(), "--legacy", "asks-and-cancels"];
    let mut host = Host::legacy(&mut bridge(&["--revision", "2025-11-25"], &server), &capabilities());
    let id = host.begin("tools/call", json!({"name": "fault", "arguments": {}}));
    let mut open = Vec::new();
    loop {
        // It may be cancelled before it has reached the host at all.
        let message = host.process.message();
        match message["method"].as_str() {
            Some("elicitation/create") => open.push(message["id"].clone()),
            Some("notifications/cancelled") => open.retain(|id| *id != message["params"]["requestId"]),
            _ => {
                assert_eq!(message["id"], id, "{message}");
                break;
            }
        }
    }
    while !open.is_empty() {
        let message = host.process.message();
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
        open.retain(|id| *id != message["params"]["requestId"]);
    }
    host.end();
}
