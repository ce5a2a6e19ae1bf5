//! An authorization URL to what the person said: by whatever the caller has for a browser.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::error::{AuthError, AuthStep};
use super::loopback::Loopback;

type Failure = Box<dyn Error + Send + Sync>;
type Show = dyn Fn(&str) -> Result<(), Failure> + Send + Sync;
type Walk = Pin<Box<dyn Future<Output = Result<Redirect, Failure>> + Send>>;

/// How a person is asked: something that shows a URL and brings back where it led.
#[derive(Clone)]
pub struct Browser {
    way: Way,
}

#[derive(Clone)]
enum Way {
    /// The caller does it all.
    Hook(Arc<dyn Fn(String) -> Walk + Send + Sync>),
    /// The caller shows the URL; we listen on this machine.
    Loopback(Arc<Show>),
    /// There is nobody to ask; this is what to do.
    Nobody(String),
}

impl Browser {
    /// An async function from the authorization URL to the redirect that ended the visit.
    pub fn new<F, Fut, E>(walk: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Redirect, E>> + Send + 'static,
        E: Into<Failure>,
    {
        let hook = move |url| -> Walk {
            let walk = walk(url);
            Box::pin(async move { walk.await.map_err(Into::into) })
        };
        Self { way: Way::Hook(Arc::new(hook)) }
    }

    /// A listener on 127.0.0.1 waits for the redirect; `show` shows the URL to a person, or opens it in a browser. The
    /// URL came from strangers: give it to no shell.
    pub fn loopback<F, E>(show: F) -> Self
    where
        F: Fn(&str) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Failure>,
    {
        Self { way: Way::Loopback(Arc::new(move |url| show(url).map_err(Into::into))) }
    }

    /// There is nobody to ask. `instead` tells what to do, for the error.
    pub fn nobody(instead: impl Into<String>) -> Self {
        Self { way: Way::Nobody(instead.into()) }
    }

    /// Gets ready for a redirect. `wanted` is the caller's redirect URI, `before` the one that the client is registered with.
    pub(crate) async fn prepare(
        &self,
        wanted: Option<&str>,
        before: Option<&str>,
    ) -> Result<Visit<'_>, AuthError> {
        match &self.way {
            Way::Hook(hook) => {
                let redirect_uri = wanted.unwrap_or("http://127.0.0.1/callback").to_owned();
                Ok(Visit { redirect_uri, kind: Kind::Hook(hook.as_ref()) })
            }
            Way::Loopback(show) => {
                let listener = Loopback::bind(wanted, before).await?;
                Ok(Visit {
                    redirect_uri: listener.redirect_uri().to_owned(),
                    kind: Kind::Loopback(show.as_ref(), listener),
                })
            }
            Way::Nobody(instead) => Err(AuthError::new(
                AuthStep::Authorization,
                format!("somebody has to sign in with a browser: {instead}"),
            )),
        }
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.way {
            Way::Hook(_) => "Browser::new(..)",
            Way::Loopback(_) => "Browser::loopback(..)",
            Way::Nobody(_) => "Browser::nobody(..)",
        })
    }
}

/// One visit to an authorization server.
pub(crate) struct Visit<'a> {
    pub(crate) redirect_uri: String,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Hook(&'a (dyn Fn(String) -> Walk + Send + Sync)),
    Loopback(&'a Show, Loopback),
}

impl Visit<'_> {
    /// Sends the person there and waits until they are back. `state` is how their return is recognised.
    pub(crate) async fn walk(self, url: &str, state: &str) -> Result<Redirect, AuthError> {
        let failed = |e: Failure| AuthError::new(AuthStep::Authorization, format!("the browser: {e}"));
        match self.kind {
            Kind::Hook(hook) => hook(url.to_owned()).await.map_err(failed),
            Kind::Loopback(show, listener) => {
                show(url).map_err(failed)?;
                listener.wait(state).await
            }
        }
    }
}

/// The parameters of the redirect that ended a visit: the code is among them.
#[derive(Clone)]
pub struct Redirect {
    parameters: Vec<(String, String)>,
}

impl Redirect {
    /// From the URL that the browser was sent back to.
    ///
    /// # Errors
    /// If it is not a URL.
    pub fn from_url(url: &str) -> Result<Self, url::ParseError> {
        Ok(Self::from_query(url::Url::parse(url)?.query().unwrap_or_default()))
    }

    /// From that URL's query.
    #[must_use]
    pub fn from_query(query: &str) -> Self {
        let parameters = url::form_urlencoded::parse(query.as_bytes()).into_owned().take(64).collect();
        Self { parameters }
    }

    /// The value of a parameter. One that comes twice has none: which of the two was meant?
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.parameters.iter().filter(|(n, _)| n == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// Whether a parameter is there, once or more often.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(n, _)| n == name)
    }
}

impl fmt::Debug for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parameters.iter().map(|(name, _)| name)).finish()
    }
}
