//! A refused request to a token: every step, in order, once at a time.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

use super::address::{self, Reach};
use super::challenge::{self, Wanted};
use super::dpop;
use super::error::{AuthError, AuthStep, quote};
use super::fetch::{Fetcher, place};
use super::grant::Grant;
use super::held::{Held, Origin, State};
use super::issuer::{self, Issuer};
use super::lookup;
use super::options::OAuth;
use super::resource::{self, Resource};
use super::store::{SavedTokens, TokenKey};

/// How often one request may lead to a new token, and how often to a new nonce besides.
const ATTEMPTS: usize = 3;
const NONCES: usize = 2;

/// An [`OAuth`] at work, for one server.
pub struct Flow {
    pub(super) options: OAuth,
    /// Goes where the server sends us, if it may.
    fetcher: OnceLock<Result<Fetcher, AuthError>>,
    /// Goes where the caller sends us.
    own_fetcher: OnceLock<Result<Fetcher, AuthError>>,
    state: Mutex<State>,
    /// Held by whoever gets tokens: all others wait, and use the same.
    flight: tokio::sync::Mutex<()>,
}

/// What a new token is for.
pub(super) struct Need {
    pub(super) issuer: Issuer,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
    pub(super) key: TokenKey,
}

impl Flow {
    pub(crate) fn new(options: OAuth) -> Self {
        let state = Mutex::new(State::default());
        Self {
            options,
            fetcher: OnceLock::new(),
            own_fetcher: OnceLock::new(),
            state,
            flight: tokio::sync::Mutex::new(()),
        }
    }

    /// The headers that one request needs.
    pub(crate) async fn headers(&self, method: &Method, url: &Url) -> Result<HeaderMap, AuthError> {
        if self.should_renew() {
            self.renew_in_time().await?;
        }
        let mut headers = HeaderMap::new();
        let mut state = self.state();
        let nonce = state.nonce.clone();
        let Some(held) = state.use_held() else { return Ok(headers) };
        if !resource::covers(&held.resource, url) {
            return Ok(headers);
        }
        let token = held.saved.access_token.reveal();
        let scheme = if held.saved.dpop { "DPoP" } else { "Bearer" };
        let mut value = HeaderValue::from_str(&format!("{scheme} {token}")).map_err(|_| {
            AuthError::new(AuthStep::Request, "the token has characters that no header can have")
        })?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
        if let (true, Some(key)) = (held.saved.dpop, &held.key) {
            headers.insert("dpop", key.proof(method, url, Some(token), nonce.as_deref())?);
        }
        Ok(headers)
    }

    /// The server answered from this address.
    pub(crate) fn met(&self, peer: Option<SocketAddr>) {
        self.state().peer = peer;
    }

    /// Looks at the headers of a response: the next nonce may be among them.
    pub(crate) fn observe(&self, headers: &HeaderMap) {
        if let Some(nonce) = dpop::nonce(headers) {
            self.state().nonce = Some(nonce);
        }
    }

    /// A request was refused: gets what it takes to send it again.
    pub(crate) async fn refused(
        &self,
        url: &Url,
        status: StatusCode,
        headers: &HeaderMap,
        attempt: usize,
    ) -> Result<(), AuthError> {
        let wanted = challenge::wanted(headers);
        self.observe(headers);
        let seen = {
            let state = self.state();
            let nonce = dpop::nonce(headers).is_some() && wanted.error.as_deref() == Some("use_dpop_nonce");
            if nonce && state.held().is_some() && attempt <= ATTEMPTS + NONCES {
                return Ok(());
            }
            (state.generation, state.failures)
        };
        let _flight = self.flight.lock().await;
        if self.state().generation != seen.0 {
            return Ok(());
        }
        if let Some(failure) = self.state().failure_since(seen.1) {
            return Err(failure);
        }
        self.check_server(url)?;
        if self.may_be_older(status, &wanted, attempt) {
            return Ok(());
        }
        check_challenge(url, status, &wanted, attempt)?;
        if let Some(before) = self.state().refusal(&wanted) {
            return Err(before);
        }
        let obtained = self.obtain(url, status, &wanted, attempt).await;
        let mut state = self.state();
        match obtained {
            Ok(held) => {
                state.hold(held);
                Ok(())
            }
            Err(error) => {
                state.remember_failure(&wanted, &error);
                Err(error)
            }
        }
    }

