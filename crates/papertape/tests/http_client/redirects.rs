//! Redirects: followed on the same host, refused anywhere else, and never with credentials.

use papertape::http::{Credentials, Endpoint, connect_with};
use papertape::{ClientError, ClientOptions, ErrorKind};
use serde_json::json;

use crate::scripted::{Server, accepted, discovered, json, response, run, text, text_of, within};

async fn with_secrets(server: &Server) -> Result<papertape::Client, ClientError> {
    let endpoint = Endpoint::new(&server.url)
        .header("X-Key", "secret")
        .credentials(Credentials::Bearer("token".to_owned()));
    within(connect_with(endpoint, ClientOptions::new())).await
}

#[test]
fn the_same_host_may_send_one_on() {
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
fn no_other_host_gets_anything() {
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
            let told = failed.to_string();
            assert!(told.contains(&other.url) && !told.contains("token=x"), "{told}");
            assert!(told.contains("if you trust that host"), "{told}");
            assert_eq!(other.seen().len(), 0, "{status}");
            assert_eq!(server.seen().len(), 1, "{status}");
        }
    });
}

#[test]
fn a_redirect_that_would_lose_the_request_is_told() {
    run(async {
        for (status, location, told) in [
            ("301 Moved Permanently", "location: /new\r\n", "/new; use this address"),
            ("302 Found", "location: /new\r\n", "/new; use this address"),
            ("307 Temporary Redirect", "", "does not say where"),
            ("307 Temporary Redirect", "location: http://[\r\n", "which is no address"),
            ("307 Temporary Redirect", "location: /round\r\n", "more than 5 redirects"),
        ] {
            let server = Server::new(move |_| response(status, location, "")).await;
            let failed = with_secrets(&server).await.unwrap_err();
            assert!(failed.to_string().contains(told), "{failed}");
            assert!(server.seen().len() <= 6);
        }
    });
}
