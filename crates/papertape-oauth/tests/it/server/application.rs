//! Requests that the application authenticates with a function of its own.

use std::future::{pending, ready};

use http::{HeaderMap, StatusCode};
use papertape_oauth::Principal;
use papertape_oauth::server::{Auth, Challenge};

use super::bearer;

type Verdict = Result<Principal, Challenge>;

#[tokio::test(start_paused = true)]
async fn a_verifier_that_panics_or_hangs_admits_no_request() {
    let early = Auth::verifier(|headers: HeaderMap| {
        assert!(headers.is_empty(), "a bug in the application");
        ready(Ok(Principal::new("alice")))
    });
    let late = Auth::verifier(async |_: HeaderMap| -> Verdict { panic!("a bug in the application") });
    let never = Auth::verifier(|_: HeaderMap| pending::<Verdict>());
    for auth in [early, late.optional(), never] {
        let challenge = auth.check(&bearer("token")).await.unwrap_err();
        assert_eq!(challenge.status, StatusCode::SERVICE_UNAVAILABLE, "{challenge:?}");
        assert!(!challenge.message.contains("bug"), "{challenge:?}");
    }
}
