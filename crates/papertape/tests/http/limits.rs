//! Limits on what a client may send, hold and leave unread: R-01, G7, G8, H-50, H-51.

use std::sync::Arc;

use papertape::Cx;
use papertape::http::Options;
use papertape::server::Limits;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::fixture::{Act, Site};
use crate::request::Request;

const MIB: usize = 1024 * 1024;
/// More than what is too small to be counted.
const PIECE: usize = 256 * 1024;

fn wait(size: usize) -> Request {
    Request::call(1, "wait", &json!({"name": "x", "pad": "p".repeat(size)}))
}

fn echo(size: usize) -> Request {
    Request::call(1, "echo", &json!({"text": "x", "pad": "p".repeat(size)}))
}

/// A server that holds 8 pieces of requests at most.
async fn small() -> Site {
    let limits = Limits { bytes_in_flight: 8 * PIECE, ..Limits::default() };
    Site::with(Options::new().health().metrics(), |server| server.limits(limits)).await
}

// H-50, H-51
#[tokio::test]
async fn the_body_limit_is_exact() {
    let site = Site::with(Options::new().body(10_000), |server| server).await;
    let fits = |size: usize| {
        let body = String::from_utf8(echo(0).bytes()).unwrap();
        let body = body.split_once("\r\n\r\n").unwrap().1.to_owned();
        let pad = " ".repeat(size - body.len());
        echo(0).body(format!("{body}{pad}"))
    };
    assert_eq!(site.ask(&fits(10_000)).await.status, 200);
    let over = site.ask(&fits(10_001)).await;
    assert_eq!((over.status, over.header("connection")), (413, Some("close")));
    // Chunked, where the length is not known beforehand.
    for (size, status) in [(10_000, 200), (10_001, 413)] {
        let request = String::from_utf8(fits(size).header("Transfer-Encoding", "chunked").bytes()).unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let mut wire = site.connect().await;
        wire.send(format!("{head}\r\n\r\n")).await;
        for piece in body.as_bytes().chunks(999) {
            let piece = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
            if !wire.try_send(piece).await {
                break;
            }
        }
        wire.try_send("0\r\n\r\n").await;
        assert_eq!(wire.response().await.status, status, "{size}");
    }
    // A too large `Content-Length` is rejected at once.
    for length in ["10001", "99999999999"] {
        let mut wire = site.connect().await;
        wire.send(echo(0).header("Content-Length", length).body("{").bytes()).await;
        assert_eq!(wire.response().await.status, 413, "{length}");
        wire.assert_ended().await;
    }
    // H-53
    let mut wire = site.connect().await;
    let expecting = echo(0).header("Expect", "100-continue").header("Content-Length", "10001").body("");
    assert_eq!(wire.begin(&expecting).await.status, 413, "and not 100");
    let whole = fits(5_000).header("Expect", "100-continue").bytes();
    let head = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut wire = site.connect().await;
    wire.send(&whole[..head]).await;
    assert_eq!(wire.head().await.status, 100);
    wire.send(&whole[head..]).await;
    assert_eq!(wire.response().await.status, 200);
    site.assert_well().await;
}

