//! Grants: the parameters of the token request.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::http_client::{HttpClient, display_url};
use super::network::{self, Zone};
use super::oauth_client::{OAuthClient, RegisteredClient};
use super::secret::Secret;
use super::token_request::TokenRequest;
use crate::client::error::{AuthError, AuthStep};

const STEP: AuthStep = AuthStep::Token;
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

type BoxError = Box<dyn Error + Send + Sync>;
type BoxedAssertion = Pin<Box<dyn Future<Output = Result<Secret, BoxError>> + Send>>;

/// A token of another issuer: the identity of a workload, or the ID token of a user.
///
/// ```
/// use papertape_oauth::client::{Assertion, OAuth, OAuthClient, Secret};
///
/// // Kubernetes writes a new token into the file before the old one expires.
/// let assertion = Assertion::from_fn(async |_audience| {
///     std::fs::read_to_string("/var/run/secrets/tokens/mcp").map(Secret::new)
/// });
/// let oauth = OAuth::workload(OAuthClient::new("nightly-job"), assertion);
/// ```
#[derive(Clone)]
pub struct Assertion {
    make: Arc<dyn Fn(String) -> BoxedAssertion + Send + Sync>,
}

impl Assertion {
    /// A fixed token.
    pub fn fixed(token: impl Into<Secret>) -> Self {
        let token = token.into();
        Self::from_fn(move |_| std::future::ready(Ok::<_, BoxError>(token.clone())))
    }

    /// A token that is made, or read from a file, for each token request. The function gets the issuer that is its audience.
    pub fn from_fn<F, Fut, E>(make: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Secret, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let make = move |audience| -> BoxedAssertion {
            let assertion = make(audience);
            Box::pin(async move { assertion.await.map_err(Into::into) })
        };
        Self { make: Arc::new(make) }
    }

    async fn make(&self, audience: &str) -> Result<Secret, AuthError> {
        (self.make)(audience.to_owned())
            .await
            .map_err(|e| AuthError::new(STEP, format!("cannot get the assertion: {e}")))
    }
}

impl fmt::Debug for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Assertion(..)")
    }
}

/// The identity provider of an organisation, which decides what its users may access (enterprise-managed authorization).
///
/// ```
/// use papertape_oauth::client::{Assertion, IdentityProvider, OAuth, OAuthClient};
///
/// let sso = OAuthClient::new("host-at-the-identity-provider").secret("s3cret");
/// let id_token = Assertion::fixed("eyJ..");
/// let provider = IdentityProvider::new("https://sso.example.com/token", sso, id_token);
/// let oauth = OAuth::enterprise(OAuthClient::new("host-at-the-server"), provider);
/// ```
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    token_endpoint: String,
    client: OAuthClient,
    id_token: Assertion,
}

impl IdentityProvider {
    /// `client` is this program as registered with the identity provider, `id_token` the ID token of the user.
    pub fn new(token_endpoint: impl Into<String>, client: OAuthClient, id_token: Assertion) -> Self {
        Self { token_endpoint: token_endpoint.into(), client, id_token }
    }
}

/// The grant type.
#[derive(Debug, Clone)]
pub(super) enum Grant {
    AuthorizationCode,
    ClientCredentials,
    /// A JWT authorization grant of the identity provider (ID-JAG).
    Enterprise(IdentityProvider),
    /// A JWT authorization grant of the platform.
    Workload(Assertion),
}

/// What a token is requested for.
pub(super) struct TokenParameters<'a> {
    pub(super) issuer: &'a str,
    pub(super) resource: &'a str,
    pub(super) scopes: &'a [String],
}

impl TokenParameters<'_> {
    /// The parameters of every token request.
    pub(super) fn form(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![("resource", self.resource.to_owned())];
        if !self.scopes.is_empty() {
            form.push(("scope", self.scopes.join(" ")));
        }
        form
    }
}

impl Grant {
    /// The form of the token request; `None` for the authorization code grant, which needs the code first.
    pub(super) async fn form(
        &self,
        http: &HttpClient,
        parameters: &TokenParameters<'_>,
    ) -> Result<Option<Vec<(&'static str, String)>>, AuthError> {
        let assertion = match self {
            Self::AuthorizationCode => return Ok(None),
            Self::ClientCredentials => {
                let mut form = vec![("grant_type", "client_credentials".to_owned())];
                form.extend(parameters.form());
                return Ok(Some(form));
            }
            Self::Enterprise(provider) => provider.exchange(http, parameters).await?,
            Self::Workload(assertion) => assertion.make(parameters.issuer).await?,
        };
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()),
            ("assertion", assertion.reveal().to_owned()),
        ];
        form.extend(parameters.form());
        Ok(Some(form))
    }
}

impl IdentityProvider {
    /// Exchanges the ID token for an assertion to an authorization server (RFC 8693).
    async fn exchange(
        &self,
        http: &HttpClient,
        parameters: &TokenParameters<'_>,
    ) -> Result<Secret, AuthError> {
        // The caller has configured this URL, so it may be in any zone.
        let endpoint = network::parse_url(&self.token_endpoint, Zone::Loopback)
            .map_err(|problem| AuthError::permanent(STEP, format!("the identity provider: {problem}")))?;
        let id_token = self.id_token.make(parameters.issuer).await?;
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", ID_JAG.to_owned()),
            ("audience", parameters.issuer.to_owned()),
            ("subject_token", id_token.reveal().to_owned()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token".to_owned()),
        ];
        form.extend(parameters.form());
        let client = RegisteredClient::given(&self.client, None);
        let audience = self.client.issuer.as_deref().unwrap_or(&self.token_endpoint);
        let authentication = client.authenticate(Some(&self.client.credential), audience, None)?;
        let request = TokenRequest { step: STEP, endpoint: &endpoint, form, authentication, key: None };
        let response = request.send(http, &mut None).await?;
        if response.issued_token_type.as_deref() != Some(ID_JAG) {
            return Err(AuthError::permanent(
                STEP,
                format!(
                    "{} responds with another token type than the requested one (id-jag)",
                    display_url(&endpoint)
                ),
            ));
        }
        Ok(response.access_token)
    }
}
