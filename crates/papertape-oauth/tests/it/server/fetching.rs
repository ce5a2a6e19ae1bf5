//! Fetching an issuer's keys: how often, and with an issuer that fails.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{
    Auth, OAuthServer, RESOURCE, StubIssuer, admitted, bearer, invalid, one_issuer, ready, trusting,
    trusting_with, unavailable,
};
use papertape_testing::oauth::{StubResponse, key_set};
use papertape_testing::oauth::{TokenSigner, claims};

/// Time passes for the server. Sockets do not notice: nothing is under way meanwhile.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn concurrent_requests_share_a_fetch() {
    let (issuer, signer, auth) = one_issuer().await;
    let held = Arc::new(Semaphore::new(0));
    issuer.respond_with_keys(StubResponse::Held(Arc::clone(&held), key_set(&[&signer])));
    let (auth, token) = (Arc::new(auth), Arc::new(signer.sign(&claims(&issuer))));
    let mut checks = JoinSet::new();
    for _ in 0..100 {
        let (auth, token) = (Arc::clone(&auth), Arc::clone(&token));
        checks.spawn(async move { admitted(&auth, &token).await });
    }
    // One is enough; were there others, they would wait for ever.
    held.add_permits(1);
    assert_eq!(checks.join_all().await.len(), 100);
    assert_eq!(issuer.fetches(), 1);
    admitted(&auth, &token).await;
    assert_eq!(issuer.fetches(), 1, "and then they are known");
}

