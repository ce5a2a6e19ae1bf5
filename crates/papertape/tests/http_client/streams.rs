//! Streams that end before the response, and how they are resumed.

use std::time::{Duration, Instant};

use papertape::client::ErrorKind;
use serde_json::json;

use crate::scripted::{
    Server, Step, broken, chunk, discovered, event, handshake, legacy, response, run, stream_end,
    stream_head, text, text_of,
};

/// A legacy server that closes the stream of a call at once, and what it does on resumption.
async fn letting_go(back: impl Fn(&crate::scripted::Seen) -> Vec<Step> + Send + Sync + 'static) -> Server {
    Server::new(move |seen| match (&seen.what()[..], seen.header("last-event-id")) {
        ("GET", Some(_)) => back(seen),
        ("tools/call", _) => {
            vec![
                stream_head(),
                chunk(format!("id: {}\nretry: 300\ndata:\n\n", seen.message()["id"])),
                stream_end(),
            ]
        }
        _ => handshake(seen).unwrap(),
    })
    .await
}

#[test]
fn a_closed_stream_is_resumed() {
    run(async {
        let server = letting_go(|seen| {
            let call = json!({"id": seen.header("last-event-id").unwrap().parse::<i64>().unwrap()});
            let seen = crate::scripted::Seen { body: call.to_string().into(), ..seen.clone() };
            vec![stream_head(), event(&text(&seen, "at last")), stream_end()]
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let began = Instant::now();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "at last");
        assert!(began.elapsed() >= Duration::from_millis(300), "it came back before its time");
        let back = &server.of("GET")[1];
        assert_eq!(back.header("mcp-session-id"), Some("s-1"));
        assert_eq!(back.header("mcp-protocol-version"), Some("2025-11-25"));
    });
}

#[test]
fn resumption_attempts_are_bounded() {
    run(async {
        let server = letting_go(|_| vec![stream_head(), chunk("retry: 0\n\n"), stream_end()]).await;
        let client = server.try_connect(legacy()).await.unwrap();
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(broken(&failed).contains("after several attempts"), "{failed}");
        assert_eq!(server.of("GET").len(), 1 + 5);
    });
}

// A server sends 409 while it has not noticed that the connection broke.
#[test]
fn resumption_is_retried_after_409() {
    run(async {
        let refusals = std::sync::Mutex::new(vec![
            response("503 Service Unavailable", "", ""),
            response("409 Conflict", "", "another connection reads this"),
        ]);
        let server = letting_go(move |seen| {
            let call = json!({"id": seen.header("last-event-id").unwrap().parse::<i64>().unwrap()});
            let seen = crate::scripted::Seen { body: call.to_string().into(), ..seen.clone() };
            refusals
                .lock()
                .unwrap()
                .pop()
                .unwrap_or_else(|| vec![stream_head(), event(&text(&seen, "at last")), stream_end()])
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "at last");
        assert_eq!(server.of("GET").len(), 1 + 3);
    });
}

#[test]
fn a_rejected_resumption_is_an_error() {
    run(async {
        let server = letting_go(|_| response("404 Not Found", "", "what stream?")).await;
        let client = server.try_connect(legacy()).await.unwrap();
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(broken(&failed).contains("HTTP 404") && broken(&failed).contains("what stream?"), "{failed}");
    });
}

/// The result of a modern call with this response.
async fn called(steps: Vec<Step>) -> papertape::client::ClientError {
    let server = Server::new(move |seen| match &seen.what()[..] {
        "server/discover" => discovered(seen),
        _ => steps.clone(),
    })
    .await;
    let client = server.connect().await;
    client.call("t", json!({})).await.unwrap_err()
}

#[test]
fn a_modern_stream_that_ends_early_is_lost() {
    run(async {
        let noise = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
        let ended = called(vec![stream_head(), chunk("id: 1\n\n"), event(&noise), stream_end()]).await;
        assert!(broken(&ended).contains("ended before the response arrived; it is lost"), "{ended}");
        assert!(ended.bytes().unwrap().starts_with(b"{\"jsonrpc\""), "what came last is kept");
        let cut =
            called(vec![stream_head(), chunk("data: {\"jsonrpc\":\"2.0\",\"id\":2"), stream_end()]).await;
        assert!(broken(&cut).contains("in the middle of an event"), "{cut}");
        let torn = called(vec![stream_head(), event(&noise), Step::Close]).await;
        assert!(broken(&torn).contains("was interrupted"), "{torn}");
        let garbled = called(vec![stream_head(), Step::Write(b"zz\r\n".to_vec()), Step::Close]).await;
        assert!(broken(&garbled).contains("was interrupted"), "{garbled}");
        let gone = called(vec![Step::Close]).await;
        assert!(matches!(gone.kind(), ErrorKind::Closed), "{gone:?}");
    });
}

#[test]
fn an_event_that_is_not_a_message_is_skipped() {
    run(async {
        let server = Server::new(|seen| match &seen.what()[..] {
            "server/discover" => discovered(seen),
            _ => vec![
                stream_head(),
                chunk("data: not json\n\nevent: ping\ndata: {}\n\n: comment\n\nevent: message\r\n"),
                chunk(format!("data: {}\r\n\r\n", text(seen, "ok"))),
                stream_end(),
            ],
        })
        .await;
        let client = server.connect().await;
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok");
    });
}
