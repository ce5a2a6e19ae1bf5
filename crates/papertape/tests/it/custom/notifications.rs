use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use papertape::server::{Limits, Roots};
use papertape::{Cx, Server, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{ask, notification, revisions, server};
use crate::peer::{MODERN, Peer, messages, request, run};

#[derive(Deserialize)]
struct Numbered {
    n: u64,
}

type Log = Arc<Mutex<Vec<u64>>>;

/// A server that logs the numbers of notifications; each waits for a permit.
fn logging(curtain: &Arc<Semaphore>) -> (Server, Log) {
    let log = Log::default();
    let (kept, curtain) = (Arc::clone(&log), Arc::clone(curtain));
    let server = server()
        .notification("notifications/vendor/note", move |note: Numbered, _: Cx| {
            let (kept, curtain) = (Arc::clone(&kept), Arc::clone(&curtain));
            async move {
                curtain.acquire().await?.forget();
                kept.lock().unwrap().push(note.n);
                match note.n {
                    13 => panic!("on purpose"),
                    14 => Err(ToolError::failed("on purpose")),
                    _ => Ok(()),
                }
            }
        })
        .method("vendor/ping", async |_: (), _: Cx| Ok(()));
    (server, log)
}

fn note(n: impl Into<Value>) -> String {
    notification("notifications/vendor/note", &json!({"n": n.into()}))
}

// M-25
#[test]
fn notifications_are_handled_in_order_and_never_answered() {
    run(async {
        for revision in revisions() {
            let (server, log) = logging(&Arc::new(Semaphore::new(1_000)));
            let mut peer = Peer::open(server, revision).await;
            // A panic, an error and params that cannot be read end none of the others.
            let all: Vec<String> = (0..20).map(note).collect();
            assert!(peer.line(all.join("\n")).await.is_empty());
            assert!(peer.line(note("x")).await.is_empty());
            assert!(peer.line(notification("notifications/vendor/unknown", &json!({}))).await.is_empty());
            assert!(peer.line(note(20)).await.is_empty());
            assert_eq!(*log.lock().unwrap(), (0..=20).collect::<Vec<_>>(), "{revision}");
        }
    });
}

// M-24
#[test]
fn a_flood_of_notifications_is_bounded() {
    run(async {
        let curtain = Arc::new(Semaphore::new(0));
        let (server, log) = logging(&curtain);
        let server = server.limits(Limits { in_flight: 5, ..Limits::default() });
        let mut peer = Peer::open(server, "2025-11-25").await;
        let all: Vec<String> = (0..1_000).map(|n| note(100 + n)).collect();
        assert!(peer.line(all.join("\n")).await.is_empty());
        // Requests are served in the meantime.
        assert!(ask(&mut peer, "", "vendor/ping", json!({})).await["result"].is_object());
        curtain.add_permits(1_000);
        peer.settle().await;
        let handled = log.lock().unwrap().clone();
        assert!(handled.len() <= 6 && handled.starts_with(&[100]), "{handled:?}");
        // And others after it.
        peer.line(note(1)).await;
        assert_eq!(log.lock().unwrap().last(), Some(&1));
    });
}

// M-23
#[test]
fn no_notification_is_handled_before_a_session_is_open() {
    run(async {
        let (server, log) = logging(&Arc::new(Semaphore::new(10)));
        let mut peer = Peer::connect(server);
        assert!(peer.line(note(1)).await.is_empty());
        let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN});
        let named = notification("notifications/vendor/note", &json!({"n": 2, "_meta": meta}));
        assert!(peer.line(named).await.is_empty());
        assert_eq!(*log.lock().unwrap(), [2]);
    });
}

#[test]
fn notifications_end_with_the_connection() {
    run(async {
        let curtain = Arc::new(Semaphore::new(0));
        let (server, log) = logging(&curtain);
        let mut peer = Peer::open(server, "2025-11-25").await;
        peer.line(note(1)).await;
        peer.line(note(2)).await;
        // The grace period passes.
        assert!(peer.end().await.is_empty());
        curtain.add_permits(10);
        tokio::task::yield_now().await;
        assert!(log.lock().unwrap().is_empty());
        // Each holds a clone, until it is dropped.
        assert_eq!(Arc::strong_count(&log), 1);
    });
}