    /// An `OAuth` is for one server: what was got for it goes nowhere else.
    fn check_server(&self, url: &Url) -> Result<(), AuthError> {
        address::go_to(url.as_str(), address::reach(url)).map_err(|why| {
            AuthError::refusal(AuthStep::Request, format!("tokens only go where nobody reads along: {why}"))
        })?;
        let mut state = self.state();
        let known = state.server.get_or_insert_with(|| url.clone());
        let known = known.clone();
        let within = state.held().is_some_and(|held| resource::covers(&held.resource, url));
        if known.as_str() == url.as_str() || within {
            return Ok(());
        }
        Err(AuthError::refusal(
            AuthStep::Request,
            format!(
                "these credentials are for {}, not for {}: make others for another server",
                place(&known),
                place(url)
            ),
        ))
    }

    /// Whether the request that was refused may have been sent before the tokens in use were given.
    fn may_be_older(&self, status: StatusCode, wanted: &Wanted, attempt: usize) -> bool {
        let mut state = self.state();
        let older = attempt == 1
            && state.held().is_some_and(|held| {
                held.just_given() && (status == StatusCode::UNAUTHORIZED || held.has(&wanted.scopes))
            });
        if older {
            state.doubt_held();
        }
        older
    }

    /// Finds out who gives tokens, and gets one.
    async fn obtain(
        &self,
        url: &Url,
        status: StatusCode,
        wanted: &Wanted,
        attempt: usize,
    ) -> Result<Held, AuthError> {
        let server = self.state().server.clone().unwrap_or_else(|| url.clone());
        self.find_reach(&server).await;
        let fetcher = self.fetcher()?;
        let resource = resource::discover(fetcher, &server, wanted.resource_metadata.as_deref()).await?;
        let held = self.state().held().cloned();
        let name = self.choose(&resource, held.as_ref())?;
        let issuer = issuer::discover(fetcher, &resource, &name, fetcher.from()).await?;
        let key = TokenKey { server: self.server(), issuer: name };
        let held = held.filter(|held| held.issuer.name == issuer.name);
        let before = match &held {
            Some(held) => Some(held.saved.clone()),
            None => self.load(&key).await?,
        };
        let scopes = self.scopes(&resource, &issuer, wanted, before.as_ref());
        let need = Need { issuer, resource: resource.name, scopes, key };
        if held.as_ref().is_some_and(|held| held.in_vain(attempt, Origin::Asked))
            && status == StatusCode::UNAUTHORIZED
        {
            let why = wanted.description.as_deref().or(wanted.error.as_deref()).unwrap_or("without a reason");
            return Err(AuthError::refusal(
                AuthStep::Challenge,
                format!(
                    "{} refuses the token that {} has just given for it ({}): tell the server's operator",
                    place(&server),
                    quote(&need.key.issuer, &[]),
                    quote(why, &[])
                ),
            ));
        }
        if status == StatusCode::FORBIDDEN {
            self.check_step_up(&need, wanted, before.as_ref())?;
        } else if let Some(found) =
            self.without_asking(&need, held.as_ref(), before.as_ref(), attempt).await?
        {
            return Ok(found);
        }
        self.ask(&need, before.as_ref()).await
    }

