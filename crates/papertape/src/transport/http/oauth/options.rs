//! What a caller says about how a client gets its tokens.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Credentials;
use super::browser::Browser;
use super::client::OAuthClient;
use super::dpop::Dpop;
use super::flow::Flow;
use super::grant::{Assertion, Grant, IdentityProvider};
use super::store::{MemoryTokens, TokenStore};

/// How a client gets tokens for one server (OAuth 2.1, as MCP has it).
///
/// Nothing happens before the server refuses a request. Then its metadata is read, a client id is found or made, a person
/// or a machine is asked, and the request is sent again.
///
/// ```
/// use papertape::http::{Browser, Credentials, FileTokens, OAuth};
///
/// let credentials: Credentials = OAuth::new()
///     .client_name("My program")
///     .browser(Browser::loopback(|url| {
///         eprintln!("Please open {url}");
///         Ok::<_, std::io::Error>(())
///     }))
///     .store(FileTokens::new("/home/me/.local/share/mine/tokens.json"))
///     .into();
/// # drop(credentials);
/// ```
#[derive(Clone)]
pub struct OAuth {
    pub(crate) grant: Grant,
    pub(crate) client: Option<OAuthClient>,
    pub(crate) client_url: Option<String>,
    pub(crate) client_name: String,
    pub(crate) redirect_uri: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) browser: Browser,
    pub(crate) patience: Duration,
    pub(crate) store: Arc<dyn TokenStore>,
    pub(crate) dpop: Dpop,
    pub(crate) certificates: Vec<Vec<u8>>,
}

impl OAuth {
    /// A person allows it, in a browser. Say which with [`browser`](Self::browser).
    #[must_use]
    pub fn new() -> Self {
        Self {
            grant: Grant::Code,
            client: None,
            client_url: None,
            client_name: "papertape".to_owned(),
            redirect_uri: None,
            scopes: Vec::new(),
            browser: Browser::nobody("this program was not told how to show a page"),
            patience: Duration::from_secs(300),
            store: Arc::new(MemoryTokens::new()),
            dpop: Dpop::default(),
            certificates: Vec::new(),
        }
    }

    /// The client is known itself, and no person is asked (client credentials).
    #[must_use]
    pub fn client_credentials(client: OAuthClient) -> Self {
        Self { grant: Grant::ClientCredentials, ..Self::new() }.client(client)
    }

    /// The company's sign-in decides (enterprise-managed authorization). `client` is this program as the MCP server's
    /// authorization server knows it.
    #[must_use]
    pub fn enterprise(client: OAuthClient, provider: IdentityProvider) -> Self {
        Self { grant: Grant::Enterprise(provider), ..Self::new() }.client(client)
    }

    /// The platform that the program runs on vouches for it (workload identity).
    #[must_use]
    pub fn workload(client: OAuthClient, assertion: Assertion) -> Self {
        Self { grant: Grant::Workload(assertion), ..Self::new() }.client(client)
    }

    /// A client that the authorization server knows already; none is registered then.
    #[must_use]
    pub fn client(mut self, client: OAuthClient) -> Self {
        self.client = Some(client);
        self
    }

    /// An https URL of a document about this client, which is its id where authorization servers take such ids.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_url = Some(url.into());
        self
    }

    /// The name that people read when they are asked.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Where browsers are sent back to. Without it: a free port of 127.0.0.1.
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// What is asked for besides what the server says. Without it: what the server says.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// How a person is asked.
    #[must_use]
    pub fn browser(mut self, browser: Browser) -> Self {
        self.browser = browser;
        self
    }

    /// How long a person may take; five minutes if nothing else is said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Where tokens are kept; in memory if nothing else is said.
    #[must_use]
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Whether tokens are bound to a key.
    #[must_use]
    pub fn dpop(mut self, dpop: Dpop) -> Self {
        self.dpop = dpop;
        self
    }

    /// Another certificate authority that may vouch for the servers of the flow, in PEM.
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
        Self::OAuth(Arc::new(Flow::new(options)))
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
