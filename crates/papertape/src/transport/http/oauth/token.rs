//! A grant to tokens: one request to a token endpoint, and a second if a nonce is wanted.

use http::Method;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::client::{Shown, now};
use super::dpop::{self, ProofKey};
use super::error::{AuthError, AuthStep};
use super::fetch::{Answer, Fetcher, place};
use super::secret::Secret;

/// The seconds before its end in which a token is not used any more.
const LEEWAY: u64 = 30;

/// A request to a token endpoint.
pub(crate) struct Request<'a> {
    pub(crate) step: AuthStep,
    pub(crate) endpoint: &'a Url,
    pub(crate) form: Vec<(&'static str, String)>,
    /// Who asks.
    pub(crate) shown: Shown,
    pub(crate) key: Option<&'a ProofKey>,
}

/// What a token endpoint gave.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) access_token: Secret,
    pub(crate) dpop: bool,
    pub(crate) lifetime: Option<u64>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) refresh_token: Option<Secret>,
    /// What the token is good for, if it is not what was asked for.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) issued_token_type: Option<String>,
    /// The token's type, in lower case.
    pub(crate) kind: String,
}

#[derive(Deserialize)]
struct Document {
    access_token: String,
    token_type: String,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
    scope: Option<String>,
    issued_token_type: Option<String>,
}

impl Request<'_> {
    /// Asks. `nonce` is the endpoint's last one, and is replaced by a newer one.
    pub(crate) async fn send(
        mut self,
        fetcher: &Fetcher,
        nonce: &mut Option<String>,
    ) -> Result<Given, AuthError> {
        self.form.append(&mut self.shown.form);
        let mut answer = self.once(fetcher, nonce.as_deref()).await?;
        if let Some(newer) = dpop::nonce(&answer.headers) {
            let wanted = answer.complaint(&[]).error.as_deref() == Some("use_dpop_nonce");
            *nonce = Some(newer);
            if wanted && self.key.is_some() {
                answer = self.once(fetcher, nonce.as_deref()).await?;
                *nonce = dpop::nonce(&answer.headers).or_else(|| nonce.take());
            }
        }
        self.read(&answer)
    }

    async fn once(&self, fetcher: &Fetcher, nonce: Option<&str>) -> Result<Answer, AuthError> {
        let mut headers = self.shown.headers.clone();
        if let Some(key) = self.key {
            headers.insert("dpop", key.proof(&Method::POST, self.endpoint, None, nonce)?);
        }
        let form: Vec<(&str, &str)> = self.form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        fetcher.post_form(self.step, self.endpoint, &form, headers).await
    }

    fn read(&self, answer: &Answer) -> Result<Given, AuthError> {
        if !answer.status.is_success() {
            let said = answer.complaint(&self.secrets());
            let message = format!("{} says {said}", place(self.endpoint));
            // A server that is out of order may be in order later.
            return Err(if answer.status.is_server_error() || answer.status.as_u16() == 429 {
                AuthError::new(self.step, message)
            } else {
                AuthError::refusal(self.step, message)
            });
        }
        let document: Document = answer.json(self.step, self.endpoint)?;
        if document.access_token.is_empty() {
            return Err(AuthError::refusal(
                self.step,
                format!("{} gave an empty token", place(self.endpoint)),
            ));
        }
        let lifetime = document.expires_in.as_ref().and_then(seconds);
        let kind = document.token_type.to_ascii_lowercase();
        Ok(Given {
            access_token: document.access_token.into(),
            dpop: kind == "dpop",
            lifetime,
            expires_at: lifetime.map(|lifetime| now().saturating_add(lifetime)),
            refresh_token: document.refresh_token.filter(|token| !token.is_empty()).map(Secret::new),
            scopes: document.scope.as_deref().map(super::challenge::split),
            issued_token_type: document.issued_token_type,
            kind,
        })
    }

    /// What must not come back in an error's text.
    fn secrets(&self) -> Vec<&str> {
        let open = ["grant_type", "resource", "scope", "client_id", "redirect_uri", "audience"];
        self.form
            .iter()
            .filter(|(name, _)| !open.contains(name) && !name.ends_with("_type"))
            .map(|(_, value)| value.as_str())
            .chain(self.shown.secret.as_ref().map(Secret::reveal))
            .collect()
    }
}

/// Some servers write numbers as text.
fn seconds(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    }
}

/// Whether a token is at its end, or so near that it could end on the way.
pub(crate) fn stale(expires_at: Option<u64>, lifetime: Option<u64>) -> bool {
    let leeway = lifetime.map_or(LEEWAY, |lifetime| LEEWAY.min(lifetime / 4));
    expires_at.is_some_and(|end| end <= now().saturating_add(leeway))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_stale_a_little_before_its_end() {
        assert!(!stale(None, None));
        assert!(stale(Some(now() + 10), Some(3600)));
        assert!(!stale(Some(now() + 60), Some(3600)));
        assert!(!stale(Some(now() + 10), Some(12)), "a short life is used, too");
        assert!(stale(Some(0), Some(12)));
    }

    #[test]
    fn numbers_may_be_text() {
        assert_eq!(seconds(&Value::from(5)), Some(5));
        assert_eq!(seconds(&Value::from("5")), Some(5));
        assert_eq!(seconds(&Value::from(-5)), None);
    }
}
