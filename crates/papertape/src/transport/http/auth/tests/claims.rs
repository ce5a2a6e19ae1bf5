//! What a token says: who issued it, for whom, for which server, until when, with which scopes.

use std::time::Duration;

use jsonwebtoken::Algorithm as Signed;
use serde_json::{Value, json};

use super::signing::{Signer, claims, claims_but, now};
use super::{Auth, FakeIssuer, OAuthServer, RESOURCE, admitted, invalid, one_issuer, ready, trusting};

#[tokio::test]
async fn a_good_token_names_its_issuer_and_its_subject() {
    let (issuer, signer, auth) = one_issuer().await;
    let principal = admitted(&auth, &signer.sign(&claims(&issuer))).await;
    assert_eq!(principal.name, format!("{} alice", issuer.name()));
    assert_eq!(principal.scopes, ["read", "write"]);
}

#[tokio::test]
async fn every_algorithm_that_is_accepted_works() {
    let signers = [
        Signer::es256(1),
        Signer::eddsa(1),
        Signer::rsa(Signed::RS256),
        Signer::rsa(Signed::RS384),
        Signer::rsa(Signed::RS512),
        Signer::rsa(Signed::PS256),
    ];
    let issuer = FakeIssuer::start().await;
    issuer.publish(&signers.each_ref());
    let auth = trusting(&issuer);
    for signer in &signers {
        let principal = admitted(&auth, &signer.sign(&claims(&issuer))).await;
        assert_eq!(principal.name, format!("{} alice", issuer.name()), "{}", signer.id);
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn time_is_checked_with_a_minute_to_spare() {
    let (issuer, signer, auth) = one_issuer().await;
    let with = |name, value: Value| signer.sign(&claims_but(&issuer, name, value));
    admitted(&auth, &with("exp", json!(now() - 30))).await;
    invalid(&auth, &with("exp", json!(now() - 90)), "has expired").await;
    invalid(&auth, &with("exp", json!(0)), "has expired").await;
    admitted(&auth, &with("nbf", json!(now() + 30))).await;
    invalid(&auth, &with("nbf", json!(now() + 90)), "not valid yet").await;
    invalid(&auth, &with("exp", Value::Null), "until when").await;
    for odd in [json!("tomorrow"), json!(-1), json!([1]), json!(1e300)] {
        invalid(&auth, &with("exp", odd), "token").await;
    }
    admitted(&auth, &with("exp", json!(now() as f64 + 300.5))).await;
    invalid(&auth, &with("nbf", json!("now")), "cannot be read").await;
}

#[tokio::test]
async fn the_leeway_can_be_changed_and_is_bounded() {
    let (issuer, signer, _) = one_issuer().await;
    let trusting = |leeway| {
        let oauth =
            OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), issuer.jwks_url()).leeway(leeway);
        ready(Auth::new().oauth(oauth))
    };
    let expired = |seconds| signer.sign(&claims_but(&issuer, "exp", json!(now() - seconds)));
    invalid(&trusting(Duration::ZERO), &expired(5), "has expired").await;
    admitted(&trusting(Duration::from_secs(600)), &expired(500)).await;
    admitted(&trusting(Duration::MAX), &expired(3000)).await;
    invalid(&trusting(Duration::MAX), &expired(4000), "has expired").await;
}

#[tokio::test]
async fn the_audience_must_be_this_server() {
    let (issuer, signer, auth) = one_issuer().await;
    let with = |value: Value| signer.sign(&claims_but(&issuer, "aud", value));
    admitted(&auth, &with(json!([RESOURCE]))).await;
    admitted(&auth, &with(json!(["https://other.example.com", RESOURCE]))).await;
    invalid(&auth, &with(Value::Null), "which server").await;
    for other in [
        json!("https://other.example.com/mcp"),
        json!("https://mcp.example.com/mcp/"),
        json!("https://mcp.example.com"),
        json!("HTTPS://MCP.EXAMPLE.COM/mcp"),
        json!(""),
        json!([]),
        json!(["x"]),
    ] {
        invalid(&auth, &with(other), "another server").await;
    }
    invalid(&auth, &with(json!({"aud": RESOURCE})), "which server").await;
}

#[tokio::test]
async fn an_issuer_may_have_its_own_name_for_this_server() {
    let (issuer, signer, _) = one_issuer().await;
    let oauth =
        OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), issuer.jwks_url()).audience("api://7");
    let auth = ready(Auth::new().oauth(oauth));
    admitted(&auth, &signer.sign(&claims_but(&issuer, "aud", json!("api://7")))).await;
    admitted(&auth, &signer.sign(&claims(&issuer))).await;
    invalid(&auth, &signer.sign(&claims_but(&issuer, "aud", json!("api://8"))), "another server").await;
}

#[tokio::test]
async fn the_issuer_must_be_trusted_and_exactly_that_one() {
    let (issuer, signer, auth) = one_issuer().await;
    let with = |value: Value| signer.sign(&claims_but(&issuer, "iss", value));
    invalid(&auth, &with(json!(format!("{}/", issuer.name()))), "not trusted").await;
    invalid(&auth, &with(json!("https://evil.example.com")), "not trusted").await;
    for odd in [Value::Null, json!([issuer.name()]), json!(7)] {
        invalid(&auth, &with(odd), "who issued it").await;
    }
    assert_eq!(issuer.fetches(), 0, "nobody is asked about a token that cannot be good");
}

#[tokio::test]
async fn one_issuer_cannot_speak_for_another() {
    let (ours, theirs) = (Signer::es256(1), Signer::es256(2));
    let (first, second) = (FakeIssuer::start().await, FakeIssuer::start().await);
    first.publish(&[&ours]);
    second.publish(&[&theirs]);
    let oauth = OAuthServer::new(RESOURCE)
        .issuer_with_keys(first.name(), first.jwks_url())
        .issuer_with_keys(second.name(), second.jwks_url());
    let auth = ready(Auth::new().oauth(oauth));
    let alice = admitted(&auth, &ours.sign(&claims(&first))).await;
    let other_alice = admitted(&auth, &theirs.sign(&claims(&second))).await;
    assert_ne!(alice.name, other_alice.name);
    invalid(&auth, &theirs.sign(&claims(&first)), "does not have").await;
}

#[tokio::test]
async fn a_token_must_be_somebodys() {
    let (issuer, signer, auth) = one_issuer().await;
    for odd in [Value::Null, json!(""), json!(7)] {
        invalid(&auth, &signer.sign(&claims_but(&issuer, "sub", odd)), "token").await;
    }
}

#[tokio::test]
async fn scopes_are_read_however_issuers_write_them() {
    let (issuer, signer, auth) = one_issuer().await;
    for (name, value, right) in [
        ("scope", json!("a  b"), &["a", "b"][..]),
        ("scope", json!(["a", "b"]), &["a", "b"]),
        ("scope", json!(""), &[]),
        ("scope", json!(7), &[]),
        ("scope", Value::Null, &[]),
        ("scp", json!(["a", "read"]), &["read", "write", "a"]),
        ("scp", json!("a b"), &["read", "write", "a", "b"]),
    ] {
        let principal = admitted(&auth, &signer.sign(&claims_but(&issuer, name, value.clone()))).await;
        assert_eq!(principal.scopes, right, "{name} {value}");
    }
}
