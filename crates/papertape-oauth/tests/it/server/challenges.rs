//! Challenges and protected resource metadata.

use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::{
    Auth, OAuthServer, RESOURCE, admitted, authorization, one_issuer, ready, rejected, trusting_with,
};
use papertape_oauth::server::{AuthSetupError, Keys};
use papertape_testing::oauth::claims;

const METADATA: &str =
    "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";

fn oauth(resource: &str) -> OAuthServer {
    OAuthServer::new(resource).issuer("https://login.example.com")
}

fn owned(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|scope| (*scope).to_owned()).collect()
}

async fn unauthenticated(auth: &Auth) -> String {
    let challenge = auth.check(&authorization(&[])).await.unwrap_err();
    assert_eq!(challenge.status, StatusCode::UNAUTHORIZED);
    challenge.authenticate
}

#[tokio::test]
async fn a_challenge_has_the_metadata_url_and_the_scopes() {
    let auth = ready(Auth::new().oauth(oauth(RESOURCE)));
    assert_eq!(unauthenticated(&auth).await, format!("Bearer {METADATA}"));
    let auth = ready(auth.require_scopes(["mcp", "offline_access"]));
    assert_eq!(unauthenticated(&auth).await, format!("Bearer scope=\"mcp\", {METADATA}"));
    let keys = Auth::new().keys(Keys::parse("").unwrap());
    assert_eq!(unauthenticated(&keys).await, "Bearer realm=\"mcp\"");
    let challenge = rejected(&auth, "garbage").await;
    assert!(challenge.authenticate.starts_with("Bearer error=\"invalid_token\", error_description=\""));
    assert!(challenge.authenticate.ends_with(&format!("\", scope=\"mcp\", {METADATA}")));
}

#[tokio::test]
async fn insufficient_scope_names_all_scopes_at_once() {
    let auth = ready(Auth::new().oauth(oauth(RESOURCE).require_scopes(["basic"])).require_scopes(["mcp"]));
    let challenge = auth.insufficient(&owned(&["files:read", "files:write", "mcp"]));
    assert_eq!(challenge.status, StatusCode::FORBIDDEN);
    let right = "scope=\"mcp basic files:read files:write\"";
    assert!(challenge.authenticate.starts_with("Bearer error=\"insufficient_scope\", "), "{challenge:?}");
    assert!(challenge.authenticate.ends_with(&format!("{right}, {METADATA}")), "{challenge:?}");
    assert_eq!(challenge.message, "this needs the scopes: mcp basic files:read files:write");
}

#[tokio::test]
async fn a_challenge_is_always_a_valid_header() {
    let auth = ready(Auth::new().oauth(oauth(RESOURCE)));
    let challenge = auth.insufficient(&owned(&["a\"b\\c\r\nX-Evil: 1", "日本", "\u{0}"]));
    HeaderValue::from_str(&challenge.authenticate).unwrap();
    assert_eq!(challenge.authenticate.matches('"').count(), 8, "{challenge:?}");
    assert!(!challenge.authenticate.contains('\\'));
}

#[tokio::test]
async fn required_scopes_may_be_implied() {
    let (issuer, signer, _) = one_issuer().await;
    let requiring = |scope: &str| trusting_with(&issuer, |oauth| oauth.require_scopes([scope]));
    let token = signer.sign(&claims(&issuer));
    admitted(&requiring("read"), &token).await;
    let auth = requiring("list");
    let challenge = rejected(&auth, &token).await;
    assert_eq!(challenge.status, StatusCode::FORBIDDEN);
    assert!(challenge.authenticate.contains("error=\"insufficient_scope\""), "{challenge:?}");
    assert!(challenge.authenticate.contains("scope=\"list\""), "{challenge:?}");
    let auth = ready(auth.implies("write", ["read"]).implies("read", ["list", "look"]));
    let principal = admitted(&auth, &token).await;
    assert_eq!(principal.scopes, ["read", "list", "look", "write"]);
    assert!(
        principal.has_scopes(&owned(&["list", "write"])) && !principal.has_scopes(&owned(&["list", "admin"]))
    );
}

