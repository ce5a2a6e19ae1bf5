//! Opaque access tokens, against an authorization server that introspects them.

use std::time::Duration;

use http::StatusCode;
use papertape_oauth::server::{Auth, Introspection, Lease, OAuthServer};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{admitted, bearer, invalid, ready, rejected, unavailable};
use papertape_testing::oauth::{
    INTROSPECTION_CLIENT, RESOURCE, StubIssuer, StubResponse, TokenSigner, claims, claims_with, now,
};

const TOKEN: &str = "opaque-0123456789abcdef";

async fn opaque(options: impl FnOnce(Introspection) -> Introspection) -> (StubIssuer, Auth) {
    let issuer = StubIssuer::start().await;
    let (id, secret) = INTROSPECTION_CLIENT;
    let introspection = options(Introspection::new(issuer.introspection_url(), id, secret));
    let oauth = OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), issuer.jwks_url());
    let oauth = oauth.introspection(introspection).fetch_timeout(Duration::from_millis(500));
    (issuer, ready(Auth::new().oauth(oauth)))
}

#[tokio::test]
async fn an_active_token_gives_a_principal_with_its_claims() {
    let (issuer, auth) = opaque(|options| options).await;
    let mut claims = claims(&issuer);
    claims["tenant"] = json!(7);
    issuer.issue(TOKEN, claims);
    let principal = admitted(&auth, TOKEN).await;
    assert_eq!(principal.name, format!("{} alice", issuer.name()));
    assert_eq!(principal.scopes, ["read", "write"]);
    assert_eq!(principal.claims()["tenant"], 7);
    assert!(!format!("{auth:?}").contains("s3cret"));
}

#[tokio::test]
async fn what_a_jwt_is_rejected_for_an_opaque_token_is_too() {
    let (issuer, auth) = opaque(|options| options).await;
    let other = "https://other.example.com";
    for (name, value, reason) in [
        ("aud", json!(other), "audience"),
        ("aud", json!([other]), "audience"),
        ("aud", Value::Null, "no audience"),
        ("iss", json!(other), "issuer"),
        ("sub", Value::Null, "subject"),
        ("sub", json!(""), "subject"),
        ("exp", json!(now() - 120), "expired"),
        ("exp", json!("soon"), "malformed"),
        ("nbf", json!(now() + 120), "not valid yet"),
        ("nbf", json!("soon"), "malformed"),
        ("cnf", json!({"jkt": "x"}), "sender-constrained"),
        ("token_type", json!("DPoP"), "sender-constrained"),
    ] {
        issuer.issue(TOKEN, claims_with(&issuer, name, value));
        invalid(&auth, TOKEN, reason).await;
    }
    invalid(&auth, "unknown-token", "not active").await;
    // These are fine: the endpoint need not repeat what is known.
    for (name, value) in [("iss", Value::Null), ("exp", Value::Null), ("aud", json!([other, RESOURCE]))] {
        let token = format!("opaque-without-{name}");
        issuer.issue(&token, claims_with(&issuer, name, value));
        admitted(&auth, &token).await;
    }
}

#[tokio::test]
async fn a_missing_audience_and_a_missing_issuer_are_accepted_only_where_they_are_unambiguous() {
    let (issuer, auth) = opaque(Introspection::allow_missing_audience).await;
    issuer.issue(TOKEN, claims_with(&issuer, "aud", Value::Null));
    admitted(&auth, TOKEN).await;
    let (id, secret) = INTROSPECTION_CLIENT;
    let oauth = OAuthServer::new(RESOURCE).issuer(issuer.name()).issuer("https://login.example.com");
    let oauth = oauth.introspection(Introspection::new(issuer.introspection_url(), id, secret));
    let auth = ready(Auth::new().oauth(oauth));
    issuer.issue(TOKEN, claims_with(&issuer, "iss", Value::Null));
    invalid(&auth, TOKEN, "several are trusted").await;
    issuer.issue(TOKEN, claims(&issuer));
    admitted(&auth, TOKEN).await;
}

#[tokio::test]
async fn only_valid_tokens_are_cached_and_not_past_their_expiry() {
    let (issuer, auth) = opaque(|options| options).await;
    for count in 1..=2 {
        invalid(&auth, TOKEN, "not active").await;
        assert_eq!(issuer.introspections(), count);
    }
    issuer.issue(TOKEN, claims(&issuer));
    admitted(&auth, TOKEN).await;
    issuer.revoke(TOKEN);
    admitted(&auth, TOKEN).await;
    assert_eq!(issuer.introspections(), 3);
    // Expired, and accepted only because clocks may differ by a minute.
    issuer.issue("late", claims_with(&issuer, "exp", json!(now() - 60)));
    let count = issuer.introspections();
    for more in 1..=2 {
        drop(auth.check(&bearer("late")).await);
        assert_eq!(issuer.introspections(), count + more);
    }
    let (issuer, auth) = opaque(|options| options.cache(Duration::ZERO)).await;
    issuer.issue(TOKEN, claims(&issuer));
    admitted(&auth, TOKEN).await;
    issuer.revoke(TOKEN);
    invalid(&auth, TOKEN, "not active").await;
}

