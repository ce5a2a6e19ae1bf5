//! Opening, cancelling, progress and subscriptions: rows M-01 to M-14, M-20 and M-21 of the catalogue.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papertape::{Cx, Limits, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, cancel, messages, request, run, run_threads, words};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Sends lines to a fixture server in which `revision` is in use (or nothing yet), and returns the answers.
async fn ask(revision: &str, lines: &[&str]) -> Vec<u8> {
    let mut peer = if revision.is_empty() {
        Peer::connect(fixture::server())
    } else {
        Peer::open(fixture::server(), revision).await
    };
    let answers = peer.send(lines.iter().map(|line| format!("{line}\n")).collect::<String>()).await;
    // The sentinel: whatever came before, the server serves.
    let sentinel = call(MODERN, "\"sentinel\"", "echo", &json!({"text": "x"}));
    assert_eq!(words(&peer.send(sentinel + "\n").await), "R(\"sentinel\")", "{lines:?}");
    answers
}

fn check(revision: &str, lines: &[&str], expected: &str) {
    let answers = run(ask(revision, lines));
    assert_eq!(words(&answers), expected, "{revision}: {lines:?}");
}

fn check_legacy(lines: &[&str], expected: &str) {
    for revision in LEGACY {
        check(revision, lines, expected);
    }
}

