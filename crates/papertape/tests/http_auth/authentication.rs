//! Authentication is required on every route that leads to MCP.

use papertape::http::{Auth, Keys};
use serde_json::json;

use crate::site::{LEGACY, Site, Trusting, key, keyed, send, with_token};

#[tokio::test]
async fn every_request_without_a_token_gets_a_challenge() {
    let site = Trusting::start(|auth| auth).await.site;
    for method in ["POST", "GET", "DELETE", "PUT", "HEAD"] {
        for body in ["", "{}", "no json", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#] {
            let reply = send(site.request(method, "/mcp").body(body)).await;
            let metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
            assert_eq!(
                reply.challenge(401),
                format!("Bearer resource_metadata=\"{metadata}\""),
                "{method} {body}"
            );
        }
    }
    site.call("", "whoami").await.challenge(401);
    let opening =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": LEGACY}});
    let reply = site.say("", "", &opening).await;
    reply.challenge(401);
    assert!(!reply.headers.contains_key("mcp-session-id"));
}

#[tokio::test]
async fn health_checks_need_no_token() {
    let site = Trusting::start(|auth| auth).await.site;
    assert_eq!(send(site.request("GET", "/healthz")).await.status, 200);
    assert_eq!(send(site.request("GET", "/elsewhere")).await.status, 404);
}

#[tokio::test]
async fn a_token_in_the_url_or_body_is_ignored() {
    let (site, keys) = keyed(&[("ci", &[])]).await;
    let path = format!("/mcp?access_token={}", keys[0]);
    send(site.request("POST", &path).body("{}")).await.challenge(401);
    let form = site.request("POST", "/mcp").header("content-type", "application/x-www-form-urlencoded");
    send(form.body(format!("access_token={}", keys[0]))).await.challenge(401);
}

#[tokio::test]
async fn a_malformed_authorization_header_gets_400() {
    let (site, keys) = keyed(&[("ci", &[])]).await;
    let twice = with_token(with_token(site.request("POST", "/mcp"), &keys[0]), &keys[0]);
    let reply = send(twice.body("{}")).await;
    assert!(reply.challenge(400).starts_with("Bearer error=\"invalid_request\""), "{reply:?}");
    // Larger headers are rejected before authentication.
    let reply = send(with_token(site.request("POST", "/mcp"), &"a".repeat(17 * 1024)).body("{}")).await;
    assert!(matches!(reply.status, 400 | 431), "{reply:?}");
}

#[tokio::test]
async fn a_valid_key_authenticates_and_an_invalid_one_does_not() {
    let (site, keys) = keyed(&[("ci", &[]), ("alice", &["x"])]).await;
    assert_eq!(site.call(&keys[0], "whoami").await.text(), "ci");
    assert_eq!(site.call(&keys[1], "whoami").await.text(), "alice");
    let reply = site.call(key("ci", &[]).secret(), "whoami").await;
    let challenge = reply.challenge(401);
    assert_eq!(challenge, "Bearer error=\"invalid_token\", error_description=\"the API key is unknown\"");
    assert!(!reply.body.to_string().contains("pt_"), "{reply:?}");
}

#[tokio::test]
async fn a_valid_token_authenticates_and_an_invalid_one_does_not() {
    let trusting = Trusting::start(|auth| auth).await;
    let token = trusting.token("alice", "");
    assert_eq!(trusting.site.call(&token, "whoami").await.text(), trusting.name_of("alice"));
    let reply = trusting.site.call(&format!("{token}x"), "whoami").await;
    assert!(reply.challenge(401).starts_with("Bearer error=\"invalid_token\""), "{reply:?}");
}

#[tokio::test]
async fn server_wide_scopes_apply_to_every_request() {
    let trusting = Trusting::start(|auth| auth.require_scopes(["mcp"]).implies("admin", ["mcp"])).await;
    let site = &trusting.site;
    assert!(site.call("", "whoami").await.challenge(401).contains("scope=\"mcp\""));
    let reply = site.ask(&trusting.token("a", "other"), "tools/list", json!({})).await;
    assert!(reply.challenge(403).starts_with("Bearer error=\"insufficient_scope\""), "{reply:?}");
    assert!(reply.challenge(403).contains("scope=\"mcp\""), "{reply:?}");
    for scopes in ["mcp", "admin", "x mcp y"] {
        assert_eq!(site.ask(&trusting.token("a", scopes), "tools/list", json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn other_origins_are_rejected_even_with_a_valid_key() {
    let key = key("ci", &[]);
    let site = Site::start(Auth::new().keys(Keys::parse(key.entry()).unwrap())).await;
    let request =
        with_token(site.request("POST", "/mcp"), key.secret()).header("origin", "https://evil.example");
    let reply = send(request.body("{}")).await;
    assert_eq!(reply.status, 403, "{reply:?}");
    assert!(!reply.headers.contains_key("www-authenticate"));
}

#[tokio::test]
async fn a_server_with_an_invalid_required_scope_does_not_start() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let auth = Auth::new().require_scopes(["a b"]);
    let options = papertape::http::Options::new().auth(auth);
    let server = papertape::Server::new("x", "1");
    let error =
        papertape::http::serve_until(listener, server, options, std::future::pending()).await.unwrap_err();
    assert!(error.to_string().contains("\"a b\" is not a scope"), "{error}");
}