#[tokio::test]
async fn an_endpoint_that_fails_is_not_a_verdict() {
    let (issuer, auth) = opaque(|options| options).await;
    issuer.issue(TOKEN, claims(&issuer));
    for response in [
        StubResponse::Status(StatusCode::UNAUTHORIZED),
        StubResponse::Status(StatusCode::INTERNAL_SERVER_ERROR),
        StubResponse::Redirect(issuer.url("/elsewhere")),
        StubResponse::Text("not JSON".to_owned()),
        StubResponse::Json(json!([])),
        StubResponse::Json(json!({})),
        StubResponse::Json(json!({"active": "true", "sub": "alice"})),
        StubResponse::Endless,
        StubResponse::Silent,
    ] {
        issuer.respond_to_introspection(response);
        unavailable(&auth, TOKEN).await;
    }
    assert!(!issuer.requests().contains(&"/elsewhere".to_owned()));
    issuer.respond_to_introspection(StubResponse::Json(json!({"active": false})));
    invalid(&auth, TOKEN, "not active").await;
}

#[tokio::test]
async fn wrong_credentials_of_the_server_are_not_the_clients_fault() {
    let issuer = StubIssuer::start().await;
    let oauth = OAuthServer::new(RESOURCE).issuer(issuer.name());
    let auth =
        Auth::new().oauth(oauth.introspection(Introspection::new(issuer.introspection_url(), "a", "b")));
    issuer.issue(TOKEN, claims(&issuer));
    unavailable(&ready(auth), TOKEN).await;
}

#[tokio::test]
async fn jwts_are_verified_by_their_signature_unless_every_token_is_introspected() {
    let signer = TokenSigner::es256(1);
    let (issuer, auth) = opaque(|options| options).await;
    issuer.publish(&[&signer]);
    let token = signer.sign(&claims(&issuer));
    admitted(&auth, &token).await;
    assert_eq!(issuer.introspections(), 0);
    let (issuer, auth) = opaque(Introspection::every_token).await;
    issuer.publish(&[&signer]);
    let token = signer.sign(&claims(&issuer));
    let challenge = rejected(&auth, &token).await;
    assert!(challenge.message.contains("not active"), "{challenge:?}");
    assert_eq!(issuer.introspections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_token_is_revoked() {
    let (issuer, auth) = opaque(|options| options).await;
    issuer.issue(TOKEN, claims_with(&issuer, "exp", Value::Null));
    let lease = auth.check(&bearer(TOKEN)).await.unwrap().lease;
    issuer.revoke(TOKEN);
    lease.over().await;
    assert_eq!(issuer.introspections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_token_loses_a_scope_or_cannot_be_introspected_for_long() {
    let (issuer, auth) = opaque(|options| options).await;
    let claims = |scope: &str| {
        let mut claims = claims_with(&issuer, "exp", Value::Null);
        claims["scope"] = json!(scope);
        claims
    };
    let ends = async |lease: Lease| timeout(Duration::from_secs(3600), lease.over()).await.is_ok();
    let open = async || {
        issuer.issue(TOKEN, claims("read write"));
        auth.check(&bearer(TOKEN)).await.unwrap().lease
    };
    let lease = open().await;
    issuer.issue(TOKEN, claims("read write more"));
    assert!(!ends(lease).await, "it may do more than before");
    let lease = open().await;
    issuer.issue(TOKEN, claims("read"));
    assert!(ends(lease).await, "it may do less than before");
    let lease = open().await;
    issuer.respond_to_introspection(StubResponse::Status(StatusCode::BAD_GATEWAY));
    assert!(ends(lease).await, "nothing is known of it");
}

#[test]
fn an_endpoint_must_be_authenticated_too() {
    for (url, id, secret) in [
        ("http://login.example.com/introspect", "a", "b"),
        ("https://user:pw@login.example.com/introspect", "a", "b"),
        ("introspect", "a", "b"),
        ("https://login.example.com/introspect", "", "b"),
        ("https://login.example.com/introspect", "a", ""),
    ] {
        let oauth = OAuthServer::new(RESOURCE).issuer("https://login.example.com");
        let auth = Auth::new().oauth(oauth.introspection(Introspection::new(url, id, secret)));
        assert!(auth.problem().is_some(), "{url} {id} {secret}");
    }
}
