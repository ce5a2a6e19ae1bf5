//! The server: request headers against an [`Auth`], with signed tokens and an issuer on a loopback socket.

mod application;
mod bearer;
mod challenges;
mod claims;
mod discovery;
mod fetching;
mod forging;
mod introspection;
mod key_file;
mod keys;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use papertape_oauth::Principal;
use papertape_oauth::server::{Auth, Challenge, OAuthServer};

use papertape_testing::oauth::StubIssuer;
use papertape_testing::oauth::{RESOURCE, TokenSigner};

fn bearer(token: &str) -> HeaderMap {
    authorization(&[&format!("Bearer {token}")])
}

fn authorization(values: &[&str]) -> HeaderMap {
    let value = |value: &&str| (header::AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    values.iter().map(value).collect()
}

/// An [`Auth`] that trusts an issuer.
fn trusting(issuer: &StubIssuer) -> Auth {
    trusting_with(issuer, |oauth| oauth)
}

/// An [`Auth`] that trusts an issuer, with more options.
#[track_caller]
fn trusting_with(issuer: &StubIssuer, options: impl FnOnce(OAuthServer) -> OAuthServer) -> Auth {
    let oauth = OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), issuer.jwks_url());
    ready(Auth::new().oauth(options(oauth)))
}

#[track_caller]
fn ready(auth: Auth) -> Auth {
    assert_eq!(auth.problem(), None);
    auth
}

async fn admitted(auth: &Auth, token: &str) -> Arc<Principal> {
    auth.check(&bearer(token)).await.unwrap().principal
}

/// The challenge for an invalid token, which contains no part of the token.
async fn rejected(auth: &Auth, token: &str) -> Challenge {
    let challenge = auth.check(&bearer(token)).await.unwrap_err();
    let script = format!("{challenge:?}");
    for part in token.split('.').filter(|part| part.len() > 8) {
        assert!(!script.contains(part), "{script}");
    }
    HeaderValue::from_str(&challenge.authenticate).unwrap();
    challenge
}

/// An invalid token is rejected with 401, for this reason.
async fn invalid(auth: &Auth, token: &str, reason: &str) {
    let challenge = rejected(auth, token).await;
    assert_eq!(challenge.status, StatusCode::UNAUTHORIZED, "{challenge:?}");
    assert!(challenge.authenticate.contains("error=\"invalid_token\""), "{challenge:?}");
    assert!(challenge.message.contains(reason), "{reason}: {challenge:?}");
}

/// A token that cannot be verified now is rejected with 503.
async fn unavailable(auth: &Auth, token: &str) {
    let challenge = rejected(auth, token).await;
    assert_eq!(challenge.status, StatusCode::SERVICE_UNAVAILABLE, "{challenge:?}");
    assert!(!challenge.authenticate.contains("error="), "{challenge:?}");
}

/// An issuer with one key, that key, and an [`Auth`] that trusts the issuer.
async fn one_issuer() -> (StubIssuer, TokenSigner, Auth) {
    let signer = TokenSigner::es256(1);
    let issuer = StubIssuer::start().await;
    issuer.publish(&[&signer]);
    let auth = trusting(&issuer);
    (issuer, signer, auth)
}
