//! Bytes that pass unchanged, between a host and a server of the same revision and framing.

use std::path::Path;
use std::process::Command;

use papertape_testing::process::{OPEN, Process, call, run};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::host::{bridge, in_front_of, server};

/// The bytes that a server writes for these, with a bridge and without.
#[track_caller]
fn passes(input: &str) {
    let direct = run(&mut Command::new(server()), input);
    let bridged = run(&mut bridge(&[], &[&server()]), input);
    assert!(bridged.status.success() && bridged.log.is_empty(), "{bridged:?}");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(text(&bridged.output), text(&direct.output));
}

#[test]
fn a_server_that_speaks_as_the_host_does_is_not_translated() {
    let calls = call(1, "count", &json!({"to": 0})) + "not JSON\n" + &call(2, "no-such", &json!({}));
    passes(&format!("{OPEN}{calls}"));
    passes(&OPEN.replace("2025-11-25", "2024-11-05"));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = |id: u32, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let count = json!({"name": "count", "arguments": {"to": 0}});
    passes(&(request(1, "server/discover", json!({})) + &request(2, "tools/call", count.clone())));
    passes(&(request(1, "tools/list", json!({})) + &request(2, "tools/call", count)));
    let opening = OPEN.lines().map(|body| format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    passes(&opening.collect::<String>());
}

/// Responds to the handshake in a way of its own, and then writes what it reads.
const ECHO: &str = r#"read -r line
printf '%s\n' '{ "result" : {"protocolVersion":"2025-11-25","x":1.0e2}, "id":"open"  ,"jsonrpc":"2.0"}'
exec cat"#;

#[test]
fn every_byte_passes_both_ways() {
    let (opening, initialized) = OPEN.split_once('\n').unwrap();
    let response = "{ \"result\" : {\"protocolVersion\":\"2025-11-25\",\"x\":1.0e2}, \"id\":\"open\"  ,\"jsonrpc\":\"2.0\"}\n";
    let odd: Vec<u8> = [initialized.as_bytes(), b" \t\r\n{\"a\":\xff\x00}\nno line end"].concat();
    let input = [opening.as_bytes(), b"\n", &odd].concat();
    let end = run(&mut bridge(&[], &["sh", "-c", ECHO]), input);
    assert!(end.status.success(), "{end:?}");
    assert_eq!(end.output, [response.as_bytes(), &odd].concat(), "{end:?}");
}

#[test]
fn a_server_that_exits_ends_the_bridge() {
    let script = ECHO.replace("exec cat", "exit 7");
    let mut process = Process::start(&mut bridge(&[], &["sh", "-c", &script]));
    process.send(OPEN);
    assert_eq!(process.message()["id"], "open");
    let end = process.wait();
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    assert!(end.log.contains("the server has exited (exit status: 7)"), "{}", end.log);
}

#[test]
fn a_server_that_exits_leaves_no_request_without_a_response() {
    let script = ECHO.replace("exec cat", "read -r initialized; read -r first; printf '{\"half'; exit 7");
    let mut process = Process::start(&mut bridge(&[], &["sh", "-c", &script]));
    process.send(OPEN);
    assert_eq!(process.message()["id"], "open");
    let requests = call(1, "count", &json!({})) + &call(2, "count", &json!({}));
    process.send(requests);
    let end = process.wait();
    assert_eq!(end.status.code(), Some(4), "{end:?}");
    let output = String::from_utf8(end.output.clone()).unwrap();
    let lines: Vec<&str> = output.lines().collect();
    let [half, errors @ ..] = &lines[..] else { panic!("{output}") };
    assert_eq!(*half, "{\"half");
    let errors: Vec<Value> = errors.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = errors.iter().map(|error| &error["id"]).collect();
    assert_eq!(ids, [1, 2], "{output}");
    let message = errors[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("the server has exited (exit status: 7)"), "{message}");
}

#[test]
fn a_signal_ends_the_bridge_and_the_server() {
    for options in [&[][..], &["--revision", "2025-11-25"]] {
        let mut process = Process::start(&mut bridge(options, &[&server()]));
        process.send(OPEN);
        assert_eq!(process.message()["id"], "open");
        process.send(call(1, "pid", &json!({})));
        let pid = process.message()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        process.signal(Signal::TERM);
        let end = process.wait();
        assert_eq!(end.status.code(), Some(143), "{end:?}");
        assert!(!Path::new("/proc").join(pid).exists(), "{options:?}");
    }
}

/// A server that has not accepted the handshake is ended before another one is started.
#[test]
fn a_handshake_that_is_not_accepted_is_translated() {
    // Also of a host that has closed its input by then.
    let alone = OPEN.split_inclusive('\n').next().unwrap();
    for input in [OPEN, alone] {
        let end = run(&mut in_front_of(&["--modern", "books"]), input);
        assert!(end.status.success(), "{end:?}");
        let opened: Value =
            serde_json::from_slice(end.output.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
    }
}

#[test]
fn a_server_that_cannot_be_started_is_an_error_of_the_first_request() {
    let end = run(&mut bridge(&[], &["/no/such/program"]), OPEN);
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    let response: Value = serde_json::from_slice(&end.output).unwrap();
    assert_eq!(response["id"], "open");
    assert!(response["error"]["message"].as_str().unwrap().contains("/no/such/program"), "{response}");
}
