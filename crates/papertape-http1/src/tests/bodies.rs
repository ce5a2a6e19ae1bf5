//! Bodies: H-50, H-51, H-53, H-63.

use super::super::ConnectionLimits;
use super::support::{Server, soon, status_of};

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test]
async fn chunks_are_parsed_strictly() {
    let server = Server::start(ConnectionLimits::default()).await;
    let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(1_000_000));
    let bad = [
        "FFFFFFFFFFFFFFFFF\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "5;a\0\r\nhello\r\n0\r\n\r\n",
        "5;a\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n",
        "5\r\nhello\r\n0\r\nA : b\r\n\r\n",
        "5\r\nhello\r\n0\r\ngarbage\r\n\r\n",
        &extension,
    ];
    for body in bad {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(status_of(&server, format!("{CHUNKED}{body}")).await, 400, "{shown:?}");
    }
    let long = "a: b\r\n".repeat(5_000);
    assert_eq!(status_of(&server, format!("{CHUNKED}0\r\n{long}\r\n")).await, 431);
    let good = [
        "5\r\nhello\r\n0\r\n\r\n",
        "005;a=\"b\"\r\nhello\r\n0\r\nA: b\r\n\r\n",
        "2\r\nhe\r\n3\r\nllo\r\n000\r\n\r\n",
    ];
    for body in good {
        let mut peer = server.send(format!("{CHUNKED}{body}")).await;
        assert_eq!(peer.response().await.body, b"hello", "{body:?}");
        peer.serves().await;
    }
}

#[tokio::test]
async fn a_fault_in_a_body_is_reported_after_earlier_responses() {
    let server = Server::start(ConnectionLimits::default()).await;
    let first = "POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok";
    let mut peer = server.send(format!("{first}{CHUNKED}5\r\nhello!")).await;
    server.marks.begun.notified().await;
    server.marks.go.notify_one();
    assert_eq!(peer.response().await.body, b"waited");
    assert_eq!(peer.response().await.status, 400);
    assert_eq!(peer.closed().await, b"");
}

#[tokio::test]
async fn a_fault_in_a_body_cuts_a_started_response() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut peer =
        server.send("POST /keep HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    assert!(peer.head().await.contains("200 OK"));
    peer.bytes(b"5\r\nfirst\r\n").await;
    peer.send("garbage").await;
    assert_eq!(peer.closed().await, b"");
    soon(server.marks.dropped.notified()).await;
}

#[tokio::test]
async fn a_response_before_the_end_of_the_body_can_be_read() {
    let server = Server::start(ConnectionLimits::default()).await;
    let head =
        |length: u64| format!("POST /refuse HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    let mut one = server.send(head(99_999_999_999) + "x").await;
    assert_eq!(one.response().await.status, 413);
    assert_eq!(one.closed().await, b"");
    // All of it is sent before the response is read; without a lingering close this would be a reset.
    let mut all = server.send(head(4_000_001) + &"x".repeat(4_000_001)).await;
    assert_eq!(all.response().await.status, 413);
    let expecting = head(99_999_999_999).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    let mut expecting = server.send(expecting).await;
    assert_eq!(expecting.response().await.status, 413, "no 100 before it");
    assert_eq!(expecting.closed().await, b"");
}

#[tokio::test]
async fn expect_100_continue_gets_a_100_when_the_body_is_read() {
    let server = Server::start(ConnectionLimits::default()).await;
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let mut peer = server.send(head).await;
    assert_eq!(peer.response().await.status, 100);
    peer.send("hello").await;
    assert_eq!(peer.response().await.body, b"hello");
    peer.serves().await;
}

#[tokio::test]
async fn a_closed_connection_drops_the_handler() {
    let server = Server::start(ConnectionLimits::default()).await;
    let peer = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.marks.begun.notified().await;
    drop(peer);
    soon(server.marks.dropped.notified()).await;
    let mut peer = server.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    peer.head().await;
    peer.bytes(b"5\r\nfirst\r\n").await;
    drop(peer);
    soon(server.marks.dropped.notified()).await;
}

/// However much was sent, as long as it fits into the buffer of the kernel: behind that, a close cannot be seen.
#[tokio::test]
async fn a_close_behind_pipelined_bytes_is_noticed() {
    let server = Server::start(ConnectionLimits::default()).await;
    let garbage = "garbage ".repeat(12 * 1024);
    for more in ["\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET", "\0garbage", garbage.as_str()] {
        let peer = server.send(format!("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n{more}")).await;
        server.marks.begun.notified().await;
        drop(peer);
        soon(server.marks.dropped.notified()).await;
    }
}

#[tokio::test]
async fn a_panic_of_a_handler_ends_its_connection_only() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut other = server.connect().await;
    other.serves().await;
    let mut peer = server.send("GET /panic HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(peer.closed().await, b"");
    other.serves().await;
}