#[test]
fn middleware_sees_notifications() {
    run(async {
        let (server, log) = logging(&Arc::new(Semaphore::new(10)));
        let server = server.middleware(|mut request, next| async move {
            if request.kind() == "notification" {
                assert_eq!(request.name(), "notifications/vendor/note");
                request.arguments_mut()["n"] = json!(99);
            }
            next.run(request).await
        });
        let mut peer = Peer::open(server, MODERN).await;
        peer.line(note(1)).await;
        assert_eq!(*log.lock().unwrap(), [99]);
    });
}

#[test]
fn a_notifier_reaches_all_open_sessions() {
    run(async {
        let server = server();
        let notifier = server.notifier();
        let mut peer = Peer::open(server, "2025-06-18").await;
        notifier.notify("notifications/vendor/news", json!({"n": 1})).unwrap();
        let received = messages(&peer.settle().await);
        assert_eq!(received.len(), 1, "{received:?}");
        assert_eq!(received[0]["params"]["n"], 1);
        assert!(notifier.notify("notifications/message", json!({})).is_err());
        // A client that reads nothing makes nothing grow without bound.
        for _ in 0..20_000 {
            notifier.notify("notifications/vendor/news", json!({"text": "x".repeat(1_000)})).unwrap();
        }
        let bytes = peer.settle().await;
        assert!(bytes.len() < 5_000_000, "{}", bytes.len());
    });
}

// A client that notifies as fast as it can does not keep the thread from all others.
#[test]
fn handlers_that_never_wait_leave_the_thread_to_others() {
    run(async {
        let (handled, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
        let (count, turn) = (Arc::clone(&handled), Arc::clone(&others));
        let server = server().notification("notifications/vendor/note", move |_: Numbered, _: Cx| {
            let (count, turn) = (Arc::clone(&count), Arc::clone(&turn));
            async move {
                if count.fetch_add(1, Ordering::Relaxed) == 0 {
                    let count = Arc::clone(&count);
                    tokio::spawn(async move { turn.store(count.load(Ordering::Relaxed), Ordering::Relaxed) });
                }
                Ok(())
            }
        });
        let mut peer = Peer::open(server, "2025-11-25").await;
        let all: Vec<String> = (0..900).map(note).collect();
        assert!(peer.line(all.join("\n")).await.is_empty());
        assert_eq!(handled.load(Ordering::Relaxed), 900);
        assert!(others.load(Ordering::Relaxed) < 900, "only after all of them");
    });
}

// Nothing responds to a notification, so that nothing can be elicited, and there is no progress.
#[test]
fn the_handler_of_a_notification_cannot_ask_or_report_progress() {
    run(async {
        let log = Log::default();
        let seen = Arc::clone(&log);
        let server = server().notification("notifications/vendor/note", move |note: Numbered, cx: Cx| {
            let seen = Arc::clone(&seen);
            async move {
                cx.progress(1, 2, "halfway");
                seen.lock().unwrap().push(note.n);
                cx.ask("roots", Roots)?;
                seen.lock().unwrap().push(100);
                Ok(())
            }
        });
        let mut peer = Peer::connect(server);
        let opening = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
            "clientInfo": {"name": "t", "version": "1"}});
        peer.line(request("2025-06-18", "1", "initialize", opening)).await;
        peer.line(notification("notifications/initialized", &json!({}))).await;
        for n in [1, 2] {
            let params = json!({"n": n, "_meta": {"progressToken": "t"}});
            let sent = peer.line(notification("notifications/vendor/note", &params)).await;
            assert!(sent.is_empty(), "{sent:?}");
        }
        // The second does not wait for the first.
        assert_eq!(*log.lock().unwrap(), [1, 2]);
    });
}
