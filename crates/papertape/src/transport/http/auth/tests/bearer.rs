//! Where a token may be, and what it may look like.

use http::StatusCode;

use super::super::bearer::{LONGEST_TOKEN, token};
use super::{Auth, OAuthServer, RESOURCE, authorization, bearer, one_issuer, ready, signing};

async fn status(auth: &Auth, values: &[&str]) -> StatusCode {
    auth.check(&authorization(values)).await.unwrap_err().status
}

#[test]
fn the_scheme_is_read_in_any_case_and_spaces_do_not_matter() {
    for value in ["Bearer abc", "bearer abc", "BEARER   abc", "bEaReR abc "] {
        assert_eq!(token(&authorization(&[value])), Ok("abc"), "{value}");
    }
    for good in ["a", "-._~+/", "abc==", "eyJ.eyJ.sig"] {
        assert_eq!(token(&bearer(good)), Ok(good));
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_a_bad_request() {
    let (issuer, signer, auth) = one_issuer().await;
    let good = format!("Bearer {}", signer.sign(&signing::claims(&issuer)));
    for values in [
        &["Bearer"][..],
        &["Bearer "],
        &["Bearer a b"],
        &["Bearer ="],
        &["Bearer a=b"],
        &["Bearer \"a\""],
        &["Bearer a,Bearer b"],
        &["Bearer é"],
        &[&good, &good],
        &["Basic YTpi", &good],
        &[&good, ""],
    ] {
        let challenge = auth.check(&authorization(values)).await.unwrap_err();
        assert_eq!(challenge.status, StatusCode::BAD_REQUEST, "{values:?}");
        assert!(challenge.authenticate.contains("error=\"invalid_request\""), "{challenge:?}");
    }
    assert_eq!(issuer.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn who_has_not_tried_or_tried_otherwise_gets_a_challenge_without_an_error() {
    let (_, _, auth) = one_issuer().await;
    for values in [&[][..], &[""], &["Basic YTpi"], &["DPoP abc"], &["Bearerabc"], &["pt_abc"]] {
        let challenge = auth.check(&authorization(values)).await.unwrap_err();
        assert_eq!(challenge.status, StatusCode::UNAUTHORIZED, "{values:?}");
        assert!(!challenge.authenticate.contains("error"), "{challenge:?}");
    }
}

#[tokio::test]
async fn tokens_are_as_long_as_they_may_be_and_no_longer() {
    let auth = Auth::new().oauth(OAuthServer::new(RESOURCE).issuer("https://login.example.com"));
    let auth = ready(auth);
    assert_eq!(
        status(&auth, &[&format!("Bearer {}", "a".repeat(LONGEST_TOKEN))]).await,
        StatusCode::UNAUTHORIZED
    );
    for length in [LONGEST_TOKEN + 1, 1024 * 1024] {
        let token = format!("Bearer {}", "a".repeat(length));
        assert_eq!(status(&auth, &[&token]).await, StatusCode::BAD_REQUEST);
    }
}
