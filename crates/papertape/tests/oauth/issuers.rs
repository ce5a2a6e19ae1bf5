//! What one issuer gave is for that issuer alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use papertape::http::{AuthStep, Credentials, OAuthClient};
use serde_json::json as value;

use crate::site::{Site, json};
use crate::world::{Books, World, issue, metadata, oauth};

const PRM: &str = "/.well-known/oauth-protected-resource/mcp";

/// A world whose server can be told to trust another issuer.
async fn two_issuers() -> (World, Site, Arc<AtomicBool>) {
    let second = Site::bind().await;
    let (name, moved) = (second.1.clone(), Arc::new(AtomicBool::new(false)));
    let (other, switch) = (name.clone(), moved.clone());
    let world = World::twisted(move |asked, places| {
        let issuer = if switch.load(Ordering::SeqCst) { &other } else { &places.issuer };
        let document =
            value!({ "resource": format!("{}/mcp", places.server), "authorization_servers": [issuer] });
        (asked.path == PRM).then(|| json(200, &document))
    })
    .await;
    let books: Arc<Mutex<Books>> = world.books.clone();
    let second = Site::start(second, move |asked| issue(asked, &name, &mut books.lock().unwrap()));
    (world, second, moved)
}

#[tokio::test]
async fn a_server_that_moves_to_another_issuer_gets_a_new_client_and_a_new_token() {
    let (world, second, moved) = two_issuers().await;
    let credentials: Credentials = oauth().into();
    world.call(&credentials, "").await.unwrap();
    moved.store(true, Ordering::SeqCst);
    world.revoke();
    world.call(&credentials, "").await.unwrap();
    let client = &second.asked("/authorize")[0].query["client_id"];
    assert!(client.ends_with(&second.url), "{client} is not of {}", second.url);
    assert_eq!(second.asked("/register").len(), 1);
    let sent: Vec<_> =
        second.asked("/token").iter().map(|asked| asked.form()["grant_type"].clone()).collect();
    assert_eq!(sent, ["authorization_code"], "the first issuer's refresh token stays with the first");
    assert_eq!(world.issuer.asked("/token").len(), 1);
}

#[tokio::test]
async fn a_given_client_goes_to_no_other_issuer() {
    for named in [true, false] {
        let (world, second, moved) = two_issuers().await;
        let mut client = OAuthClient::new("mine").secret("hush-hush");
        if named {
            client = client.issuer(&world.issuer.url);
        }
        let credentials: Credentials = oauth().client(client).into();
        world.call(&credentials, "").await.unwrap();
        moved.store(true, Ordering::SeqCst);
        world.revoke();
        let error = world.call(&credentials, "").await.unwrap_err();
        assert_eq!(error.step, AuthStep::Registration);
        assert!(error.to_string().contains(&second.url), "{error}");
        assert!(second.paths().is_empty(), "nothing was sent there");
    }
}

#[tokio::test]
async fn a_client_for_another_issuer_is_not_used_at_all() {
    let world = World::new().await;
    let client = OAuthClient::new("mine").issuer("https://as.example.com");
    let error = world.call(&oauth().client(client).into(), "").await.unwrap_err();
    assert!(error.to_string().contains("https://as.example.com"), "{error}");
    assert!(world.issuer.paths().is_empty());
}

#[tokio::test]
async fn tokens_go_to_the_server_they_are_for_and_to_no_other() {
    let world = World::new().await;
    let credentials: Credentials = oauth().into();
    world.call(&credentials, "").await.unwrap();
    let headers = async |url: &str| {
        let url = url::Url::parse(url).unwrap();
        credentials.headers(&http::Method::POST, &url).await.unwrap().contains_key("authorization")
    };
    assert!(headers(world.url().as_str()).await);
    assert!(!headers(&format!("{}/other", world.server.url)).await);
    assert!(!headers(&format!("{}/mcp", world.issuer.url)).await);
    let other = World::new().await;
    let error = other.call(&credentials, "").await.unwrap_err();
    assert!(error.to_string().contains("another server"), "{error}");
}

#[tokio::test]
async fn registration_goes_from_what_was_given_to_a_url_to_a_new_client_to_a_way_out() {
    const URL: &str = "https://client.example.com/about.json";
    for (takes_urls, registers) in [(true, true), (false, true), (false, false)] {
        let world = World::twisted(move |asked, places| {
            let mut document = metadata(&places.issuer);
            document["client_id_metadata_document_supported"] = takes_urls.into();
            if !registers {
                document["registration_endpoint"] = value!(null);
            }
            (asked.path == "/.well-known/oauth-authorization-server").then(|| json(200, &document))
        })
        .await;
        let own = || oauth().client_metadata_url(URL).client_name("My program");
        world.call(&own().client(OAuthClient::new("given")).into(), "").await.unwrap();
        assert_eq!(world.issuer.asked("/authorize")[0].query["client_id"], "given");
        let called = world.call(&own().into(), "").await;
        let id = world.issuer.asked("/authorize").get(1).map(|asked| asked.query["client_id"].clone());
        match (takes_urls, registers) {
            (true, _) => assert_eq!(id.unwrap(), URL),
            (false, true) => {
                assert_eq!(world.issuer.asked("/register")[0].json()["client_name"], "My program")
            }
            (false, false) => assert!(called.unwrap_err().to_string().contains("redirect URI")),
        }
    }
}

#[tokio::test]
async fn a_registration_that_is_refused_is_told() {
    let world = World::twisted(|asked, _| {
        let body = value!({ "error": "invalid_client_metadata", "error_description": "no natives" });
        (asked.path == "/register").then(|| json(400, &body))
    })
    .await;
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert_eq!(error.step, AuthStep::Registration);
    assert!(error.to_string().contains("invalid_client_metadata (no natives)"), "{error}");
}
