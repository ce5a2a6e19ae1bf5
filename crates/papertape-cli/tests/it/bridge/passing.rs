//! What passes a bridge for a host on stdio, for both kinds of hosts and servers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use papertape_testing::process::{OPEN, Process, call};
use serde_json::{Value, json};

use super::Host;
use super::host::{bridge, capabilities, server};
use crate::http::Served;
use crate::{full_pipe, opening as opening_result, papertape, scratch};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// Every host on stdio in front of every server: in the revision that is named, on stdio and at a URL. The revision makes the
/// bridge translate.
fn pairs(test: impl Fn(Host, &str)) {
    for revision in [LEGACY, MODERN] {
        for is_modern in [false, true] {
            let on_stdio = bridge(&["--revision", revision], &[&server()]);
            run(on_stdio, is_modern, &format!("server on stdio: {revision}"), &test);
            let served = Served::start(&mut bridge(&["--http", "0"], &[&server()]));
            let url = format!("http://{}/mcp", served.address);
            let at_url = papertape(["bridge", "--revision", revision, &url]);
            run(at_url, is_modern, &format!("server at a URL: {revision}"), &test);
        }
    }
}

fn run(mut command: Command, is_modern: bool, server: &str, test: impl Fn(Host, &str)) {
    let host = if is_modern {
        Host::modern(&mut command, &capabilities())
    } else {
        Host::legacy(&mut command, &capabilities())
    };
    test(host, &format!("modern host: {is_modern}; {server}"));
}

#[track_caller]
fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"))
}

#[test]
fn lists_results_and_errors() {
    pairs(|mut host, pair| {
        let tools = host.request("tools/list", json!({}))["result"]["tools"].take();
        let count = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "count").expect(pair);
        assert_eq!(count["annotations"]["readOnlyHint"], true, "{pair}");
        assert_eq!(count["inputSchema"]["required"], json!(["to"]), "{pair}");
        assert_eq!(text(&host.call("count", &json!({"to": 0}))), "counted to 0");
        let wrong = host.call("count", &json!({"to": "x"}));
        assert!(wrong.to_string().contains("count"), "{pair}: {wrong}");
        let unknown = host.call("no-such", &json!({}));
        assert_eq!(unknown["error"]["code"], -32602, "{pair}: {unknown}");

        let read = host.request("resources/read", json!({"uri": "note://of/ada"}));
        assert_eq!(read["result"]["contents"][0]["text"], "the note of ada", "{pair}");
        let missing = host.request("resources/read", json!({"uri": "note://no/such"}));
        let code = if pair.contains("modern host: true") { -32602 } else { -32002 };
        assert_eq!(missing["error"]["code"], code, "{pair}: {missing}");
        let listed = host.request("resources/list", json!({}));
        assert_eq!(listed["result"]["resources"][0]["uri"], "note://plain", "{pair}");
        let listed = host.request("resources/templates/list", json!({}));
        assert_eq!(listed["result"]["resourceTemplates"][0]["uriTemplate"], "note://of/{name}", "{pair}");

        let got = host.request("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}}));
        assert_eq!(got["result"]["messages"][0]["content"]["text"], "Hello, Ada", "{pair}");
        for of in [
            json!({"type": "ref/prompt", "name": "greet"}),
            json!({"type": "ref/resource", "uri": "note://of/{name}"}),
        ] {
            let argument = json!({"name": "name", "value": "a"});
            let completed = host.request("completion/complete", json!({"ref": of, "argument": argument}));
            assert_eq!(completed["result"]["completion"]["values"], json!(["ada", "alan"]), "{pair}");
        }
        let echoed = host.request("com.example/echo", json!({"a": 1.5}));
        assert_eq!(echoed["result"]["params"]["a"], 1.5, "{pair}: {echoed}");
        host.end();
    });
}

