//! Bounds: what a server may send, and what it may make us send.

use papertape::client::ClientOptions;
use serde_json::json;

use crate::scripted::{
    Server, Step, broken, chunk, discovered, handshake, json, legacy, response, run, stream_end, stream_head,
    text, text_of,
};

fn small() -> ClientOptions {
    ClientOptions::new().frame_limit(4096)
}

#[test]
fn a_response_has_a_size_limit() {
    run(async {
        let server = Server::new(|seen| match (&seen.what()[..], &seen.message()["params"]["name"]) {
            ("server/discover", _) => discovered(seen),
            (_, name) if name == "body" => json("200 OK", &text(seen, &"x".repeat(5000))),
            (_, name) if name == "endless" => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
                vec![Step::Write([head.as_bytes(), &b" ".repeat(5000)].concat()), Step::Hold]
            }
            (_, name) if name == "event" => {
                vec![stream_head(), chunk(format!("data: {}", "x".repeat(5000))), Step::Hold]
            }
            _ => json("200 OK", &text(seen, "ok")),
        })
        .await;
        let client = server.try_connect(small()).await.unwrap();
        for tool in ["body", "endless"] {
            let failed = client.call(tool, json!({})).await.unwrap_err();
            assert!(broken(&failed).contains("larger than the limit of 4096 bytes"), "{failed}");
        }
        let failed = client.call("event", json!({})).await.unwrap_err();
        assert!(broken(&failed).contains("an event is longer than the limit of 4096 bytes"), "{failed}");
        server.left(2).await;
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok");
    });
}

#[test]
fn an_endless_error_body_is_not_read_to_its_end() {
    run(async {
        let server = Server::new(|seen| match &seen.what()[..] {
            "server/discover" => discovered(seen),
            _ => {
                let head = b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec();
                vec![Step::Write([head, b"no ".repeat(100_000)].concat()), Step::Hold]
            }
        })
        .await;
        let client = server.connect().await;
        let failed = client.call("t", json!({})).await.unwrap_err();
        assert!(failed.to_string().contains("no no no"), "{failed}");
        assert!(failed.to_string().chars().count() < 1_000);
    });
}

#[test]
fn a_flood_of_server_requests_stops_being_read() {
    run(async {
        let pings: String = (0..60_000)
            .map(|id| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n\n"))
            .collect();
        let server = Server::new(move |seen| match &seen.what()[..] {
            "an answer" => vec![Step::Hold],
            "tools/call" => vec![
                stream_head(),
                chunk(&pings),
                chunk(format!("data: {}\n\n", text(seen, "ok"))),
                stream_end(),
            ],
            _ => handshake(seen).unwrap(),
        })
        .await;
        let options = legacy().timeout(std::time::Duration::from_secs(2));
        let client = server.try_connect(options).await.unwrap();
        // Whether the response arrives depends on the buffers between; the call must end.
        drop(client.call("t", json!({})).await);
        client.close().await;
        // So many at once, and so many again on close.
        assert!(server.of("an answer").len() <= 2 * 64, "{}", server.of("an answer").len());
    });
}

#[test]
fn close_does_not_wait_for_an_unresponsive_server() {
    run(async {
        let server = Server::new(|seen| match &seen.what()[..] {
            "DELETE" => vec![Step::Hold],
            _ => handshake(seen).unwrap_or_else(|| response("200 OK", "", "")),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        client.close().await;
        server.left(1).await;
    });
}
