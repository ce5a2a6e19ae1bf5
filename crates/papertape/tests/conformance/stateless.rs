//! `server-stateless`: the modern era, where each request says who asks and what they can do.
//!
//! What the suite wants to see as HTTP status codes is an error code here.

use serde_json::{Value, json};

use crate::wire::{MODERN, TASKS, Wire};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The answer to a request with these parameters and no others.
fn bare(method: &str, params: &Value) -> Value {
    let mut wire = Wire::open(MODERN);
    wire.send(&json!({"jsonrpc": "2.0", "id": "bare", "method": method, "params": params}));
    let answer = wire.next();
    assert_eq!(answer["id"], "bare", "{answer}");
    wire.end();
    answer
}

#[test]
fn a_request_must_say_which_version_it_is_of_and_what_the_client_can_do() {
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
fn who_the_client_is_may_be_left_out() {
    let answer = bare("server/discover", &json!({"_meta": {VERSION: MODERN, CAPABILITIES: {}}}));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
}

#[test]
fn discover_tells_what_there_is() {
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
fn a_version_that_nobody_speaks_is_refused_with_those_that_are_spoken() {
    let meta = json!({VERSION: "v999.0.0", CLIENT: {"name": "x", "version": "1"}, CAPABILITIES: {}});
    let answer = bare("server/discover", &json!({"_meta": meta}));
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert_eq!(answer["error"]["data"]["requested"], "v999.0.0");
    assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)), "{answer}");
}

#[test]
fn a_tool_that_needs_what_the_client_has_not_declared_is_refused() {
    let mut wire = Wire::open_with(MODERN, json!({}));
    let error = wire.error("tools/call", json!({"name": "test_missing_capability"}));
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"]["requiredCapabilities"], json!({"sampling": {}}));
    wire.end();
}

#[test]
fn methods_of_the_legacy_era_are_gone() {
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
fn nothing_is_asked_by_a_request_of_the_servers_own() {
    let mut wire = Wire::open(MODERN);
    let result = wire.call("test_streaming_elicitation", &json!({}));
    assert_eq!(result["resultType"], "input_required");
    assert!(wire.before.is_empty(), "{:?}", wire.before);
    wire.end();
}

#[test]
fn nothing_is_logged_for_a_request_that_did_not_want_it() {
    let mut wire = Wire::open(MODERN);
    drop(wire.call("test_logging_tool", &json!({})));
    assert!(wire.before.is_empty(), "{:?}", wire.before);
    let wants = json!({"_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
    drop(wire.call_with("test_logging_tool", &wants));
    assert_eq!(wire.told("notifications/message").len(), 1);
    wire.end();
}
