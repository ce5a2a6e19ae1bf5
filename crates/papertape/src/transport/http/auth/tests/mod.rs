//! Headers against an `Auth`, with tokens that are really signed and an issuer on a real socket.

mod bearer;
mod challenges;
mod claims;
mod discovery;
mod fetching;
mod forging;
mod issuer;
mod key_file;
mod keys;
mod signing;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{Auth, Challenge, OAuthServer, crypto};
use crate::server::Principal;
use issuer::FakeIssuer;
use signing::Signer;

const RESOURCE: &str = "https://mcp.example.com/mcp";

fn bearer(token: &str) -> HeaderMap {
    authorization(&[&format!("Bearer {token}")])
}

fn authorization(values: &[&str]) -> HeaderMap {
    let value = |value: &&str| (header::AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    values.iter().map(value).collect()
}

/// A server that trusts an issuer.
fn trusting(issuer: &FakeIssuer) -> Auth {
    ready(Auth::new().oauth(OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), issuer.jwks_url())))
}

#[track_caller]
fn ready(auth: Auth) -> Auth {
    assert_eq!(auth.problem(), None);
    auth
}

async fn admitted(auth: &Auth, token: &str) -> Arc<Principal> {
    auth.check(&bearer(token)).await.unwrap().principal
}

/// The challenge to a token that must not be let in, which has no part of it.
async fn refused(auth: &Auth, token: &str) -> Challenge {
    let challenge = auth.check(&bearer(token)).await.unwrap_err();
    let told = format!("{challenge:?}");
    for part in token.split('.').filter(|part| part.len() > 8) {
        assert!(!told.contains(part), "{told}");
    }
    HeaderValue::from_str(&challenge.authenticate).unwrap();
    challenge
}

/// A token that is not good is refused with 401, and the reason has these words.
async fn invalid(auth: &Auth, token: &str, words: &str) {
    let challenge = refused(auth, token).await;
    assert_eq!(challenge.status, StatusCode::UNAUTHORIZED, "{challenge:?}");
    assert!(challenge.authenticate.contains("error=\"invalid_token\""), "{challenge:?}");
    assert!(challenge.message.contains(words), "{words}: {challenge:?}");
}

/// Nobody can tell now whether a token is good.
async fn unavailable(auth: &Auth, token: &str) {
    let challenge = refused(auth, token).await;
    assert_eq!(challenge.status, StatusCode::SERVICE_UNAVAILABLE, "{challenge:?}");
    assert!(!challenge.authenticate.contains("error="), "{challenge:?}");
}

/// An issuer with one key, its key, and a server that trusts it.
async fn one_issuer() -> (FakeIssuer, Signer, Auth) {
    let signer = Signer::es256(1);
    let issuer = FakeIssuer::start().await;
    issuer.publish(&[&signer]);
    let auth = trusting(&issuer);
    (issuer, signer, auth)
}
