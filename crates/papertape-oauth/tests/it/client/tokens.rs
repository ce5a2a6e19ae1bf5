//! Tokens and their refresh.

use papertape_oauth::client::{AuthStep, Credentials, MemoryTokens, SavedTokens, TokenKey, TokenStore};
use serde_json::json as value;
use std::sync::Arc;

use super::deployment::{Deployment, SERVER_METADATA, oauth};
use super::stub_server::{json, reply, with};

fn grants(deployment: &Deployment) -> Vec<String> {
    deployment.issuer.requests("/token").iter().map(|request| request.form()["grant_type"].clone()).collect()
}

/// Twenty requests at once, which all succeed.
async fn call_concurrently(deployment: &Arc<Deployment>, credentials: &Credentials) {
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (deployment, credentials) = (deployment.clone(), credentials.clone());
            tokio::spawn(async move { deployment.call(&credentials, "").await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
}

#[tokio::test]
async fn concurrent_requests_share_a_refresh() {
    let deployment = Arc::new(Deployment::new().await);
    let credentials: Credentials = oauth().into();
    deployment.call(&credentials, "").await.unwrap();
    deployment.revoke();
    call_concurrently(&deployment, &credentials).await;
    assert_eq!(grants(&deployment), ["authorization_code", "refresh_token"]);
    assert_eq!(deployment.authorizations(), 1);
}

#[tokio::test]
async fn concurrent_requests_share_an_authorization() {
    let deployment = Arc::new(Deployment::new().await);
    call_concurrently(&deployment, &oauth().into()).await;
    assert_eq!(deployment.authorizations(), 1);
}

#[tokio::test]
async fn concurrent_requests_share_a_failure() {
    let deployment =
        Deployment::with_override(|request, _| (request.path == SERVER_METADATA).then(|| reply(500, "")))
            .await;
    let credentials: Credentials = oauth().into();
    let refusal = reqwest::Client::new().post(deployment.url()).send().await.unwrap();
    let (status, headers) = (refusal.status(), refusal.headers().clone());
    // On one thread all of them begin to wait before the first gets a response.
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (credentials, url, headers) = (credentials.clone(), deployment.url(), headers.clone());
            tokio::spawn(async move { credentials.challenged(&url, status, &headers, 1).await.unwrap_err() })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap().to_string().contains("HTTP 500"));
    }
    assert_eq!(deployment.issuer.paths().len(), 1);
    // The next challenge tries again.
    credentials.challenged(&deployment.url(), status, &headers, 1).await.unwrap_err();
    assert_eq!(deployment.issuer.paths().len(), 2);
}

#[tokio::test]
async fn a_token_is_refreshed_before_it_expires() {
    let deployment = Deployment::new().await;
    let credentials: Credentials = oauth().into();
    // The token expires at once, so it is sent only once.
    deployment.issued.lock().unwrap().lifetime = Some(0);
    let first = credentials.headers(&http::Method::POST, &deployment.url()).await.unwrap();
    assert!(first.is_empty());
    let refusal = reqwest::Client::new().post(deployment.url()).send().await.unwrap();
    credentials.challenged(&deployment.url(), refusal.status(), refusal.headers(), 1).await.unwrap();
    deployment.issued.lock().unwrap().lifetime = Some(3600);
    let (one, two) = tokio::join!(deployment.call(&credentials, ""), deployment.call(&credentials, ""));
    assert_eq!((one.unwrap(), two.unwrap()), (http::StatusCode::OK, http::StatusCode::OK));
    assert_eq!(grants(&deployment), ["authorization_code", "refresh_token"]);
    assert_eq!(deployment.server.requests("/mcp").len(), 3, "nothing was refused after the first");
    let refresh = deployment.issuer.requests("/token")[1].form();
    assert_eq!(refresh["resource"], deployment.url().as_str());
    assert!(refresh["client_id"].starts_with("client-"));
}

