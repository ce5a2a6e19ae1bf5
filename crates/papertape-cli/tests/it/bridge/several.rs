//! Several servers as one: `papertape bridge --config`.

use serde_json::{Value, json};

use super::Host;
use super::host::{capabilities, server};
use crate::{faulty, papertape, scratch};

fn config(test: &str, servers: &Value) -> String {
    let file = scratch(test).join("mcp.json");
    std::fs::write(&file, json!({"mcpServers": servers}).to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[track_caller]
fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"))
}

#[test]
fn servers_are_offered_as_one_and_a_failing_one_is_left_out() {
    let servers = json!({
        "first": {"command": server()},
        "old one": {"command": faulty(), "args": ["--legacy", "books"]},
        "broken": {"command": "/no/such/program"},
        "off": {"command": "/no/such/program", "disabled": true},
    });
    let file = config("bridge_several", &servers);
    for is_modern in [true, false] {
        let mut command = papertape(["bridge", "--config", &file]);
        let mut host = if is_modern {
            Host::modern(&mut command, &capabilities())
        } else {
            Host::legacy(&mut command, &capabilities())
        };
        let listed = host.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"first_count") && names.contains(&"old_one_book"), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("first_") || name.starts_with("old_one_")));
        assert_eq!(text(&host.call("first_count", &json!({"to": 0}))), "counted to 0");
        assert_eq!(text(&host.call("old_one_echo", &json!({"text": "a"}))), "a");
        let got = host.request("prompts/get", json!({"name": "first_greet", "arguments": {"name": "Ada"}}));
        assert_eq!(got["result"]["messages"][0]["content"]["text"], "Hello, Ada");
        let read = host.request("resources/read", json!({"uri": "note://plain"}));
        assert_eq!(read["result"]["contents"][0]["text"], "a note");
        // One that fails later does not take the other with it.
        assert!(host.call("first_exit", &json!({})).get("error").is_some());
        assert_eq!(text(&host.call("old_one_echo", &json!({"text": "b"}))), "b");
        let end = host.process.finish();
        assert!(end.status.success(), "{end:?}");
        assert!(end.log.contains("broken") && end.log.contains("/no/such/program"), "{}", end.log);
    }
}

#[test]
fn no_server_at_all_is_an_error() {
    let file = config("bridge_none", &json!({"broken": {"command": "/no/such/program"}}));
    let mut host = Host::modern(&mut papertape(["bridge", "--config", &file]), &json!({}));
    let refused = host.request("tools/list", json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("/no/such/program"), "{refused}");
    assert_eq!(host.process.finish().status.code(), Some(3));
}
