//! Discovery of an issuer's JWKS URL.

use serde_json::json;

use super::{Auth, OAuthServer, RESOURCE, StubIssuer, admitted, ready, unavailable};
use papertape_testing::oauth::StubResponse;
use papertape_testing::oauth::{TokenSigner, claims, claims_with};

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// An issuer with keys and without metadata.
async fn silent() -> (StubIssuer, TokenSigner) {
    let signer = TokenSigner::es256(1);
    let issuer = StubIssuer::start().await;
    issuer.publish(&[&signer]);
    (issuer, signer)
}

fn discovering(issuer: &str) -> Auth {
    ready(Auth::new().oauth(OAuthServer::new(RESOURCE).issuer(issuer)))
}

#[tokio::test]
async fn oauth_metadata_has_the_jwks_url() {
    let (issuer, signer) = silent().await;
    issuer
        .respond(OAUTH, StubResponse::Json(json!({"issuer": issuer.name(), "jwks_uri": issuer.jwks_url()})));
    let auth = discovering(&issuer.name());
    admitted(&auth, &signer.sign(&claims(&issuer))).await;
    admitted(&auth, &signer.sign(&claims(&issuer))).await;
    assert_eq!(issuer.requests(), [OAUTH, "/keys"]);
}

#[tokio::test]
async fn openid_metadata_has_it_at_both_locations() {
    let (issuer, signer) = silent().await;
    let name = issuer.url("/realms/a");
    let appended = format!("/realms/a{OPENID}");
    issuer.respond(&appended, StubResponse::Json(json!({"issuer": name, "jwks_uri": issuer.jwks_url()})));
    let auth = discovering(&name);
    admitted(&auth, &signer.sign(&claims_with(&issuer, "iss", json!(name)))).await;
    let right = [format!("{OAUTH}/realms/a"), format!("{OPENID}/realms/a"), appended, "/keys".to_owned()];
    assert_eq!(issuer.requests(), right);
}

#[tokio::test]
async fn metadata_of_another_issuer_or_with_an_invalid_jwks_url_is_rejected() {
    let (issuer, signer) = silent().await;
    let (name, keys) = (issuer.name(), issuer.jwks_url());
    for odd in [
        json!({"issuer": "https://evil.example.com", "jwks_uri": keys}),
        json!({"issuer": format!("{name}/"), "jwks_uri": keys}),
        json!({"jwks_uri": keys}),
        json!({"issuer": name}),
        json!({"issuer": name, "jwks_uri": 7}),
        json!({"issuer": name, "jwks_uri": "/keys"}),
        json!({"issuer": name, "jwks_uri": "file:///etc/passwd"}),
        json!({"issuer": name, "jwks_uri": "http://keys.example.com/keys"}),
        json!([]),
    ] {
        issuer.respond(OAUTH, StubResponse::Json(odd));
        unavailable(&discovering(&name), &signer.sign(&claims(&issuer))).await;
        assert_eq!(issuer.fetches(), 0);
    }
    // The next place is still looked at.
    issuer.respond(OPENID, StubResponse::Json(json!({"issuer": name, "jwks_uri": keys})));
    admitted(&discovering(&name), &signer.sign(&claims(&issuer))).await;
}
