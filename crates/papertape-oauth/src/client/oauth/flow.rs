//! The OAuth flow of one server: every step from a challenge to a token, in order, one request at a time.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock};

use http::{HeaderMap, Method, StatusCode, header};
use url::Url;

use super::authorization_server::{self, AuthorizationServer};
use super::dpop;
use super::grant::Grant;
use super::http_client::{HttpClient, display_url};
use super::network::{self, Zone};
use super::options::OAuth;
use super::protected_resource::{self, ProtectedResource};
use super::resolver;
use super::state::{ActiveTokens, Origin, State};
use super::token_store::{SavedTokens, TokenKey};
use crate::client::credentials::authorization;
use crate::client::error::{AuthError, AuthStep, quote};
use crate::client::www_authenticate::TokenChallenge;
use crate::sync::lock;

/// How often one request may lead to a new token, and how often to a new nonce in addition.
const MAX_ATTEMPTS: usize = 3;
const MAX_NONCES: usize = 2;

/// The OAuth flow of one server, with its tokens: made from [`OAuth`].
pub struct OAuthFlow {
    pub(super) options: OAuth,
    /// For the URLs that the server names.
    http: OnceLock<Result<HttpClient, AuthError>>,
    /// For the URLs in the options, which may be in any network zone.
    unrestricted_http: OnceLock<Result<HttpClient, AuthError>>,
    state: Mutex<State>,
    /// Held while tokens are obtained: other requests wait, and use the same.
    obtaining: tokio::sync::Mutex<()>,
}

/// What a token is obtained for.
pub(super) struct TokenTarget {
    pub(super) issuer: AuthorizationServer,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
    pub(super) key: TokenKey,
}

impl OAuthFlow {
    pub(super) fn new(options: OAuth) -> Self {
        Self {
            options,
            http: OnceLock::new(),
            unrestricted_http: OnceLock::new(),
            state: Mutex::new(State::default()),
            obtaining: tokio::sync::Mutex::new(()),
        }
    }

    /// The headers for one request.
    pub(crate) async fn headers(&self, method: &Method, url: &Url) -> Result<HeaderMap, AuthError> {
        if self.should_refresh() {
            self.refresh_in_time().await;
        }
        let mut headers = HeaderMap::new();
        let mut state = self.state();
        let nonce = state.nonce.clone();
        let Some(tokens) = state.use_active() else { return Ok(headers) };
        if !protected_resource::covers(&tokens.resource, url) {
            return Ok(headers);
        }
        let token = tokens.saved.access_token.reveal();
        let scheme = if tokens.saved.dpop { "DPoP" } else { "Bearer" };
        headers.insert(header::AUTHORIZATION, authorization(scheme, token)?);
        if let (true, Some(key)) = (tokens.saved.dpop, &tokens.key) {
            headers.insert("dpop", key.proof(method, url, Some(token), nonce.as_deref())?);
        }
        Ok(headers)
    }

    /// Reads the next DPoP nonce from the headers of a response, and remembers the address of the server.
    pub(crate) fn observe(&self, headers: &HeaderMap, peer: Option<SocketAddr>) {
        let mut state = self.state();
        state.peer = peer;
        if let Some(nonce) = dpop::nonce(headers) {
            state.nonce = Some(nonce);
        }
    }

    /// Handles a challenge: obtains what the request needs to be sent again.
    pub(crate) async fn challenged(
        &self,
        url: &Url,
        status: StatusCode,
        headers: &HeaderMap,
        attempt: usize,
    ) -> Result<(), AuthError> {
        let challenge = TokenChallenge::parse(headers);
        let (generation, failures) = {
            let mut state = self.state();
            if let Some(nonce) = dpop::nonce(headers) {
                state.nonce = Some(nonce);
                let required = challenge.error.as_deref() == Some("use_dpop_nonce");
                if required && state.active().is_some() && attempt <= MAX_ATTEMPTS + MAX_NONCES {
                    return Ok(());
                }
            }
            (state.generation, state.failures)
        };
        let _obtaining = self.obtaining.lock().await;
        if self.state().generation != generation {
            return Ok(());
        }
        if let Some(failure) = self.state().failure_since(failures) {
            return Err(failure);
        }
        self.check_server(url)?;
        if self.may_predate_tokens(status, &challenge, attempt) {
            return Ok(());
        }
        check_challenge(url, status, &challenge, attempt)?;
        if let Some(failure) = self.state().permanent_failure(&challenge) {
            return Err(failure);
        }
        let obtained = self.obtain(url, status, &challenge, attempt).await;
        let mut state = self.state();
        match obtained {
            Ok(tokens) => {
                state.activate(tokens);
                Ok(())
            }
            Err(error) => {
                state.remember_failure(&challenge, &error);
                Err(error)
            }
        }
    }

