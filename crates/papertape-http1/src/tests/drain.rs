//! Graceful shutdown: idle connections close, running requests finish, others are cut after the grace period.

use std::time::Duration;

use tokio::net::TcpStream;

use super::super::ConnectionLimits;
use super::support::{GET, Server, soon};

#[tokio::test]
async fn shutdown_closes_idle_connections_and_the_listener() {
    let mut server = Server::start(ConnectionLimits::default()).await;
    let mut fresh = server.connect().await;
    let mut half = server.send("GET / HTTP/1.1\r\nHost:").await;
    let mut idle = server.connect().await;
    idle.serves().await;
    let mut running = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.marks.begun.notified().await;
    server.stop();
    for peer in [&mut fresh, &mut half, &mut idle] {
        assert_eq!(peer.closed().await, b"");
    }
    assert!(TcpStream::connect(server.address).await.is_err());
    server.marks.go.notify_one();
    let response = running.response().await;
    assert_eq!(response.body, b"waited");
    assert!(response.head.contains("connection: close"), "{}", response.head);
    assert_eq!(running.closed().await, b"");
    server.ended().await;
}

#[tokio::test]
async fn shutdown_lets_streams_and_bodies_finish() {
    let mut server = Server::start(ConnectionLimits::default()).await;
    let mut stream = server.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    stream.head().await;
    stream.bytes(b"5\r\nfirst\r\n").await;
    let mut body = server
        .send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        .await;
    assert_eq!(body.response().await.status, 100);
    let mut idle = server.send(GET).await;
    assert_eq!(idle.response().await.status, 200);
    server.stop();
    assert_eq!(idle.closed().await, b"");
    body.send("hello").await;
    assert_eq!(body.response().await.body, b"hello");
    assert_eq!(body.closed().await, b"");
    server.marks.go.notify_one();
    stream.bytes(b"0\r\n\r\n").await;
    assert_eq!(stream.closed().await, b"");
    server.ended().await;
}

#[tokio::test]
async fn shutdown_cuts_what_exceeds_the_grace_period() {
    let mut server = Server::start_with(ConnectionLimits::default(), Duration::from_millis(100)).await;
    let mut running = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.marks.begun.notified().await;
    let mut stream = server.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    stream.head().await;
    stream.bytes(b"5\r\nfirst\r\n").await;
    server.stop();
    assert_eq!(running.closed().await, b"");
    assert_eq!(stream.closed().await, b"");
    let marks = std::sync::Arc::clone(&server.marks);
    server.ended().await;
    soon(marks.dropped.notified()).await;
}

#[tokio::test]
async fn dropping_the_server_closes_connections() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut running = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.marks.begun.notified().await;
    server.abandon();
    assert_eq!(running.closed().await, b"");
}