    /// A token from before, or one in exchange for it. None if somebody must be asked.
    async fn without_asking(
        &self,
        need: &Need,
        held: Option<&Held>,
        before: Option<&SavedTokens>,
        attempt: usize,
    ) -> Result<Option<Held>, AuthError> {
        let Some(before) = before else { return Ok(None) };
        if !need.scopes.iter().all(|scope| before.scopes.contains(scope)) {
            return Ok(None);
        }
        let saved = Held::new(need.issuer.clone(), need.resource.clone(), before.clone(), Origin::Kept);
        if held.is_none() && !saved.stale() {
            return Ok(Some(saved));
        }
        if held.is_some_and(|held| held.in_vain(attempt, Origin::Renewed)) {
            return Ok(None);
        }
        if before.refresh_token.is_none() || !matches!(self.options.grant, Grant::Code) {
            return Ok(None);
        }
        match self.renew(&saved).await {
            Ok(renewed) => Ok(Some(renewed)),
            // Whoever gave the token does not want to renew it: there is still the long way.
            Err(e) if e.final_word => {
                tracing::debug!("{e}");
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Renews a token before it ends. One request does so for all.
    async fn renew_in_time(&self) -> Result<(), AuthError> {
        let seen = self.state().generation;
        let _flight = self.flight.lock().await;
        let held = {
            let state = self.state();
            match state.held() {
                Some(held) if state.generation == seen && !state.renewal_failed() => held.clone(),
                _ => return Ok(()),
            }
        };
        match self.renew(&held).await {
            Ok(renewed) => self.state().hold(renewed),
            Err(e) if e.final_word => {
                tracing::debug!("{e}");
                self.state().drop_held();
            }
            // The old one may be good for a few more seconds.
            Err(e) => {
                tracing::warn!("{e}");
                self.state().remember_renewal_failed();
            }
        }
        Ok(())
    }

    fn should_renew(&self) -> bool {
        let state = self.state();
        let can =
            |held: &Held| held.saved.refresh_token.is_some() || !matches!(self.options.grant, Grant::Code);
        state.held().is_some_and(|held| held.stale() && can(held)) && !state.renewal_failed()
    }

    /// The issuer to ask. A client that was given goes to its own issuer, or to the first that was named, and to no other.
    fn choose(&self, resource: &Resource, held: Option<&Held>) -> Result<String, AuthError> {
        let mut state = self.state();
        let bound = match &self.options.client {
            Some(client) => client.issuer.clone().or_else(|| state.first_issuer.clone()),
            None => None,
        };
        let named = |name: &String| resource.issuers.contains(name);
        let first = || resource.issuers.first().cloned().unwrap_or_default();
        let name = match bound {
            Some(bound) if named(&bound) => bound,
            Some(bound) => {
                return Err(AuthError::refusal(
                    AuthStep::Registration,
                    format!(
                        "the client id that this program was given is for {}, but the server trusts {}: get a client id \
                         from there",
                        quote(&bound, &[]),
                        quote(&resource.issuers.join(", "), &[])
                    ),
                ));
            }
            None => held.map(|held| held.issuer.name.clone()).filter(named).unwrap_or_else(first),
        };
        state.first_issuer.get_or_insert_with(|| name.clone());
        Ok(name)
    }

    /// What to ask for: what the server wants, else what it has, and what was asked for before.
    fn scopes(
        &self,
        resource: &Resource,
        issuer: &Issuer,
        wanted: &Wanted,
        before: Option<&SavedTokens>,
    ) -> Vec<String> {
        let mut scopes: Vec<String> = before.map(|before| before.scopes.clone()).unwrap_or_default();
        let mut add = |more: &[String]| {
            for scope in more {
                if !scopes.contains(scope) {
                    scopes.push(scope.clone());
                }
            }
        };
        add(&self.options.scopes);
        add(&wanted.scopes);
        if wanted.scopes.is_empty() && self.options.scopes.is_empty() {
            add(&resource.scopes);
        }
        // Alone it would ask for nothing but to stay.
        let offline = "offline_access".to_owned();
        let listed = issuer.scopes.contains(&offline) && !scopes.contains(&offline);
        if listed && !scopes.is_empty() && matches!(self.options.grant, Grant::Code) {
            scopes.push(offline);
        }
        scopes
    }

    /// A token that was asked for with these very scopes will not get better by asking again.
    fn check_step_up(
        &self,
        need: &Need,
        wanted: &Wanted,
        before: Option<&SavedTokens>,
    ) -> Result<(), AuthError> {
        let asked =
            before.is_some_and(|before| need.scopes.iter().all(|scope| before.scopes.contains(scope)));
        if !asked {
            return Ok(());
        }
        Err(AuthError::refusal(
            AuthStep::Challenge,
            format!(
                "the server wants the scopes \"{}\", which were asked for already and not granted, or do not help: sign in \
                 as somebody who has them",
                quote(&wanted.scopes.join(" "), &[])
            ),
        ))
    }

    /// The server, as its tokens are kept under.
    pub(super) fn server(&self) -> String {
        self.state().server.as_ref().map(without_fragment).unwrap_or_default()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How near the server is decides where it may send us; it is found out once.
    async fn find_reach(&self, server: &Url) {
        if self.state().reach.is_none() {
            let peer = self.state().peer;
            let reach = lookup::reach(server, peer, lookup::by_system).await;
            self.state().reach = Some(reach);
        }
    }

    pub(super) fn fetcher(&self) -> Result<&Fetcher, AuthError> {
        let from = self.state().reach.unwrap_or(Reach::Far);
        self.fetcher.get_or_init(|| self.new_fetcher(from)).as_ref().map_err(Clone::clone)
    }

    pub(super) fn own_fetcher(&self) -> Result<&Fetcher, AuthError> {
        self.own_fetcher.get_or_init(|| self.new_fetcher(Reach::Here)).as_ref().map_err(Clone::clone)
    }

    fn new_fetcher(&self, from: Reach) -> Result<Fetcher, AuthError> {
        let mut builder = reqwest::Client::builder();
        for pem in &self.options.certificates {
            let bundle = reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|_| AuthError::new(AuthStep::Request, "a root certificate is not PEM"))?;
            builder = bundle.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate);
        }
        Fetcher::new(builder, from, lookup::by_system)
    }

    /// What the store has; it may block.
    pub(super) async fn load(&self, key: &TokenKey) -> Result<Option<SavedTokens>, AuthError> {
        let (store, key) = (self.options.store.clone(), key.clone());
        let loaded = tokio::task::spawn_blocking(move || store.load(&key)).await;
        loaded
            .unwrap_or_else(|e| Err(std::io::Error::other(e)))
            .map_err(|e| AuthError::new(AuthStep::Store, e.to_string()))
    }
}

/// Whether a token could help at all.
fn check_challenge(url: &Url, status: StatusCode, wanted: &Wanted, attempt: usize) -> Result<(), AuthError> {
    let why = wanted.description.as_deref().or(wanted.error.as_deref()).map(|why| quote(why, &[]));
    if attempt > ATTEMPTS {
        return Err(AuthError::new(
            AuthStep::Challenge,
            format!(
                "{} said no {attempt} times in a row (HTTP {status}; {})",
                place(url),
                why.as_deref().unwrap_or("it does not say why")
            ),
        ));
    }
    let helps = status == StatusCode::UNAUTHORIZED
        || wanted.error.as_deref() == Some("insufficient_scope")
        || !wanted.scopes.is_empty();
    if helps {
        return Ok(());
    }
    Err(AuthError::new(
        AuthStep::Challenge,
        format!(
            "{} forbids this (HTTP {status}; {}), and names no scope that would allow it",
            place(url),
            why.as_deref().unwrap_or("it does not say why")
        ),
    ))
}

/// A server's URL as its tokens are kept under.
pub(super) fn without_fragment(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow").field("options", &self.options).finish_non_exhaustive()
    }
}