#[test]
fn the_metadata_is_at_both_well_known_paths() {
    let auth = ready(Auth::new().oauth(oauth(RESOURCE).issuer("https://b.example.com/t").name("Notes")));
    let right = json!({
        "resource": RESOURCE,
        "authorization_servers": ["https://login.example.com", "https://b.example.com/t"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Notes",
    });
    assert_eq!(auth.metadata("/.well-known/oauth-protected-resource"), Some(right.clone()));
    assert_eq!(auth.metadata("/.well-known/oauth-protected-resource/mcp"), Some(right));
    for other in
        ["/", "/mcp", "/.well-known/oauth-protected-resource/", "/.well-known/oauth-protected-resource/x"]
    {
        assert_eq!(auth.metadata(other), None, "{other}");
    }
    let keys = Auth::new().keys(Keys::parse("").unwrap());
    assert_eq!(keys.metadata("/.well-known/oauth-protected-resource"), None);
}

#[tokio::test]
async fn the_metadata_of_a_resource_at_the_root() {
    for resource in ["https://mcp.example.com", "https://mcp.example.com/"] {
        let auth = ready(Auth::new().oauth(oauth(resource)));
        let right = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\"";
        assert_eq!(unauthenticated(&auth).await, format!("Bearer {right}"));
        // Byte for byte what was given: clients compare it.
        let metadata = auth.metadata("/.well-known/oauth-protected-resource").unwrap();
        assert_eq!(metadata["resource"], resource);
    }
}

#[test]
fn the_metadata_has_the_supported_scopes() {
    let scopes = |oauth| {
        let auth = ready(Auth::new().oauth(oauth));
        auth.metadata("/.well-known/oauth-protected-resource").unwrap()["scopes_supported"].clone()
    };
    assert_eq!(scopes(oauth(RESOURCE)), json!(null));
    assert_eq!(scopes(oauth(RESOURCE).require_scopes(["a"])), json!(["a"]));
    let supported = oauth(RESOURCE).require_scopes(["a"]).scopes_supported(["a", "b", "offline_access"]);
    assert_eq!(scopes(supported), json!(["a", "b"]));
}

#[test]
fn configuration_errors_are_reported() {
    for (oauth, words) in [
        (OAuthServer::new(RESOURCE), "no issuer is configured"),
        (oauth("mcp"), "is not a URL"),
        (oauth("http://mcp.example.com/mcp"), "must begin with https://"),
        (oauth("https://mcp.example.com/mcp#a"), "has a query or a fragment"),
        (oauth("https://mcp.example.com/mcp?a"), "has a query or a fragment"),
        (oauth("https://a:b@mcp.example.com/mcp"), "contains a user name"),
        (oauth(RESOURCE).issuer("http://login.example.com"), "must begin with https://"),
        (oauth(RESOURCE).issuer("https://login.example.com?a"), "has a query"),
        (
            oauth(RESOURCE).issuer_with_keys("https://a.example", "ftp://a.example/keys"),
            "must begin with https://",
        ),
        (oauth(RESOURCE).algorithms([]), "no signature algorithm is accepted"),
        (oauth(RESOURCE).require_scopes(["a b"]), "\"a b\" is not a scope"),
    ] {
        let auth = Auth::new().oauth(oauth);
        let problem = auth.problem().unwrap().to_string();
        assert!(problem.contains(words), "{words}: {problem}");
    }
    for good in ["http://localhost:8080/mcp", "http://127.0.0.1/mcp", "http://[::1]:1/mcp"] {
        drop(ready(Auth::new().oauth(oauth(good))));
    }
    drop(ready(Auth::new().oauth(oauth("http://mcp.internal/mcp").allow_http())));
    let odd = AuthSetupError::Scope("a b".to_owned());
    assert_eq!(Auth::new().require_scopes(["a b"]).problem(), Some(&odd));
    assert_eq!(Auth::new().implies("a", ["a b"]).problem(), Some(&odd));
}
