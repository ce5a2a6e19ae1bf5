//! Tokens and their renewal.

use papertape::http::{AuthStep, Credentials, MemoryTokens, SavedTokens, TokenKey, TokenStore};
use serde_json::json as value;
use std::sync::Arc;

use crate::site::{json, reply, with};
use crate::world::{World, oauth};

fn grants(world: &World) -> Vec<String> {
    world.issuer.asked("/token").iter().map(|asked| asked.form()["grant_type"].clone()).collect()
}

#[tokio::test]
async fn many_requests_that_are_refused_at_once_renew_once() {
    let world = Arc::new(World::new().await);
    let credentials: Credentials = oauth().into();
    world.call(&credentials, "").await.unwrap();
    world.revoke();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (world, credentials) = (world.clone(), credentials.clone());
            tokio::spawn(async move { world.call(&credentials, "").await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    assert_eq!(world.visits(), 1);
}

#[tokio::test]
async fn many_requests_without_a_token_ask_once() {
    let world = Arc::new(World::new().await);
    let credentials: Credentials = oauth().into();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (world, credentials) = (world.clone(), credentials.clone());
            tokio::spawn(async move { world.call(&credentials, "").await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(world.visits(), 1);
}

#[tokio::test]
async fn many_requests_share_what_came_to_nothing() {
    let world = World::twisted(|asked, _| {
        (asked.path == "/.well-known/oauth-authorization-server").then(|| reply(500, ""))
    })
    .await;
    let credentials: Credentials = oauth().into();
    let refusal = reqwest::Client::new().post(world.url()).send().await.unwrap();
    let (status, headers) = (refusal.status(), refusal.headers().clone());
    // On one thread all of them begin to wait before the first is answered.
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (credentials, url, headers) = (credentials.clone(), world.url(), headers.clone());
            tokio::spawn(async move { credentials.refused(&url, status, &headers, 1).await.unwrap_err() })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap().to_string().contains("HTTP 500"));
    }
    assert_eq!(world.issuer.paths().len(), 1);
    // A server that was out of order may be in order now.
    credentials.refused(&world.url(), status, &headers, 1).await.unwrap_err();
    assert_eq!(world.issuer.paths().len(), 2);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let world = World::new().await;
    let credentials: Credentials = oauth().into();
    // It ends at once, so it is sent once, when it was just given.
    world.books.lock().unwrap().lifetime = Some(0);
    let first = credentials.headers(&http::Method::POST, &world.url()).await.unwrap();
    assert!(first.is_empty());
    let refusal = reqwest::Client::new().post(world.url()).send().await.unwrap();
    credentials.refused(&world.url(), refusal.status(), refusal.headers(), 1).await.unwrap();
    world.books.lock().unwrap().lifetime = Some(3600);
    let (one, two) = tokio::join!(world.call(&credentials, ""), world.call(&credentials, ""));
    assert_eq!((one.unwrap(), two.unwrap()), (http::StatusCode::OK, http::StatusCode::OK));
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    assert_eq!(world.server.asked("/mcp").len(), 3, "nothing was refused after the first");
    let refresh = world.issuer.asked("/token")[1].form();
    assert_eq!(refresh["resource"], world.url().as_str());
    assert!(refresh["client_id"].starts_with("client-"));
}

#[tokio::test]
async fn what_cannot_be_renewed_is_asked_for() {
    let world = World::new().await;
    let credentials: Credentials = oauth().into();
    world.call(&credentials, "").await.unwrap();
    world.revoke();
    world.books.lock().unwrap().forget();
    world.call(&credentials, "").await.unwrap();
    assert_eq!(grants(&world), ["authorization_code", "refresh_token", "authorization_code"]);
}

#[tokio::test]
async fn a_server_that_refuses_what_its_issuer_has_just_given_is_told_about() {
    let world = World::twisted(|asked, _| (asked.path == "/mcp").then(|| reply(401, ""))).await;
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("just given"), "{error}");
    assert!(world.visits() <= 3);
}

#[tokio::test]
async fn redirects_of_the_token_endpoint_are_not_followed() {
    let world = World::twisted(|asked, places| {
        let elsewhere = format!("{}/elsewhere", places.server);
        (asked.path == "/token").then(|| with(reply(307, ""), "location", &elsewhere))
    })
    .await;
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert_eq!(error.step, AuthStep::Token);
    assert!(error.to_string().contains("HTTP 307"), "{error}");
    assert!(world.server.asked("/elsewhere").is_empty());
}

#[tokio::test]
async fn an_answer_that_is_too_long_or_not_usable_is_refused() {
    let long = format!("{{\"access_token\":\"{}\",\"token_type\":\"Bearer\"}}", "x".repeat(1024 * 1024));
    for (body, word) in [
        (long.as_str(), "longer"),
        ("{\"access_token\":\"hush-hush\"}", "wrong kind"),
        ("{\"access_token\":\"hush-hush\",\"token_type\":\"mac\"}", "mac"),
        ("{\"access_token\":\"\",\"token_type\":\"bearer\"}", "empty"),
        ("{\"access_token\":\"hush-hush\",\"token_type\":\"DPoP\"}", "bound to a key"),
        ("hush-hush", "not JSON"),
    ] {
        let body = body.to_owned();
        let world =
            World::twisted(move |asked, _| (asked.path == "/token").then(|| reply(200, body.clone()))).await;
        let error = world.call(&oauth().into(), "").await.unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn what_the_issuer_says_is_told_without_the_secrets_that_it_repeats() {
    let world = World::twisted(|asked, _| {
        let words = format!("the code {} is bad \u{1b}[31m", asked.form().get("code")?);
        let body = value!({ "error": "invalid_grant", "error_description": words });
        (asked.path == "/token").then(|| json(400, &body))
    })
    .await;
    let text = world.call(&oauth().into(), "").await.unwrap_err().to_string();
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
async fn kept_tokens_are_used_without_asking_and_renewed_by_one_for_all() {
    let world = World::new().await;
    let store = Arc::new(MemoryTokens::new());
    let process = || -> Credentials { oauth().store(Shared(store.clone())).into() };
    let (one, two) = (process(), process());
    world.call(&one, "read").await.unwrap();
    world.call(&two, "read").await.unwrap();
    assert_eq!(world.visits(), 1, "the second found the first one's tokens");
    world.revoke();
    world.call(&one, "read").await.unwrap();
    // The second has a refresh token that was used already, but the store has the new one.
    world.call(&two, "read").await.unwrap();
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    // Scopes that were not asked for are asked for.
    world.call(&process(), "write").await.unwrap();
    assert_eq!(world.issuer.asked("/authorize")[1].query["scope"], "read write");
}
