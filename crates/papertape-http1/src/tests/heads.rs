//! Strict heads: H-41, H-43, H-46, H-52, H-60 to H-62, H-64, H-65.

use super::super::ConnectionLimits;
use super::support::{GET, Server, status_of};

async fn all_are(status: u16, requests: impl IntoIterator<Item = impl AsRef<[u8]>>) {
    let server = Server::start(ConnectionLimits::default()).await;
    for request in requests {
        let request = request.as_ref();
        let shown = String::from_utf8_lossy(&request[..request.len().min(120)]);
        assert_eq!(status_of(&server, request).await, status, "{shown:?}");
    }
    server.connect().await.serves().await;
}

fn with(header: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\nhello")
}

#[tokio::test]
async fn content_length_is_parsed_strictly() {
    let lengths =
        ["-1", "+5", " 5", "5 ", "\t5", "5,5", "5, 5", "5, 6", "0x5", "5.0", "", " ", "five", "5\u{a0}"];
    all_are(400, lengths.map(|length| with(&format!("Content-Length: {length}")))).await;
    all_are(
        400,
        [with("Content-Length: 5\r\nContent-Length: 6"), with("Content-Length: 5\r\nContent-Length: 5")],
    )
    .await;
    all_are(400, [with("Content-Length: 99999999999999999999"), with("Content-Length: 9223372036854775808")])
        .await;
}

#[tokio::test]
async fn transfer_encoding_is_parsed_strictly() {
    let codings = [
        "chunked, identity",
        "xchunked",
        " chunked",
        "chunked ",
        "identity",
        "",
        "chunked, chunked, x",
        "\"chunked\"",
    ];
    all_are(400, codings.map(|coding| with(&format!("Transfer-Encoding: {coding}")))).await;
    all_are(
        400,
        [
            with("Transfer-Encoding : chunked"),
            with("Transfer-Encoding\t: chunked"),
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
            with("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            with("Transfer-Encoding: chunked\r\nContent-Length: 5"),
        ],
    )
    .await;
    all_are(501, [with("Transfer-Encoding: gzip, chunked")]).await;
}

#[tokio::test]
async fn lines_end_with_cr_lf_and_hold_no_control_characters() {
    all_are(
        400,
        [
            "GET / HTTP/1.1\nHost: localhost\n\n",
            "GET / HTTP/1.1\nHost: localhost\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\n\n",
            "\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\0c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\x7f\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n\tc\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA\0: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\n: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nnothing\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n",
        ],
    )
    .await;
}

#[tokio::test]
async fn the_first_line_is_a_method_a_target_and_a_version() {
    all_are(
        400,
        [
            "GET /\r\n\r\n",
            "GET / \r\nHost: localhost\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
            " GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET\t/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n",
            "GET / http/1.1\r\nHost: localhost\r\n\r\n",
            "GET / HTTP/1\r\nHost: localhost\r\n\r\n",
            "GET / HTTP/1.10\r\nHost: localhost\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /\u{e9} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /mcp#x HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /\"a\" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "G@T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03",
        ],
    )
    .await;
    let versions = ["HTTP/1.0", "HTTP/0.9", "HTTP/9.9", "HTTP/2.0", "HTTP/1.2"];
    all_are(505, versions.map(|version| format!("GET / {version}\r\nHost: localhost\r\n\r\n"))).await;
    all_are(501, [format!("{} / HTTP/1.1\r\nHost: localhost\r\n\r\n", "A".repeat(100))]).await;
}

#[tokio::test]
async fn the_host_header_is_parsed_strictly() {
    let bad = [
        "",
        " ",
        "a@localhost",
        "localhost:99999",
        "localhost:0x50",
        "localhost:-1",
        "localhost:80:80",
        "local host",
        "local\thost",
        "localhost, localhost",
        "localhost,evil",
        "[::1",
        "[::1]x",
        "[localhost]",
        "::1",
        ":80",
        "localhost/",
        "http://localhost",
        "localhost?x",
        "localhost#x",
        "l\u{f6}calhost",
    ];
    all_are(400, bad.map(|host| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))).await;
    all_are(400, ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nHost: a\r\n\r\n"]).await;
    all_are(400, [format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(1000))]).await;
    let good =
        ["LOCALHOST", "[::1]", "[::1]:80", "127.0.0.1:65535", "localhost:", "my_host.example.", "  a\t"];
    all_are(200, good.map(|host| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))).await;
}

#[tokio::test]
async fn all_forms_of_a_target_reach_the_handler() {
    let server = Server::start(ConnectionLimits::default()).await;
    for line in [
        "GET http://evil.example/mcp",
        "GET HTTPS://evil.example/",
        "OPTIONS *",
        "GET /a|b?a=%00|{}",
        "FOO /",
    ] {
        assert_eq!(
            status_of(&server, format!("{line} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await,
            200,
            "{line}"
        );
    }
}

#[tokio::test]
async fn heads_are_bounded() {
    let many = "a: b\r\n".repeat(200);
    let fold = "a".repeat(1_000_000);
    all_are(
        431,
        [
            format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
            format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {fold}\r\n\r\n"),
            format!("GET / HTTP/1.1\r\nHost: localhost\r\n{fold}: b\r\n\r\n"),
        ],
    )
    .await;
    all_are(414, [format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000))]).await;
    let (url, value) = ("a".repeat(8 * 1024 - 1), "b".repeat(55 * 1024));
    let headers = "a: b\r\n".repeat(98);
    all_are(200, [format!("GET /{url} HTTP/1.1\r\nHost: localhost\r\nC: {value}\r\n{headers}\r\n")]).await;
}

#[tokio::test]
async fn pipelined_requests_get_responses_in_order() {
    let server = Server::start(ConnectionLimits::default()).await;
    let request =
        |number| format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n{number:03}");
    let mut peer = server.send((0..100).map(request).collect::<String>()).await;
    for number in 0..100 {
        let response = peer.response().await;
        assert_eq!((response.status, response.body), (200, format!("{number:03}").into_bytes()));
    }
    peer.serves().await;
}

#[tokio::test]
async fn valid_requests_before_an_invalid_one_get_responses() {
    let server = Server::start(ConnectionLimits::default()).await;
    let good = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok";
    for garbage in ["garbage\r\n\r\n", "\0", "{}\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"] {
        let mut peer = server.send(format!("{good}{good}{garbage}")).await;
        assert_eq!(peer.response().await.body, b"ok");
        assert_eq!(peer.response().await.body, b"ok");
        assert_eq!(peer.response().await.status, 400, "{garbage:?}");
        assert_eq!(peer.closed().await, b"");
    }
}

#[tokio::test]
async fn an_error_response_waits_for_a_slow_response() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut peer = server.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\ngarbage\r\n").await;
    server.marks.begun.notified().await;
    server.connect().await.serves().await;
    server.marks.go.notify_one();
    assert_eq!(peer.response().await.body, b"waited");
    assert_eq!(peer.response().await.status, 400);
    assert_eq!(peer.closed().await, b"");
}

#[tokio::test]
async fn one_empty_line_before_a_request_is_ignored() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut peer = server.send(format!("\r\n{GET}\r\n{GET}")).await;
    assert_eq!(peer.response().await.status, 200);
    assert_eq!(peer.response().await.status, 200);
    peer.send("\r").await;
    peer.send("\n").await;
    peer.serves().await;
}
