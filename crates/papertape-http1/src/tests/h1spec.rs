//! The cases of h1spec: which requests are waited for, served and refused.

use super::super::ConnectionLimits;
use super::support::{Server, status_of};

#[tokio::test]
async fn incomplete_requests_wait_for_the_rest() {
    let server = Server::start(ConnectionLimits::default()).await;
    let whole = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let parts = [
        "G",
        "GET ",
        "GET /hello",
        "GET /hello ",
        "GET /hello HTTP",
        "GET /hello HTTP/1.1",
        "GET /hello HTTP/1.1\r",
        "GET /hello HTTP/1.1\r\n",
        "GET /hello HTTP/1.1\r\nHos",
        "GET /hello HTTP/1.1\r\nHost:",
        "GET /hello HTTP/1.1\r\nHost: ",
        "GET /hello HTTP/1.1\r\nHost: localhost",
        "GET /hello HTTP/1.1\r\nHost: localhost\r",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r",
    ];
    for part in parts {
        let mut peer = server.send(part).await;
        // An early response or a close would be noticed after the rest is sent.
        server.connect().await.serves().await;
        peer.send(whole.strip_prefix(part).unwrap()).await;
        assert_eq!(peer.response().await.status, 200, "{part:?}");
        peer.serves().await;
    }
}

#[tokio::test]
async fn valid_requests_are_served() {
    let server = Server::start(ConnectionLimits::default()).await;
    let good = [
        ("GET / HTTP/1.1\r\nHost: example.com\r\nExpect: 100-continue\r\n\r\n", ""),
        ("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", ""),
        ("GET / HTTP/1.1\r\nhoSt:\texample.com\r\nempty:\r\n\r\n", ""),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nX-Empty-Header: \r\n\r\n", ""),
        ("POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nhello", "hello"),
        (
            "POST / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\nc\r\nHellO world1\r\n0\r\n\r\n",
            "HellO world1",
        ),
    ];
    for (request, body) in good {
        let mut peer = server.send(request).await;
        let response = peer.response().await;
        assert_eq!((response.status, response.body.as_slice()), (200, body.as_bytes()), "{request:?}");
        peer.serves().await;
    }
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let server = Server::start(ConnectionLimits::default()).await;
    let bad = [
        ("GET / \r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nX-Invalid[]: test\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nHost: example.org\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nContent-Length: -123456789123456789123456789\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nContent-Length: -1234\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nContent-Length: abc\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\nX-Bad-Control-Char: test\x07\r\n\r\n", 400),
        ("GET / HTTP/9.9\r\nHost: example.com\r\n\r\n", 505),
        ("Extra lineGET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: example.com\r\n\rSome-Header: Test\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: example.com\r\ncontent-LengtH: 5\r\nTransFer-Encoding: chunked\r\n\r\n\
             c\r\nHellO world1\r\n0\r\n\r\n",
            400,
        ),
    ];
    for (request, status) in bad {
        assert_eq!(status_of(&server, request).await, status, "{request:?}");
    }
}