#[test]
fn progress_and_log_messages() {
    pairs(|mut host, pair| {
        let mut meta = json!({"progressToken": "p"});
        if pair.contains("modern host: true") {
            meta["io.modelcontextprotocol/logLevel"] = json!("info");
        } else {
            host.request("logging/setLevel", json!({"level": "info"}));
        }
        let id = host.begin("tools/call", json!({"name": "count", "arguments": {"to": 1}, "_meta": meta}));
        let (mut progress, mut logs) = (Vec::new(), Vec::new());
        let response = loop {
            let message = host.process.message();
            match message["method"].as_str() {
                Some("notifications/progress") => progress.push(message["params"].clone()),
                Some("notifications/message") => logs.push(message["params"].clone()),
                _ => break message,
            }
        };
        assert_eq!(response["id"], id, "{pair}");
        let step = json!({"progressToken": "p", "progress": 1, "total": 1, "message": "step 1"});
        assert_eq!(progress.len(), 1, "{pair}");
        assert_eq!(progress[0]["message"], step["message"], "{pair}");
        assert_eq!(progress[0]["progress"].as_f64(), Some(1.0), "{pair}");
        assert_eq!(logs, [json!({"level": "info", "logger": "count", "data": {"step": 1}})], "{pair}");
        host.end();
    });
}

#[test]
fn a_cancelled_call_is_cancelled_on_the_server() {
    pairs(|mut host, pair| {
        let meta = json!({"progressToken": 7});
        let id = host.begin("tools/call", json!({"name": "wait", "arguments": {}, "_meta": meta}));
        // It has begun.
        assert_eq!(host.process.message()["method"], "notifications/progress", "{pair}");
        host.notify("notifications/cancelled", &json!({"requestId": id}));
        while text(&host.call("cancelled", &json!({}))) == "0" {}
        host.end();
    });
}

#[test]
fn a_form_goes_to_the_user_and_back() {
    pairs(|mut host, pair| {
        let call = json!({"name": "seat", "arguments": {}});
        let response = if pair.contains("modern host: true") {
            let required = host.request("tools/call", call.clone());
            let (key, asked) =
                required["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
            assert_eq!(asked["params"]["message"], "Which row?", "{pair}");
            let mut again = call;
            again["requestState"] = required["result"]["requestState"].clone();
            again["inputResponses"] = json!({key: {"action": "accept", "content": {"row": 7}}});
            host.request("tools/call", again)
        } else {
            host.begin("tools/call", call);
            host.serve("elicitation/create", &json!({"action": "accept", "content": {"row": 7}}));
            host.process.message()
        };
        assert_eq!(text(&response), "row 7", "{pair}");
        host.end();
    });
}

#[test]
fn a_list_that_changes_is_listed_again() {
    pairs(|mut host, pair| {
        if pair.contains("modern host: true") {
            host.begin("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
            assert_eq!(host.process.message()["method"], "notifications/subscriptions/acknowledged");
        }
        let id = host.begin("tools/call", json!({"name": "grow", "arguments": {}}));
        let (mut changed, mut returned) = (false, false);
        while !(changed && returned) {
            let message = host.process.message();
            changed |= message["method"] == "notifications/tools/list_changed";
            returned |= message["id"] == id;
        }
        let tools = host.request("tools/list", json!({}));
        assert!(tools.to_string().contains("grown"), "{pair}: {tools}");
        assert_eq!(text(&host.call("grown", &json!({}))), "grown", "{pair}");
        drop(host);
    });
}

#[test]
fn a_resource_that_changes_is_announced() {
    pairs(|mut host, pair| {
        if pair.contains("modern host: true") {
            let resources = json!({"resourceSubscriptions": ["note://plain"]});
            host.begin("subscriptions/listen", json!({"notifications": resources}));
            assert_eq!(host.process.message()["method"], "notifications/subscriptions/acknowledged");
        } else {
            host.begin("resources/subscribe", json!({"uri": "note://plain"}));
            assert_eq!(host.process.message()["result"], json!({}), "{pair}");
        }
        // Once when the server is watched, as it may have changed before, and once when it has changed.
        let mut updates = 0;
        while updates < 2 {
            let message = host.process.message();
            if message["method"] == "notifications/resources/updated" {
                assert_eq!(message["params"]["uri"], "note://plain", "{pair}");
                updates += 1;
                if updates == 1 {
                    host.begin("tools/call", json!({"name": "update", "arguments": {}}));
                }
            }
        }
        drop(host);
    });
}

#[test]
fn notifications_of_an_extension_pass_both_ways() {
    pairs(|mut host, pair| {
        let id = host.begin("tools/call", json!({"name": "hail", "arguments": {}}));
        let hailed = host.process.message();
        assert_eq!(hailed["method"], "notifications/com.example/hail", "{pair}: {hailed}");
        assert_eq!(hailed["params"]["a"], 1, "{pair}");
        assert_eq!(host.process.message()["id"], id, "{pair}");
        host.notify("notifications/com.example/mark", &json!({}));
        while text(&host.call("marks", &json!({}))) == "0" {}
        host.end();
    });
}

/// A server of 2026-07-28 turns a call into a task, which the bridge waits for.
#[test]
fn a_task_of_the_server_is_a_call_for_the_host() {
    pairs(|mut host, pair| {
        assert_eq!(text(&host.call("report", &json!({}))), "the report", "{pair}");
        host.end();
    });
}

#[test]
fn a_server_process_that_exits_is_started_again() {
    for revision in [LEGACY, MODERN] {
        let mut command = bridge(&["--revision", revision], &[&server()]);
        let mut host = Host::legacy(&mut command, &capabilities());
        let before = text(&host.call("pid", &json!({}))).to_owned();
        let failed = host.call("exit", &json!({}));
        assert!(failed["error"]["message"].as_str().unwrap().contains("exited (exit status 3)"), "{failed}");
        let after = host.call("pid", &json!({}));
        assert_ne!(text(&after), before, "{revision}");
        host.process.wait_for_log("papertape: the server was started again (restart 1)");
        assert!(host.process.finish().status.success());
    }
}

#[test]
fn either_framing_is_answered_in_kind() {
    for (framing, server_framing) in [("content-length", "line"), ("line", "content-length")] {
        let mut command = bridge(&["--revision", MODERN, "--framing", server_framing], &[&server()]);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        let opening = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}},
        })
        .to_string();
        let frame = |body: &str| match framing {
            "line" => format!("{body}\n"),
            _ => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
        };
        let end = papertape_testing::process::run(&mut command, frame(&opening) + &frame(&body));
        let output = String::from_utf8(end.output.clone()).unwrap();
        assert!(end.status.success(), "{end:?}");
        assert_eq!(output.starts_with("Content-Length: "), framing == "content-length", "{output}");
        assert!(output.contains("\"name\":\"bridged\"") && output.contains("\"id\":1"), "{output}");
    }
}

