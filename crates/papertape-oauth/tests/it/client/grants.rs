//! Grants without a resource owner.

use data_encoding::BASE64;
use papertape_oauth::client::{Assertion, Credentials, IdentityProvider, OAuth, OAuthClient, Secret};
use papertape_testing::oauth::{EC_PRIVATE_KEY, EC_PUBLIC_KEY};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json as value};

use super::deployment::Deployment;
use super::stub_server::{StubServer, json};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

#[tokio::test]
async fn client_credentials_send_the_secret() {
    let deployment = Deployment::new().await;
    let credentials: Credentials =
        OAuth::client_credentials(OAuthClient::new("me").secret("hush-hush")).into();
    deployment.call(&credentials, "read").await.unwrap();
    let request = &deployment.issuer.requests("/token")[0];
    assert_eq!(request.header("authorization").unwrap(), format!("Basic {}", BASE64.encode(b"me:hush-hush")));
    let form = request.form();
    assert_eq!((form["grant_type"].as_str(), form["scope"].as_str()), ("client_credentials", "read"));
    assert_eq!(form["resource"], deployment.url().as_str());
    assert!(!format!("{credentials:?}").contains("hush"));
    // It requests another token when this one is invalid.
    deployment.revoke();
    deployment.call(&credentials, "read").await.unwrap();
    assert_eq!(deployment.issuer.requests("/token").len(), 2);
    assert!(deployment.issuer.requests("/register").is_empty() && deployment.authorizations() == 0);
}

#[tokio::test]
async fn a_client_assertion_names_client_audience_and_time() {
    let deployment = Deployment::new().await;
    let client = OAuthClient::new("me").ec_key(EC_PRIVATE_KEY).unwrap();
    deployment.call(&OAuth::client_credentials(client).into(), "").await.unwrap();
    let form = deployment.issuer.requests("/token")[0].form();
    assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    rules.set_audience(&[&deployment.issuer.url]);
    let key = SubjectPublicKeyInfoDer::from_pem_slice(EC_PUBLIC_KEY).unwrap();
    // The point is the last 65 bytes.
    let key = jsonwebtoken::DecodingKey::from_ec_der(&key[key.len() - 65..]);
    papertape_oauth::install_crypto_provider();
    let claims = jsonwebtoken::decode::<Value>(&form["client_assertion"], &key, &rules).unwrap().claims;
    assert_eq!((claims["iss"].as_str(), claims["sub"].as_str()), (Some("me"), Some("me")));
    assert!(claims["jti"].is_string() && claims["iat"].is_u64());
}

#[tokio::test]
async fn a_workload_assertion_is_exchanged_and_an_error_is_final() {
    let deployment = Deployment::new().await;
    let platform = Assertion::from_fn(|audience| async move {
        Ok::<_, std::io::Error>(Secret::new(format!("word-for-{audience}")))
    });
    deployment.call(&OAuth::workload(OAuthClient::new("me"), platform).into(), "").await.unwrap();
    let form = deployment.issuer.requests("/token")[0].form();
    assert_eq!(form["grant_type"], JWT_BEARER);
    assert_eq!(form["assertion"], format!("word-for-{}", deployment.issuer.url));

    let deployment = Deployment::with_override(|request, _| {
        let body = value!({ "error": "invalid_grant", "error_description": "hush-hush-1 has expired" });
        (request.path == "/token").then(|| json(400, &body))
    })
    .await;
    let credentials: Credentials =
        OAuth::workload(OAuthClient::new("me"), Assertion::fixed("hush-hush-1")).into();
    for _ in 0..2 {
        let text = deployment.call(&credentials, "").await.unwrap_err().to_string();
        assert!(text.contains("[hidden] has expired"), "{text}");
    }
    assert_eq!(deployment.issuer.requests("/token").len(), 1, "an error is final");
}

#[tokio::test]
async fn the_identity_provider_issues_an_assertion_first() {
    let deployment = Deployment::new().await;
    for right in [true, false] {
        let idp = StubServer::start(StubServer::bind().await, move |_| {
            let kind = if right { "id-jag" } else { "access_token" };
            let kind = format!("urn:ietf:params:oauth:token-type:{kind}");
            json(200, &value!({ "access_token": "the-jag", "issued_token_type": kind, "token_type": "N_A" }))
        });
        let known = OAuthClient::new("at-idp");
        let provider = IdentityProvider::new(format!("{}/token", idp.url), known, Assertion::fixed("person"));
        let client = OAuthClient::new("me").secret("hush-hush");
        let called = deployment.call(&OAuth::enterprise(client, provider).into(), "").await;
        let form = idp.requests("/token")[0].form();
        assert_eq!(form["audience"], deployment.issuer.url);
        assert_eq!(form["resource"], deployment.url().as_str());
        assert_eq!(form["requested_token_type"], "urn:ietf:params:oauth:token-type:id-jag");
        assert_eq!((form["subject_token"].as_str(), form["client_id"].as_str()), ("person", "at-idp"));
        if right {
            called.unwrap();
        } else {
            assert!(called.unwrap_err().to_string().contains("another token type"));
        }
    }
    let sent = deployment.issuer.requests("/token");
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (sent[0].form()["grant_type"].as_str(), sent[0].form()["assertion"].as_str()),
        (JWT_BEARER, "the-jag")
    );
    assert!(sent[0].header("authorization").unwrap().starts_with("Basic "));
}
