//! Where an issuer's keys are, by its own metadata.

use serde_json::json;

use super::super::fetch::well_known;
use super::issuer::Answer;
use super::signing::{Signer, claims, claims_but};
use super::{Auth, FakeIssuer, OAuthServer, RESOURCE, admitted, ready, unavailable};

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// An issuer that has keys, and nothing yet that says where.
async fn silent() -> (FakeIssuer, Signer) {
    let signer = Signer::es256(1);
    let issuer = FakeIssuer::start().await;
    issuer.publish(&[&signer]);
    (issuer, signer)
}

fn discovering(issuer: &str) -> Auth {
    ready(Auth::new().oauth(OAuthServer::new(RESOURCE).issuer(issuer)))
}

#[test]
fn metadata_is_looked_for_in_the_right_order() {
    let urls = |issuer| {
        let urls = well_known(issuer).unwrap();
        urls.iter().map(|url| url.path().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(urls("https://a.example"), [OAUTH, OPENID]);
    assert_eq!(urls("https://a.example/"), [OAUTH, OPENID]);
    let right = [format!("{OAUTH}/t/1"), format!("{OPENID}/t/1"), format!("/t/1{OPENID}")];
    assert_eq!(urls("https://a.example/t/1"), right);
    assert_eq!(urls("https://a.example/t/1/"), right);
}

#[tokio::test]
async fn oauth_metadata_leads_to_the_keys() {
    let (issuer, signer) = silent().await;
    issuer.answer(OAUTH, Answer::Json(json!({"issuer": issuer.name(), "jwks_uri": issuer.jwks_url()})));
    let auth = discovering(&issuer.name());
    admitted(&auth, &signer.sign(&claims(&issuer))).await;
    admitted(&auth, &signer.sign(&claims(&issuer))).await;
    assert_eq!(issuer.asked(), [OAUTH, "/keys"]);
}

#[tokio::test]
async fn openid_metadata_does_too_wherever_it_is() {
    let (issuer, signer) = silent().await;
    let name = issuer.url("/realms/a");
    let appended = format!("/realms/a{OPENID}");
    issuer.answer(&appended, Answer::Json(json!({"issuer": name, "jwks_uri": issuer.jwks_url()})));
    let auth = discovering(&name);
    admitted(&auth, &signer.sign(&claims_but(&issuer, "iss", json!(name)))).await;
    let right = [format!("{OAUTH}/realms/a"), format!("{OPENID}/realms/a"), appended, "/keys".to_owned()];
    assert_eq!(issuer.asked(), right);
}

#[tokio::test]
async fn metadata_of_another_issuer_or_with_odd_addresses_is_not_used() {
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
        issuer.answer(OAUTH, Answer::Json(odd));
        unavailable(&discovering(&name), &signer.sign(&claims(&issuer))).await;
        assert_eq!(issuer.fetches(), 0);
    }
    // The next place is still looked at.
    issuer.answer(OPENID, Answer::Json(json!({"issuer": name, "jwks_uri": keys})));
    admitted(&discovering(&name), &signer.sign(&claims(&issuer))).await;
}