#[test]
fn a_conversation_that_was_not_opened_says_how_to() {
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
    // A missing `notifications/initialized` is nobody's fault.
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
fn an_unsupported_revision_is_answered_with_the_supported_ones() {
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
fn a_conversation_is_opened_once() {
    // M-04
    for revision in LEGACY {
        let again =
            request("", "7", "initialize", json!({"protocolVersion": "2024-11-05", "capabilities": {}}));
        // The first parameters are kept: what an argument error looks like tells.
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
    for params in [
        json!({"protocolVersion": 5}),
        json!({"protocolVersion": null}),
        json!({"protocolVersion": ["2025-11-25"]}),
        json!({}),
    ] {
        check("", &[&request("", "7", "initialize", params)], "E(-32602,7)");
    }
    check("", &[r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#], "E(-32602,7)");
}

#[test]
fn both_eras_are_served_on_one_connection() {
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
    // What only one era has.
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

#[test]
fn a_cancellation_that_hits_nothing_is_ignored() {
    // M-08
    let echo = call(MODERN, "7", "echo", &json!({"text": "x"}));
    for revision in LEGACY.into_iter().chain([MODERN]) {
        for params in [
            r#","params":{"requestId":99}"#,
            r#","params":{"requestId":7}"#,
            r#","params":{"requestId":"7","reason":"late"}"#,
            r#","params":{"requestId":null}"#,
            r#","params":{"requestId":1.5}"#,
            r#","params":{"requestId":{}}"#,
            r#","params":{"requestId":["7"]}"#,
            r#","params":{"requestId":7,"requestId":7}"#,
            r#","params":{"requestId":"\ud800"}"#,
            r#","params":{"reason":5}"#,
            r#","params":{}"#,
            r#","params":null"#,
            r#","params":[7]"#,
            r#","params":7"#,
            "",
        ] {
            let cancel = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled"{params}}}"#);
            // Before the request of that id, and after it.
            check(revision, &[&cancel, &echo, &cancel], "R(7)");
        }
    }
    // M-10
    let initialize =
        request("", "7", "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    check("", &[&initialize, &cancel("7")], "R(7)");
}

/// A server with a tool that waits for `release`, and counts those that are at it and those that were dropped.
fn waiting() -> (Server, Arc<Notify>, Arc<AtomicUsize>) {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let (release, running) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let handles = (Arc::clone(&release), Arc::clone(&running));
    let tool = Tool::new("wait").input_schema(json!({"type": "object"}));
    let server = Server::new("waiting", "1").raw_tool(tool, move |arguments: Value, cx: Cx| {
        let (release, running) = (Arc::clone(&handles.0), Arc::clone(&handles.1));
        async move {
            running.fetch_add(1, Ordering::SeqCst);
            let guard = Guard(running);
            cx.progress(1.0, None, None);
            release.notified().await;
            cx.progress(2.0, None, None);
            drop(guard);
            Ok(arguments.to_string())
        }
    });
    (server, release, running)
}

#[test]
fn a_cancelled_call_stops_and_is_not_answered() {
    // M-09
    for revision in LEGACY.into_iter().chain([MODERN]) {
        run(async {
            let (server, release, running) = waiting();
            let mut peer = Peer::open(server, revision).await;
            let wait = |id: &str| call(revision, id, "wait", &json!({})) + "\n";
            assert_eq!(words(&peer.send(wait("7") + &wait("\"7\"")).await), "");
            assert_eq!(running.load(Ordering::SeqCst), 2);
            let began = tokio::time::Instant::now();
            assert_eq!(words(&peer.send(cancel("7.0") + "\n").await), "");
            assert_eq!(running.load(Ordering::SeqCst), 1, "{revision}: the handler goes on");
            assert!(began.elapsed() < Duration::from_millis(250));
            // Its id is free at once, and the other call goes on.
            assert_eq!(words(&peer.send(wait("7")).await), "");
            release.notify_waiters();
            let answers = words(&peer.settle().await);
            let answers: HashSet<&str> = answers.split(' ').collect();
            assert_eq!(answers, HashSet::from(["R(7)", "R(\"7\")"]), "{revision}");
            // Once more, so that a late reply would show.
            release.notify_waiters();
            assert_eq!(words(&peer.end().await), "", "{revision}");
        });
    }
}

#[test]
fn a_cancelled_member_of_a_batch_is_left_out() {
    run(async {
        let (server, release, _) = waiting();
        let mut peer = Peer::open(server, "2025-03-26").await;
        let wait = |id: &str| call("", id, "wait", &json!({}));
        assert_eq!(words(&peer.send(format!("[{},{},{}]\n", wait("1"), wait("2"), wait("3"))).await), "");
        assert_eq!(words(&peer.send(cancel("2") + "\n").await), "");
        release.notify_waiters();
        assert_eq!(words(&peer.settle().await).len(), "[R(1) R(3)]".len());
        // Nothing is left of this one.
        assert_eq!(words(&peer.send(format!("[{}]\n", wait("1"))).await), "");
        assert_eq!(words(&peer.send(cancel("1") + "\n").await), "");
        // A cancellation may come in the very batch.
        let batch = format!("[{},{},{}]\n", wait("1"), cancel("1"), request("", "2", "ping", json!({})));
        assert_eq!(words(&peer.send(batch).await), "[R(2)]");
        assert_eq!(words(&peer.end().await), "");
    });
}

#[test]
fn a_subscription_in_a_batch_keeps_no_other_answer_back() {
    // Each request gets its answer; that of a subscription comes when it ends.
    run(async {
        let mut peer = Peer::open(fixture::server(), "2025-03-26").await;
        let listen = request(MODERN, "1", "subscriptions/listen", json!({"notifications": {}}));
        let ping = request("", "2", "ping", json!({}));
        let answers = words(&peer.send(format!("[{listen},{ping}]\n")).await);
        assert!(answers.contains("R(2)"), "the ping is not answered: {answers:?}");
    });
}

#[test]
fn a_cancellation_that_races_its_call_never_gets_two_answers() {
    // M-09: 10,000 times the same id, with another text each time.
    run_threads(async {
        let (server, release, running) = waiting();
        let mut peer = Peer::connect(server);
        for round in 0..10_000_u32 {
            peer.write(call(MODERN, "7", "wait", &json!({"round": round})) + "\n").await;
            while running.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            // Which of the two is first in each round is left to chance.
            if round % 2 == 0 {
                release.notify_one();
            }
            peer.write(cancel("7") + "\n").await;
            if round % 2 == 1 {
                release.notify_one();
            }
            // After this answer, the call is over one way or the other.
            peer.write(r#"{"jsonrpc":"2.0","id":"sentinel","method":"ping"}"#.to_owned() + "\n").await;
            let mut answers = 0;
            loop {
                let answer = peer.next().await;
                if answer["id"] == "sentinel" {
                    break;
                }
                assert_eq!(
                    answer["result"]["content"][0]["text"],
                    format!(r#"{{"round":{round}}}"#),
                    "{answer}"
                );
                answers += 1;
            }
            assert!(answers <= 1, "round {round}");
            while running.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
            // A permit that nobody took would spoil the next round; this takes it.
            pin!(release.notified()).enable();
        }
        assert_eq!(words(&peer.end().await), "");
    });
}

#[test]
fn ten_thousand_calls_and_their_cancellations_at_once_get_at_most_one_answer_each() {
    // M-09
    run_threads(async {
        let server = Server::new("racing", "1").tool("race", async |_: Nothing, _: Cx| {
            tokio::task::yield_now().await;
            Ok("done")
        });
        let mut peer = Peer::connect(server);
        let lines: String = (0..10_000)
            .map(|id| {
                format!(
                    "{}\n{}\n",
                    call(MODERN, &format!("{id}"), "race", &json!({})),
                    cancel(&format!("{id}"))
                )
            })
            .collect();
        peer.write(lines).await;
        let answers = words(&peer.end().await);
        let answers: Vec<&str> = answers.split_terminator(' ').collect();
        assert_eq!(answers.iter().collect::<HashSet<_>>().len(), answers.len(), "an id was answered twice");
        assert!(answers.iter().all(|answer| answer.starts_with("R(")), "{answers:?}");
    });
}

#[test]
fn progress_from_a_client_is_ignored() {
    // M-11
    for revision in LEGACY.into_iter().chain([MODERN]) {
        check(
            revision,
            &[
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}"#,
            ],
            "",
        );
        check(revision, &[r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#], "");
    }
}

#[test]
fn a_progress_token_is_a_string_or_an_integer() {
    // M-12
    let work = |revision: &str, token: &str| {
        let line = request(
            revision,
            "7",
            "tools/call",
            json!({"name": "work", "arguments": {"steps": 1}, "_meta": {"progressToken": "@"}}),
        );
        line.replace("\"@\"", token) + "\n"
    };
    for revision in LEGACY.into_iter().chain([MODERN]) {
        for token in ["1.5", "null", "{}", "[]", "true", r#""\ud800""#] {
            check(revision, &[&work(revision, token)], "E(-32602,7)");
        }
        for token in ["\"abc\"", "\"\"", "0", "-1", "18446744073709551616", r#""\"\\""#] {
            run(async {
                let mut peer = Peer::open(fixture::server(), revision).await;
                let answers =
                    [peer.send(work(revision, token)).await, peer.within(Duration::from_secs(1)).await]
                        .concat();
                assert_eq!(words(&answers), "N(notifications/progress) R(7)", "{revision}: {token}");
                assert!(
                    String::from_utf8(answers).unwrap().contains(&format!(r#""progressToken":{token},"#)),
                    "{token}"
                );
            });
        }
    }
    // Without one there is no progress.
    run(async {
        let mut peer = Peer::open(fixture::server(), "2025-11-25").await;
        let answers = [
            peer.send(call("", "7", "work", &json!({"steps": 5})) + "\n").await,
            peer.within(Duration::from_secs(1)).await,
        ]
        .concat();
        assert_eq!(words(&answers), "R(7)");
    });
}

#[test]
fn a_progress_token_belongs_to_one_running_request() {
    // M-12
    run(async {
        let mut peer = Peer::open(fixture::server(), "2025-11-25").await;
        let work = |id: &str, token: Value| {
            request(
                "",
                id,
                "tools/call",
                json!({"name": "work", "arguments": {"steps": 2}, "_meta": {"progressToken": token}}),
            ) + "\n"
        };
        let answers = peer
            .send(
                work("1", json!("t"))
                    + &work("2", json!("t"))
                    + &work("3", json!(1))
                    + &work("4", json!("1")),
            )
            .await;
        assert_eq!(words(&answers), "E(-32602,2)");
        let answers = messages(&peer.within(Duration::from_secs(1)).await);
        for (id, token) in [(1, json!("t")), (3, json!(1)), (4, json!("1"))] {
            let of_it = |message: &&Value| message["params"]["progressToken"] == token;
            assert_eq!(answers.iter().filter(of_it).count(), 2, "{token}");
            let reply = answers.iter().position(|message| message["id"] == id).unwrap();
            assert!(
                !answers[reply..].iter().any(|message| of_it(&message)),
                "{token}: progress after the reply"
            );
        }
        // It is free again.
        assert_eq!(words(&peer.send(work("5", json!("t"))).await), "");
        assert_eq!(words(&peer.within(Duration::from_secs(1)).await).matches("R(5)").count(), 1);
    });
}

/// Calls a tool that tells its progress a million times within a second, and returns the values that were sent.
///
/// `total` is what it says the last value will be.
async fn flood(total: Option<f64>) -> Vec<f64> {
    let tool = Tool::new("flood").input_schema(json!({"type": "object"}));
    let server = Server::new("flood", "1").raw_tool(tool, move |_: Value, cx: Cx| async move {
        for burst in 0..100_u32 {
            for step in 0..10_000_u32 {
                cx.progress(f64::from(burst * 10_000 + step), total, "working");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let after = cx.clone();
        tokio::spawn(async move {
            for step in 0..100_u32 {
                after.progress(2e6 + f64::from(step), None, "after the reply");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        Ok("done")
    });
    let mut peer = Peer::open(server, "2025-11-25").await;
    let line = request("", "7", "tools/call", json!({"name": "flood", "_meta": {"progressToken": "t"}}));
    let bytes =
        [peer.send(line + "\n").await, peer.within(Duration::from_secs(5)).await, peer.end().await].concat();
    let mut messages = messages(&bytes);
    assert_eq!(messages.pop().unwrap()["id"], 7, "something came after the reply");
    messages.iter().map(|message| message["params"]["progress"].as_f64().unwrap()).collect()
}

#[test]
fn a_million_progress_events_are_some_dozens_on_the_wire() {
    // M-13: at most one in 20 ms, and the first and the last.
    for total in [None, Some(1e6), Some(999_999.0)] {
        let values = run(flood(total));
        assert!((10..=60).contains(&values.len()), "{} events for {total:?}", values.len());
        assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    }
}

#[test]
fn progress_beyond_its_own_total_is_bounded_too() {
    // M-13: a tool whose guess of the total was too small has many a "last" event.
    let values = run(flood(Some(10.0)));
    assert!(values.len() <= 60, "{} events", values.len());
    assert!(values.is_sorted_by(|a, b| a < b));
}

#[test]
fn progress_told_by_several_threads_only_grows() {
    // M-13
    let bytes = run_threads(async {
        let server = Server::new("threads", "1").tool("count", async |_: Nothing, cx: Cx| {
            let threads = (0..4).map(|thread| {
                let cx = cx.clone();
                tokio::task::spawn_blocking(move || {
                    for step in 0..2_000 {
                        let done = f64::from(step * 4 + thread);
                        cx.progress(done, done, None);
                    }
                })
            });
            for thread in threads.collect::<Vec<_>>() {
                thread.await?;
            }
            Ok("done")
        });
        let params = json!({"name": "count", "arguments": {}, "_meta": {"progressToken": 1}});
        let opening = json!({"protocolVersion": "2025-11-25"});
        let input =
            request("", "1", "initialize", opening) + "\n" + &request("", "7", "tools/call", params) + "\n";
        let mut output = Vec::new();
        papertape::serve(server, input.as_bytes(), &mut output).await.unwrap();
        output
    });
    let told = messages(&bytes);
    let values: Vec<f64> = told.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
    assert!(!values.is_empty() && values.is_sorted_by(|a, b| a < b), "{values:?}");
}

#[test]
fn progress_that_does_not_grow_is_dropped() {
    // M-13
    run(async {
        let server = Server::new("backwards", "1").tool("back", async |_: Nothing, cx: Cx| {
            for value in [5.0, 5.0, 4.0, -1.0, f64::NAN, f64::INFINITY, 5.5, f64::NEG_INFINITY, 0.0, 6.0] {
                cx.progress(value, f64::NAN, None);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Ok("done")
        });
        let mut peer = Peer::open(server, "2025-11-25").await;
        let line = request(
            "",
            "7",
            "tools/call",
            json!({"name": "back", "arguments": {}, "_meta": {"progressToken": 1}}),
        );
        let bytes = [peer.send(line + "\n").await, peer.within(Duration::from_secs(60)).await].concat();
        let values: Vec<Value> =
            messages(&bytes).into_iter().map(|message| message["params"]["progress"].clone()).collect();
        assert_eq!(values, [json!(5.0), json!(5.5), json!(6.0), Value::Null]);
        assert!(!String::from_utf8(bytes).unwrap().contains("total"));
    });
}

#[test]
fn there_is_no_progress_after_a_cancellation() {
    // M-13
    run(async {
        let server = Server::new("stubborn", "1").tool("stubborn", async |_: Nothing, cx: Cx| {
            let there = cx.clone();
            tokio::spawn(async move {
                for step in 1..100_u32 {
                    there.progress(step.into(), None, None);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
            std::future::pending::<Result<String, ToolError>>().await
        });
        let mut peer = Peer::open(server, MODERN).await;
        let line = request(
            MODERN,
            "7",
            "tools/call",
            json!({"name": "stubborn", "arguments": {}, "_meta": {"progressToken": 1}}),
        );
        assert_eq!(words(&peer.send(line + "\n").await), "N(notifications/progress)");
        assert_eq!(words(&peer.within(Duration::from_millis(1_500)).await), "N(notifications/progress)");
        assert_eq!(words(&peer.send(cancel("7") + "\n").await), "");
        assert_eq!(words(&peer.within(Duration::from_secs(60)).await), "");
    });
}

#[test]
fn a_handler_can_ask_whether_it_was_cancelled() {
    run(async {
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::new("asking", "1").tool("ask", move |_: Nothing, cx: Cx| {
            let tell = tell.clone();
            async move {
                tell.send(cx.clone()).unwrap();
                std::future::pending::<Result<String, ToolError>>().await
            }
        });
        let mut peer = Peer::open(server, MODERN).await;
        peer.send(call(MODERN, "7", "ask", &json!({})) + "\n" + &call(MODERN, "8", "ask", &json!({})) + "\n")
            .await;
        let (first, second) = (told.recv().await.unwrap(), told.recv().await.unwrap());
        assert!(!first.cancelled() && !second.cancelled());
        peer.send(cancel("7") + "\n").await;
        assert!(first.cancelled() && !second.cancelled());
        // The end of the connection counts as well; the call is answered.
        assert_eq!(words(&peer.end().await), "E(-32603,8)");
        assert!(second.cancelled());
    });
}

fn listen(id: &str, notifications: &Value) -> String {
    request(MODERN, id, "subscriptions/listen", json!({"notifications": notifications})) + "\n"
}

#[test]
fn a_subscription_is_acknowledged_with_what_is_honoured() {
    for (asked, honoured) in [
        (json!({"toolsListChanged": true}), json!({"toolsListChanged": true})),
        (json!({"toolsListChanged": false}), json!({})),
        (json!({}), json!({})),
        (json!({"promptsListChanged": true, "resourceSubscriptions": ["file:///a"], "x": 5}), json!({})),
    ] {
        run(async {
            let mut peer = Peer::connect(fixture::server());
            let answer = peer.send(listen("41", &asked)).await;
            assert_eq!(words(&answer), "N(notifications/subscriptions/acknowledged)", "{asked}");
            assert_eq!(messages(&answer)[0]["params"]["notifications"], honoured, "{asked}");
        });
    }
    let wrong = [
        json!(null),
        json!(true),
        json!("x"),
        json!({"toolsListChanged": 1}),
        json!({"toolsListChanged": "yes"}),
    ];
    for asked in wrong {
        check(MODERN, &[&listen("7", &asked)], "E(-32602,7)");
    }
    check(MODERN, &[&request(MODERN, "7", "subscriptions/listen", json!({}))], "E(-32602,7)");
}

#[test]
fn a_subscription_is_named_exactly_as_its_request() {
    // Decision 7: digit for digit, and 41 is not "41".
    for id in ["41", "\"41\"", "-1", "\"é\"", "9007199254740993", "18446744073709551616"] {
        run(async {
            let mut peer = Peer::connect(fixture::server());
            let acknowledged = peer.send(listen(id, &json!({"toolsListChanged": true}))).await;
            let changed = peer.send(call(MODERN, "\"grow\"", "grow", &json!({})) + "\n").await;
            let ended = peer.end().await;
            for message in [acknowledged, changed, ended] {
                let message = String::from_utf8(message).unwrap();
                let name = message.split_once(&format!("\"{SUBSCRIPTION}\":")).unwrap().1;
                let after = name.strip_prefix(id).unwrap_or_else(|| panic!("{id}: {message}"));
                assert!(after.starts_with(['}', ',']), "{id}: {message}");
            }
        });
    }
}

#[test]
fn subscriptions_are_bounded() {
    // M-20
    run(async {
        let mut peer = Peer::connect(fixture::server());
        let lines: String =
            (0..10_000).map(|id| listen(&format!("{id}"), &json!({"toolsListChanged": true}))).collect();
        let answers = words(&peer.send(lines).await);
        let mut answers = answers.split(' ');
        assert!(
            answers.by_ref().take(100).all(|answer| answer == "N(notifications/subscriptions/acknowledged)")
        );
        for id in 100..10_000 {
            assert_eq!(answers.next(), Some(&*format!("E(-32600,{id})")));
        }
        // The same id twice; and one that is free again.
        assert_eq!(words(&peer.send(listen("5", &json!({}))).await), "E(-32600,5)");
        assert_eq!(
            words(&peer.send(cancel("5") + "\n" + &listen("\"new\"", &json!({}))).await),
            "N(notifications/subscriptions/acknowledged)"
        );
        assert_eq!(
            words(&peer.send(call(MODERN, "6", "echo", &json!({"text": "x"})) + "\n").await),
            "E(-32600,6)"
        );
        // M-21: each that is open ends with its result.
        let last = messages(&peer.end().await);
        let mut ids: Vec<String> = last.iter().map(|message| message["id"].to_string()).collect();
        ids.sort();
        let mut expected: Vec<String> =
            (0..100).filter(|&id| id != 5).map(|id| format!("{id}")).chain(["\"new\"".to_owned()]).collect();
        expected.sort();
        assert_eq!(ids, expected);
        for message in last {
            assert_eq!(message["result"]["resultType"], "complete");
            assert_eq!(message["result"]["_meta"][SUBSCRIPTION], message["id"]);
        }
    });
}

#[test]
fn the_number_of_subscriptions_can_be_set() {
    run(async {
        let server = fixture::server().limits(Limits { subscriptions: 1, ..Limits::default() });
        let mut peer = Peer::connect(server);
        let answers = peer.send(listen("1", &json!({})) + &listen("2", &json!({}))).await;
        assert_eq!(words(&answers), "N(notifications/subscriptions/acknowledged) E(-32600,2)");
    });
}

#[test]
fn a_cancelled_subscription_says_nothing_more() {
    run(async {
        let mut peer = Peer::connect(fixture::server());
        peer.send(
            listen("1", &json!({"toolsListChanged": true}))
                + &listen("\"1\"", &json!({"toolsListChanged": true})),
        )
        .await;
        assert_eq!(words(&peer.send(cancel("1") + "\n").await), "");
        let answers = peer.send(call(MODERN, "2", "grow", &json!({})) + "\n").await;
        assert_eq!(words(&answers), "R(2) N(notifications/tools/list_changed)");
        assert_eq!(messages(&answers)[1]["params"]["_meta"][SUBSCRIPTION], "1");
        assert_eq!(words(&peer.end().await), "R(\"1\")");
    });
}

#[test]
fn what_runs_at_the_end_of_the_input_may_finish() {
    run(async {
        let mut peer = Peer::connect(fixture::server());
        peer.send(
            listen("1", &json!({}))
                + &call(MODERN, "2", "work", &json!({"steps": 20}))
                + "\n"
                + &call(MODERN, "3", "wait", &json!({}))
                + "\n",
        )
        .await;
        let began = tokio::time::Instant::now();
        assert_eq!(words(&peer.end().await), "R(1) R(2) E(-32603,3)");
        assert!(began.elapsed() <= Duration::from_secs(10), "{:?}", began.elapsed());
    });
}
