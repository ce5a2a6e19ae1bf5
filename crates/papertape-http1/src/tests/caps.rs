//! Limits on connections: H-75, and G11 as far as one process can test it.

use super::super::ConnectionLimits;
use super::support::{GET, Peer, Server, soon};

fn cap(connections: usize) -> ConnectionLimits {
    ConnectionLimits { connections, ..Default::default() }
}

async fn waiting(server: &Server) -> Peer {
    let peer = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    soon(server.marks.begun.notified()).await;
    peer
}

#[tokio::test]
async fn the_longest_idle_connection_is_evicted() {
    let server = Server::start(cap(3)).await;
    let _busy = waiting(&server).await;
    let mut oldest = server.connect().await;
    oldest.serves().await;
    let mut younger = server.connect().await;
    younger.serves().await;
    let mut new = server.connect().await;
    new.serves().await;
    assert_eq!(oldest.closed().await, b"");
    younger.serves().await;
}

#[tokio::test]
async fn silent_connections_are_evicted() {
    let server = Server::start(cap(50)).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(server.connect().await);
    }
    server.connect().await.serves().await;
}

#[tokio::test]
async fn connections_with_a_slow_head_are_evicted() {
    let server = Server::start(cap(1)).await;
    let mut slow = server.send("GET / HTTP/1.1\r\n").await;
    // Refused for as long as the head may still be one that comes in one piece.
    let served = async { while server.send(GET).await.response().await.status != 200 {} };
    soon(served).await;
    assert_eq!(slow.closed().await, b"");
}

#[tokio::test]
async fn without_an_idle_connection_a_new_one_gets_503() {
    let server = Server::start(cap(2)).await;
    let mut one = waiting(&server).await;
    let _two = waiting(&server).await;
    for _ in 0..3 {
        let mut refused = server.connect().await;
        let response = refused.response().await;
        assert_eq!(response.status, 503);
        assert!(response.head.contains("retry-after"), "{}", response.head);
        assert_eq!(refused.closed().await, b"");
    }
    server.marks.go.notify_one();
    assert_eq!(one.response().await.body, b"waited");
    // No connection was idle a moment ago, so the next search may take a moment.
    let served = async { while server.send(GET).await.response().await.status != 200 {} };
    soon(served).await;
}
