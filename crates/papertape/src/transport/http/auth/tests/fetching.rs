//! An issuer's keys: fetched once for all, when they must be, and whatever the issuer does.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::issuer::{Answer, key_set};
use super::signing::{Signer, claims};
use super::{
    Auth, FakeIssuer, OAuthServer, RESOURCE, admitted, bearer, invalid, one_issuer, ready, trusting,
    unavailable,
};

/// Time passes for the server. Sockets do not notice: nothing is under way meanwhile.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_hundred_at_once_are_one_fetch() {
    let (issuer, signer, auth) = one_issuer().await;
    let held = Arc::new(Semaphore::new(0));
    issuer.answer_keys(Answer::Held(Arc::clone(&held), key_set(&[&signer])));
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
    issuer.answer_keys(Answer::Held(Arc::clone(&held), key_set(&[&signer])));
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
async fn new_keys_are_found_but_not_at_anybodys_pace() {
    let (issuer, old, auth) = one_issuer().await;
    let new = Signer::es256(2);
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    issuer.publish(&[&old, &new]);
    // The last fetch was just now: tokens with odd keys cannot make us bother the issuer.
    for _ in 0..10 {
        invalid(&auth, &new.sign(&claims(&issuer)), "does not have").await;
    }
    assert_eq!(issuer.fetches(), 1);
    pass(10 * SECOND).await;
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    assert_eq!(issuer.fetches(), 2);
    // The old key is withdrawn. That is noticed with the next fetch.
    issuer.publish(&[&new]);
    pass(10 * SECOND).await;
    invalid(&auth, &Signer::es256(3).sign(&claims(&issuer)), "does not have").await;
    invalid(&auth, &old.sign(&claims(&issuer)), "does not have").await;
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    assert_eq!(issuer.fetches(), 3);
}

#[tokio::test]
async fn the_gap_between_fetches_can_be_changed() {
    let (issuer, old, _) = one_issuer().await;
    let oauth = OAuthServer::new(RESOURCE)
        .issuer_with_keys(issuer.name(), issuer.jwks_url())
        .refetch_gap(Duration::ZERO);
    let auth = ready(Auth::new().oauth(oauth));
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    let new = Signer::es256(2);
    issuer.publish(&[&new]);
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test]
async fn tokens_that_name_no_key_find_new_ones_too() {
    let (issuer, old, auth) = one_issuer().await;
    let nameless = |signer: &Signer| {
        let header = jsonwebtoken::Header { kid: None, ..signer.header() };
        signer.sign_with(&header, &claims(&issuer))
    };
    admitted(&auth, &nameless(&old)).await;
    let new = Signer::es256(2);
    issuer.publish(&[&new]);
    invalid(&auth, &nameless(&new), "signature").await;
    pass(10 * SECOND).await;
    admitted(&auth, &nameless(&new)).await;
}

#[tokio::test]
async fn old_keys_are_renewed_while_they_are_used() {
    let (issuer, old, auth) = one_issuer().await;
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    let (new, held) = (Signer::es256(2), Arc::new(Semaphore::new(0)));
    issuer.answer_keys(Answer::Held(Arc::clone(&held), key_set(&[&new])));
    pass(HOUR).await;
    // Nobody waits for the fetch, which cannot end yet.
    admitted(&auth, &old.sign(&claims(&issuer))).await;
    held.add_permits(1);
    // This one joins it.
    admitted(&auth, &new.sign(&claims(&issuer))).await;
    invalid(&auth, &old.sign(&claims(&issuer)), "does not have").await;
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test]
async fn while_the_issuer_is_down_old_keys_do_for_a_day() {
    let (issuer, signer, auth) = one_issuer().await;
    let token = signer.sign(&claims(&issuer));
    admitted(&auth, &token).await;
    issuer.answer_keys(Answer::Status(StatusCode::INTERNAL_SERVER_ERROR));
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
async fn without_any_keys_it_is_nobodys_fault_and_tried_again_soon() {
    let (issuer, signer, auth) = one_issuer().await;
    issuer.answer_keys(Answer::Status(StatusCode::SERVICE_UNAVAILABLE));
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
async fn answers_that_are_of_no_use_are_not_waited_for() {
    let signer = Signer::es256(1);
    for answer in [
        Answer::Endless,
        Answer::Silent,
        Answer::Held(Arc::new(Semaphore::new(0)), key_set(&[&signer])),
        Answer::Text("<html>".to_owned()),
        Answer::Text("[".repeat(100_000)),
        Answer::Text("{}".to_owned()),
        Answer::Status(StatusCode::NOT_FOUND),
        Answer::Status(StatusCode::NO_CONTENT),
    ] {
        let issuer = FakeIssuer::start().await;
        issuer.answer_keys(answer);
        let oauth = OAuthServer::new(RESOURCE)
            .issuer_with_keys(issuer.name(), issuer.jwks_url())
            .fetch_timeout(Duration::from_millis(300));
        let auth = ready(Auth::new().oauth(oauth));
        unavailable(&auth, &signer.sign(&claims(&issuer))).await;
    }
}

#[tokio::test]
async fn answers_are_read_up_to_a_size() {
    let signer = Signer::es256(1);
    let issuer = FakeIssuer::start().await;
    let padded = |size| Answer::Text(format!("{}{}", " ".repeat(size), key_set(&[&signer])));
    let token = signer.sign(&claims(&issuer));
    issuer.answer_keys(padded(500 * 1024));
    admitted(&trusting(&issuer), &token).await;
    issuer.answer_keys(padded(512 * 1024));
    unavailable(&trusting(&issuer), &token).await;
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_for_keys() {
    let (elsewhere, signer, _) = one_issuer().await;
    let issuer = FakeIssuer::start().await;
    issuer.answer_keys(Answer::Redirect(elsewhere.jwks_url()));
    unavailable(&trusting(&issuer), &signer.sign(&claims(&issuer))).await;
    assert_eq!(elsewhere.fetches(), 0);
}

#[tokio::test]
async fn an_issuer_that_is_not_there_is_no_panic() {
    let signer = Signer::es256(1);
    let issuer = FakeIssuer::start().await;
    let silent = tokio::net::TcpSocket::new_v4().unwrap(); // bound, never listening
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let keys = format!("http://{}/keys", silent.local_addr().unwrap());
    let oauth = OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), keys);
    unavailable(&ready(Auth::new().oauth(oauth)), &signer.sign(&claims(&issuer))).await;
}
