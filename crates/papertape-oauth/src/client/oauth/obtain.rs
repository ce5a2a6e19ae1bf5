//! The part of the flow that obtains tokens: by a grant, or by a refresh.

use super::authorization_code::{self, AuthorizationCode, AuthorizationRequest};
use super::authorization_server::AuthorizationServer;
use super::dpop::{Dpop, ProofKey};
use super::flow::{OAuthFlow, TokenTarget};
use super::grant::{Grant, TokenParameters};
use super::oauth_client::RegisteredClient;
use super::registration::{self, ClientOptions};
use super::secret::Secret;
use super::state::{ActiveTokens, Origin};
use super::token_request::{TokenRequest, TokenResponse};
use super::token_store::{SavedTokens, TokenKey};
use crate::client::error::{AuthError, AuthStep, quote};

impl OAuthFlow {
    /// Requests tokens with the grant of the options. `earlier` are tokens of the same issuer.
    pub(super) async fn request_grant(
        &self,
        target: &TokenTarget,
        earlier: Option<&SavedTokens>,
    ) -> Result<ActiveTokens, AuthError> {
        let key = self.proof_key(&target.issuer, earlier)?;
        let parameters = TokenParameters {
            issuer: &target.issuer.name,
            resource: &target.resource,
            scopes: &target.scopes,
        };
        let form = self.options.grant.form(self.unrestricted_http()?, &parameters).await?;
        let (client, form) = match form {
            Some(form) => (self.configured_client()?, form),
            None => self.authorize(target, earlier, key.as_ref()).await?,
        };
        let response = match self.request(AuthStep::Token, &target.issuer, &client, key.as_ref(), form).await
        {
            Ok(response) => response,
            Err(e) => {
                if e.permanent {
                    // The authorization server may have deleted the client: the next attempt registers a new one.
                    self.state().forget_client(&target.issuer.name);
                }
                return Err(e);
            }
        };
        let saved = self.checked_tokens(response, target.scopes.clone(), client, key.as_ref(), None)?;
        self.save(&target.key, &saved).await;
        Ok(ActiveTokens::new(target.issuer.clone(), target.resource.clone(), saved, Origin::Granted))
    }

