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

/// A server that is started by what is written to a pipe: until then it leaves the bridge without a response.
#[test]
fn a_server_that_is_not_ready_is_announced_later() {
    let pipe = scratch("bridge_late").join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let script = "cat \"$1\" > /dev/null; exec \"$2\"";
    let servers = json!({
        "first": {"command": server()},
        "late": {"command": "sh", "args": ["-c", script, "sh", pipe, server()]},
    });
    let file = config("bridge_late_config", &servers);
    let mut host = Host::legacy(&mut papertape(["bridge", "--config", &file]), &capabilities());
    host.process.wait_for_log("the server late is not connected after 5 s");
    assert_eq!(text(&host.call("first_count", &json!({"to": 0}))), "counted to 0");
    let refused = host.call("late_count", &json!({"to": 0}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("the server late"), "{refused}");
    std::fs::write(&pipe, "start").unwrap();
    while host.process.message()["method"] != "notifications/tools/list_changed" {}
    let id = host.begin("tools/call", json!({"name": "late_count", "arguments": {"to": 0}}));
    // Changes of the other lists are announced, too.
    let response = loop {
        let message = host.process.message();
        if message["id"] == id {
            break message;
        }
    };
    assert_eq!(text(&response), "counted to 0");
}

/// What the session of a server reports does not say which server it is.
#[test]
fn an_error_names_its_server() {
    let file = config("bridge_named", &json!({"first": {"command": server()}}));
    let mut host = Host::legacy(&mut papertape(["bridge", "--config", &file]), &capabilities());
    let failed = host.call("first_exit", &json!({}));
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the server first: ") && message.contains("exit status 3"), "{message}");
    host.process.wait_for_log("papertape: the server first has exited (exit status: 3)");
    assert!(host.process.finish().status.success());
}

#[test]
fn no_server_at_all_is_an_error() {
    let file = config("bridge_none", &json!({"broken": {"command": "/no/such/program"}}));
    let mut host = Host::modern(&mut papertape(["bridge", "--config", &file]), &json!({}));
    let refused = host.request("tools/list", json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("/no/such/program"), "{refused}");
    assert_eq!(host.process.finish().status.code(), Some(3));
}
