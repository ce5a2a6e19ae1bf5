//! HTTP+SSE servers (2024-11-05): every response comes on one stream.

use std::sync::Arc;

use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::Revision;
use serde_json::json;
use tokio::sync::Notify;

use crate::scripted::{
    Seen, Server, Step, accepted, chunk, event, not_allowed, result, run, stream_end, stream_head, text,
    text_of,
};

/// A server that responds to `initialize` and one call, in this order, and then does as the test says.
async fn old(address: &'static str, last: Vec<Step>) -> Server {
    let (opened, called) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    Server::new(move |seen| {
        let id = |id: i64| Seen { body: json!({"id": id}).to_string().into(), ..seen.clone() };
        match (&seen.method[..], &seen.path[..], &seen.what()[..]) {
            ("GET", ..) => {
                let says = json!({"protocolVersion": "2024-11-05", "capabilities": {}});
                let begin = vec![
                    stream_head(),
                    chunk(format!("event: endpoint\ndata: {address}\n\n")),
                    Step::Wait(Arc::clone(&opened)),
                    event(&result(&id(2), &says)),
                    Step::Wait(Arc::clone(&called)),
                    event(&text(&id(3), "old")),
                ];
                [begin, last.clone()].concat()
            }
            ("POST", "/messages?s=1", what) => {
                match what {
                    "initialize" => opened.notify_one(),
                    "tools/call" => called.notify_one(),
                    _ => {}
                }
                accepted()
            }
            _ => not_allowed(),
        }
    })
    .await
}

#[test]
fn the_first_revision_uses_http_sse() {
    run(async {
        let server = old("/messages?s=1", vec![Step::Hold]).await;
        let client = server.connect().await;
        assert_eq!(client.revision(), Revision::parse("2024-11-05").unwrap());
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "old");
        client.close().await;
        server.left(1).await;
        let asked =
            ["server/discover", "initialize", "GET", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(server.asked(), asked);
    });
}

#[test]
fn the_session_ends_with_the_stream() {
    run(async {
        let server = old("/messages?s=1", vec![stream_end()]).await;
        let client = server.connect().await;
        client.call("t", json!({})).await.unwrap();
        for _ in 0..2 {
            let failed = client.call("t", json!({})).await.unwrap_err();
            assert!(matches!(failed.kind(), ErrorKind::Closed), "{failed:?}");
        }
    });
}

#[test]
fn the_endpoint_must_be_on_the_same_host() {
    run(async {
        let other = Server::new(|_| accepted()).await;
        let address = format!("event: endpoint\ndata: {}\n\n", other.url);
        let server = Server::new(move |seen| match &seen.what()[..] {
            "GET" => vec![stream_head(), chunk(&address), Step::Hold],
            _ => not_allowed(),
        })
        .await;
        let failed = server.try_connect(ClientOptions::new()).await.unwrap_err();
        assert!(crate::scripted::broken(&failed).contains("another host"), "{failed:?}");
        assert_eq!(other.asked().len(), 0);
        server.left(1).await;
    });
}
