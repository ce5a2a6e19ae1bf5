//! Which tools a host sees.

use serde_json::{Value, json};

use super::Host;
use super::host::{bridge, server};

#[track_caller]
fn names(options: &[&str]) -> Vec<String> {
    let mut host = Host::modern(&mut bridge(options, &[&server()]), &json!({}));
    let listed = host.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    host.end();
    names
}

#[test]
fn tools_are_shown_and_hidden_by_name() {
    assert_eq!(names(&["--only", "pid", "--only", "c*"]), ["count", "cancelled", "pid"]);
    assert_eq!(names(&["--only", "pid", "--only", "c*", "--hide", "c*"]), ["pid"]);
    assert!(!names(&["--hide", "exit"]).contains(&"exit".to_owned()));
    assert_eq!(names(&["--read-only"]), ["count"]);
}

#[test]
fn a_hidden_tool_cannot_be_called() {
    let mut host = Host::modern(&mut bridge(&["--hide", "pid"], &[&server()]), &json!({}));
    let refused: Value = host.call("pid", &json!({}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // A method of the server's own could do the same.
    let refused = host.request("com.example/echo", json!({}));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    host.end();
}

#[test]
fn a_name_that_no_tool_has_is_named() {
    let mut host = Host::modern(&mut bridge(&["--hide", "pidd"], &[&server()]), &json!({}));
    host.request("tools/list", json!({}));
    let end = host.process.finish();
    assert!(end.status.success() && end.log.starts_with("papertape: no tool is called pidd"), "{end:?}");
    assert!(end.log.contains("did you mean \"pid\"?"), "{end:?}");
}
