//! The `Authorization` header: where a token may be, and its syntax.

use http::StatusCode;

use papertape_oauth::server::{Auth, OAuthServer};

use super::{authorization, one_issuer, ready};
use papertape_testing::oauth::{self as signing, RESOURCE};

async fn status(auth: &Auth, values: &[&str]) -> StatusCode {
    auth.check(&authorization(values)).await.unwrap_err().status
}

/// The longest token.
const MAX_TOKEN: usize = 16 * 1024;

#[tokio::test]
async fn a_malformed_authorization_header_is_a_bad_request() {
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
    assert_eq!(issuer.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn no_token_or_another_scheme_gets_a_challenge_without_an_error() {
    let (_, _, auth) = one_issuer().await;
    for values in [&[][..], &[""], &["Basic YTpi"], &["DPoP abc"], &["Bearerabc"], &["pt_abc"]] {
        let challenge = auth.check(&authorization(values)).await.unwrap_err();
        assert_eq!(challenge.status, StatusCode::UNAUTHORIZED, "{values:?}");
        assert!(!challenge.authenticate.contains("error"), "{challenge:?}");
    }
}

#[tokio::test]
async fn the_length_of_a_token_is_bounded() {
    let auth = Auth::new().oauth(OAuthServer::new(RESOURCE).issuer("https://login.example.com"));
    let auth = ready(auth);
    assert_eq!(
        status(&auth, &[&format!("Bearer {}", "a".repeat(MAX_TOKEN))]).await,
        StatusCode::UNAUTHORIZED
    );
    for length in [MAX_TOKEN + 1, 1024 * 1024] {
        let token = format!("Bearer {}", "a".repeat(length));
        assert_eq!(status(&auth, &[&token]).await, StatusCode::BAD_REQUEST);
    }
}
