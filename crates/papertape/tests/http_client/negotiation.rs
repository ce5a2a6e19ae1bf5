//! Negotiation: whether a server is stateless or session-based, by its response to the probe.

use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::Revision;
use serde_json::json;

use crate::scripted::{
    Seen, Server, Step, discovered, error, handshake, json, legacy, response, result, run, stream, text,
    text_of,
};

/// The response to the probe.
type Answer = Box<dyn Fn(&Seen) -> Vec<Step> + Send + Sync>;

#[test]
fn any_error_of_a_legacy_server_leads_to_initialize() {
    run(async {
        let no_id =
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "unsupported"}});
        let answers: [Answer; 9] = [
            Box::new(|_| response("400 Bad Request", "", "")),
            Box::new(|_| response("404 Not Found", "content-type: text/html\r\n", "<html>")),
            Box::new(|_| response("405 Method Not Allowed", "", "")),
            Box::new(|_| response("415 Unsupported Media Type", "", "")),
            Box::new(|_| response("500 Internal Server Error", "", "oops")),
            Box::new(move |_| json("400 Bad Request", &no_id)),
            Box::new(|seen| json("200 OK", &error(seen, -32601, &json!(null)))),
            Box::new(|seen| stream(&[error(seen, -32602, &json!(null))])),
            Box::new(|seen| json("200 OK", &result(seen, &json!({"what": "ever"})))),
        ];
        for (number, answer) in answers.into_iter().enumerate() {
            let server = Server::new(move |seen| match &seen.what()[..] {
                "server/discover" => answer(seen),
                _ => handshake(seen).unwrap_or_else(|| json("200 OK", &text(seen, "ok"))),
            })
            .await;
            let client = server.connect().await;
            assert_eq!(client.revision(), Revision::NEWEST_LEGACY, "{number}");
            assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok");
            let initialize = &server.of("initialize")[0];
            assert_eq!(initialize.header("mcp-protocol-version"), None);
            assert_eq!(initialize.header("mcp-method"), None);
        }
    });
}

#[test]
fn some_responses_do_not_lead_to_initialize() {
    run(async {
        for (status, is_it) in [
            (
                "401 Unauthorized",
                (|kind| matches!(kind, ErrorKind::Unauthorized(_))) as fn(&ErrorKind) -> bool,
            ),
            ("403 Forbidden", |kind| matches!(kind, ErrorKind::Http { status: 403, .. })),
            ("429 Too Many Requests", |kind| matches!(kind, ErrorKind::Http { status: 429, .. })),
            ("502 Bad Gateway", |kind| matches!(kind, ErrorKind::Http { status: 502, .. })),
            ("503 Service Unavailable", |kind| matches!(kind, ErrorKind::Http { status: 503, .. })),
        ] {
            let server = Server::new(move |_| response(status, "", "")).await;
            let failed = server.try_connect(ClientOptions::new()).await.unwrap_err();
            assert!(is_it(failed.kind()), "{status}: {failed:?}");
            assert_eq!(server.asked(), ["server/discover"], "{status}");
        }
    });
}

#[test]
fn a_modern_error_does_not_lead_to_initialize() {
    run(async {
        let server = Server::new(|seen| json("400 Bad Request", &error(seen, -32021, &json!(null)))).await;
        let failed = server.try_connect(ClientOptions::new()).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Rpc(error) if error.code == -32021), "{failed:?}");
        let server = Server::new(|seen| {
            let data = json!({"supported": ["2031-01-01"], "requested": "2026-07-28"});
            json("400 Bad Request", &error(seen, -32022, &data))
        })
        .await;
        let failed = server.try_connect(ClientOptions::new()).await.unwrap_err();
        assert!(failed.to_string().contains("2031-01-01"), "{failed}");
    });
}

#[test]
fn a_pinned_revision_is_the_only_one_tried() {
    run(async {
        let server = Server::new(|seen| handshake(seen).unwrap_or_default()).await;
        let failed = server.try_connect(ClientOptions::new().revision(Revision::MODERN)).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Unsupported { .. }), "{failed:?}");
        assert_eq!(server.asked(), ["server/discover"]);
        let server = Server::new(|seen| match &seen.what()[..] {
            "server/discover" => discovered(seen),
            _ => handshake(seen).unwrap_or_default(),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        assert_eq!(client.revision(), Revision::NEWEST_LEGACY);
        assert_eq!(server.of("server/discover").len(), 0);
    });
}

#[test]
fn no_server_at_all() {
    run(async {
        let server = Server::new(|_| response("404 Not Found", "", "no such page")).await;
        let failed = server.try_connect(ClientOptions::new()).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Http { status: 404, .. }), "{failed:?}");
        let message = failed.to_string();
        assert!(message.contains("no such page") && message.contains("at http://127.0.0.1"), "{message}");
        assert_eq!(server.asked(), ["server/discover", "initialize", "GET"]);
    });
}
