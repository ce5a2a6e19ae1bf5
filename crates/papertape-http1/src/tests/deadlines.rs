//! Deadlines: H-70 to H-74. Limits are short here; that a connection closes at all is what is tested.

use std::time::Duration;

use super::super::ConnectionLimits;
use super::support::{GET, Peer, Server, soon};

const SHORT: Duration = Duration::from_millis(200);

fn patient() -> ConnectionLimits {
    let long = Duration::from_secs(3600);
    ConnectionLimits {
        header_time: long,
        body_idle: long,
        reader_stall: long,
        keep_alive: long,
        ..Default::default()
    }
}

/// Sends a byte now and then until the connection closes.
async fn trickle(peer: &mut Peer, bytes: &str) {
    use tokio::io::AsyncWriteExt as _;
    for byte in bytes.as_bytes().iter().cycle() {
        if peer.stream.write_all(&[*byte]).await.is_err() {
            return;
        }
        tokio::select! {
            _ = peer.stream.readable() => return,
            () = tokio::time::sleep(SHORT / 20) => {}
        }
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server = Server::start(ConnectionLimits { header_time: SHORT, ..patient() }).await;
    assert_eq!(server.connect().await.closed().await, b"");
}

#[tokio::test]
async fn an_incomplete_head_gets_408() {
    let server = Server::start(ConnectionLimits { header_time: SHORT, ..patient() }).await;
    for part in ["GET", "GET / HTTP/1.1\r\nHost: local", "GET / HTTP/1.1\r\nHost: localhost\r\n"] {
        let mut peer = server.send(part).await;
        assert_eq!(peer.response().await.status, 408, "{part:?}");
        assert_eq!(peer.closed().await, b"");
    }
    let mut second = server.send(GET).await;
    assert_eq!(second.response().await.status, 200);
    second.send("GET").await;
    assert_eq!(second.response().await.status, 408);
}

#[tokio::test]
async fn a_trickling_head_gets_408() {
    let server = Server::start(ConnectionLimits { header_time: SHORT, ..patient() }).await;
    let mut peer = server.send("GET / HTTP/1.1\r\nHost: localhost\r\n").await;
    soon(trickle(&mut peer, "a: b\r\n")).await;
    assert_eq!(peer.response().await.status, 408);
}

#[tokio::test]
async fn a_stalled_body_gets_408() {
    let server = Server::start(ConnectionLimits { body_idle: SHORT, body_rate: 0, ..patient() }).await;
    for head in [
        "Content-Length: 5\r\n\r\nh",
        "Content-Length: 5\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nh",
    ] {
        let mut peer = server.send(format!("POST / HTTP/1.1\r\nHost: localhost\r\n{head}")).await;
        assert_eq!(peer.response().await.status, 408, "{head:?}");
        assert_eq!(peer.closed().await, b"");
    }
}

#[tokio::test]
async fn a_body_below_the_minimum_rate_gets_408() {
    let server =
        Server::start(ConnectionLimits { body_idle: SHORT, body_rate: 1_000_000, ..patient() }).await;
    let mut peer = server.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n").await;
    soon(trickle(&mut peer, "x")).await;
    assert_eq!(peer.response().await.status, 408);
}

#[tokio::test]
async fn a_stalled_body_cuts_a_started_response() {
    let server = Server::start(ConnectionLimits { body_idle: SHORT, ..patient() }).await;
    let keep = "POST /keep HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nh";
    let mut peer = server.send(keep).await;
    assert!(peer.head().await.contains("200 OK"));
    peer.bytes(b"5\r\nfirst\r\n").await;
    assert_eq!(peer.closed().await, b"");
}

#[tokio::test]
async fn a_body_that_the_handler_does_not_read_has_no_deadline() {
    let limits = ConnectionLimits { body_idle: SHORT, ..patient() };
    let server = Server::start(limits).await;
    let mut peer = server.send("POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nh").await;
    server.marks.begun.notified().await;
    // A body that is late on another connection shows that the time is over.
    let mut late = server.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nh").await;
    assert_eq!(late.response().await.status, 408);
    server.marks.go.notify_one();
    assert_eq!(peer.response().await.body, b"waited");
}

#[tokio::test]
async fn no_deadline_runs_while_a_handler_works() {
    let limits = ConnectionLimits {
        header_time: SHORT,
        body_idle: SHORT,
        keep_alive: SHORT,
        reader_stall: SHORT,
        ..Default::default()
    };
    let server = Server::start(limits).await;
    let mut waiting = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\nGET").await;
    server.marks.begun.notified().await;
    let mut stream = server.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    stream.head().await;
    stream.bytes(b"5\r\nfirst\r\n").await;
    for _ in 0..3 {
        assert_eq!(server.connect().await.closed().await, b"");
    }
    server.marks.go.notify_waiters();
    assert_eq!(waiting.response().await.body, b"waited");
    stream.bytes(b"0\r\n\r\n").await;
    assert_eq!(waiting.response().await.status, 408, "the head that had begun");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = Server::start(ConnectionLimits { keep_alive: SHORT, ..patient() }).await;
    let mut peer = server.connect().await;
    peer.serves().await;
    peer.serves().await;
    assert_eq!(peer.closed().await, b"");
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_reset() {
    let server = Server::start(ConnectionLimits { reader_stall: SHORT, ..patient() }).await;
    let mut peer = server.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let head = peer.head().await;
    assert!(head.contains("content-length: 10000000"), "{head}");
    // One that does read shows that the time is over when it is left for being idle.
    let mut other = server.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(other.response().await.body.len(), 10_000_000);
    let stalled = async {
        loop {
            use tokio::io::Interest;
            if peer.stream.ready(Interest::ERROR).await.unwrap().is_error() {
                return;
            }
        }
    };
    soon(stalled).await;
    assert!(peer.closed().await.len() < 10_000_000);
}