#[tokio::test]
async fn an_invalid_refresh_token_leads_to_a_new_authorization() {
    let deployment = Deployment::new().await;
    let credentials: Credentials = oauth().into();
    deployment.call(&credentials, "").await.unwrap();
    deployment.revoke();
    deployment.issued.lock().unwrap().forget();
    deployment.call(&credentials, "").await.unwrap();
    assert_eq!(grants(&deployment), ["authorization_code", "refresh_token", "authorization_code"]);
}

#[tokio::test]
async fn a_server_that_rejects_a_fresh_token_is_reported() {
    let deployment =
        Deployment::with_override(|request, _| (request.path == "/mcp").then(|| reply(401, ""))).await;
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("just issued"), "{error}");
    assert!(deployment.authorizations() <= 3);
}

#[tokio::test]
async fn redirects_of_the_token_endpoint_are_not_followed() {
    let deployment = Deployment::with_override(|request, urls| {
        let elsewhere = format!("{}/elsewhere", urls.server);
        (request.path == "/token").then(|| with(reply(307, ""), "location", &elsewhere))
    })
    .await;
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert_eq!(error.step, AuthStep::Token);
    assert!(error.to_string().contains("HTTP 307"), "{error}");
    assert!(deployment.server.requests("/elsewhere").is_empty());
}

#[tokio::test]
async fn an_unusable_token_response_is_rejected() {
    let long = format!("{{\"access_token\":\"{}\",\"token_type\":\"Bearer\"}}", "x".repeat(1024 * 1024));
    for (body, word) in [
        (long.as_str(), "longer"),
        ("{\"access_token\":\"hush-hush\"}", "wrong type"),
        ("{\"access_token\":\"hush-hush\",\"token_type\":\"mac\"}", "mac"),
        ("{\"access_token\":\"\",\"token_type\":\"bearer\"}", "empty"),
        ("{\"access_token\":\"hush-hush\",\"token_type\":\"DPoP\"}", "bound to a key"),
        ("hush-hush", "not JSON"),
    ] {
        let body = body.to_owned();
        let deployment = Deployment::with_override(move |request, _| {
            (request.path == "/token").then(|| reply(200, body.clone()))
        })
        .await;
        let error = deployment.call(&oauth().into(), "").await.unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn quoted_errors_have_no_secrets() {
    let deployment = Deployment::with_override(|request, _| {
        let words = format!("the code {} is bad \u{1b}[31m", request.form().get("code")?);
        let body = value!({ "error": "invalid_grant", "error_description": words });
        (request.path == "/token").then(|| json(400, &body))
    })
    .await;
    let text = deployment.call(&oauth().into(), "").await.unwrap_err().to_string();
    assert!(text.contains("invalid_grant (the code [hidden] is bad"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// A store that several share, as several processes share a file.
struct Shared(Arc<MemoryTokens>);

impl TokenStore for Shared {
    fn load(&self, key: &TokenKey) -> std::io::Result<Option<SavedTokens>> {
        self.0.load(key)
    }
    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> std::io::Result<()> {
        self.0.save(key, tokens)
    }
    fn delete(&self, key: &TokenKey) -> std::io::Result<()> {
        self.0.delete(key)
    }
}

#[tokio::test]
async fn stored_tokens_are_shared_and_refreshed_once() {
    let deployment = Deployment::new().await;
    let store = Arc::new(MemoryTokens::new());
    let process = || -> Credentials { oauth().store(Shared(store.clone())).into() };
    let (one, two) = (process(), process());
    deployment.call(&one, "read").await.unwrap();
    deployment.call(&two, "read").await.unwrap();
    assert_eq!(deployment.authorizations(), 1, "the second found the first one's tokens");
    deployment.revoke();
    deployment.call(&one, "read").await.unwrap();
    // The second has a refresh token that was used already, but the store has the new one.
    deployment.call(&two, "read").await.unwrap();
    assert_eq!(grants(&deployment), ["authorization_code", "refresh_token"]);
    // New scopes are requested.
    deployment.call(&process(), "write").await.unwrap();
    assert_eq!(deployment.issuer.requests("/authorize")[1].query["scope"], "read write");
}