#[tokio::test]
async fn a_fetch_outlives_the_request_that_began_it() {
    let (issuer, signer, auth) = one_issuer().await;
    let held = Arc::new(Semaphore::new(0));
    issuer.respond_with_keys(StubResponse::Held(Arc::clone(&held), key_set(&[&signer])));
    let headers = bearer(&signer.sign(&claims(&issuer)));
    {
        let mut gone = Box::pin(auth.check(&headers));
        let polled = std::future::poll_fn(|cx| Poll::Ready(gone.as_mut().poll(cx).is_pending())).await;
        assert!(polled, "it waits for the keys");
    }
    held.add_permits(1);
    auth.check(&headers).await.unwrap();
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn unknown_keys_cause_fetches_at_a_bounded_rate() {
    let (issuer, old, auth) = one_issuer().await;
    let new = TokenSigner::es256(2);
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    issuer.publish(&[&old, &new]);
    // The last fetch was just now: tokens with unknown keys do not cause another one.
    for _ in 0..10 {
        invalid(&auth, &new.sign(&claims(&issuer)), "does not publish").await;
    }
    assert_eq!(issuer.fetches(), 1);
    pass(10 * SECOND).await;
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    assert_eq!(issuer.fetches(), 2);
    // The old key is withdrawn. That is noticed with the next fetch.
    issuer.publish(&[&new]);
    pass(10 * SECOND).await;
    invalid(&auth, &TokenSigner::es256(3).sign(&claims(&issuer)), "does not publish").await;
    invalid(&auth, &old.sign(&claims(&issuer)), "does not publish").await;
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    assert_eq!(issuer.fetches(), 3);
}

#[tokio::test]
async fn the_interval_of_fetches_can_be_changed() {
    let (issuer, old, _) = one_issuer().await;
    let auth = trusting_with(&issuer, |oauth| oauth.refetch_gap(Duration::ZERO));
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    let new = TokenSigner::es256(2);
    issuer.publish(&[&new]);
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test]
async fn tokens_without_a_kid_cause_fetches_too() {
    let (issuer, old, auth) = one_issuer().await;
    let nameless = |signer: &TokenSigner| {
        let header = jsonwebtoken::Header { kid: None, ..signer.header() };
        signer.sign_with(&header, &claims(&issuer))
    };
    admitted(&auth, &nameless(&old)).await;
    let new = TokenSigner::es256(2);
    issuer.publish(&[&new]);
    invalid(&auth, &nameless(&new), "signature").await;
    pass(10 * SECOND).await;
    admitted(&auth, &nameless(&new)).await;
}

#[tokio::test]
async fn old_keys_are_used_while_new_ones_are_fetched() {
    let (issuer, old, auth) = one_issuer().await;
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    let (new, held) = (TokenSigner::es256(2), Arc::new(Semaphore::new(0)));
    issuer.respond_with_keys(StubResponse::Held(Arc::clone(&held), key_set(&[&new])));
    pass(HOUR).await;
    // No request waits for the fetch, which cannot end yet.
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    held.add_permits(1);
    // This one joins it.
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    invalid(&auth, &old.sign(&claims(&issuer)), "does not publish").await;
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test]
async fn cached_keys_are_used_for_a_day_while_the_issuer_is_down() {
    let (issuer, signer, auth) = one_issuer().await;
    let token = signer.sign(&claims(&issuer));
    admitted(&auth, &token).await;
    issuer.respond_with_keys(StubResponse::Status(StatusCode::INTERNAL_SERVER_ERROR));
    pass(12 * HOUR).await;
    admitted(&auth, &token).await;
    pass(11 * HOUR).await;
    admitted(&auth, &token).await;
    pass(2 * HOUR).await;
    unavailable(&auth, &token).await;
    // It comes back.
    issuer.publish(&[&signer]);
    pass(10 * SECOND).await;
    admitted(&auth, &token).await;
}

#[tokio::test]
async fn without_keys_requests_get_503_and_a_fetch_follows_soon() {
    let (issuer, signer, auth) = one_issuer().await;
    issuer.respond_with_keys(StubResponse::Status(StatusCode::SERVICE_UNAVAILABLE));
    let token = signer.sign(&claims(&issuer));
    for _ in 0..10 {
        unavailable(&auth, &token).await;
    }
    assert_eq!(issuer.fetches(), 1);
    issuer.publish(&[&signer]);
    pass(SECOND).await;
    admitted(&auth, &token).await;
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test]
async fn unusable_responses_end_in_503() {
    let signer = TokenSigner::es256(1);
    for response in [
        StubResponse::Endless,
        StubResponse::Silent,
        StubResponse::Held(Arc::new(Semaphore::new(0)), key_set(&[&signer])),
        StubResponse::Text("<html>".to_owned()),
        StubResponse::Text("[".repeat(100_000)),
        StubResponse::Text("{}".to_owned()),
        StubResponse::Status(StatusCode::NOT_FOUND),
        StubResponse::Status(StatusCode::NO_CONTENT),
    ] {
        let issuer = StubIssuer::start().await;
        issuer.respond_with_keys(response);
        let auth = trusting_with(&issuer, |oauth| oauth.fetch_timeout(Duration::from_millis(300)));
        unavailable(&auth, &signer.sign(&claims(&issuer))).await;
    }
}

#[tokio::test]
async fn responses_are_bounded_in_size() {
    let signer = TokenSigner::es256(1);
    let issuer = StubIssuer::start().await;
    let padded = |size| StubResponse::Text(format!("{}{}", " ".repeat(size), key_set(&[&signer])));
    let token = signer.sign(&claims(&issuer));
    issuer.respond_with_keys(padded(500 * 1024));
    admitted(&trusting(&issuer), &token).await;
    issuer.respond_with_keys(padded(512 * 1024));
    unavailable(&trusting(&issuer), &token).await;
}

#[tokio::test]
async fn redirects_of_the_jwks_url_are_not_followed() {
    let (elsewhere, signer, _) = one_issuer().await;
    let issuer = StubIssuer::start().await;
    issuer.respond_with_keys(StubResponse::Redirect(elsewhere.jwks_url()));
    unavailable(&trusting(&issuer), &signer.sign(&claims(&issuer))).await;
    assert_eq!(elsewhere.fetches(), 0);
}

#[tokio::test]
async fn an_unreachable_issuer_ends_in_503() {
    let signer = TokenSigner::es256(1);
    let issuer = StubIssuer::start().await;
    let silent = tokio::net::TcpSocket::new_v4().unwrap(); // bound, never listening
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let keys = format!("http://{}/keys", silent.local_addr().unwrap());
    let oauth = OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), keys);
    unavailable(&ready(Auth::new().oauth(oauth)), &signer.sign(&claims(&issuer))).await;
}
