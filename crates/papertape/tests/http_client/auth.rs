//! Credentials: sent with every request, and retried a bounded number of times.

use papertape::client::{ClientOptions, ErrorKind};
use papertape::http::{Credentials, Endpoint, connect_with};
use serde_json::json;

use crate::scripted::{Server, handshake, json, response, run, text, within};

#[test]
fn every_request_sends_the_token() {
    run(async {
        let server =
            Server::new(|seen| handshake(seen).unwrap_or_else(|| json("200 OK", &text(seen, "ok")))).await;
        let endpoint = Endpoint::new(&server.url)
            .header("X-Team", "blue")
            .header("Authorization", "Basic other")
            .credentials(Credentials::Bearer("token".to_owned()));
        let client = within(connect_with(endpoint, ClientOptions::new())).await.unwrap();
        client.call("t", json!({})).await.unwrap();
        client.close().await;
        assert_eq!(server.seen().len(), 6);
        for seen in server.seen() {
            assert_eq!(seen.header("authorization"), Some("Bearer token"), "{}", seen.what());
            assert_eq!(seen.header("x-team"), Some("blue"), "{}", seen.what());
        }
    });
}

#[test]
fn authentication_retries_are_bounded() {
    run(async {
        for status in ["401 Unauthorized", "403 Forbidden"] {
            let server = Server::new(move |_| {
                response(status, "www-authenticate: Bearer\r\n", "{\"error\":\"who?\"}")
            })
            .await;
            let endpoint = Endpoint::new(&server.url).credentials(Credentials::Bearer("wrong".to_owned()));
            let failed = within(connect_with(endpoint, ClientOptions::new())).await.unwrap_err();
            let ErrorKind::Unauthorized(why) = failed.kind() else { panic!("{failed:?}") };
            assert!(why.contains("who?") && !why.contains("wrong"), "{why}");
            assert!(server.seen().len() <= 3, "{:?}", server.asked());
        }
    });
}

#[test]
fn a_401_without_a_challenge_is_reported_as_it_is() {
    run(async {
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"only for \u001b[31mus"}}"#;
        for (body, said) in [
            ("Access is only allowed at localhost:18103", "Access is only allowed at localhost:18103"),
            (error, "only for \\u{1b}[31mus"),
        ] {
            for credentials in [Credentials::None, Credentials::Bearer("token".to_owned())] {
                let server = Server::new(move |_| response("403 Forbidden", "", body)).await;
                let endpoint = Endpoint::new(&server.url).credentials(credentials);
                let failed = within(connect_with(endpoint, ClientOptions::new())).await.unwrap_err();
                let ErrorKind::Http { status: 403, message } = failed.kind() else { panic!("{failed:?}") };
                assert!(message.contains(said), "{message}");
                assert!(!failed.to_string().contains("authorized"), "{failed}");
                assert_eq!(server.asked(), ["server/discover"]);
            }
        }
    });
}
