//! Ways to a token without a person.

use data_encoding::BASE64;
use papertape::http::{Assertion, Credentials, IdentityProvider, OAuth, OAuthClient, Secret};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json as value};

use crate::site::{Site, json};
use crate::world::World;

/// A key that exists for this test alone.
const KEY: &str = include_str!("key.pem");
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

#[tokio::test]
async fn a_client_that_is_known_itself_shows_its_secret() {
    let world = World::new().await;
    let credentials: Credentials =
        OAuth::client_credentials(OAuthClient::new("me").secret("hush-hush")).into();
    world.call(&credentials, "read").await.unwrap();
    let asked = &world.issuer.asked("/token")[0];
    assert_eq!(asked.header("authorization").unwrap(), format!("Basic {}", BASE64.encode(b"me:hush-hush")));
    let form = asked.form();
    assert_eq!((form["grant_type"].as_str(), form["scope"].as_str()), ("client_credentials", "read"));
    assert_eq!(form["resource"], world.url().as_str());
    assert!(!format!("{credentials:?}").contains("hush"));
    // It asks again when its token is not good any more.
    world.revoke();
    world.call(&credentials, "read").await.unwrap();
    assert_eq!(world.issuer.asked("/token").len(), 2);
    assert!(world.issuer.asked("/register").is_empty() && world.visits() == 0);
}

#[tokio::test]
async fn a_client_that_signs_says_who_it_is_to_whom_and_when() {
    let world = World::new().await;
    let client = OAuthClient::new("me").ec_key(KEY.as_bytes()).unwrap();
    world.call(&OAuth::client_credentials(client).into(), "").await.unwrap();
    let form = world.issuer.asked("/token")[0].form();
    assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    rules.set_audience(&[&world.issuer.url]);
    let key = SubjectPublicKeyInfoDer::from_pem_slice(include_bytes!("key.pub.pem")).unwrap();
    // A point, and what it is before it.
    let key = jsonwebtoken::DecodingKey::from_ec_der(&key[key.len() - 65..]);
    crate::crypto::install();
    let claims = jsonwebtoken::decode::<Value>(&form["client_assertion"], &key, &rules).unwrap().claims;
    assert_eq!((claims["iss"].as_str(), claims["sub"].as_str()), (Some("me"), Some("me")));
    assert!(claims["jti"].is_string() && claims["iat"].is_u64());
}

#[tokio::test]
async fn a_platforms_word_is_exchanged_and_a_no_is_final() {
    let world = World::new().await;
    let platform = Assertion::from_fn(|audience| async move {
        Ok::<_, std::io::Error>(Secret::new(format!("word-for-{audience}")))
    });
    world.call(&OAuth::workload(OAuthClient::new("me"), platform).into(), "").await.unwrap();
    let form = world.issuer.asked("/token")[0].form();
    assert_eq!(form["grant_type"], JWT_BEARER);
    assert_eq!(form["assertion"], format!("word-for-{}", world.issuer.url));

    let world = World::twisted(|asked, _| {
        let body = value!({ "error": "invalid_grant", "error_description": "hush-hush-1 has expired" });
        (asked.path == "/token").then(|| json(400, &body))
    })
    .await;
    let credentials: Credentials =
        OAuth::workload(OAuthClient::new("me"), Assertion::fixed("hush-hush-1")).into();
    for _ in 0..2 {
        let text = world.call(&credentials, "").await.unwrap_err().to_string();
        assert!(text.contains("[hidden] has expired"), "{text}");
    }
    assert_eq!(world.issuer.asked("/token").len(), 1, "a no is final");
}

#[tokio::test]
async fn a_companys_sign_in_is_asked_first() {
    let world = World::new().await;
    for right in [true, false] {
        let idp = Site::start(Site::bind().await, move |_| {
            let kind = if right { "id-jag" } else { "access_token" };
            let kind = format!("urn:ietf:params:oauth:token-type:{kind}");
            json(200, &value!({ "access_token": "the-jag", "issued_token_type": kind, "token_type": "N_A" }))
        });
        let known = OAuthClient::new("at-idp");
        let provider = IdentityProvider::new(format!("{}/token", idp.url), known, Assertion::fixed("person"));
        let client = OAuthClient::new("me").secret("hush-hush");
        let called = world.call(&OAuth::enterprise(client, provider).into(), "").await;
        let form = idp.asked("/token")[0].form();
        assert_eq!(form["audience"], world.issuer.url);
        assert_eq!(form["resource"], world.url().as_str());
        assert_eq!(form["requested_token_type"], "urn:ietf:params:oauth:token-type:id-jag");
        assert_eq!((form["subject_token"].as_str(), form["client_id"].as_str()), ("person", "at-idp"));
        if right {
            called.unwrap();
        } else {
            assert!(called.unwrap_err().to_string().contains("another type"));
        }
    }
    let sent = world.issuer.asked("/token");
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (sent[0].form()["grant_type"].as_str(), sent[0].form()["assertion"].as_str()),
        (JWT_BEARER, "the-jag")
    );
    assert!(sent[0].header("authorization").unwrap().starts_with("Basic "));
}
