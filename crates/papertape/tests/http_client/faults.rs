//! Invalid responses, and servers that cannot be reached.

use std::time::Duration;

use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::http;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::scripted::{
    Seen, Server, Step, broken, discovered, error, json, quick, response, result, run, stream, text, text_of,
    within,
};

/// The result of a call with this response.
async fn called(act: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> ClientError {
    let server = Server::new(move |seen| match &seen.what()[..] {
        "server/discover" => discovered(seen),
        _ => act(seen),
    })
    .await;
    let client = server.connect().await;
    let failed = client.call("t", json!({})).await.unwrap_err();
    // The session stays open.
    client.ping().await.unwrap();
    failed
}

#[test]
fn an_invalid_response_fails_the_call_with_a_reason() {
    run(async {
        let html = called(|_| response("200 OK", "content-type: text/html\r\n", "<h1>Welcome</h1>")).await;
        assert!(broken(&html).contains("the response is text/html"), "{html}");
        assert_eq!(html.bytes(), Some(&b"<h1>Welcome</h1>"[..]));
        let empty = called(|_| response("200 OK", "content-type: application/json\r\n", "")).await;
        assert!(broken(&empty).contains("HTTP 200 with an empty body"), "{empty}");
        let accepted = called(|_| response("202 Accepted", "", "")).await;
        assert!(broken(&accepted).contains("HTTP 202 with an empty body"), "{accepted}");
        let garbage = called(|_| response("200 OK", "content-type: application/json\r\n", "{\"json")).await;
        assert!(broken(&garbage).contains("no response to the request"), "{garbage}");
        let other = called(|_| json("200 OK", &json!({"jsonrpc": "2.0", "id": 999, "result": {}}))).await;
        assert!(broken(&other).contains("no response to the request"), "{other}");
        let both = called(|seen| {
            json("200 OK", &json!({"jsonrpc": "2.0", "id": seen.message()["id"], "result": {}, "error": {}}))
        })
        .await;
        assert!(broken(&both).contains("both `result` and `error`"), "{both}");
        let ended = called(|_| stream(&[])).await;
        assert!(broken(&ended).contains("ended before the response arrived"), "{ended}");
    });
}

#[test]
fn an_error_counts_whatever_the_status() {
    run(async {
        for (status, message) in [
            ("404 Not Found", None),
            ("400 Bad Request", Some(Value::Null)),
            ("200 OK", Some(Value::Null)),
            ("500 Internal Server Error", None),
        ] {
            let failed = called(move |seen| {
                let mut body = error(seen, -32099, &json!({"why": 1}));
                if let Some(id) = &message {
                    body["id"] = id.clone();
                }
                json(status, &body)
            })
            .await;
            let ErrorKind::Rpc(error) = failed.kind() else { panic!("{status}: {failed:?}") };
            assert_eq!((error.code, &error.data), (-32099, &Some(json!({"why": 1}))));
        }
    });
}

#[test]
fn an_error_status_is_reported_with_its_body() {
    run(async {
        let failed = called(|_| response("418 I'm a teapot", "", "short\n\u{1b}[31mand stout")).await;
        let ErrorKind::Http { status: 418, message } = failed.kind() else { panic!("{failed:?}") };
        assert!(message.contains("short \\u{1b}[31mand stout"), "{message}");
        let failed = called(|_| response("500 Internal Server Error", "", "")).await;
        assert_eq!(
            failed.to_string().replace(char::is_numeric, "N"),
            "calling the tool \"t\" failed: the server responded with HTTP NNN: Internal Server Error at \
             http://NNN.N.N.N:NNNNN/mcp"
        );
    });
}

#[test]
fn the_content_type_may_be_missing_or_have_parameters() {
    run(async {
        for kind in ["", "content-type: Application/JSON; charset=utf-8\r\n", "content-type:\r\n"] {
            let server = Server::new(move |seen| match &seen.what()[..] {
                "server/discover" => discovered(seen),
                _ => response("200 OK", kind, &text(seen, "ok").to_string()),
            })
            .await;
            let client = server.connect().await;
            assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok", "{kind}");
        }
    });
}

#[test]
fn a_busy_server_is_waited_for_as_long_as_the_call_may_take() {
    run(async {
        let server = Server::new(|seen| match (&seen.what()[..], seen.number) {
            ("server/discover", _) => discovered(seen),
            (_, 1) => response("429 Too Many Requests", "retry-after: 0\r\n", ""),
            (_, 2) => {
                response("503 Service Unavailable", "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n", "")
            }
            (_, 3) => json("200 OK", &text(seen, "ok")),
            (_, 4) => response("503 Service Unavailable", "retry-after: 120\r\n", "deploying"),
            (_, 5) => response("429 Too Many Requests", "retry-after: soon\r\n", ""),
            _ => response("429 Too Many Requests", "retry-after: 0\r\n", ""),
        })
        .await;
        let client = server.connect().await;
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok");
        let busy = client.call("t", json!({})).await.unwrap_err();
        assert!(
            busy.to_string().contains("it sent `Retry-After: 120`, but the request times out in"),
            "{busy}"
        );
        assert!(busy.to_string().contains("deploying"), "{busy}");
        for attempts in [1, 6] {
            let before = server.seen().len();
            let failed = client.call("t", json!({})).await.unwrap_err();
            assert!(matches!(failed.kind(), ErrorKind::Http { status: 429, .. }), "{failed:?}");
            assert_eq!(server.seen().len() - before, attempts);
        }
    });
}

#[test]
fn connection_refused() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let failed = within(http::connect(&url)).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Unreachable(_)), "{failed:?}");
        assert!(failed.to_string().contains(&url) && failed.to_string().contains("refused"), "{failed}");
        let failed = within(http::connect("not a url")).await.unwrap_err();
        assert!(failed.to_string().contains("\"not a url\" is not a valid URL"), "{failed}");
    });
}

#[test]
fn not_an_mcp_server() {
    run(async {
        let server =
            Server::new(|_| vec![Step::Write(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()), Step::Close]).await;
        let failed = server.try_connect(ClientOptions::new()).await.unwrap_err();
        assert!(broken(&failed).contains("is not valid HTTP"), "{failed}");
    });
}

#[test]
fn a_silent_server_fails_the_call_at_its_timeout() {
    run(async {
        let server = Server::new(|_| vec![Step::Hold]).await;
        let timeout = Duration::from_millis(300);
        let options = ClientOptions::new().open_timeout(timeout);
        let failed = server.try_connect(options).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::TimedOut(limit) if *limit == timeout), "{failed:?}");
        server.left(1).await;
    });
}

#[test]
fn calls_do_not_wait_for_each_other() {
    run(async {
        let server = Server::new(|seen| match (&seen.what()[..], &seen.message()["params"]["name"]) {
            ("server/discover", _) => discovered(seen),
            (_, name) if name == "slow" => vec![Step::Hold],
            _ => json("200 OK", &result(seen, &json!({"content": []}))),
        })
        .await;
        let client = server.try_connect(quick()).await.unwrap();
        let slow = tokio::spawn({
            let client = client.clone();
            async move { client.call("slow", json!({})).await }
        });
        for _ in 0..20 {
            client.call("quick", json!({})).await.unwrap();
        }
        assert!(slow.await.unwrap().is_err());
    });
}
