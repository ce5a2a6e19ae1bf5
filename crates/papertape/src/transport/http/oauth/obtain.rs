//! A need to a token: by asking somebody, or in exchange for an older one.

use super::authorize::{self, Permission, Question};
use super::client::{Proof, Registered};
use super::dpop::{Dpop, ProofKey};
use super::error::{AuthError, AuthStep, quote};
use super::flow::{Flow, Need};
use super::grant::{Grant, Purpose};
use super::held::{Held, Origin};
use super::issuer::Issuer;
use super::registration::{self, Own};
use super::store::{SavedTokens, TokenKey};
use super::token::{Given, Request};

impl Flow {
    /// Asks whoever can give a token. `before` is what the same issuer gave earlier.
    pub(super) async fn ask(&self, need: &Need, before: Option<&SavedTokens>) -> Result<Held, AuthError> {
        let key = self.key(&need.issuer, before)?;
        let form = self.options.grant.form(self.own_fetcher()?, &need.purpose()).await?;
        let (client, form) = match form {
            Some(form) => (self.given()?, form),
            None => self.ask_person(need, before, key.as_ref()).await?,
        };
        let given = match self.request(AuthStep::Token, &need.issuer, &client, key.as_ref(), form).await {
            Ok(given) => given,
            Err(e) => {
                if e.final_word {
                    // The issuer may have forgotten the client; the next one is new.
                    self.state().forget_client(&need.issuer.name);
                }
                return Err(e);
            }
        };
        let saved = self.saved(given, need.scopes.clone(), client, key.as_ref(), None)?;
        self.save(&need.key, &saved).await;
        Ok(Held::new(need.issuer.clone(), need.resource.clone(), saved, Origin::Asked))
    }