/// One thread does everything: it must not wait for a host that does not read the log of the server.
#[test]
fn a_full_stderr_does_not_keep_calls() {
    let (unread, full) = full_pipe();
    let noisy = ["sh", "-c", "echo noise >&2; exec \"$1\"", "sh", &server()];
    let mut command = bridge(&["--revision", LEGACY], &noisy);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(full);
    let mut process = Process::start_as_it_is(&mut command);
    process.send(OPEN);
    assert_eq!(process.message()["id"], "open");
    process.send(call(1, "count", &json!({"to": 0})));
    assert_eq!(text(&process.message()), "counted to 0");
    drop(unread);
    assert!(process.finish().status.success());
}

#[test]
fn a_connection_that_is_lost_ends_the_bridge() {
    let socket = scratch("bridge_lost").join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let opening: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        let result = opening_result(&json!({"tools": {}}));
        let opened = json!({"jsonrpc": "2.0", "id": opening["id"], "result": result});
        writeln!(&stream, "{opened}").unwrap();
        // It closes the connection during the call.
        lines.find(|line| line.contains("tools/call")).unwrap();
    });
    let target = format!("unix:{}", socket.display());
    let command = &mut papertape(["bridge", "--revision", LEGACY, &target]);
    let mut host = Host::legacy(command, &capabilities());
    let failed = host.call("any", &json!({}));
    assert!(failed["error"]["message"].as_str().unwrap().contains("closed the connection"), "{failed}");
    let end = host.process.wait();
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    assert!(end.log.contains("papertape: the server is lost"), "{}", end.log);
    server.join().unwrap();
}

#[test]
fn an_error_names_the_option_of_its_limit() {
    let options = ["--revision", LEGACY, "--timeout", "0.1"];
    let mute = ["sh", "-c", "while read -r line; do :; done"];
    let end = papertape_testing::process::run(&mut bridge(&options, &mute), OPEN);
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    let response: Value = serde_json::from_slice(&end.output).unwrap();
    let message = response["error"]["message"].as_str().unwrap();
    assert!(message.contains("(limit: --timeout)"), "{message}");
}
