//! `server-stateless`: stateless requests, each with its client info and capabilities.
//!
//! What the suite wants to see as HTTP status codes is an error code here.

use serde_json::{Value, json};

use crate::wire::{MODERN, TASKS, Wire};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The response to a request with these parameters and no others.
fn bare(method: &str, params: &Value) -> Value {
    let mut wire = Wire::open(MODERN);
    wire.send(&json!({"jsonrpc": "2.0", "id": "bare", "method": method, "params": params}));
    let answer = wire.next();
    assert_eq!(answer["id"], "bare", "{answer}");
    wire.end();
    answer
}

#[test]
fn a_request_needs_a_version_and_client_capabilities() {
    for meta in [
        json!({CLIENT: {"name": "x", "version": "1"}, CAPABILITIES: {}}),
        json!({VERSION: MODERN, CLIENT: {"name": "x", "version": "1"}}),
    ] {
        let answer = bare("server/discover", &json!({"_meta": meta}));
        assert_eq!(answer["error"]["code"], -32602, "{meta}: {answer}");
    }
    let answer = bare("server/discover", &json!({}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn client_info_is_optional() {
    let answer = bare("server/discover", &json!({"_meta": {VERSION: MODERN, CAPABILITIES: {}}}));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
}

#[test]
fn discover_returns_the_capabilities() {
    let mut wire = Wire::open(MODERN);
    let found = wire.result("server/discover", json!({}));
    assert_eq!(found["resultType"], "complete");
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)), "{found}");
    assert!(
        found["ttlMs"].is_u64() && ["public", "private"].contains(&found["cacheScope"].as_str().unwrap())
    );
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "papertape-conformance");
    let offered = &found["capabilities"];
    assert!(offered["extensions"][TASKS].is_object() && offered.get("tasks").is_none(), "{offered}");
    // What is declared is there.
    for (capability, list) in
        [("tools", "tools/list"), ("prompts", "prompts/list"), ("resources", "resources/list")]
    {
        assert!(offered[capability].is_object(), "{offered}");
        assert!(!wire.result(list, json!({}))[capability].as_array().unwrap().is_empty());
    }
    wire.end();
}

#[test]
fn an_unsupported_version_is_rejected_with_the_supported_ones() {
    let meta = json!({VERSION: "v999.0.0", CLIENT: {"name": "x", "version": "1"}, CAPABILITIES: {}});
    let answer = bare("server/discover", &json!({"_meta": meta}));
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert_eq!(answer["error"]["data"]["requested"], "v999.0.0");
    assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)), "{answer}");
}

#[test]
fn a_tool_that_needs_an_undeclared_capability_is_rejected() {
    let mut wire = Wire::open_with(MODERN, json!({}));
    let error = wire.error("tools/call", json!({"name": "test_missing_capability"}));
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"]["requiredCapabilities"], json!({"sampling": {}}));
    wire.end();
}

#[test]
fn methods_of_session_based_revisions_are_unknown() {
    let mut wire = Wire::open(MODERN);
    drop(wire.result("server/discover", json!({})));
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/subscribe", json!({"uri": "test://watched-resource"})),
        ("resources/unsubscribe", json!({"uri": "test://watched-resource"})),
        ("tasks/result", json!({"taskId": "x"})),
        ("tasks/list", json!({})),
        ("unknown/method", json!({})),
    ] {
        let error = wire.error(method, params);
        assert_eq!(error["code"], -32601, "{method}: {error}");
    }
    wire.end();
}

#[test]
fn the_server_sends_no_requests_of_its_own() {
    let mut wire = Wire::open(MODERN);
    let result = wire.call("test_streaming_elicitation", &json!({}));
    assert_eq!(result["resultType"], "input_required");
    assert!(wire.before.is_empty(), "{:?}", wire.before);
    wire.end();
}

#[test]
fn no_log_messages_without_a_log_level() {
    let mut wire = Wire::open(MODERN);
    drop(wire.call("test_logging_tool", &json!({})));
    assert!(wire.before.is_empty(), "{:?}", wire.before);
    let wants = json!({"_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
    drop(wire.call_with("test_logging_tool", &wants));
    assert_eq!(wire.notifications("notifications/message").len(), 1);
    wire.end();
}
