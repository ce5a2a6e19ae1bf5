//! How a session is opened, with and without `initialize`.

use serde_json::json;

use super::{CAPABILITIES, VERSION, ask, check, check_legacy};
use crate::peer::{LEGACY, MODERN, call, messages, request, run};

#[test]
fn a_request_before_initialize_gets_an_error_with_the_remedy() {
    // M-01
    for method in ["tools/list", "tools/call", "server/discover", "subscriptions/listen"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"name":"echo"}}}}"#);
        check("", &[&line], "E(-32602,7)");
        let answer = &messages(&run(ask("", &[&line])))[0];
        let message = answer["error"]["message"].as_str().unwrap();
        for hint in ["initialize", "2025-11-25", VERSION, CAPABILITIES, MODERN] {
            assert!(message.contains(hint), "{message}");
        }
    }
    check("", &[r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#], "R(7)");
    // A missing `notifications/initialized` is tolerated.
    let initialize =
        request("", "0", "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    check("", &[&initialize, &call("", "7", "echo", &json!({"text": "x"}))], "R(0) R(7)");
    check(
        "",
        &[
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#,
        ],
        "E(-32602,7)",
    );
}

#[test]
fn a_modern_request_carries_all_that_is_needed() {
    // M-02, M-03
    for (meta, expected) in [
        (json!({VERSION: MODERN, CAPABILITIES: {}}), "R(7)"),
        (
            json!({
                VERSION: MODERN,
                CAPABILITIES: {"x": 1},
                "io.modelcontextprotocol/clientInfo": {"name": "n", "version": "1"},
                "traceparent": "00-1-1-00",
            }),
            "R(7)",
        ),
        (json!({VERSION: MODERN}), "E(-32602,7)"),
        (json!({VERSION: MODERN, CAPABILITIES: null}), "E(-32602,7)"),
        (json!({VERSION: MODERN, CAPABILITIES: []}), "E(-32602,7)"),
        (json!({VERSION: MODERN, CAPABILITIES: "{}"}), "E(-32602,7)"),
        (json!({CAPABILITIES: {}}), "E(-32602,7)"),
        (json!({VERSION: null, CAPABILITIES: {}}), "E(-32602,7)"),
        (json!({VERSION: 20_260_728, CAPABILITIES: {}}), "E(-32602,7)"),
        (json!({VERSION: [MODERN], CAPABILITIES: {}}), "E(-32602,7)"),
        (json!({}), "E(-32602,7)"),
        (json!(null), "E(-32602,7)"),
        (json!("x"), "E(-32602,7)"),
        (json!(5), "E(-32602,7)"),
        (json!([]), "E(-32602,7)"),
        (json!({VERSION: "2025-11-25", CAPABILITIES: {}}), "E(-32022,7)"),
        (json!({VERSION: "2099-01-01", CAPABILITIES: {}}), "E(-32022,7)"),
        (json!({VERSION: "", CAPABILITIES: {}}), "E(-32022,7)"),
        (json!({VERSION: "2026-07-28 ", CAPABILITIES: {}}), "E(-32022,7)"),
        (json!({VERSION: "1.0.0"}), "E(-32022,7)"),
    ] {
        for (method, more) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "echo", "arguments": {"text": "x"}})),
            ("server/discover", json!({})),
        ] {
            let mut params = more;
            params["_meta"] = meta.clone();
            check("", &[&request("", "7", method, params)], expected);
        }
    }
}

#[test]
fn meta_is_an_object_and_not_a_list_of_its_values() {
    for meta in [json!([MODERN, {}]), json!([MODERN, {}, null]), json!([MODERN, {}, "token"])] {
        check("", &[&request("", "7", "tools/list", json!({"_meta": meta}))], "E(-32602,7)");
    }
    // And so is the filter of a subscription.
    for filter in [json!([true]), json!([])] {
        check(
            MODERN,
            &[&request(MODERN, "7", "subscriptions/listen", json!({"notifications": filter}))],
            "E(-32602,7)",
        );
    }
}

