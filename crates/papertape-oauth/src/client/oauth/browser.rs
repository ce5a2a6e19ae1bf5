//! How the resource owner is sent to the authorization endpoint and comes back.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::redirect_listener::RedirectListener;
use crate::client::error::{AuthError, AuthStep};

type BoxError = Box<dyn Error + Send + Sync>;
type Open = dyn Fn(&str) -> Result<(), BoxError> + Send + Sync;
type Authorize =
    dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<Redirect, BoxError>> + Send>> + Send + Sync;

/// The user agent: opens the authorization URL and returns the redirect that ends the authorization.
///
/// ```
/// use papertape_oauth::client::Browser;
///
/// // The redirect arrives at a port of this machine.
/// let browser = Browser::loopback(|url: &str| {
///     eprintln!("Please open {url}");
///     Ok::<_, std::io::Error>(())
/// });
/// // Without a user:
/// let none = Browser::unavailable("this is a cron job");
/// ```
#[derive(Clone)]
pub struct Browser {
    kind: BrowserKind,
}

#[derive(Clone)]
enum BrowserKind {
    Callback(Arc<Authorize>),
    Loopback(Arc<Open>),
    /// What the user can do instead.
    Unavailable(String),
}

impl Browser {
    /// A callback from the authorization URL to the redirect.
    pub fn new<F, Fut, E>(authorize: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Redirect, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let callback: Arc<Authorize> = Arc::new(move |url| {
            let redirect = authorize(url);
            Box::pin(async move { redirect.await.map_err(Into::into) })
        });
        Self { kind: BrowserKind::Callback(callback) }
    }

    /// A listener on 127.0.0.1 receives the redirect; `open` shows the authorization URL to the user or opens it in a browser.
    /// The URL comes from another party: do not pass it to a shell.
    pub fn loopback<F, E>(open: F) -> Self
    where
        F: Fn(&str) -> Result<(), E> + Send + Sync + 'static,
        E: Into<BoxError>,
    {
        Self { kind: BrowserKind::Loopback(Arc::new(move |url| open(url).map_err(Into::into))) }
    }

    /// No browser: authorization fails with this remedy.
    pub fn unavailable(remedy: impl Into<String>) -> Self {
        Self { kind: BrowserKind::Unavailable(remedy.into()) }
    }

    /// Prepares to receive a redirect at the configured redirect URI, or at the one that the client is registered with.
    pub(super) async fn prepare(
        &self,
        configured: Option<&str>,
        registered: Option<&str>,
    ) -> Result<PendingRedirect<'_>, AuthError> {
        match &self.kind {
            BrowserKind::Callback(authorize) => {
                let redirect_uri = configured.unwrap_or("http://127.0.0.1/callback").to_owned();
                Ok(PendingRedirect { redirect_uri, receiver: Receiver::Callback(authorize.as_ref()) })
            }
            BrowserKind::Loopback(open) => {
                let listener = RedirectListener::bind(configured, registered).await?;
                Ok(PendingRedirect {
                    redirect_uri: listener.redirect_uri().to_owned(),
                    receiver: Receiver::Loopback(open.as_ref(), listener),
                })
            }
            BrowserKind::Unavailable(remedy) => Err(AuthError::new(
                AuthStep::Authorization,
                format!("a user has to sign in with a browser: {remedy}"),
            )),
        }
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            BrowserKind::Callback(_) => "Browser::new(..)",
            BrowserKind::Loopback(_) => "Browser::loopback(..)",
            BrowserKind::Unavailable(_) => "Browser::unavailable(..)",
        })
    }
}

/// A redirect that can be received.
pub(super) struct PendingRedirect<'a> {
    pub(super) redirect_uri: String,
    receiver: Receiver<'a>,
}

enum Receiver<'a> {
    Callback(&'a Authorize),
    Loopback(&'a Open, RedirectListener),
}

impl PendingRedirect<'_> {
    /// Opens the authorization URL and waits for the redirect with this `state`.
    pub(super) async fn wait(self, url: &str, state: &str) -> Result<Redirect, AuthError> {
        let failed = |e: BoxError| AuthError::new(AuthStep::Authorization, format!("the browser: {e}"));
        match self.receiver {
            Receiver::Callback(authorize) => authorize(url.to_owned()).await.map_err(failed),
            Receiver::Loopback(open, listener) => {
                open(url).map_err(failed)?;
                listener.wait(state).await
            }
        }
    }
}

/// The parameters of an authorization response, which has the authorization code or an error.
///
/// ```
/// use papertape_oauth::client::{Browser, Redirect};
///
/// // A host that shows the URL in a window of its own, and learns to which URL the browser was redirected.
/// async fn show(url: String) -> String {
///     format!("com.example.host:/callback?code=c&state=s&shown={}", url.len())
/// }
///
/// let browser = Browser::new(async |url| Redirect::from_url(&show(url).await));
/// ```
#[derive(Clone)]
pub struct Redirect {
    parameters: Vec<(String, String)>,
}

impl Redirect {
    /// From the URL that the browser was redirected to.
    ///
    /// # Errors
    /// If it is not a URL.
    pub fn from_url(url: &str) -> Result<Self, url::ParseError> {
        Ok(Self::from_query(url::Url::parse(url)?.query().unwrap_or_default()))
    }

    /// From the query of that URL.
    #[must_use]
    pub fn from_query(query: &str) -> Self {
        let parameters = url::form_urlencoded::parse(query.as_bytes()).into_owned().take(64).collect();
        Self { parameters }
    }

    /// The value of a parameter; a repeated parameter is ambiguous and has none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.parameters.iter().filter(|(n, _)| n == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// Whether a parameter is present, once or repeated.
    pub(super) fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(n, _)| n == name)
    }
}

impl fmt::Debug for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parameters.iter().map(|(name, _)| name)).finish()
    }
}
