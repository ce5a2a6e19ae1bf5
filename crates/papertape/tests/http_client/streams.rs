//! Streams that end before the answer, and how they are taken up again.

use std::time::{Duration, Instant};

use papertape::ErrorKind;
use serde_json::json;

use crate::scripted::{
    Server, Step, broken, chunk, discovered, event, handshake, legacy, response, run, stream_end,
    stream_head, text, text_of,
};

/// A legacy server that lets go of a call at once; what it does with those who come back.
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
fn a_server_may_let_go_and_be_asked_again() {
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
fn a_server_that_never_has_the_answer_is_given_up() {
    run(async {
        let server = letting_go(|_| vec![stream_head(), chunk("retry: 0\n\n"), stream_end()]).await;
        let client = server.try_connect(legacy()).await.unwrap();
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(broken(&failed).contains("after several attempts"), "{failed}");
        assert_eq!(server.of("GET").len(), 1 + 5);
    });
}

// A server says 409 while it believes that the connection that broke is alive.
#[test]
fn a_server_that_is_not_ready_to_take_one_back_is_asked_again() {
    run(async {
        let refusals = std::sync::Mutex::new(vec![
            response("503 Service Unavailable", "", ""),
            response("409 Conflict", "", "somebody reads this"),
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
fn a_server_that_does_not_take_one_back_says_so() {
    run(async {
        let server = letting_go(|_| response("404 Not Found", "", "what stream?")).await;
        let client = server.try_connect(legacy()).await.unwrap();
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(broken(&failed).contains("HTTP 404") && broken(&failed).contains("what stream?"), "{failed}");
    });
}

/// What a modern call comes to if its response is this.
async fn called(steps: Vec<Step>) -> papertape::ClientError {
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
        assert!(broken(&ended).contains("ended before the answer came; it is lost"), "{ended}");
        assert!(ended.bytes().unwrap().starts_with(b"{\"jsonrpc\""), "what came last is kept");
        let cut =
            called(vec![stream_head(), chunk("data: {\"jsonrpc\":\"2.0\",\"id\":2"), stream_end()]).await;
        assert!(broken(&cut).contains("in the middle of an event"), "{cut}");
        let torn = called(vec![stream_head(), event(&noise), Step::Close]).await;
        assert!(broken(&torn).contains("broke off"), "{torn}");
        let garbled = called(vec![stream_head(), Step::Write(b"zz\r\n".to_vec()), Step::Close]).await;
        assert!(broken(&garbled).contains("broke off"), "{garbled}");
        let gone = called(vec![Step::Close]).await;
        assert!(matches!(gone.kind(), ErrorKind::Closed), "{gone:?}");
    });
}

#[test]
fn an_event_that_is_no_message_is_passed_over() {
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
