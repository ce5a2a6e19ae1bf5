//! Requests that the application authenticates: in a layer around the server, or in a function.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Extensions, HeaderMap};
use tokio::time::timeout;

use super::Auth;
use super::challenge::Challenge;
use crate::Principal;

/// How long a verifier may take.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(30);

type Verify = dyn Fn(HeaderMap) -> Verified + Send + Sync;
type Verified = Pin<Box<dyn Future<Output = Result<Principal, Challenge>> + Send>>;

/// How the application authenticates requests.
pub(super) enum Application {
    /// A layer around the server has put the principal into the extensions of the request.
    Extensions,
    Verifier(Box<Verify>),
}

impl Application {
    /// The principal of a request; `None` if it has none.
    pub(super) async fn principal(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<Option<Principal>, Challenge> {
        let principal = match self {
            Application::Extensions => {
                let shared = || extensions.get::<Arc<Principal>>().map(|principal| (**principal).clone());
                extensions.get::<Principal>().cloned().or_else(shared)
            }
            Application::Verifier(verify) => {
                let verified = timeout(VERIFY_TIMEOUT, guarded(verify, headers.clone())).await;
                Some(verified.unwrap_or_else(|_| Err(failed("has not ended in time")))?)
            }
        };
        Ok(principal.filter(|principal| !principal.is_anonymous()))
    }
}

/// Runs a verifier. A panic in it is a refusal of this request, not the end of its connection.
async fn guarded(verify: &Verify, headers: HeaderMap) -> Result<Principal, Challenge> {
    let mut headers = Some(headers);
    let mut verified = None;
    let poll = poll_fn(|cx| {
        let mut poll = || {
            let started = || verify(headers.take().unwrap_or_default());
            verified.get_or_insert_with(started).as_mut().poll(cx)
        };
        catch_unwind(AssertUnwindSafe(&mut poll)).unwrap_or_else(|panic| {
            // To drop it could panic again.
            std::mem::forget(panic);
            Poll::Ready(Err(failed("has panicked")))
        })
    });
    poll.await
}

/// The refusal for credentials of which nothing is known.
fn failed(problem: &str) -> Challenge {
    tracing::error!("the function of `Auth::verifier` {problem}");
    Challenge::unavailable("the credentials cannot be verified now")
}

impl fmt::Debug for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Application::Extensions => "Extensions",
            Application::Verifier(_) => "Verifier",
        })
    }
}

impl Auth {
    /// Takes the principal that a layer around the server (tower, axum) has put into the extensions of the request, as a
    /// [`Principal`] or an `Arc<Principal>`. A request without one gets 401, unless authentication is
    /// [`optional`](Self::optional).
    ///
    /// ```
    /// use papertape_oauth::Principal;
    /// use papertape_oauth::server::Auth;
    ///
    /// // In the layer:
    /// let mut request = http::Request::new(());
    /// request.extensions_mut().insert(Principal::new("alice").scope("notes:write"));
    /// // For the server:
    /// let auth = Auth::from_extensions();
    /// ```
    pub fn from_extensions() -> Self {
        let mut auth = Self::new();
        auth.application = Some(Application::Extensions);
        auth
    }

    /// Authenticates requests with an async function, from their headers to a principal, or to the [`Challenge`] that is sent
    /// back. [`bearer_token`](super::bearer_token) reads a token from them.
    ///
    /// It is called for every request, also for those of one session. If it panics or takes longer than 30 seconds, the response
    /// is 503. A stream that it has admitted is not verified again: it is closed when the principal
    /// [expires](Principal::expires).
    ///
    /// ```
    /// use http::HeaderMap;
    /// use papertape_oauth::Principal;
    /// use papertape_oauth::server::{Auth, Challenge};
    ///
    /// let auth = Auth::verifier(async |headers: HeaderMap| match headers.get("x-user") {
    ///     Some(user) => Ok(Principal::new(user.to_str().unwrap_or_default())),
    ///     None => Err(Challenge::unauthorized("sign in first")),
    /// });
    /// ```
    pub fn verifier<F, Fut>(verify: F) -> Self
    where
        F: Fn(HeaderMap) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Principal, Challenge>> + Send + 'static,
    {
        let verify = move |headers: HeaderMap| -> Verified { Box::pin(verify(headers)) };
        let mut auth = Self::new();
        auth.application = Some(Application::Verifier(Box::new(verify)));
        auth
    }
}
