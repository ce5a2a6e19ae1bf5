//! Progress, and its tokens.

use std::time::Duration;

use papertape::server::Tool;
use papertape::{Cx, Server, ToolError};
use serde_json::{Value, json};

use super::{Nothing, check};
use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, cancel, messages, request, run, run_threads, words};

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

/// Calls a tool that sends progress a million times within a second, and returns the values that were sent.
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
fn progress_from_several_threads_only_increases() {
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
        papertape::streams::serve(server, input.as_bytes(), &mut output).await.unwrap();
        output
    });
    let received = messages(&bytes);
    let values: Vec<f64> =
        received.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
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
                    there.progress(step, None, None);
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
