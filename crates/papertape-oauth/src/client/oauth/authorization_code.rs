//! The authorization request: through the browser to an authorization code.

use std::time::Duration;

use url::Url;

use super::authorization_server::AuthorizationServer;
use super::browser::{PendingRedirect, Redirect};
use super::pkce;
use super::secret::Secret;
use crate::client::error::{AuthError, AuthStep, quote};

const STEP: AuthStep = AuthStep::Authorization;

pub(super) struct AuthorizationRequest<'a> {
    pub(super) issuer: &'a AuthorizationServer,
    pub(super) resource: &'a str,
    pub(super) client_id: &'a str,
    pub(super) scopes: &'a [String],
    /// The thumbprint of the key that the token will be bound to.
    pub(super) dpop_jkt: Option<String>,
}

/// An authorization code, and what the token request needs to redeem it.
pub(super) struct AuthorizationCode {
    pub(super) code: Secret,
    pub(super) verifier: Secret,
    pub(super) redirect_uri: String,
}

/// The authorization endpoint, if the authorization server has one and supports PKCE.
pub(super) fn endpoint(issuer: &AuthorizationServer) -> Result<&Url, AuthError> {
    let name = quote(&issuer.name, &[]);
    if issuer.pkce == Some(false) {
        return Err(AuthError::permanent(
            STEP,
            format!(
                "{name} does not support PKCE with S256, so that a code could be stolen: its operator must list S256 in \
                 code_challenge_methods_supported"
            ),
        ));
    }
    issuer
        .authorization
        .as_ref()
        .ok_or_else(|| AuthError::permanent(STEP, format!("{name} has no authorization endpoint")))
}

impl AuthorizationRequest<'_> {
    /// Sends the resource owner to the authorization endpoint and waits for the redirect.
    pub(super) async fn send(
        &self,
        redirect: PendingRedirect<'_>,
        timeout: Duration,
    ) -> Result<AuthorizationCode, AuthError> {
        let redirect_uri = redirect.redirect_uri.clone();
        let (state, verifier) = (pkce::nonce()?, pkce::nonce()?);
        let mut url = endpoint(self.issuer)?.clone();
        // The query must not become part of a fragment.
        url.set_fragment(None);
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", &redirect_uri)
            .append_pair("state", &state)
            .append_pair("code_challenge", &pkce::digest(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", self.resource);
        if !self.scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &self.scopes.join(" "));
        }
        if let Some(thumbprint) = &self.dpop_jkt {
            url.query_pairs_mut().append_pair("dpop_jkt", thumbprint);
        }
        let response = tokio::time::timeout(timeout, redirect.wait(url.as_str(), &state))
            .await
            .map_err(|_| AuthError::new(STEP, format!("no redirect within {} s", timeout.as_secs())))??;
        let code = read_code(&response, self.issuer, &state)?;
        Ok(AuthorizationCode { code, verifier: Secret::new(verifier), redirect_uri })
    }
}

/// The code of an authorization response, if that belongs to this request and comes from the authorization server that the
/// request went to.
fn read_code(response: &Redirect, issuer: &AuthorizationServer, state: &str) -> Result<Secret, AuthError> {
    let mixed_up = |problem: &str| {
        AuthError::permanent(
            STEP,
            format!("{problem}: the response may be injected and is not used; start again"),
        )
    };
    if response.get("state") != Some(state) {
        return Err(mixed_up("the state of the authorization response is not the state of the request"));
    }
    // Nothing else of the response is used or shown before its issuer is known (RFC 9207).
    let name = quote(&issuer.name, &[]);
    match response.get("iss") {
        Some(iss) if iss == issuer.name => {}
        Some(iss) => {
            return Err(mixed_up(&format!(
                "the authorization response is from {}, not from {name}",
                quote(iss, &[])
            )));
        }
        None if response.has("iss") => return Err(mixed_up("the authorization response has several iss")),
        None if issuer.sends_iss => {
            return Err(mixed_up(&format!(
                "the authorization response has no iss, which {name} always sends"
            )));
        }
        None => {}
    }
    if let Some(error) = response.get("error") {
        let description = response.get("error_description").map(|text| format!(" ({})", quote(text, &[])));
        return Err(AuthError::permanent(
            STEP,
            format!("{name} responds with {}{}", quote(error, &[]), description.unwrap_or_default()),
        ));
    }
    match response.get("code") {
        Some(code) if !code.is_empty() => Ok(Secret::new(code)),
        _ => Err(AuthError::permanent(STEP, format!("the authorization response of {name} has no code"))),
    }
}
