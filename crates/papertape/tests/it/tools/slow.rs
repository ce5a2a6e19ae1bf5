//! Tools that block, and what may be in flight.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use papertape::server::Limits;
use papertape::{Cx, Server};
use serde_json::{Value, json};

use super::{Nothing, REVISIONS};
use crate::fixture;
use crate::peer::{MODERN, Peer, call, cancel, request, run, run_threads, words};

/// A tool that blocks its thread: at first for a while, from then on until the test lets it go; before that, it tells its
/// progress if the client wants to know.
fn blocking(started: mpsc::Sender<()>, go: mpsc::Receiver<()>) -> Server {
    let (go, calls) = (Arc::new(Mutex::new(go)), AtomicUsize::new(0));
    Server::new("blocking", "1").tool("block", move |_: Nothing, cx: Cx| {
        let (started, go) = (started.clone(), Arc::clone(&go));
        let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                std::thread::sleep(Duration::from_millis(20));
            } else {
                cx.progress(1.0, None, None);
                started.send(()).unwrap();
                go.lock().unwrap().recv().unwrap();
            }
            Ok("done")
        }
    })
}

/// Calls a tool that blocks, and pings the server while it does.
async fn ping_while_it_blocks(meta: Value) {
    let (started, has_started) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let mut peer = Peer::connect(blocking(started, wait));
    let initialize =
        request("", "0", "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    peer.write(initialize + "\n").await;
    assert_eq!(peer.next().await["id"], 0);
    // The first call is found out.
    peer.write(call("", "1", "block", &json!({})) + "\n").await;
    assert_eq!(peer.next().await["id"], 1);
    for round in 0..10 {
        let block = request("", "2", "tools/call", json!({"name": "block", "arguments": {}, "_meta": meta}));
        peer.write(block + "\n").await;
        tokio::task::block_in_place(|| has_started.recv().unwrap());
        // The call is under way and does not continue until released.
        peer.write(request("", "3", "ping", json!({})) + "\n").await;
        let mut answer = json!({});
        while answer["id"] != 3 {
            let Ok(next) = tokio::time::timeout(Duration::from_secs(5), peer.next()).await else {
                // Let the thread go before the runtime waits for it.
                go.send(()).unwrap();
                panic!("round {round}: the ping waits for the call");
            };
            assert_ne!(next["id"], 2);
            answer = next;
        }
        go.send(()).unwrap();
        assert_eq!(peer.next().await["id"], 2);
    }
    assert_eq!(words(&peer.end().await), "");
}

#[test]
fn a_tool_that_blocks_its_thread_delays_a_ping_once_at_most() {
    run_threads(ping_while_it_blocks(json!({})));
}

#[test]
fn a_tool_that_blocks_after_progress_does_not_delay_ping() {
    // The progress wakes the connection just before the thread is gone.
    run_threads(ping_while_it_blocks(json!({"progressToken": 1})));
}

#[test]
fn one_slow_call_of_a_fast_tool_turns_no_later_call_away() {
    // The first call is held up (by the scheduler, say); all the others are as fast as can be.
    run(async {
        let calls = AtomicUsize::new(0);
        let server = Server::new("hiccup", "1").tool("fast", move |_: Nothing, _: Cx| {
            let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok("done")
            }
        });
        let mut peer = Peer::open(server, MODERN).await;
        // One more than may run at once: the first is over when the others come.
        let lines: String =
            (0..=1_100).map(|id| call(MODERN, &format!("{id}"), "fast", &json!({})) + "\n").collect();
        let answers = words(&peer.send(lines).await);
        assert_eq!(
            answers.matches("R(").count(),
            1_101,
            "{} calls were refused",
            answers.matches("E(").count()
        );
    });
}

#[test]
fn a_slow_tool_never_delays_a_fast_one() {
    for revision in REVISIONS {
        run(async {
            let mut peer = Peer::open(fixture::server(), revision).await;
            let lines = [
                call(revision, "1", "work", &json!({"steps": 10})),
                call(revision, "2", "echo", &json!({"text": "x"})),
                String::new(),
            ];
            assert_eq!(words(&peer.send(lines.join("\n")).await), "R(2)", "{revision}");
            assert_eq!(words(&peer.within(Duration::from_secs(2)).await), "R(1)", "{revision}");
        });
    }
}

#[test]
fn requests_in_flight_are_bounded() {
    for revision in REVISIONS {
        run(async {
            let mut peer =
                Peer::open(fixture::server().limits(Limits { in_flight: 2, ..Limits::default() }), revision)
                    .await;
            let wait = |id: &str| call(revision, id, "wait", &json!({})) + "\n";
            let echo = |id: &str| call(revision, id, "echo", &json!({"text": "x"})) + "\n";
            assert_eq!(
                words(&peer.send(wait("1") + &wait("2") + &wait("3") + &wait("3") + "hello\n").await),
                if revision < "2025-11-25" {
                    "E(-32600,3) E(-32600,3) E(-32700,null)"
                } else {
                    "E(-32600,3) E(-32600,3) E(-32700,–)"
                }
            );
            // A cancelled one makes room at once.
            assert_eq!(
                words(&peer.send(cancel("1") + "\n" + &echo("4") + &wait("5") + &echo("6")).await),
                "R(4) E(-32600,6)",
                "{revision}"
            );
        });
    }
    // By default, a thousand.
    run(async {
        let mut peer = Peer::open(fixture::server(), MODERN).await;
        let lines: String =
            (0..1_005).map(|id| call(MODERN, &format!("{id}"), "wait", &json!({})) + "\n").collect();
        assert_eq!(
            words(&peer.send(lines).await),
            "E(-32600,1000) E(-32600,1001) E(-32600,1002) E(-32600,1003) E(-32600,1004)"
        );
    });
}

#[test]
fn bytes_in_flight_are_bounded() {
    run(async {
        let mut peer = Peer::open(
            fixture::server().limits(Limits { bytes_in_flight: 10_000, ..Limits::default() }),
            "2025-11-25",
        )
        .await;
        let wait = |id: &str, size: usize| call("", id, "wait", &json!({"x": "y".repeat(size)})) + "\n";
        let answers = peer.send((0..10).map(|id| wait(&format!("{id}"), 3_000)).collect::<String>()).await;
        let refused = words(&answers);
        // Within one request of the limit, all of the rest is refused.
        let count = refused.matches("E(-32600,").count();
        assert!((6..=7).contains(&count), "{refused}");
        assert!(refused.ends_with("E(-32600,9)"), "{refused}");
        // Even a small one; until one of the large ones is over.
        assert_eq!(words(&peer.send(wait("10", 0)).await), "E(-32600,10)");
        assert_eq!(words(&peer.send(cancel("0") + "\n" + &wait("10", 0)).await), "");
        // What is over no longer counts.
        let lines: String = (1..=10).map(|id| cancel(&format!("{id}")) + "\n").collect();
        assert_eq!(words(&peer.send(lines).await), "");
        for id in 20..40 {
            assert_eq!(
                words(
                    &peer
                        .send(call("", &format!("{id}"), "echo", &json!({"text": "y".repeat(9_000)})) + "\n")
                        .await
                ),
                format!("R({id})")
            );
        }
    });
}
