//! The token request (RFC 6749, section 3.2), repeated once if the server requires a DPoP nonce.

use http::Method;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::dpop::{self, ProofKey};
use super::http_client::{HttpClient, HttpResponse, display_url};
use super::oauth_client::ClientAuthentication;
use super::secret::Secret;
use super::unix_time;
use crate::client::error::{AuthError, AuthStep};
use crate::split_scopes;

/// Seconds before it expires in which a token is not used any more.
const LEEWAY: u64 = 30;

pub(super) struct TokenRequest<'a> {
    pub(super) step: AuthStep,
    pub(super) endpoint: &'a Url,
    pub(super) form: Vec<(&'static str, String)>,
    pub(super) authentication: ClientAuthentication,
    pub(super) key: Option<&'a ProofKey>,
}

#[derive(Debug)]
pub(super) struct TokenResponse {
    pub(super) access_token: Secret,
    pub(super) dpop: bool,
    pub(super) lifetime: Option<u64>,
    pub(super) expires_at: Option<u64>,
    pub(super) refresh_token: Option<Secret>,
    /// The granted scopes, if they are not the requested ones.
    pub(super) scopes: Option<Vec<String>>,
    pub(super) issued_token_type: Option<String>,
    /// The token type, in lower case.
    pub(super) token_type: String,
}

#[derive(Deserialize)]
struct TokenDocument {
    access_token: String,
    token_type: String,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
    scope: Option<String>,
    issued_token_type: Option<String>,
}

impl TokenRequest<'_> {
    /// Sends the request. `nonce` is the last one of the endpoint, and is replaced by a newer one.
    pub(super) async fn send(
        mut self,
        http: &HttpClient,
        nonce: &mut Option<String>,
    ) -> Result<TokenResponse, AuthError> {
        self.form.append(&mut self.authentication.form);
        let mut response = self.once(http, nonce.as_deref()).await?;
        if let Some(newer) = dpop::nonce(&response.headers) {
            let required = response.error(&[]).error.as_deref() == Some("use_dpop_nonce");
            *nonce = Some(newer);
            if required && self.key.is_some() {
                response = self.once(http, nonce.as_deref()).await?;
                *nonce = dpop::nonce(&response.headers).or_else(|| nonce.take());
            }
        }
        self.read(&response)
    }

    async fn once(&self, http: &HttpClient, nonce: Option<&str>) -> Result<HttpResponse, AuthError> {
        let mut headers = self.authentication.headers.clone();
        if let Some(key) = self.key {
            headers.insert("dpop", key.proof(&Method::POST, self.endpoint, None, nonce)?);
        }
        let form: Vec<(&str, &str)> = self.form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        http.post_form(self.step, self.endpoint, &form, headers).await
    }

    fn read(&self, response: &HttpResponse) -> Result<TokenResponse, AuthError> {
        if !response.status.is_success() {
            let error = response.error(&self.secrets());
            let message = format!("{} responds with {error}", display_url(self.endpoint));
            // An overloaded or broken server may recover.
            return Err(if response.status.is_server_error() || response.status.as_u16() == 429 {
                AuthError::new(self.step, message)
            } else {
                AuthError::permanent(self.step, message)
            });
        }
        let document: TokenDocument = response.json(self.step, self.endpoint)?;
        if document.access_token.is_empty() {
            return Err(AuthError::permanent(
                self.step,
                format!("{} responds with an empty access_token", display_url(self.endpoint)),
            ));
        }
        let lifetime = document.expires_in.as_ref().and_then(seconds);
        let token_type = document.token_type.to_ascii_lowercase();
        Ok(TokenResponse {
            access_token: document.access_token.into(),
            dpop: token_type == "dpop",
            lifetime,
            expires_at: lifetime.map(|lifetime| unix_time().saturating_add(lifetime)),
            refresh_token: document.refresh_token.filter(|token| !token.is_empty()).map(Secret::new),
            scopes: document.scope.as_deref().map(split_scopes),
            issued_token_type: document.issued_token_type,
            token_type,
        })
    }

    /// What must not appear in an error.
    fn secrets(&self) -> Vec<&str> {
        let public = ["grant_type", "resource", "scope", "client_id", "redirect_uri", "audience"];
        self.form
            .iter()
            .filter(|(name, _)| !public.contains(name) && !name.ends_with("_type"))
            .map(|(_, value)| value.as_str())
            .chain(self.authentication.secret.as_ref().map(Secret::reveal))
            .collect()
    }
}

/// Some servers send the number as a string.
fn seconds(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    }
}

/// Whether a token has expired, or could expire before the request arrives.
pub(super) fn is_expiring(expires_at: Option<u64>, lifetime: Option<u64>) -> bool {
    let leeway = lifetime.map_or(LEEWAY, |lifetime| LEEWAY.min(lifetime / 4));
    expires_at.is_some_and(|end| end <= unix_time().saturating_add(leeway))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_refreshed_shortly_before_it_expires() {
        assert!(!is_expiring(None, None));
        assert!(is_expiring(Some(unix_time() + 10), Some(3600)));
        assert!(!is_expiring(Some(unix_time() + 60), Some(3600)));
        assert!(!is_expiring(Some(unix_time() + 10), Some(12)), "a short lifetime is used, too");
        assert!(is_expiring(Some(0), Some(12)));
    }

    #[test]
    fn a_lifetime_may_be_a_string() {
        assert_eq!(seconds(&Value::from(5)), Some(5));
        assert_eq!(seconds(&Value::from("5")), Some(5));
        assert_eq!(seconds(&Value::from(-5)), None);
    }
}
