//! Ways to a token without a person: what each sends to a token endpoint.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::address::{self, Reach};
use super::client::{self, OAuthClient, Proof, Registered};
use super::error::{AuthError, AuthStep};
use super::fetch::{Fetcher, place};
use super::secret::Secret;
use super::token::Request;

const STEP: AuthStep = AuthStep::Token;
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

type Failure = Box<dyn Error + Send + Sync>;
type Made = Pin<Box<dyn Future<Output = Result<Secret, Failure>> + Send>>;

/// A token from elsewhere that says who we are: a workload's, or a person's from their company's sign-in.
#[derive(Clone)]
pub struct Assertion {
    make: Arc<dyn Fn(String) -> Made + Send + Sync>,
}

impl Assertion {
    /// One that is there already.
    pub fn fixed(token: impl Into<Secret>) -> Self {
        let token = token.into();
        Self::from_fn(move |_| std::future::ready(Ok::<_, Failure>(token.clone())))
    }

    /// One that is made, or read from where the platform puts it, each time it is needed. The function gets the issuer
    /// that it is for.
    pub fn from_fn<F, Fut, E>(make: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Secret, E>> + Send + 'static,
        E: Into<Failure>,
    {
        let make = move |audience| -> Made {
            let made = make(audience);
            Box::pin(async move { made.await.map_err(Into::into) })
        };
        Self { make: Arc::new(make) }
    }

    async fn make(&self, audience: &str) -> Result<Secret, AuthError> {
        (self.make)(audience.to_owned())
            .await
            .map_err(|e| AuthError::new(STEP, format!("there is no assertion to show: {e}")))
    }
}

impl fmt::Debug for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Assertion(..)")
    }
}

/// A company's sign-in, which decides what its people may use (enterprise-managed authorization).
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    token_endpoint: String,
    client: OAuthClient,
    id_token: Assertion,
}

impl IdentityProvider {
    /// `client` is this program as the sign-in knows it, `id_token` the token that the person got when they signed in.
    pub fn new(token_endpoint: impl Into<String>, client: OAuthClient, id_token: Assertion) -> Self {
        Self { token_endpoint: token_endpoint.into(), client, id_token }
    }
}

/// How a client gets its tokens.
#[derive(Debug, Clone)]
pub(crate) enum Grant {
    /// A person allows it.
    Code,
    /// It is known itself.
    ClientCredentials,
    /// A company's sign-in allows it.
    Enterprise(IdentityProvider),
    /// The platform that it runs on vouches for it.
    Workload(Assertion),
}

/// What a token is for.
pub(crate) struct Purpose<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) scopes: &'a [String],
}

impl Purpose<'_> {
    /// The parameters that every request for a token has.
    pub(crate) fn form(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![("resource", self.resource.to_owned())];
        if !self.scopes.is_empty() {
            form.push(("scope", self.scopes.join(" ")));
        }
        form
    }
}

impl Grant {
    /// What goes to the token endpoint. None if a person must be asked. `fetcher` goes where the caller says.
    pub(crate) async fn form(
        &self,
        fetcher: &Fetcher,
        purpose: &Purpose<'_>,
    ) -> Result<Option<Vec<(&'static str, String)>>, AuthError> {
        let assertion = match self {
            Self::Code => return Ok(None),
            Self::ClientCredentials => {
                let mut form = vec![("grant_type", "client_credentials".to_owned())];
                form.extend(purpose.form());
                return Ok(Some(form));
            }
            Self::Enterprise(provider) => provider.exchange(fetcher, purpose).await?,
            Self::Workload(assertion) => assertion.make(purpose.issuer).await?,
        };
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()),
            ("assertion", assertion.reveal().to_owned()),
        ];
        form.extend(purpose.form());
        Ok(Some(form))
    }
}

impl IdentityProvider {
    /// The person's token to one for an authorization server (RFC 8693).
    async fn exchange(&self, fetcher: &Fetcher, purpose: &Purpose<'_>) -> Result<Secret, AuthError> {
        // The caller gave this address, so it may be as near as it likes.
        let endpoint = address::go_to(&self.token_endpoint, Reach::Here)
            .map_err(|why| AuthError::refusal(STEP, format!("the identity provider: {why}")))?;
        let person = self.id_token.make(purpose.issuer).await?;
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", ID_JAG.to_owned()),
            ("audience", purpose.issuer.to_owned()),
            ("subject_token", person.reveal().to_owned()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token".to_owned()),
        ];
        form.extend(purpose.form());
        let client = Registered::given(&self.client, None);
        let proof: &Proof = &self.client.proof;
        let audience = self.client.issuer.as_deref().unwrap_or(&self.token_endpoint);
        let shown = client::show(&client, Some(proof), audience, None)?;
        let request = Request { step: STEP, endpoint: &endpoint, form, shown, key: None };
        let given = request.send(fetcher, &mut None).await?;
        if given.issued_token_type.as_deref() != Some(ID_JAG) {
            return Err(AuthError::refusal(
                STEP,
                format!("{} gave a token of another type than it was asked for (id-jag)", place(&endpoint)),
            ));
        }
        Ok(given.access_token)
    }
}
