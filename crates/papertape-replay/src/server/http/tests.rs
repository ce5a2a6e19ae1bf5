use std::net::SocketAddr;

use papertape::http::HostGuard;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::serve_http;
use crate::script::Script;
use crate::server::Pace;

const TAPE: &str = r#"papertape 1
1 > - line {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
2 < - line {"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"s"}}}
3 > - line {"jsonrpc":"2.0","method":"notifications/initialized"}
4 < - line {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
5 > - line {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":9}}}
6 < - line {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}
7 < - line {"jsonrpc":"2.0","id":"r","method":"roots/list"}
8 > - line {"jsonrpc":"2.0","id":"r","result":{"roots":[]}}
9 < - line {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
"#;

/// Runs a test with the address of a replay.
async fn with_replay(test: impl AsyncFnOnce(SocketAddr)) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let script = Script::read(TAPE.as_bytes()).unwrap();
    let guard = HostGuard::new(&[], &[]);
    let never = std::future::pending();
    tokio::select! {
        served = serve_http(listener, script, Pace::default(), guard, |note| panic!("{note}"), never) => panic!("{served:?}"),
        () = test(address) => {}
    }
}

async fn request(address: SocketAddr, method: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head = format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
    stream
}

async fn response(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Reads until some words have come.
async fn read_until(stream: &mut TcpStream, words: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(words) {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "{}", String::from_utf8_lossy(&bytes));
    }
    String::from_utf8(bytes).unwrap()
}

const SESSION: &str = "Mcp-Session-Id: replay-1\r\n";

#[tokio::test]
async fn a_session_is_played_over_http() {
    with_replay(async |address| {
        let open = r#"{"jsonrpc":"2.0","id":"o","method":"initialize","params":{"clientInfo":{"name":"h"}}}"#;
        let opened = response(request(address, "POST", "", open).await).await;
        assert!(opened.starts_with("HTTP/1.1 200") && opened.contains("mcp-session-id: replay-1"), "{opened}");
        assert!(opened.ends_with(r#"{"jsonrpc":"2.0","id":"o","result":{"serverInfo":{"name":"s"}}}"#), "{opened}");
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let accepted = response(request(address, "POST", SESSION, initialized).await).await;
        assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
        let mut listening = request(address, "GET", SESSION, "").await;
        read_until(&mut listening, "notifications/tools/list_changed").await;

        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}"#;
        let mut calling = request(address, "POST", SESSION, call).await;
        let events = read_until(&mut calling, "roots/list").await;
        assert!(events.contains("text/event-stream") && events.contains(r#""progressToken":"t""#), "{events}");
        let roots = r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}"#;
        assert!(response(request(address, "POST", SESSION, roots).await).await.starts_with("HTTP/1.1 202"));
        let rest = response(calling).await;
        assert!(rest.contains("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[]}}\n\n"), "{rest}");

        assert!(response(request(address, "DELETE", SESSION, "").await).await.starts_with("HTTP/1.1 204"));
        assert!(response(request(address, "POST", SESSION, call).await).await.starts_with("HTTP/1.1 404"));
    })
    .await;
}

#[tokio::test]
async fn without_a_session_requests_get_their_responses() {
    with_replay(async |address| {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let pong = response(request(address, "POST", "", ping).await).await;
        assert!(pong.ends_with(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "{pong}");
        for (method, headers, body, status) in [
            ("POST", "", "{", "400"),
            ("POST", "", "[]", "400"),
            ("GET", "", "", "405"),
            ("POST", "Origin: https://evil.example\r\n", ping, "403"),
            ("POST", "Mcp-Session-Id: other\r\n", ping, "404"),
        ] {
            let refused = response(request(address, method, headers, body).await).await;
            assert!(refused.starts_with(&format!("HTTP/1.1 {status}")), "{body}: {refused}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_request_ends() {
    with_replay(async |address| {
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
        let mut calling = request(address, "POST", "", call).await;
        read_until(&mut calling, "roots/list").await;
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert!(response(request(address, "POST", "", cancel).await).await.starts_with("HTTP/1.1 202"));
        assert!(!response(calling).await.contains("result"));
    })
    .await;
}