    /// The way through a browser, up to the form for the token endpoint.
    async fn ask_person(
        &self,
        need: &Need,
        before: Option<&SavedTokens>,
        key: Option<&ProofKey>,
    ) -> Result<(Registered, Vec<(&'static str, String)>), AuthError> {
        authorize::endpoint(&need.issuer)?;
        let options = &self.options;
        let known = self.state().client(&need.issuer.name).cloned();
        let known =
            known.or_else(|| before.map(|before| before.client.clone())).filter(|client| client.dynamic);
        let at = known.as_ref().and_then(|client| client.redirect_uri.as_deref());
        let visit = options.browser.prepare(options.redirect_uri.as_deref(), at).await?;
        let own = Own {
            given: options.client.as_ref(),
            url: options.client_url.as_deref(),
            name: &options.client_name,
        };
        let client =
            registration::client(self.fetcher()?, &need.issuer, &own, known, &visit.redirect_uri).await?;
        if client.dynamic {
            self.state().remember_client(&need.issuer.name, client.clone());
        }
        let question = Question {
            issuer: &need.issuer,
            resource: &need.resource,
            client_id: &client.id,
            scopes: &need.scopes,
            key: key.map(ProofKey::thumbprint),
        };
        let Permission { code, verifier, redirect_uri } =
            authorize::ask(&question, visit, options.patience).await?;
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.reveal().to_owned()),
            ("code_verifier", verifier.reveal().to_owned()),
            ("redirect_uri", redirect_uri),
            ("resource", need.resource.clone()),
        ];
        Ok((client, form))
    }

    /// A new token for an old one.
    pub(super) async fn renew(&self, held: &Held) -> Result<Held, AuthError> {
        let key = TokenKey { server: self.server(), issuer: held.issuer.name.clone() };
        // Another process with the same store may have been faster.
        if let Ok(Some(other)) = self.load(&key).await {
            let other = Held::new(held.issuer.clone(), held.resource.clone(), other, Origin::Renewed);
            if other.saved.access_token != held.saved.access_token && !other.stale() {
                return Ok(other);
            }
        }
        let purpose =
            Purpose { issuer: &held.issuer.name, resource: &held.resource, scopes: &held.saved.scopes };
        let form = match (&self.options.grant, &held.saved.refresh_token) {
            (Grant::Code, Some(token)) => vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", token.reveal().to_owned()),
                ("resource", held.resource.clone()),
            ],
            (Grant::Code, None) => {
                return Err(AuthError::refusal(AuthStep::Refresh, "there is nothing to renew it with"));
            }
            (other, _) => other.form(self.own_fetcher()?, &purpose).await?.unwrap_or_default(),
        };
        let client = held.saved.client.clone();
        let given = self.request(AuthStep::Refresh, &held.issuer, &client, held.key.as_ref(), form).await?;
        let old = held.saved.refresh_token.clone();
        let saved = self.saved(given, held.saved.scopes.clone(), client, held.key.as_ref(), old)?;
        self.save(&key, &saved).await;
        Ok(Held::new(held.issuer.clone(), held.resource.clone(), saved, Origin::Renewed))
    }

    async fn request(
        &self,
        step: AuthStep,
        issuer: &Issuer,
        client: &Registered,
        key: Option<&ProofKey>,
        form: Vec<(&'static str, String)>,
    ) -> Result<Given, AuthError> {
        let given = self.options.client.as_ref().filter(|given| given.id == client.id);
        let proof: Option<&Proof> = given.map(|given| &given.proof);
        let shown = match given {
            Some(given) => Registered::given(given, None).show(proof, issuer)?,
            None => client.show(None, issuer)?,
        };
        let mut nonce = self
            .state()
            .issuer_nonce
            .clone()
            .and_then(|(whose, nonce)| (whose == issuer.name).then_some(nonce));
        let request = Request { step, endpoint: &issuer.token, form, shown, key };
        let given = request.send(self.fetcher()?, &mut nonce).await;
        self.state().issuer_nonce = nonce.map(|nonce| (issuer.name.clone(), nonce));
        given
    }

    /// The client of the ways without a person.
    fn given(&self) -> Result<Registered, AuthError> {
        let client = self.options.client.as_ref().ok_or_else(|| {
            AuthError::new(
                AuthStep::Registration,
                "this way to a token needs a client id, and none was given",
            )
        })?;
        Ok(Registered::given(client, None))
    }

    /// The key to bind a token to, if it is to be bound: the same one for the same issuer.
    fn key(&self, issuer: &Issuer, before: Option<&SavedTokens>) -> Result<Option<ProofKey>, AuthError> {
        let wanted = match self.options.dpop {
            Dpop::Off => false,
            Dpop::Auto => issuer.dpop,
            Dpop::Required => true,
        };
        if !wanted {
            return Ok(None);
        }
        match before.and_then(|before| before.key.as_ref()).and_then(ProofKey::read) {
            Some(key) => Ok(Some(key)),
            None => ProofKey::new().map(Some),
        }
    }

    /// What is kept of what was given, if it can be used.
    fn saved(
        &self,
        given: Given,
        scopes: Vec<String>,
        client: Registered,
        key: Option<&ProofKey>,
        refresh_token: Option<super::secret::Secret>,
    ) -> Result<SavedTokens, AuthError> {
        let refuse = |why: String| Err(AuthError::refusal(AuthStep::Token, why));
        if !matches!(given.kind.as_str(), "bearer" | "dpop") {
            return refuse(format!(
                "the token is of a kind that nobody here knows: {}",
                quote(&given.kind, &[])
            ));
        }
        if given.dpop && key.is_none() {
            return refuse("the token is bound to a key that nobody here has".to_owned());
        }
        if self.options.dpop == Dpop::Required && !given.dpop {
            return refuse(
                "the token is not bound to a key (DPoP), as this program demands: the authorization server cannot do \
                 that, or must be told to"
                    .to_owned(),
            );
        }
        if let Some(granted) = &given.scopes
            && let Some(missing) = scopes.iter().find(|scope| !granted.contains(scope))
        {
            tracing::debug!(scope = %quote(missing, &[]), "a scope was asked for and not granted");
        }
        // A secret that the caller gave is the caller's to keep.
        let secret = client.secret.clone().filter(|_| client.dynamic);
        let client = Registered { secret, ..client };
        Ok(SavedTokens {
            access_token: given.access_token,
            dpop: given.dpop,
            expires_at: given.expires_at,
            lifetime: given.lifetime,
            refresh_token: given.refresh_token.or(refresh_token),
            scopes,
            client,
            // A token that renews others may be bound although the others are not.
            key: key.map(ProofKey::keep),
        })
    }

    /// Keeps tokens. If that fails they are still good for now, so it is only told.
    async fn save(&self, key: &TokenKey, saved: &SavedTokens) {
        let (store, key, saved) = (self.options.store.clone(), key.clone(), saved.clone());
        let kept = tokio::task::spawn_blocking(move || store.save(&key, &saved)).await;
        if let Err(e) = kept.unwrap_or_else(|e| Err(std::io::Error::other(e))) {
            tracing::warn!("the tokens are not kept: {e}");
        }
    }
}

impl Need {
    fn purpose(&self) -> Purpose<'_> {
        Purpose { issuer: &self.issuer.name, resource: &self.resource, scopes: &self.scopes }
    }
}