    /// A flow is for one server: its tokens are not sent to another.
    fn check_server(&self, url: &Url) -> Result<(), AuthError> {
        network::parse_url(url.as_str(), network::zone(url)).map_err(|problem| {
            AuthError::permanent(AuthStep::Request, format!("tokens need an encrypted connection: {problem}"))
        })?;
        let mut state = self.state();
        let server = state.server.get_or_insert_with(|| url.clone()).clone();
        let covered = state.active().is_some_and(|tokens| protected_resource::covers(&tokens.resource, url));
        if server.as_str() == url.as_str() || covered {
            return Ok(());
        }
        Err(AuthError::permanent(
            AuthStep::Request,
            format!(
                "these credentials are for {}, not for {}: use other credentials for another server",
                display_url(&server),
                display_url(url)
            ),
        ))
    }

    /// Whether the challenged request may have been sent before the active tokens were issued.
    fn may_predate_tokens(&self, status: StatusCode, challenge: &TokenChallenge, attempt: usize) -> bool {
        let mut state = self.state();
        let may = attempt == 1
            && state.active().is_some_and(|tokens| {
                tokens.is_new()
                    && (status == StatusCode::UNAUTHORIZED || tokens.covers_scopes(&challenge.scopes))
            });
        if may {
            state.mark_retried();
        }
        may
    }

    /// Discovers the authorization server, and gets a token from the store, by a refresh or by a grant.
    async fn obtain(
        &self,
        url: &Url,
        status: StatusCode,
        challenge: &TokenChallenge,
        attempt: usize,
    ) -> Result<ActiveTokens, AuthError> {
        let server = self.state().server.clone().unwrap_or_else(|| url.clone());
        self.find_zone(&server).await;
        let http = self.http()?;
        let resource =
            protected_resource::discover(http, &server, challenge.resource_metadata.as_deref()).await?;
        let active = self.state().active().cloned();
        let name = self.choose_issuer(&resource, active.as_ref())?;
        let issuer = authorization_server::discover(http, &resource, &name, http.zone()).await?;
        let key = TokenKey { server: self.server(), issuer: name };
        let active = active.filter(|tokens| tokens.issuer.name == issuer.name);
        let earlier = match &active {
            Some(tokens) => Some(tokens.saved.clone()),
            None => self.load(&key).await?,
        };
        let scopes = self.scopes(&resource, &issuer, challenge, earlier.as_ref());
        let target = TokenTarget { issuer, resource: resource.name, scopes, key };
        if active.as_ref().is_some_and(|tokens| tokens.is_rejected(attempt, Origin::Granted))
            && status == StatusCode::UNAUTHORIZED
        {
            return Err(AuthError::permanent(
                AuthStep::Challenge,
                format!(
                    "{} rejects the token that {} has just issued for it ({}): tell the operator of the server",
                    display_url(&server),
                    quote(&target.key.issuer, &[]),
                    quote(challenge.reason().unwrap_or("no reason given"), &[])
                ),
            ));
        }
        if status == StatusCode::FORBIDDEN {
            check_step_up(&target, challenge, earlier.as_ref())?;
        } else if let Some(tokens) = self.reuse(&target, active.as_ref(), earlier.as_ref(), attempt).await? {
            return Ok(tokens);
        }
        self.request_grant(&target, earlier.as_ref()).await
    }

