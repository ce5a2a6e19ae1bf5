//! What session-based revisions keep between requests: sessions, and GET streams of server messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use papertape::client::{Change, ErrorKind, SubscriptionFilter};
use papertape::protocol::ElicitResult;
use serde_json::json;
use tokio::sync::Notify;

use crate::scripted::{
    Seen, Server, Step, chunk, event, handshake, json, legacy, response, result, run, stream_end,
    stream_head, text, text_of,
};

#[test]
fn the_session_id_is_sent_and_deleted_on_close() {
    run(async {
        let server =
            Server::new(|seen| handshake(seen).unwrap_or_else(|| json("200 OK", &text(seen, "ok")))).await;
        let client = server.connect().await;
        client.call("t", json!({})).await.unwrap();
        client.close().await;
        assert_eq!(
            server.asked(),
            ["server/discover", "initialize", "notifications/initialized", "GET", "tools/call", "DELETE"]
        );
        for (number, seen) in server.seen().iter().enumerate() {
            let after = number > 1;
            assert_eq!(seen.header("mcp-session-id"), after.then_some("s-1"), "{seen:?}");
            if number > 0 {
                assert_eq!(seen.header("mcp-protocol-version"), after.then_some("2025-11-25"), "{seen:?}");
            }
            assert_eq!(seen.header("mcp-method").is_some(), number == 0);
        }
        assert_eq!(server.of("GET")[0].header("accept"), Some("text/event-stream"));
    });
}

#[test]
fn revisions_before_2025_06_18_send_no_version_header() {
    run(async {
        let server = Server::new(|seen| match &seen.what()[..] {
            "initialize" => {
                json("200 OK", &result(seen, &json!({"protocolVersion": "2025-03-26", "capabilities": {}})))
            }
            _ => handshake(seen).unwrap_or_else(|| json("200 OK", &text(seen, "ok"))),
        })
        .await;
        let client = server.connect().await;
        client.call("t", json!({})).await.unwrap();
        client.close().await;
        assert!(server.seen()[1..].iter().all(|seen| seen.header("mcp-protocol-version").is_none()));
        assert_eq!(server.of("DELETE").len(), 0, "there is no session");
    });
}

#[test]
fn server_messages_come_on_a_get_stream_that_is_resumed() {
    run(async {
        let server = Server::new(|seen| match (&seen.what()[..], seen.header("last-event-id")) {
            ("GET", None) => vec![stream_head(), chunk("id: 7\nretry: 1\ndata:\n\n"), stream_end()],
            ("GET", Some("7")) => {
                let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                vec![stream_head(), event(&changed), Step::Hold]
            }
            ("initialize", _) => {
                let opened = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}});
                json("200 OK", &result(seen, &opened))
            }
            _ => handshake(seen).unwrap(),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let mut subscription = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        assert_eq!(subscription.next().await.unwrap(), Some(Change::Tools));
        client.close().await;
        server.left(1).await;
        assert_eq!(server.of("GET").len(), 2);
    });
}

#[test]
fn a_forgotten_session_is_opened_again_once_for_all() {
    run(async {
        let forgotten = Arc::new(AtomicBool::new(false));
        let is_forgotten = Arc::clone(&forgotten);
        let server = Server::new(move |seen| match (&seen.what()[..], seen.header("mcp-session-id")) {
            ("initialize", _) if is_forgotten.load(Ordering::SeqCst) => {
                let opened = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
                let headers = "content-type: application/json\r\nmcp-session-id: s-2\r\n";
                response("200 OK", headers, &result(seen, &opened).to_string())
            }
            ("tools/call", Some("s-1")) if is_forgotten.load(Ordering::SeqCst) => {
                response("404 Not Found", "", "no such session")
            }
            _ => handshake(seen).unwrap_or_else(|| json("200 OK", &text(seen, "ok"))),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        client.call("t", json!({})).await.unwrap();
        forgotten.store(true, Ordering::SeqCst);
        let call = || client.call("t", json!({}));
        let (first, second, third) = tokio::join!(call(), call(), call());
        for called in [first, second, third] {
            assert_eq!(text_of(&called.unwrap()), "ok");
        }
        client.close().await;
        assert_eq!(server.of("initialize").len(), 2);
        assert_eq!(server.of("notifications/initialized")[1].header("mcp-session-id"), Some("s-2"));
        assert_eq!(server.of("DELETE")[0].header("mcp-session-id"), Some("s-2"));
    });
}

#[test]
fn a_session_that_is_always_forgotten_is_an_error() {
    run(async {
        let server =
            Server::new(|seen| handshake(seen).unwrap_or_else(|| response("404 Not Found", "", "gone")))
                .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Http { status: 404, .. }), "{failed:?}");
        assert_eq!(server.of("initialize").len(), 2);
        assert_eq!(server.of("tools/call").len(), 2);
    });
}

#[test]
fn server_requests_get_a_response_by_post() {
    run(async {
        let answered = Arc::new(Notify::new());
        let tell = Arc::clone(&answered);
        let act = move |seen: &Seen| match &seen.what()[..] {
            "an answer" => {
                tell.notify_one();
                response("202 Accepted", "", "")
            }
            "tools/call" => {
                let form =
                    json!({"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}});
                let ask =
                    json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form});
                let wait = Step::Wait(Arc::clone(&tell));
                vec![stream_head(), event(&ask), wait, event(&text(seen, "thanks")), stream_end()]
            }
            _ => handshake(seen).unwrap(),
        };
        let server = Server::new(act).await;
        let options = legacy().on_form(|_| async { ElicitResult::decline() });
        let client = server.try_connect(options).await.unwrap();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "thanks");
        let answer = &server.of("an answer")[0];
        assert_eq!(answer.message(), json!({"jsonrpc": "2.0", "id": "q", "result": {"action": "decline"}}));
        assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
    });
}

#[test]
fn a_dropped_call_is_cancelled() {
    run(async {
        let server = Server::new(|seen| handshake(seen).unwrap_or_else(|| vec![Step::Hold])).await;
        let options = crate::scripted::quick().revision(papertape::protocol::Revision::NEWEST_LEGACY);
        let client = server.try_connect(options).await.unwrap();
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::TimedOut(_)), "{failed:?}");
        server.left(1).await;
        client.close().await;
        let id = &server.of("tools/call")[0].message()["id"];
        assert_eq!(&server.of("notifications/cancelled")[0].message()["params"]["requestId"], id);
    });
}