// G8
#[tokio::test]
async fn requests_beyond_the_memory_budget_get_503() {
    let mut site = small().await;
    let mut wires = Vec::new();
    for _ in 0..7 {
        let mut wire = site.connect().await;
        wire.send(wait(PIECE).bytes()).await;
        site.began("x").await;
        wires.push(wire);
    }
    let refused = site.ask(&echo(PIECE)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    // Small ones are served, and the health check succeeds.
    site.assert_well().await;
    assert_eq!(site.ask(&Request::new("GET", "/healthz")).await.status, 200);
    site.release(7);
    for mut wire in wires {
        assert_eq!(wire.response().await.status, 200);
    }
    assert_eq!(site.ask(&echo(PIECE)).await.status, 200);
}

// A body that was announced and not sent takes no memory budget from others.
#[tokio::test]
async fn announced_and_unsent_bodies_take_no_memory_budget() {
    let site = small().await;
    let mut unsent = Vec::new();
    for _ in 0..20 {
        let mut wire = site.connect().await;
        wire.send(echo(0).header("Content-Length", (8 * PIECE).to_string()).body("{").bytes()).await;
        unsent.push(wire);
    }
    // Another response shows that the server has had time to look at them.
    site.assert_well().await;
    assert_eq!(site.ask(&echo(PIECE)).await.status, 200);
}

/// Calls that outlive their connection, or respond on a stream, keep their share of the memory budget.
#[tokio::test]
async fn streaming_calls_count_against_the_memory_budget() {
    let mut site = small().await;
    let session = site.session("2025-11-25").await;
    let pad = "p".repeat(PIECE);
    let mut began = 0;
    for id in 0..20 {
        let mut wire = site.connect().await;
        let head = wire.begin(&session.call(id, "wait", &json!({"name": "x", "pad": pad}))).await;
        if head.status == 200 {
            site.began("x").await;
            began += 1;
        } else {
            assert_eq!((head.status, head.header("retry-after")), (503, Some("1")));
        }
        wire.reset();
    }
    assert!((5..=8).contains(&began), "{began} pieces are held where 8 may be");
    site.release(began);
    for _ in 0..began {
        assert_eq!(site.act().await, Act::Ended("x".to_owned()));
    }
    assert_eq!(site.ask(&echo(PIECE)).await.status, 200);
    // The same for a client that receives notifications before the response.
    let mut wires = Vec::new();
    let mut began = 0;
    for _ in 0..20 {
        let params = json!({"name": "tell", "arguments": {"pad": pad}, "_meta": {"progressToken": 1}});
        let mut wire = site.connect().await;
        if wire.begin(&Request::modern(1, "tools/call", &params)).await.status == 200 {
            site.began("tell").await;
            began += 1;
            wires.push(wire);
        }
    }
    assert!((5..=8).contains(&began), "{began} pieces are held where 8 may be");
    drop(wires);
    for _ in 0..began {
        assert_eq!(site.act().await, Act::Dropped("tell".to_owned()));
    }
    assert_eq!(site.ask(&echo(PIECE)).await.status, 200);
}

// 1,000 requests in flight are many for one session, and others do not suffer from it.
#[tokio::test]
async fn calls_per_session_are_limited() {
    let limits = Limits { in_flight: 20, ..Limits::default() };
    let mut site = Site::with(Options::new(), |server| server.limits(limits)).await;
    let session = site.session("2025-11-25").await;
    for id in 0..20 {
        let mut wire = site.connect().await;
        wire.begin(&session.call(id, "wait", &json!({"name": "x"}))).await;
        site.began("x").await;
        wire.reset();
    }
    let refused = site.ask(&session.call(99, "wait", &json!({"name": "x"}))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    let other = site.session("2025-11-25").await;
    assert_eq!(site.ask(&other.call(1, "echo", &json!({}))).await.status, 200);
    site.release(20);
    for _ in 0..20 {
        assert_eq!(site.act().await, Act::Ended("x".to_owned()));
    }
    assert_eq!(site.ask(&session.call(100, "echo", &json!({}))).await.status, 200);
}

// G7: a reader that does not read gets less, not more memory.
#[tokio::test]
async fn unread_messages_are_bounded() {
    let mut site = Site::with(Options::new().metrics(), |server| server).await;
    let session = site.session("2025-11-25").await;
    let level = session.request(1, "logging/setLevel", &json!({"level": "debug"}));
    assert_eq!(site.ask(&level).await.status, 200);
    // A hundred megabytes are sent to a client that has left.
    let mut wire = site.connect().await;
    wire.begin(&session.call(2, "flood", &json!({"lines": 10_000}))).await;
    let first = wire.event().await.unwrap().id.unwrap();
    wire.reset();
    site.until("papertape_streams", 0).await;
    site.began("flood").await;
    site.release(1);
    assert_eq!(site.act().await, Act::Ended("flood".to_owned()));
    assert_eq!(site.act().await, Act::Ended("flooded".to_owned()));
    let mut wire = site.connect().await;
    assert_eq!(wire.begin(&session.resume(&first)).await.status, 200);
    let (mut bytes, mut last) = (0, None);
    while let Some(event) = wire.event().await {
        bytes += event.data.as_deref().unwrap_or_default().len();
        last = Some(event);
    }
    assert!(bytes < MIB, "{bytes} of 100 MB were kept");
    assert_eq!(last.unwrap().json()["id"], 2, "the answer is not lost");
    site.assert_well().await;
}

// A response may be large; it is complete, and its stream is one event.
#[tokio::test]
async fn a_large_response_is_complete() {
    let mut site = Site::start().await;
    let answer = site.ask(&Request::call(1, "big", &json!({"bytes": 8 * MIB}))).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"].as_str().unwrap().len(), 8 * MIB);
    let session = site.session("2025-11-25").await;
    let mut wire = site.connect().await;
    let text = "z".repeat(3 * MIB);
    wire.begin(&session.call(1, "wait", &json!({"name": "x", "text": text}))).await;
    let id = wire.event().await.unwrap().id.unwrap();
    site.began("x").await;
    site.release(1);
    let whole: Value = wire.message().await.unwrap();
    assert_eq!(whole["result"]["content"][0]["text"].as_str().unwrap().len(), 3 * MIB + "done x".len());
    drop(wire);
    let mut again = site.connect().await;
    assert_eq!(again.begin(&session.resume(&id)).await.status, 200);
    assert_eq!(again.message().await, Some(whole), "the last event is kept, however large");
}

// Notifications that wait for their handlers count too, over all sessions.
#[tokio::test]
async fn waiting_notifications_count_against_the_memory_budget() {
    let curtain = Arc::new(Semaphore::new(0));
    let behind = Arc::clone(&curtain);
    let limits = Limits { bytes_in_flight: 8 * PIECE, ..Limits::default() };
    let site = Site::with(Options::new(), |server| {
        server.limits(limits).notification("notifications/vendor/note", move |_: Value, _: Cx| {
            let behind = Arc::clone(&behind);
            async move {
                behind.acquire().await?.forget();
                Ok(())
            }
        })
    })
    .await;
    let params = json!({"pad": "p".repeat(PIECE)});
    let mut taken = 0;
    for _ in 0..20 {
        let session = site.session("2025-11-25").await;
        let response = site.ask(&session.notify("notifications/vendor/note", &params)).await;
        match response.status {
            202 => taken += 1,
            503 => break,
            _ => panic!("{response:?}"),
        }
    }
    assert!((5..=8).contains(&taken), "{taken} pieces are held where 8 may be");
    curtain.add_permits(taken);
    while site.ask(&echo(2 * PIECE)).await.status == 503 {
        tokio::task::yield_now().await;
    }
}
