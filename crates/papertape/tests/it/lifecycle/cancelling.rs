//! Cancelled calls.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papertape::server::Tool;
use papertape::{Cx, Server, ToolError};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Nothing, check, listen};
use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, cancel, request, run, run_threads, words};

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
fn a_cancelled_call_stops_and_gets_no_response() {
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
fn a_subscription_in_a_batch_delays_no_other_response() {
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
fn a_cancellation_that_races_its_call_never_gets_two_responses() {
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
            // An unused permit would spoil the next round; this takes it.
            pin!(release.notified()).enable();
        }
        assert_eq!(words(&peer.end().await), "");
    });
}

#[test]
fn ten_thousand_cancelled_calls_get_at_most_one_response_each() {
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
fn a_handler_can_ask_whether_it_was_cancelled() {
    run(async {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::new("asking", "1").tool("ask", move |_: Nothing, cx: Cx| {
            let sender = sender.clone();
            async move {
                sender.send(cx.clone()).unwrap();
                std::future::pending::<Result<String, ToolError>>().await
            }
        });
        let mut peer = Peer::open(server, MODERN).await;
        peer.send(call(MODERN, "7", "ask", &json!({})) + "\n" + &call(MODERN, "8", "ask", &json!({})) + "\n")
            .await;
        let (first, second) = (receiver.recv().await.unwrap(), receiver.recv().await.unwrap());
        assert!(!first.cancelled() && !second.cancelled());
        peer.send(cancel("7") + "\n").await;
        assert!(first.cancelled() && !second.cancelled());
        // The end of the connection counts as well; the call is answered.
        assert_eq!(words(&peer.end().await), "E(-32603,8)");
        assert!(second.cancelled());
    });
}

#[test]
fn running_requests_may_finish_after_the_end_of_the_input() {
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
