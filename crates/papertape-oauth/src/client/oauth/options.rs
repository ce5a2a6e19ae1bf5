//! The options of the OAuth client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::browser::Browser;
use super::dpop::Dpop;
use super::flow::OAuthFlow;
use super::grant::{Assertion, Grant, IdentityProvider};
use super::oauth_client::OAuthClient;
use super::token_store::{MemoryTokens, TokenStore};
use crate::client::Credentials;

/// How a client obtains access tokens for one server (OAuth 2.1).
///
/// The flow starts when the server responds to a request with a challenge: the client reads the metadata of the server and of
/// its authorization server, registers if it has to, requests authorization, and sends the request again with the token.
///
/// ```
/// use papertape_oauth::client::{Browser, Credentials, FileTokens, OAuth};
///
/// let credentials: Credentials = OAuth::new()
///     .client_name("My program")
///     .browser(Browser::loopback(|url| {
///         eprintln!("Please open {url}");
///         Ok::<_, std::io::Error>(())
///     }))
///     .store(FileTokens::new("/home/me/.local/share/mine/tokens.json"))
///     .into();
/// ```
#[derive(Clone)]
pub struct OAuth {
    pub(super) grant: Grant,
    pub(super) client: Option<OAuthClient>,
    pub(super) client_url: Option<String>,
    pub(super) client_name: String,
    pub(super) redirect_uri: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) browser: Browser,
    pub(super) browser_timeout: Duration,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) dpop: Dpop,
    pub(super) certificates: Vec<Vec<u8>>,
}

impl OAuth {
    /// The authorization code grant: the resource owner grants access in a [`browser`](Self::browser).
    #[must_use]
    pub fn new() -> Self {
        Self {
            grant: Grant::AuthorizationCode,
            client: None,
            client_url: None,
            client_name: "papertape".to_owned(),
            redirect_uri: None,
            scopes: Vec::new(),
            browser: Browser::unavailable("this program has not configured one (`OAuth::browser`)"),
            browser_timeout: Duration::from_secs(300),
            store: Arc::new(MemoryTokens::new()),
            dpop: Dpop::default(),
            certificates: Vec::new(),
        }
    }

    /// The client credentials grant: the client acts on its own behalf.
    #[must_use]
    pub fn client_credentials(client: OAuthClient) -> Self {
        Self { grant: Grant::ClientCredentials, ..Self::new() }.client(client)
    }

    /// Enterprise-managed authorization: the identity provider of the organisation grants access. `client` is this program as
    /// registered with the authorization server of the server.
    #[must_use]
    pub fn enterprise(client: OAuthClient, provider: IdentityProvider) -> Self {
        Self { grant: Grant::Enterprise(provider), ..Self::new() }.client(client)
    }

    /// Workload identity: a JWT assertion of the platform that the program runs on (RFC 7523).
    #[must_use]
    pub fn workload(client: OAuthClient, assertion: Assertion) -> Self {
        Self { grant: Grant::Workload(assertion), ..Self::new() }.client(client)
    }

    /// A registered client; without it, the client registers itself.
    #[must_use]
    pub fn client(mut self, client: OAuthClient) -> Self {
        self.client = Some(client);
        self
    }

    /// The https URL of a client id metadata document, which is the client id where the authorization server supports that.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_url = Some(url.into());
        self
    }

    /// The name of this program on the consent page (`client_name`).
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// The redirect URI. Default: a free port of 127.0.0.1.
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// Scopes to request in addition to those of the challenge. Default: those of the challenge, else of the metadata.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The user agent of the authorization code grant.
    #[must_use]
    pub fn browser(mut self, browser: Browser) -> Self {
        self.browser = browser;
        self
    }

    /// How long the resource owner may take in the browser. Default: five minutes.
    #[must_use]
    pub fn browser_timeout(mut self, timeout: Duration) -> Self {
        self.browser_timeout = timeout;
        self
    }

    /// Where tokens are kept. Default: in memory.
    #[must_use]
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Whether tokens are sender-constrained. Default: if the authorization server supports it.
    #[must_use]
    pub fn dpop(mut self, dpop: Dpop) -> Self {
        self.dpop = dpop;
        self
    }

    /// An additional root certificate for the authorization server, in PEM.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }
}

impl Default for OAuth {
    fn default() -> Self {
        Self::new()
    }
}

impl From<OAuth> for Credentials {
    fn from(options: OAuth) -> Self {
        Self::OAuth(Arc::new(OAuthFlow::new(options)))
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("grant", &self.grant)
            .field("client", &self.client)
            .field("browser", &self.browser)
            .field("dpop", &self.dpop)
            .finish_non_exhaustive()
    }
}
