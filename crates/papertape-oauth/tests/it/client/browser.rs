//! Authorization responses: which are accepted, and which are rejected.

use std::sync::{Arc, Mutex};

use papertape_oauth::client::{AuthStep, Browser, OAuth};
use serde_json::json as value;
use url::Url;

use super::deployment::{Deployment, SERVER_METADATA, oauth, server_metadata};
use super::stub_server::{Reply, json, reply, with};

/// A redirect back with these parameters.
fn back(to: &str, parameters: &[(&str, &str)]) -> Reply {
    let mut url = Url::parse(to).unwrap();
    url.query_pairs_mut().extend_pairs(parameters);
    with(reply(302, ""), "location", url.as_str())
}

/// A deployment whose redirects have this `iss`, and whose metadata says whether it has one.
async fn deployment_with_iss(iss: Option<&'static str>, advertised: bool, error: bool) -> Deployment {
    Deployment::with_override(move |request, urls| match request.path.as_str() {
        SERVER_METADATA => {
            let mut document = server_metadata(&urls.issuer);
            document["authorization_response_iss_parameter_supported"] = advertised.into();
            Some(json(200, &document))
        }
        "/authorize" => {
            let iss = iss.map(|iss| iss.replace("{}", &urls.issuer));
            let mut parameters = vec![("state", request.query["state"].as_str())];
            parameters.extend(iss.as_deref().map(|iss| ("iss", iss)));
            let answer = [("error", "access_denied"), ("error_description", "planted words")];
            parameters.extend(if error { &answer[..] } else { &[("code", "c0de-0f-1")][..] });
            Some(back(&request.query["redirect_uri"], &parameters))
        }
        "/token" => Some(json(200, &value!({ "access_token": "t", "token_type": "Bearer" }))),
        "/mcp" if request.header("authorization") == Some("Bearer t") => Some(reply(200, "")),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn an_authorization_response_with_a_wrong_iss_is_rejected() {
    for (iss, advertised) in [
        (None, true),
        (Some("https://evil.example.com"), true),
        (Some("https://evil.example.com"), false),
        (Some("{}/"), true),
        (Some("{}/"), false),
        (Some(""), true),
    ] {
        for error in [false, true] {
            let deployment = deployment_with_iss(iss, advertised, error).await;
            let failed = deployment.call(&oauth().into(), "").await.unwrap_err();
            assert_eq!(failed.step, AuthStep::Authorization, "{iss:?}: {failed}");
            assert_eq!(deployment.authorizations(), 1);
            assert!(deployment.issuer.requests("/token").is_empty(), "{iss:?}: the code went out");
            let text = format!("{failed} {failed:?}");
            assert!(!text.contains("planted") && !text.contains("c0de"), "{text}");
        }
    }
}

#[tokio::test]
async fn an_authorization_response_of_the_right_issuer_is_used() {
    for (iss, advertised) in [(Some("{}"), true), (Some("{}"), false), (None, false)] {
        let deployment = deployment_with_iss(iss, advertised, false).await;
        assert_eq!(deployment.call(&oauth().into(), "").await.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_denied_authorization_is_quoted_and_not_repeated() {
    let deployment = deployment_with_iss(Some("{}"), true, true).await;
    let credentials = oauth().into();
    for _ in 0..3 {
        let text = deployment.call(&credentials, "").await.unwrap_err().to_string();
        assert!(text.contains("access_denied (planted words)"), "{text}");
    }
    assert_eq!(deployment.authorizations(), 1);
}

#[tokio::test]
async fn an_authorization_response_with_another_state_is_rejected() {
    for state in [Some("guess"), None] {
        let deployment = Deployment::with_override(move |request, urls| {
            let mut parameters = vec![("code", "c0de"), ("iss", urls.issuer.as_str())];
            parameters.extend(state.map(|state| ("state", state)));
            (request.path == "/authorize").then(|| back(&request.query["redirect_uri"], &parameters))
        })
        .await;
        let failed = deployment.call(&oauth().into(), "").await.unwrap_err();
        assert!(failed.to_string().contains("state"), "{failed}");
        assert!(deployment.issuer.requests("/token").is_empty());
    }
}

#[tokio::test]
async fn without_a_browser_the_error_names_the_remedy() {
    let deployment = Deployment::new().await;
    let credentials = OAuth::new().browser(Browser::unavailable("run `mine login`"));
    let text = deployment.call(&credentials.into(), "").await.unwrap_err().to_string();
    assert!(text.contains("run `mine login`"), "{text}");
    assert_eq!(deployment.authorizations(), 0);
}

#[tokio::test]
async fn the_redirect_listener_ignores_other_states() {
    let deployment = Deployment::new().await;
    let shown = Arc::new(Mutex::new(None));
    let screen = shown.clone();
    // The browser: first a request with a guessed state, then the real one.
    let browser = Browser::loopback(move |url: &str| {
        let url = url.to_owned();
        *screen.lock().unwrap() = Some(url.clone());
        tokio::spawn(async move {
            let redirect = Url::parse(&url).unwrap();
            let redirect =
                redirect.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
            let guess = reqwest::get(format!("{redirect}?code=evil&state=guess")).await.unwrap();
            assert_eq!(guess.status(), 400);
            let other = reqwest::get(format!("{redirect}/other?code=evil")).await.unwrap();
            assert_eq!(other.status(), 404);
            let page = reqwest::get(url).await.unwrap();
            assert_eq!(page.status(), 200);
            assert_eq!(page.headers()["referrer-policy"], "no-referrer");
            assert!(page.text().await.unwrap().contains("Done"));
        });
        Ok::<_, std::io::Error>(())
    });
    let credentials = OAuth::new().browser(browser).into();
    assert_eq!(deployment.call(&credentials, "").await.unwrap(), 200);
    let url = shown.lock().unwrap().clone().unwrap();
    assert!(url.starts_with(&format!("{}/authorize?", deployment.issuer.url)), "{url}");
    let request = &deployment.issuer.requests("/authorize")[0].query;
    assert!(request["redirect_uri"].starts_with("http://127.0.0.1:"), "{request:?}");
    assert_eq!(
        deployment.issuer.requests("/register")[0].json()["redirect_uris"],
        value!([request["redirect_uri"]])
    );
    // The same client comes back to the same place.
    deployment.revoke();
    deployment.issued.lock().unwrap().forget();
    assert_eq!(deployment.call(&credentials, "").await.unwrap(), 200);
    let again = &deployment.issuer.requests("/authorize")[1].query;
    assert_eq!(
        (&again["redirect_uri"], &again["client_id"]),
        (&request["redirect_uri"], &request["client_id"])
    );
    assert_eq!(deployment.issuer.requests("/register").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_redirect_has_a_timeout() {
    // Nothing but time passes here, so the clock may run ahead once the page is shown.
    tokio::time::resume();
    let deployment = Deployment::new().await;
    let browser = Browser::new(|_| async {
        tokio::time::pause();
        std::future::pending::<Result<papertape_oauth::client::Redirect, std::io::Error>>().await
    });
    let text = deployment.call(&OAuth::new().browser(browser).into(), "").await.unwrap_err().to_string();
    assert!(text.contains("no redirect within 300 s"), "{text}");
}
