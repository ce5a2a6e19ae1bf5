//! What comes back from a browser: what is believed and what is not.

use std::sync::{Arc, Mutex};

use papertape::http::{AuthStep, Browser, OAuth};
use serde_json::json as value;
use url::Url;

use crate::site::{Reply, json, reply, with};
use crate::world::{World, metadata, oauth};

/// A redirect back with these parameters.
fn back(to: &str, parameters: &[(&str, &str)]) -> Reply {
    let mut url = Url::parse(to).unwrap();
    url.query_pairs_mut().extend_pairs(parameters);
    with(reply(302, ""), "location", url.as_str())
}

/// A world whose redirects have this `iss`, and whose metadata says whether it has one.
async fn world_with_iss(iss: Option<&'static str>, advertised: bool, error: bool) -> World {
    World::twisted(move |asked, places| match asked.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let mut document = metadata(&places.issuer);
            document["authorization_response_iss_parameter_supported"] = advertised.into();
            Some(json(200, &document))
        }
        "/authorize" => {
            let iss = iss.map(|iss| iss.replace("{}", &places.issuer));
            let mut parameters = vec![("state", asked.query["state"].as_str())];
            parameters.extend(iss.as_deref().map(|iss| ("iss", iss)));
            let answer = [("error", "access_denied"), ("error_description", "planted words")];
            parameters.extend(if error { &answer[..] } else { &[("code", "c0de-0f-1")][..] });
            Some(back(&asked.query["redirect_uri"], &parameters))
        }
        "/token" => Some(json(200, &value!({ "access_token": "t", "token_type": "Bearer" }))),
        "/mcp" if asked.header("authorization") == Some("Bearer t") => Some(reply(200, "")),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn an_answer_that_names_another_issuer_or_none_is_not_used() {
    for (iss, advertised) in [
        (None, true),
        (Some("https://evil.example.com"), true),
        (Some("https://evil.example.com"), false),
        (Some("{}/"), true),
        (Some("{}/"), false),
        (Some(""), true),
    ] {
        for error in [false, true] {
            let world = world_with_iss(iss, advertised, error).await;
            let failed = world.call(&oauth().into(), "").await.unwrap_err();
            assert_eq!(failed.step, AuthStep::Authorization, "{iss:?}: {failed}");
            assert_eq!(world.visits(), 1);
            assert!(world.issuer.asked("/token").is_empty(), "{iss:?}: the code went out");
            let text = format!("{failed} {failed:?}");
            assert!(!text.contains("planted") && !text.contains("c0de"), "{text}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_the_issuer_that_was_asked_is_used() {
    for (iss, advertised) in [(Some("{}"), true), (Some("{}"), false), (None, false)] {
        let world = world_with_iss(iss, advertised, false).await;
        assert_eq!(world.call(&oauth().into(), "").await.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_the_issuers_words_and_nobody_is_asked_again_at_once() {
    let world = world_with_iss(Some("{}"), true, true).await;
    let credentials = oauth().into();
    for _ in 0..3 {
        let text = world.call(&credentials, "").await.unwrap_err().to_string();
        assert!(text.contains("access_denied (planted words)"), "{text}");
    }
    assert_eq!(world.visits(), 1);
}

#[tokio::test]
async fn an_answer_to_another_question_is_not_used() {
    for state in [Some("guess"), None] {
        let world = World::twisted(move |asked, places| {
            let mut parameters = vec![("code", "c0de"), ("iss", places.issuer.as_str())];
            parameters.extend(state.map(|state| ("state", state)));
            (asked.path == "/authorize").then(|| back(&asked.query["redirect_uri"], &parameters))
        })
        .await;
        let failed = world.call(&oauth().into(), "").await.unwrap_err();
        assert!(failed.to_string().contains("state"), "{failed}");
        assert!(world.issuer.asked("/token").is_empty());
    }
}

#[tokio::test]
async fn without_a_browser_the_error_says_what_to_do() {
    let world = World::new().await;
    let nobody = OAuth::new().browser(Browser::nobody("run `mine login`"));
    let text = world.call(&nobody.into(), "").await.unwrap_err().to_string();
    assert!(text.contains("run `mine login`"), "{text}");
    assert_eq!(world.visits(), 0);
}

#[tokio::test]
async fn a_listener_on_this_machine_waits_for_the_right_answer() {
    let world = World::new().await;
    let shown = Arc::new(Mutex::new(None));
    let screen = shown.clone();
    // The browser: first a stranger who guesses, then the person.
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
    assert_eq!(world.call(&credentials, "").await.unwrap(), 200);
    let url = shown.lock().unwrap().clone().unwrap();
    assert!(url.starts_with(&format!("{}/authorize?", world.issuer.url)), "{url}");
    let asked = &world.issuer.asked("/authorize")[0].query;
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"), "{asked:?}");
    assert_eq!(world.issuer.asked("/register")[0].json()["redirect_uris"], value!([asked["redirect_uri"]]));
    // The same client comes back to the same place.
    world.revoke();
    world.books.lock().unwrap().forget();
    assert_eq!(world.call(&credentials, "").await.unwrap(), 200);
    let again = &world.issuer.asked("/authorize")[1].query;
    assert_eq!((&again["redirect_uri"], &again["client_id"]), (&asked["redirect_uri"], &asked["client_id"]));
    assert_eq!(world.issuer.asked("/register").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_never_comes_back_is_not_waited_for_for_ever() {
    // Nothing but time passes here, so the clock may run ahead once the page is shown.
    tokio::time::resume();
    let world = World::new().await;
    let browser = Browser::new(|_| async {
        tokio::time::pause();
        std::future::pending::<Result<papertape::http::Redirect, std::io::Error>>().await
    });
    let text = world.call(&OAuth::new().browser(browser).into(), "").await.unwrap_err().to_string();
    assert!(text.contains("nobody answered within 300 s"), "{text}");
}
