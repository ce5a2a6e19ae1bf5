//! The log messages of servers, on stderr.

use serde_json::Value;

use crate::against;
use crate::process::run;

#[test]
fn log_messages_are_shown_if_they_are_wanted() {
    for kind in ["--legacy", "--modern"] {
        let mode = [kind, "flood", "message", "2"];
        let end = run(&mut against(&["call", "fault"], &mode), "");
        assert_eq!(end.is_clean().log, "", "{kind}");
        let end = run(&mut against(&["call", "fault", "--log-level", "info"], &mode), "");
        let shown = end.is_clean().log.lines().filter(|line| line.starts_with("server info")).count();
        assert_eq!(shown, 2, "{kind}: {}", end.log);
        let end = run(&mut against(&["call", "fault", "--log-level", "error"], &mode), "");
        assert!(!end.is_clean().log.contains("server info"), "{kind}: {}", end.log);
    }
}

#[test]
fn log_messages_can_be_json() {
    let arguments = ["call", "fault", "--log-level", "info", "--log-format", "json"];
    let end = run(&mut against(&arguments, &["--legacy", "flood", "message", "1"]), "");
    let lines = end.is_clean().log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let levels: Vec<Value> = lines.map(|line| line["serverLog"]["level"].clone()).collect();
    assert!(levels.contains(&"info".into()), "{}", end.log);
}