    /// Stored tokens, or a refresh of them; `None` if it takes a new grant.
    async fn reuse(
        &self,
        target: &TokenTarget,
        active: Option<&ActiveTokens>,
        earlier: Option<&SavedTokens>,
        attempt: usize,
    ) -> Result<Option<ActiveTokens>, AuthError> {
        let Some(earlier) = earlier else { return Ok(None) };
        if !target.scopes.iter().all(|scope| earlier.scopes.contains(scope)) {
            return Ok(None);
        }
        let stored = ActiveTokens::new(
            target.issuer.clone(),
            target.resource.clone(),
            earlier.clone(),
            Origin::Stored,
        );
        if active.is_none() && !stored.is_expiring() {
            return Ok(Some(stored));
        }
        if active.is_some_and(|tokens| tokens.is_rejected(attempt, Origin::Refreshed)) {
            return Ok(None);
        }
        if earlier.refresh_token.is_none() || !self.uses_authorization_code() {
            return Ok(None);
        }
        match self.refresh(&stored).await {
            Ok(refreshed) => Ok(Some(refreshed)),
            // The refresh token is not valid any more: a new grant may succeed.
            Err(e) if e.permanent => {
                tracing::debug!("{e}");
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Refreshes a token before it expires, once for all waiting requests.
    async fn refresh_in_time(&self) {
        let generation = self.state().generation;
        let _obtaining = self.obtaining.lock().await;
        let tokens = {
            let state = self.state();
            match state.active() {
                Some(tokens) if state.generation == generation && !state.refresh_failed_recently() => {
                    tokens.clone()
                }
                _ => return,
            }
        };
        match self.refresh(&tokens).await {
            Ok(refreshed) => self.state().activate(refreshed),
            Err(e) if e.permanent => {
                tracing::debug!("{e}");
                self.state().discard_active();
            }
            // The token may be valid for a few more seconds.
            Err(e) => {
                tracing::warn!("{e}");
                self.state().remember_refresh_failed();
            }
        }
    }

    fn should_refresh(&self) -> bool {
        let state = self.state();
        let can_refresh =
            |tokens: &ActiveTokens| tokens.saved.refresh_token.is_some() || !self.uses_authorization_code();
        state.active().is_some_and(|tokens| tokens.is_expiring() && can_refresh(tokens))
            && !state.refresh_failed_recently()
    }

    /// Chooses one of the issuers of a resource. A client from the options is used with its own issuer, or else only with the
    /// one that it was first used with.
    fn choose_issuer(
        &self,
        resource: &ProtectedResource,
        active: Option<&ActiveTokens>,
    ) -> Result<String, AuthError> {
        let mut state = self.state();
        let bound = match &self.options.client {
            Some(client) => client.issuer.clone().or_else(|| state.first_issuer.clone()),
            None => None,
        };
        let trusted = |name: &String| resource.issuers.contains(name);
        let first = || resource.issuers.first().cloned().unwrap_or_default();
        let name = match bound {
            Some(bound) if trusted(&bound) => bound,
            Some(bound) => {
                return Err(AuthError::permanent(
                    AuthStep::Registration,
                    format!(
                        "the configured client is registered with {}, but the server trusts {}: configure a client of \
                         that issuer",
                        quote(&bound, &[]),
                        quote(&resource.issuers.join(", "), &[])
                    ),
                ));
            }
            None => active.map(|tokens| tokens.issuer.name.clone()).filter(trusted).unwrap_or_else(first),
        };
        state.first_issuer.get_or_insert_with(|| name.clone());
        Ok(name)
    }

    /// The scopes to request: those of earlier requests, of the options, and of the challenge, else of the metadata.
    fn scopes(
        &self,
        resource: &ProtectedResource,
        issuer: &AuthorizationServer,
        challenge: &TokenChallenge,
        earlier: Option<&SavedTokens>,
    ) -> Vec<String> {
        let mut scopes: Vec<String> = earlier.map(|earlier| earlier.scopes.clone()).unwrap_or_default();
        let mut add = |more: &[String]| {
            for scope in more {
                if !scopes.contains(scope) {
                    scopes.push(scope.clone());
                }
            }
        };
        add(&self.options.scopes);
        add(&challenge.scopes);
        if challenge.scopes.is_empty() && self.options.scopes.is_empty() {
            add(&resource.scopes);
        }
        // Alone, it would be a request for a refresh token and no access.
        let offline = "offline_access".to_owned();
        let supported = issuer.scopes.contains(&offline) && !scopes.contains(&offline);
        if supported && !scopes.is_empty() && self.uses_authorization_code() {
            scopes.push(offline);
        }
        scopes
    }

    fn uses_authorization_code(&self) -> bool {
        matches!(self.options.grant, Grant::AuthorizationCode)
    }

    /// The server, as it stands in the token store.
    pub(super) fn server(&self) -> String {
        self.state().server.as_ref().map(without_fragment).unwrap_or_default()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Finds the network zone of the server, once: what the server names must not be in a less public one.
    async fn find_zone(&self, server: &Url) {
        if self.state().zone.is_none() {
            let peer = self.state().peer;
            let zone = resolver::zone(server, peer, resolver::by_system).await;
            self.state().zone = Some(zone);
        }
    }

    pub(super) fn http(&self) -> Result<&HttpClient, AuthError> {
        let from = self.state().zone.unwrap_or(Zone::Public);
        self.http.get_or_init(|| self.new_http(from)).as_ref().map_err(Clone::clone)
    }

    pub(super) fn unrestricted_http(&self) -> Result<&HttpClient, AuthError> {
        self.unrestricted_http.get_or_init(|| self.new_http(Zone::Loopback)).as_ref().map_err(Clone::clone)
    }

    fn new_http(&self, from: Zone) -> Result<HttpClient, AuthError> {
        let mut builder = reqwest::Client::builder();
        for pem in &self.options.certificates {
            let bundle = reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|_| AuthError::new(AuthStep::Request, "a root certificate is not PEM"))?;
            builder = bundle.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate);
        }
        HttpClient::new(builder, from, resolver::by_system)
    }

    pub(super) async fn load(&self, key: &TokenKey) -> Result<Option<SavedTokens>, AuthError> {
        let (store, key) = (self.options.store.clone(), key.clone());
        let loaded = tokio::task::spawn_blocking(move || store.load(&key)).await;
        loaded
            .unwrap_or_else(|e| Err(std::io::Error::other(e)))
            .map_err(|e| AuthError::new(AuthStep::Store, e.to_string()))
    }
}

/// Whether a token can help with a challenge at all.
fn check_challenge(
    url: &Url,
    status: StatusCode,
    challenge: &TokenChallenge,
    attempt: usize,
) -> Result<(), AuthError> {
    let reason = challenge.reason().map_or_else(|| "no reason given".to_owned(), |text| quote(text, &[]));
    let url = display_url(url);
    if attempt > MAX_ATTEMPTS {
        let problem = format!("{url} refused access {attempt} times in a row (HTTP {status}; {reason})");
        return Err(AuthError::new(AuthStep::Challenge, problem));
    }
    let helps = status == StatusCode::UNAUTHORIZED
        || challenge.error.as_deref() == Some("insufficient_scope")
        || !challenge.scopes.is_empty();
    if helps {
        return Ok(());
    }
    Err(AuthError::new(
        AuthStep::Challenge,
        format!("{url} denies access (HTTP {status}; {reason}), and names no scope that would allow it"),
    ))
}

/// A token that was requested with these very scopes does not get more by another request (step-up authorization).
fn check_step_up(
    target: &TokenTarget,
    challenge: &TokenChallenge,
    earlier: Option<&SavedTokens>,
) -> Result<(), AuthError> {
    let requested =
        earlier.is_some_and(|earlier| target.scopes.iter().all(|scope| earlier.scopes.contains(scope)));
    if !requested {
        return Ok(());
    }
    Err(AuthError::permanent(
        AuthStep::Challenge,
        format!(
            "the server requires the scopes \"{}\", which were requested already and not granted, or are not enough: sign \
             in as a user who has them",
            quote(&challenge.scopes.join(" "), &[])
        ),
    ))
}

/// The URL of a server as it stands in the token store.
pub(super) fn without_fragment(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

impl fmt::Debug for OAuthFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthFlow").field("options", &self.options).finish_non_exhaustive()
    }
}
