//! Servers that require authorization, and what clients find out how to get it.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::{check, check_url, is_only, only};
use crate::finding::Severity;
use crate::http::tests::server::{Ask, Reply, Server};

const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// What a healthy server with OAuth answers, with changes.
fn oauth(ask: &Ask, change: impl Fn(&str, &mut Value)) -> Option<Reply> {
    let (origin, path) = (&ask.origin, ask.path.as_str());
    let mut document = match path {
        METADATA => json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}),
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "code_challenge_methods_supported": ["S256"],
        }),
        "/mcp" => {
            let challenge = format!("Bearer resource_metadata=\"{origin}{METADATA}\"");
            return Some(Reply::status(401).header("www-authenticate", &challenge));
        }
        _ => return Some(Reply::status(404)),
    };
    change(path, &mut document);
    Some(if document.is_null() { Reply::status(404) } else { Reply::json(200, &document) })
}

async fn changed(change: impl Fn(&str, &mut Value) + Send + Sync + 'static) -> crate::report::Report {
    check(move |ask| oauth(ask, &change)).await
}

#[tokio::test]
async fn a_server_with_oauth_is_healthy() {
    let report = changed(|_, _| ()).await;
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!((report.exit_code(), report.skipped.len()), (0, 1));
}

#[tokio::test]
async fn no_challenge_and_no_metadata() {
    let report = check(|_| Some(Reply::status(401))).await;
    assert_eq!(only(&report, "PT0825").severity, Severity::Warning);
    assert_eq!(only(&report, "PT0826").severity, Severity::Warning);
    assert!(!report.breaks());
}

#[tokio::test]
async fn metadata_of_the_resource() {
    let report = changed(|path, document| {
        if path == METADATA {
            *document = Value::Null;
        }
    })
    .await;
    is_only(&report, "PT0826", Severity::Breaks, "HTTP 404");
    let report = changed(|path, document| {
        if path == METADATA {
            document["resource"] = json!("http://localhost:3000/mcp");
        }
    })
    .await;
    is_only(&report, "PT0827", Severity::Breaks, "`http://localhost:3000/mcp`");
    let report = changed(|path, document| {
        if path == METADATA {
            document["authorization_servers"] = json!([]);
        }
    })
    .await;
    is_only(&report, "PT0828", Severity::Breaks, "authorization_servers");
}

#[tokio::test]
async fn metadata_of_the_authorization_server() {
    let at_server = |path: &str| path == "/.well-known/oauth-authorization-server";
    let report = changed(move |path, document| {
        if at_server(path) {
            *document = Value::Null;
        }
    })
    .await;
    is_only(&report, "PT0829", Severity::Breaks, "no well-known URL");
    let report = changed(move |path, document| {
        if at_server(path) {
            document["issuer"] = json!("https://other.example");
        }
    })
    .await;
    is_only(&report, "PT0829", Severity::Warning, "other.example");
    let report = changed(move |path, document| {
        if at_server(path) {
            document["code_challenge_methods_supported"] = json!(["plain"]);
        }
    })
    .await;
    is_only(&report, "PT0830", Severity::Breaks, "S256");
}

/// A JWT with an audience, which the server does not check the signature of.
fn token(audience: &str) -> String {
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    format!("{}.{}.c2lnbmF0dXJl", part(&json!({"alg": "none"})), part(&json!({"aud": audience})))
}

/// A server that accepts one token, or any.
async fn with_token(accepts: impl Fn(&str) -> bool + Send + Sync + 'static) -> Server {
    Server::start(move |ask| {
        let token = ask.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if token.is_some_and(&accepts) { None } else { oauth(ask, |_, _| ()) }
    })
    .await
}

#[tokio::test]
async fn audiences() {
    let other = token("https://other.example");
    let server = with_token(|token| token.starts_with("ey")).await;
    let authorization = format!("Bearer {other}");
    let report = check_url(&server.url("/mcp"), &[("authorization", &authorization)]).await;
    is_only(&report, "PT0831", Severity::Warning, "`https://other.example`");
    assert!(!format!("{report:?}").contains(&other));
    let authorization = format!("Bearer {}", token(&server.url("/mcp")));
    let report = check_url(&server.url("/mcp"), &[("authorization", &authorization)]).await;
    assert!(
        !report.findings.iter().any(|finding| finding.severity < Severity::Note),
        "{:#?}",
        report.findings
    );
    assert_eq!(report.server.tools, 1);
}

#[tokio::test]
async fn any_token() {
    let server = with_token(|_| true).await;
    let report = check_url(&server.url("/mcp"), &[("authorization", "Bearer my-secret-token")]).await;
    is_only(&report, "PT0832", Severity::Warning, "made up");
}

#[tokio::test]
async fn a_token_that_is_refused() {
    let server = with_token(|_| false).await;
    let report = check_url(&server.url("/mcp"), &[("authorization", "Bearer my-secret-token")]).await;
    is_only(&report, "PT0808", Severity::Breaks, "HTTP 401");
}
