//! Clients and tokens of one issuer are never sent to another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use papertape_oauth::client::{AuthStep, Credentials, OAuthClient};
use serde_json::json as value;

use super::deployment::{
    Deployment, IssuedTokens, RESOURCE_METADATA, SERVER_METADATA, issue, oauth, server_metadata,
};
use super::stub_server::{StubServer, json};

/// A deployment whose server can be switched to another issuer.
async fn two_issuers() -> (Deployment, StubServer, Arc<AtomicBool>) {
    let second = StubServer::bind().await;
    let (name, moved) = (second.1.clone(), Arc::new(AtomicBool::new(false)));
    let (other, switch) = (name.clone(), moved.clone());
    let deployment = Deployment::with_override(move |request, urls| {
        let issuer = if switch.load(Ordering::SeqCst) { &other } else { &urls.issuer };
        let document =
            value!({ "resource": format!("{}/mcp", urls.server), "authorization_servers": [issuer] });
        (request.path == RESOURCE_METADATA).then(|| json(200, &document))
    })
    .await;
    let issued: Arc<Mutex<IssuedTokens>> = deployment.issued.clone();
    let second = StubServer::start(second, move |request| issue(request, &name, &mut issued.lock().unwrap()));
    (deployment, second, moved)
}

#[tokio::test]
async fn a_server_with_a_new_issuer_gets_a_new_client_and_token() {
    let (deployment, second, moved) = two_issuers().await;
    let credentials: Credentials = oauth().into();
    deployment.call(&credentials, "").await.unwrap();
    moved.store(true, Ordering::SeqCst);
    deployment.revoke();
    deployment.call(&credentials, "").await.unwrap();
    let client = &second.requests("/authorize")[0].query["client_id"];
    assert!(client.ends_with(&second.url), "{client} is not of {}", second.url);
    assert_eq!(second.requests("/register").len(), 1);
    let sent: Vec<_> =
        second.requests("/token").iter().map(|request| request.form()["grant_type"].clone()).collect();
    assert_eq!(sent, ["authorization_code"], "the first issuer's refresh token stays with the first");
    assert_eq!(deployment.issuer.requests("/token").len(), 1);
}

#[tokio::test]
async fn a_configured_client_is_sent_to_its_own_issuer_only() {
    for named in [true, false] {
        let (deployment, second, moved) = two_issuers().await;
        let mut client = OAuthClient::new("mine").secret("hush-hush");
        if named {
            client = client.issuer(&deployment.issuer.url);
        }
        let credentials: Credentials = oauth().client(client).into();
        deployment.call(&credentials, "").await.unwrap();
        moved.store(true, Ordering::SeqCst);
        deployment.revoke();
        let error = deployment.call(&credentials, "").await.unwrap_err();
        assert_eq!(error.step, AuthStep::Registration);
        assert!(error.to_string().contains(&second.url), "{error}");
        assert!(second.paths().is_empty(), "nothing was sent there");
    }
}

#[tokio::test]
async fn a_client_of_another_issuer_is_not_used() {
    let deployment = Deployment::new().await;
    let client = OAuthClient::new("mine").issuer("https://as.example.com");
    let error = deployment.call(&oauth().client(client).into(), "").await.unwrap_err();
    assert!(error.to_string().contains("https://as.example.com"), "{error}");
    assert!(deployment.issuer.paths().is_empty());
}

#[tokio::test]
async fn tokens_are_sent_to_their_resource_only() {
    let deployment = Deployment::new().await;
    let credentials: Credentials = oauth().into();
    deployment.call(&credentials, "").await.unwrap();
    let headers = async |url: &str| {
        let url = url::Url::parse(url).unwrap();
        credentials.headers(&http::Method::POST, &url).await.unwrap().contains_key("authorization")
    };
    assert!(headers(deployment.url().as_str()).await);
    assert!(!headers(&format!("{}/other", deployment.server.url)).await);
    assert!(!headers(&format!("{}/mcp", deployment.issuer.url)).await);
    let other = Deployment::new().await;
    let error = other.call(&credentials, "").await.unwrap_err();
    assert!(error.to_string().contains("another server"), "{error}");
}

#[tokio::test]
async fn registration_prefers_configured_then_metadata_url_then_dynamic() {
    const URL: &str = "https://client.example.com/about.json";
    for (takes_urls, registers) in [(true, true), (false, true), (false, false)] {
        let deployment = Deployment::with_override(move |request, urls| {
            let mut document = server_metadata(&urls.issuer);
            document["client_id_metadata_document_supported"] = takes_urls.into();
            if !registers {
                document["registration_endpoint"] = value!(null);
            }
            (request.path == SERVER_METADATA).then(|| json(200, &document))
        })
        .await;
        let own = || oauth().client_metadata_url(URL).client_name("My program");
        deployment.call(&own().client(OAuthClient::new("given")).into(), "").await.unwrap();
        assert_eq!(deployment.issuer.requests("/authorize")[0].query["client_id"], "given");
        let called = deployment.call(&own().into(), "").await;
        let id =
            deployment.issuer.requests("/authorize").get(1).map(|request| request.query["client_id"].clone());
        match (takes_urls, registers) {
            (true, _) => assert_eq!(id.unwrap(), URL),
            (false, true) => {
                assert_eq!(deployment.issuer.requests("/register")[0].json()["client_name"], "My program")
            }
            (false, false) => assert!(called.unwrap_err().to_string().contains("redirect URI")),
        }
    }
}

#[tokio::test]
async fn a_rejected_registration_is_reported() {
    let deployment = Deployment::with_override(|request, _| {
        let body = value!({ "error": "invalid_client_metadata", "error_description": "no natives" });
        (request.path == "/register").then(|| json(400, &body))
    })
    .await;
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert_eq!(error.step, AuthStep::Registration);
    assert!(error.to_string().contains("invalid_client_metadata (no natives)"), "{error}");
}