    /// The authorization code grant, up to the form of the token request.
    async fn authorize(
        &self,
        target: &TokenTarget,
        earlier: Option<&SavedTokens>,
        key: Option<&ProofKey>,
    ) -> Result<(RegisteredClient, Vec<(&'static str, String)>), AuthError> {
        authorization_code::endpoint(&target.issuer)?;
        let options = &self.options;
        let registered = self.state().client(&target.issuer.name).cloned();
        let registered = registered
            .or_else(|| earlier.map(|earlier| earlier.client.clone()))
            .filter(|client| client.dynamic);
        let redirect_uri = registered.as_ref().and_then(|client| client.redirect_uri.as_deref());
        let redirect = options.browser.prepare(options.redirect_uri.as_deref(), redirect_uri).await?;
        let own = ClientOptions {
            client: options.client.as_ref(),
            metadata_url: options.client_url.as_deref(),
            name: &options.client_name,
        };
        let client =
            registration::client(self.http()?, &target.issuer, &own, registered, &redirect.redirect_uri)
                .await?;
        if client.dynamic {
            self.state().remember_client(&target.issuer.name, client.clone());
        }
        let request = AuthorizationRequest {
            issuer: &target.issuer,
            resource: &target.resource,
            client_id: &client.id,
            scopes: &target.scopes,
            dpop_jkt: key.map(ProofKey::thumbprint),
        };
        let AuthorizationCode { code, verifier, redirect_uri } =
            request.send(redirect, options.browser_timeout).await?;
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.reveal().to_owned()),
            ("code_verifier", verifier.reveal().to_owned()),
            ("redirect_uri", redirect_uri),
            ("resource", target.resource.clone()),
        ];
        Ok((client, form))
    }

    /// Refreshes tokens; a grant without a resource owner is repeated instead.
    pub(super) async fn refresh(&self, tokens: &ActiveTokens) -> Result<ActiveTokens, AuthError> {
        let key = TokenKey { server: self.server(), issuer: tokens.issuer.name.clone() };
        let refreshed = |saved| {
            ActiveTokens::new(tokens.issuer.clone(), tokens.resource.clone(), saved, Origin::Refreshed)
        };
        // Another process with the same store may have refreshed them.
        if let Ok(Some(stored)) = self.load(&key).await {
            let stored = refreshed(stored);
            if stored.saved.access_token != tokens.saved.access_token && !stored.is_expiring() {
                return Ok(stored);
            }
        }
        let parameters = TokenParameters {
            issuer: &tokens.issuer.name,
            resource: &tokens.resource,
            scopes: &tokens.saved.scopes,
        };
        let form = match (&self.options.grant, &tokens.saved.refresh_token) {
            (Grant::AuthorizationCode, Some(token)) => vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", token.reveal().to_owned()),
                ("resource", tokens.resource.clone()),
            ],
            (Grant::AuthorizationCode, None) => {
                return Err(AuthError::permanent(AuthStep::Refresh, "there is no refresh token"));
            }
            (grant, _) => grant.form(self.unrestricted_http()?, &parameters).await?.unwrap_or_default(),
        };
        let client = tokens.saved.client.clone();
        let response =
            self.request(AuthStep::Refresh, &tokens.issuer, &client, tokens.key.as_ref(), form).await?;
        let refresh_token = tokens.saved.refresh_token.clone();
        let scopes = tokens.saved.scopes.clone();
        let saved = self.checked_tokens(response, scopes, client, tokens.key.as_ref(), refresh_token)?;
        self.save(&key, &saved).await;
        Ok(refreshed(saved))
    }

    async fn request(
        &self,
        step: AuthStep,
        issuer: &AuthorizationServer,
        client: &RegisteredClient,
        key: Option<&ProofKey>,
        form: Vec<(&'static str, String)>,
    ) -> Result<TokenResponse, AuthError> {
        let supported = issuer.methods.as_deref();
        let configured = self.options.client.as_ref().filter(|configured| configured.id == client.id);
        let authentication = match configured {
            Some(configured) => RegisteredClient::given(configured, None).authenticate(
                Some(&configured.credential),
                &issuer.name,
                supported,
            )?,
            None => client.authenticate(None, &issuer.name, supported)?,
        };
        let mut nonce =
            self.state().issuer_nonce.clone().and_then(|(of, nonce)| (of == issuer.name).then_some(nonce));
        let request = TokenRequest { step, endpoint: &issuer.token, form, authentication, key };
        let response = request.send(self.http()?, &mut nonce).await;
        self.state().issuer_nonce = nonce.map(|nonce| (issuer.name.clone(), nonce));
        response
    }

    /// The client of a grant without a resource owner.
    fn configured_client(&self) -> Result<RegisteredClient, AuthError> {
        let client = self.options.client.as_ref().ok_or_else(|| {
            AuthError::new(AuthStep::Registration, "this grant needs a client, and none is configured")
        })?;
        Ok(RegisteredClient::given(client, None))
    }

    /// The key to bind a token to, if it is to be bound: the same one for the same issuer.
    fn proof_key(
        &self,
        issuer: &AuthorizationServer,
        earlier: Option<&SavedTokens>,
    ) -> Result<Option<ProofKey>, AuthError> {
        let bind = match self.options.dpop {
            Dpop::Off => false,
            Dpop::Auto => issuer.dpop,
            Dpop::Required => true,
        };
        if !bind {
            return Ok(None);
        }
        match earlier.and_then(|earlier| earlier.key.as_ref()).and_then(ProofKey::parse) {
            Some(key) => Ok(Some(key)),
            None => ProofKey::new().map(Some),
        }
    }

    /// The tokens of a response, if this client can use them.
    fn checked_tokens(
        &self,
        response: TokenResponse,
        scopes: Vec<String>,
        client: RegisteredClient,
        key: Option<&ProofKey>,
        refresh_token: Option<Secret>,
    ) -> Result<SavedTokens, AuthError> {
        let reject = |problem: String| Err(AuthError::permanent(AuthStep::Token, problem));
        if !matches!(response.token_type.as_str(), "bearer" | "dpop") {
            return reject(format!("unknown token type: {}", quote(&response.token_type, &[])));
        }
        if response.dpop && key.is_none() {
            return reject("the token is bound to a key that this client does not have".to_owned());
        }
        if self.options.dpop == Dpop::Required && !response.dpop {
            return reject(
                "the token is not bound to a key, as this program requires: the authorization server does not support \
                 DPoP, or has to be configured for it"
                    .to_owned(),
            );
        }
        if let Some(granted) = &response.scopes
            && let Some(missing) = scopes.iter().find(|scope| !granted.contains(scope))
        {
            tracing::debug!(scope = %quote(missing, &[]), "a requested scope was not granted");
        }
        // A secret from the options is not stored.
        let secret = client.secret.clone().filter(|_| client.dynamic);
        let client = RegisteredClient { secret, ..client };
        Ok(SavedTokens {
            access_token: response.access_token,
            dpop: response.dpop,
            expires_at: response.expires_at,
            lifetime: response.lifetime,
            refresh_token: response.refresh_token.or(refresh_token),
            scopes,
            client,
            // A refresh token may be bound although the access token is not.
            key: key.map(ProofKey::to_secret),
        })
    }

    /// Saves tokens. A failure is logged only: the tokens are valid in this process.
    async fn save(&self, key: &TokenKey, saved: &SavedTokens) {
        let (store, key, saved) = (self.options.store.clone(), key.clone(), saved.clone());
        let result = tokio::task::spawn_blocking(move || store.save(&key, &saved)).await;
        if let Err(e) = result.unwrap_or_else(|e| Err(std::io::Error::other(e))) {
            tracing::warn!("cannot save the tokens: {e}");
        }
    }
}
