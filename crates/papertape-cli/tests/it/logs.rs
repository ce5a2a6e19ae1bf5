//! Logs on stderr: levels, filters, text and JSON.

use serde_json::Value;

use crate::process::{OPEN, ping, run};
use crate::{against, papertape};

/// Requests that succeed, are rejected, and are invalid.
fn requests() -> String {
    OPEN.to_owned() + &ping(1) + "{\"jsonrpc\":\"2.0\",\"id\":\"seven\",\"method\":\"no/such\"}\nhello\n"
}

#[test]
fn a_server_logs_nothing_by_default() {
    assert_eq!(run(&mut papertape(["serve", "text"]), requests()).is_clean().log, "");
    assert_eq!(run(&mut papertape(["serve", "grammar"]), "Content-Length: x\r\n\r\n").is_clean().log, "");
    assert_eq!(
        run(papertape(["serve", "text", "--log-level", "off"]).env("RUST_LOG", "trace"), requests()).log,
        ""
    );
}

#[test]
fn json_logs_are_one_object_per_line_with_method_and_id() {
    let arguments = ["serve", "text", "--log-level", "debug", "--log-format", "json"];
    let end = run(&mut papertape(arguments), requests());
    let lines: Vec<Value> =
        end.is_clean().log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{lines:?}");
    let refused =
        lines.iter().find(|line| line["fields"]["code"] == -32601).expect("a line about the request");
    assert_eq!(refused["span"]["name"], "request");
    assert_eq!(refused["span"]["mcp.method.name"], "no/such");
    assert!(refused["span"]["jsonrpc.request.id"] == "seven", "{refused}");
    // An invalid frame has no request span.
    assert!(lines.iter().any(|line| line["fields"]["code"] == -32700 && line["span"].is_null()), "{lines:?}");
}

#[test]
fn successful_requests_are_logged_at_debug_level() {
    let end = run(&mut papertape(["serve", "text", "--log-level", "debug"]), ping(41));
    let log = &end.is_clean().log;
    assert!(log.contains("mcp.method.name=\"ping\"") && log.contains("jsonrpc.request.id=\"41\""), "{log:?}");
}

#[test]
fn text_logs_have_no_colours_without_a_terminal() {
    let end = run(&mut papertape(["serve", "text", "--log-level", "info"]), requests());
    let log = &end.is_clean().log;
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.contains(" INFO request{") && log.contains("mcp.method.name=\"no/such\""), "{log}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
}

#[test]
fn server_text_in_logs_is_escaped() {
    const SAID: &str = "a\u{1b}]0;b\u{7}\u{9b}c\u{202e}d\u{e0041}e\u{200b}f";
    for format in ["text", "json"] {
        let arguments = ["list", "--log-level", "debug", "--log-format", format];
        let log = run(&mut against(&arguments, &["exits", "1", SAID]), "").log;
        assert!(log.contains("papertape::stderr"), "{log}");
        let hidden = |c: &char| *c != '\n' && (c.is_control() || "\u{202e}\u{e0041}\u{200b}".contains(*c));
        assert_eq!(log.chars().find(hidden), None, "{log:?}");
        let line = log.lines().find(|line| line.contains("papertape::stderr")).unwrap();
        match format {
            "json" => {
                let event: Value = serde_json::from_str(line).unwrap();
                assert_eq!(event["fields"]["message"], SAID);
            }
            _ => assert!(line.contains("c\\u{202e}d\\u{e0041}e\\u{200b}f"), "{line}"),
        }
    }
}

#[test]
fn logs_can_be_enabled_by_the_environment() {
    for (filter, lines) in
        [("info", 2), ("papertape=info", 2), ("papertape::server=info", 2), ("hyper=debug", 0), ("", 0)]
    {
        let end = run(papertape(["serve", "text"]).env("RUST_LOG", filter), requests());
        assert_eq!(end.is_clean().log.lines().count(), lines, "RUST_LOG={filter}: {}", end.log);
    }
    let end = run(papertape(["serve", "text"]).env("RUST_LOG", "papertape=debug"), requests());
    assert!(end.is_clean().log.contains("DEBUG"), "{}", end.log);
}

#[test]
fn a_bad_filter_is_reported_and_ignored() {
    let end = run(papertape(["serve", "text"]).env("RUST_LOG", "a=b=c"), ping(1));
    assert_eq!(end.is_clean().messages().len(), 1);
    assert!(end.log.contains("a=b=c") && end.log.lines().count() == 1, "{}", end.log);
}

#[test]
fn the_last_lines_of_stderr_are_not_lost() {
    // The log is written by a thread, and this line when the process is about to end.
    for _ in 0..30 {
        let end = run(&mut papertape(["serve", "text", "--log-level", "info"]), "half a mess");
        assert!(end.is_clean().log.contains("ended inside a message"), "{:?}", end.log);
    }
}

#[test]
fn a_log_is_complete_or_marked_as_incomplete() {
    let loud = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}\n".repeat(20_000);
    let end = run(&mut papertape(["serve", "text", "--log-level", "info"]), loud);
    let lines = end.is_clean().log.lines().count();
    assert!(lines == 20_000 || end.log.contains("dropped"), "{lines} lines of 20000");
}
