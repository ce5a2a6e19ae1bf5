//! Redirects: followed on the same host, refused anywhere else, and never with credentials.

use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::http::{Credentials, Endpoint, connect_with};
use serde_json::json;

use crate::scripted::{Server, accepted, discovered, json, response, run, text, text_of, within};

async fn with_secrets(server: &Server) -> Result<papertape::Client, ClientError> {
    let endpoint = Endpoint::new(&server.url)
        .header("X-Key", "secret")
        .credentials(Credentials::Bearer("token".to_owned()));
    within(connect_with(endpoint, ClientOptions::new())).await
}

#[test]
fn redirects_on_the_same_host_are_followed() {
    run(async {
        for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
            let server = Server::new(move |seen| match (&seen.path[..], &seen.what()[..]) {
                ("/mcp", _) => response(status, "location: /mcp/\r\n", ""),
                (_, "server/discover") => discovered(seen),
                _ => json("200 OK", &text(seen, "ok")),
            })
            .await;
            let client = with_secrets(&server).await.unwrap();
            assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok");
            for seen in server.seen() {
                assert_eq!(seen.method, "POST");
                assert_eq!(
                    (seen.header("x-key"), seen.header("authorization")),
                    (Some("secret"), Some("Bearer token"))
                );
            }
        }
    });
}

#[test]
fn redirects_to_other_hosts_are_rejected() {
    run(async {
        for status in [
            "301 Moved Permanently",
            "302 Found",
            "303 See Other",
            "307 Temporary Redirect",
            "308 Permanent Redirect",
        ] {
            let other = Server::new(|_| accepted()).await;
            let location = format!("location: {}?token=x\r\n", other.url);
            let server = Server::new(move |_| response(status, &location, "")).await;
            let failed = with_secrets(&server).await.unwrap_err();
            assert!(matches!(failed.kind(), ErrorKind::Http { .. }), "{failed:?}");
            let message = failed.to_string();
            assert!(message.contains(&other.url) && !message.contains("token=x"), "{message}");
            assert!(message.contains("if you trust that host"), "{message}");
            assert_eq!(other.seen().len(), 0, "{status}");
            assert_eq!(server.seen().len(), 1, "{status}");
        }
    });
}

#[test]
fn a_redirect_that_would_lose_the_body_is_an_error() {
    run(async {
        for (status, location, expected) in [
            ("301 Moved Permanently", "location: /new\r\n", "/new; use this URL"),
            ("302 Found", "location: /new\r\n", "/new; use this URL"),
            ("307 Temporary Redirect", "", "a redirect without `Location`"),
            ("307 Temporary Redirect", "location: http://[\r\n", "which is not a valid URL"),
            ("307 Temporary Redirect", "location: /round\r\n", "more than 5 redirects"),
        ] {
            let server = Server::new(move |_| response(status, location, "")).await;
            let failed = with_secrets(&server).await.unwrap_err();
            assert!(failed.to_string().contains(expected), "{failed}");
            assert!(server.seen().len() <= 6);
        }
    });
}
