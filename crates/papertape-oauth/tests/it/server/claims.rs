//! The claims of a token: issuer, subject, audience, expiry and scopes.

use std::time::Duration;

use jsonwebtoken::Algorithm as Signed;
use serde_json::{Value, json};

use super::{RESOURCE, StubIssuer, admitted, invalid, one_issuer, trusting, trusting_with};
use papertape_testing::oauth::{TokenSigner, claims, claims_with, now};

#[tokio::test]
async fn the_principal_is_issuer_and_subject() {
    let (issuer, signer, auth) = one_issuer().await;
    let principal = admitted(&auth, &signer.sign(&claims(&issuer))).await;
    assert_eq!(principal.name, format!("{} alice", issuer.name()));
    assert_eq!(principal.scopes, ["read", "write"]);
}

#[tokio::test]
async fn every_accepted_algorithm_works() {
    let signers = [
        TokenSigner::es256(1),
        TokenSigner::eddsa(1),
        TokenSigner::rsa(Signed::RS256),
        TokenSigner::rsa(Signed::RS384),
        TokenSigner::rsa(Signed::RS512),
        TokenSigner::rsa(Signed::PS256),
    ];
    let issuer = StubIssuer::start().await;
    issuer.publish(&signers.each_ref());
    let auth = trusting(&issuer);
    for signer in &signers {
        let principal = admitted(&auth, &signer.sign(&claims(&issuer))).await;
        assert_eq!(principal.name, format!("{} alice", issuer.name()), "{}", signer.id);
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn expiry_is_checked_with_a_leeway() {
    let (issuer, signer, auth) = one_issuer().await;
    let with = |name, value: Value| signer.sign(&claims_with(&issuer, name, value));
    admitted(&auth, &with("exp", json!(now() - 30))).await;
    invalid(&auth, &with("exp", json!(now() - 90)), "has expired").await;
    invalid(&auth, &with("exp", json!(0)), "has expired").await;
    admitted(&auth, &with("nbf", json!(now() + 30))).await;
    invalid(&auth, &with("nbf", json!(now() + 90)), "not valid yet").await;
    invalid(&auth, &with("exp", Value::Null), "no expiry").await;
    for odd in [json!("tomorrow"), json!(-1), json!([1]), json!(1e300)] {
        invalid(&auth, &with("exp", odd), "token").await;
    }
    admitted(&auth, &with("exp", json!(now() as f64 + 300.5))).await;
    invalid(&auth, &with("nbf", json!("now")), "malformed").await;
}

#[tokio::test]
async fn the_leeway_can_be_changed_and_is_bounded() {
    let (issuer, signer, _) = one_issuer().await;
    let trusting = |leeway| trusting_with(&issuer, |oauth| oauth.leeway(leeway));
    let expired = |seconds| signer.sign(&claims_with(&issuer, "exp", json!(now() - seconds)));
    invalid(&trusting(Duration::ZERO), &expired(5), "has expired").await;
    admitted(&trusting(Duration::from_secs(600)), &expired(500)).await;
    admitted(&trusting(Duration::MAX), &expired(3000)).await;
    invalid(&trusting(Duration::MAX), &expired(4000), "has expired").await;
}

#[tokio::test]
async fn the_audience_must_be_the_resource() {
    let (issuer, signer, auth) = one_issuer().await;
    let with = |value: Value| signer.sign(&claims_with(&issuer, "aud", value));
    admitted(&auth, &with(json!([RESOURCE]))).await;
    admitted(&auth, &with(json!(["https://other.example.com", RESOURCE]))).await;
    invalid(&auth, &with(Value::Null), "no audience").await;
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
    invalid(&auth, &with(json!({"aud": RESOURCE})), "no audience").await;
}

#[tokio::test]
async fn another_audience_can_be_configured() {
    let (issuer, signer, _) = one_issuer().await;
    let auth = trusting_with(&issuer, |oauth| oauth.audience("api://7"));
    admitted(&auth, &signer.sign(&claims_with(&issuer, "aud", json!("api://7")))).await;
    admitted(&auth, &signer.sign(&claims(&issuer))).await;
    invalid(&auth, &signer.sign(&claims_with(&issuer, "aud", json!("api://8"))), "another server").await;
}

#[tokio::test]
async fn the_issuer_must_be_trusted_byte_for_byte() {
    let (issuer, signer, auth) = one_issuer().await;
    let with = |value: Value| signer.sign(&claims_with(&issuer, "iss", value));
    invalid(&auth, &with(json!(format!("{}/", issuer.name()))), "not trusted").await;
    invalid(&auth, &with(json!("https://evil.example.com")), "not trusted").await;
    for odd in [Value::Null, json!([issuer.name()]), json!(7)] {
        invalid(&auth, &with(odd), "no issuer").await;
    }
    assert_eq!(issuer.fetches(), 0, "no keys are fetched for a token that cannot be valid");
}

#[tokio::test]
async fn an_issuer_cannot_sign_for_another() {
    let (ours, theirs) = (TokenSigner::es256(1), TokenSigner::es256(2));
    let (first, second) = (StubIssuer::start().await, StubIssuer::start().await);
    first.publish(&[&ours]);
    second.publish(&[&theirs]);
    let auth = trusting_with(&first, |oauth| oauth.issuer_with_keys(second.name(), second.jwks_url()));
    let alice = admitted(&auth, &ours.sign(&claims(&first))).await;
    let other_alice = admitted(&auth, &theirs.sign(&claims(&second))).await;
    assert_ne!(alice.name, other_alice.name);
    invalid(&auth, &theirs.sign(&claims(&first)), "does not publish").await;
}

#[tokio::test]
async fn a_token_needs_a_subject() {
    let (issuer, signer, auth) = one_issuer().await;
    for odd in [Value::Null, json!(""), json!(7)] {
        invalid(&auth, &signer.sign(&claims_with(&issuer, "sub", odd)), "token").await;
    }
}

#[tokio::test]
async fn scopes_are_a_string_or_a_list() {
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
        let principal = admitted(&auth, &signer.sign(&claims_with(&issuer, name, value.clone()))).await;
        assert_eq!(principal.scopes, right, "{name} {value}");
    }
}