#[test]
fn an_unsupported_revision_is_rejected_with_the_supported_ones() {
    // M-03
    let params = |version: &str| json!({"_meta": {VERSION: version, CAPABILITIES: {}}});
    let answer = &messages(&run(ask("", &[&request("", "7", "tools/list", params("1900-01-01"))])))[0];
    assert_eq!(answer["error"]["data"]["requested"], "1900-01-01");
    let discovered = &messages(&run(ask("", &[&request(MODERN, "7", "server/discover", json!({}))])))[0];
    assert_eq!(answer["error"]["data"]["supported"], discovered["result"]["supportedVersions"]);
    assert_eq!(
        discovered["result"]["supportedVersions"],
        json!([MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    );
    // Not at any length.
    let answer = run(ask("", &[&request("", "7", "tools/list", params(&"9".repeat(1 << 20)))]));
    assert!(answer.len() < 2_000, "{}", answer.len());
}

#[test]
fn a_session_is_opened_once() {
    // M-04
    for revision in LEGACY {
        let again =
            request("", "7", "initialize", json!({"protocolVersion": "2024-11-05", "capabilities": {}}));
        // The first parameters are kept: the form of an argument error shows it.
        let add = call("", "8", "add", &json!({}));
        let expected = if revision < "2025-11-25" { "E(-32600,7) E(-32602,8)" } else { "E(-32600,7) F(8)" };
        check(revision, &[&again, &add], expected);
    }
    // A refused one does not count.
    let refused = request("", "7", "initialize", json!({"protocolVersion": 5, "capabilities": {}}));
    let good = request("", "8", "initialize", json!({"protocolVersion": "2024-11-05", "capabilities": {}}));
    check("", &[&refused, &good, &refused], "E(-32602,7) R(8) E(-32600,7)");
}

#[test]
fn a_handshake_leads_to_a_revision_that_has_one() {
    // M-05, decision 2
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("1.0.0", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let line = request("", "7", "initialize", json!({"protocolVersion": asked, "capabilities": {}}));
        assert_eq!(messages(&run(ask("", &[&line])))[0]["result"]["protocolVersion"], given, "{asked}");
    }
    for params in [json!({"protocolVersion": 5}), json!({"protocolVersion": ["2025-11-25"]})] {
        check("", &[&request("", "7", "initialize", params)], "E(-32602,7)");
    }
}

// Seed 004: people type this by hand, and go on.
#[test]
fn initialize_without_params_negotiates_the_newest_legacy_revision() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":null}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":null,"clientInfo":5}}"#,
    ] {
        let more = call("", "2", "echo", &json!({"text": "x"}));
        let answers = messages(&run(ask("", &[line, &more])));
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25", "{line}");
        assert_eq!(answers[1]["result"]["content"][0]["text"], "x", "{line}");
    }
}

#[test]
fn stateless_and_session_based_requests_share_a_connection() {
    // A client that probes and then changes its mind, and back.
    let discover = request(MODERN, "1", "server/discover", json!({}));
    let initialize =
        request("", "2", "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    let legacy = request("", "3", "tools/list", json!({}));
    let modern = request(MODERN, "4", "tools/list", json!({}));
    check(
        "",
        &[&discover, &initialize, &legacy, &modern, &legacy, &discover],
        "R(1) R(2) R(3) R(4) R(3) R(1)",
    );
    // Methods that exist only in stateless or only in session-based revisions.
    for method in ["initialize", "ping", "notifications/initialized", "logging/setLevel"] {
        check(
            MODERN,
            &[&request(MODERN, "7", method, json!({"protocolVersion": "2025-11-25"}))],
            "E(-32601,7)",
        );
    }
    check_legacy(&[r#"{"jsonrpc":"2.0","id":7,"method":"server/discover"}"#], "E(-32601,7)");
    check_legacy(
        &[r#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{}}}"#],
        "E(-32601,7)",
    );
    check_legacy(
        &[r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":1}}}"#],
        "R(7)",
    );
}

#[test]
fn initialized_is_a_notification() {
    // M-07
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    check_legacy(&[initialized, initialized, initialized], "");
    check_legacy(&[r#"{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}"#], "E(-32601,7)");
    check("", &[initialized], "");
}
