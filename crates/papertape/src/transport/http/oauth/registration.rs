//! An issuer to a client id: one that was given, one that is a URL, one from before, or a new one (RFC 7591).

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::address::{self, Reach};
use super::client::{OAuthClient, Registered};
use super::error::{AuthError, AuthStep, quote};
use super::fetch::{Fetcher, place};
use super::issuer::Issuer;
use super::secret::Secret;

const STEP: AuthStep = AuthStep::Registration;

/// What a client knows about itself.
pub(crate) struct Own<'a> {
    pub(crate) given: Option<&'a OAuthClient>,
    pub(crate) url: Option<&'a str>,
    pub(crate) name: &'a str,
}

#[derive(Deserialize)]
struct Document {
    client_id: String,
    client_secret: Option<String>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
}

/// The client that an issuer knows us as. `before` is the one that this very issuer made earlier.
pub(crate) async fn client(
    fetcher: &Fetcher,
    issuer: &Issuer,
    own: &Own<'_>,
    before: Option<Registered>,
    redirect_uri: &str,
) -> Result<Registered, AuthError> {
    if let Some(given) = own.given {
        return Ok(Registered::given(given, Some(redirect_uri.to_owned())));
    }
    if let (true, Some(url)) = (issuer.takes_urls, own.url) {
        return Ok(Registered::given(&OAuthClient::new(url), Some(redirect_uri.to_owned())));
    }
    let same =
        |before: &Registered| before.redirect_uri.as_deref() == Some(redirect_uri) && !before.expired();
    match (before.filter(same), &issuer.registration) {
        (Some(before), _) => Ok(before),
        (None, Some(endpoint)) => register(fetcher, issuer, endpoint, own.name, redirect_uri).await,
        (None, None) => Err(AuthError::refusal(
            STEP,
            format!(
                "{} registers no clients by itself: register one there with the redirect URI {redirect_uri}, \
                 and give its id to this program",
                quote(&issuer.name, &[])
            ),
        )),
    }
}

async fn register(
    fetcher: &Fetcher,
    issuer: &Issuer,
    endpoint: &Url,
    name: &str,
    redirect_uri: &str,
) -> Result<Registered, AuthError> {
    let body = json!({
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method(issuer),
        "application_type": kind(redirect_uri),
    });
    let answer = fetcher.post_json(STEP, endpoint, &body).await?;
    if issuer.guessed() && answer.status.is_client_error() {
        return Err(AuthError::refusal(
            STEP,
            format!(
                "{} does not say how to get a token, and registers nobody at {} either: ask its operator for a token",
                quote(&issuer.name, &[]),
                place(endpoint)
            ),
        ));
    }
    if !answer.status.is_success() {
        return Err(AuthError::refusal(
            STEP,
            format!(
                "{} refuses to register this client: {}; if this stays so, register one by hand and give its id to \
                 this program",
                place(endpoint),
                answer.complaint(&[])
            ),
        ));
    }
    let document: Document = answer.json(STEP, endpoint)?;
    tracing::info!(issuer = %issuer.name, "registered a new client");
    Ok(Registered {
        id: document.client_id,
        secret: document.client_secret.map(Secret::new),
        method: document.token_endpoint_auth_method,
        redirect_uri: Some(redirect_uri.to_owned()),
        secret_expires_at: document.client_secret_expires_at.unwrap_or_default(),
        dynamic: true,
    })
}

/// Programs on people's machines cannot keep a secret, so none is wanted unless the server insists.
fn method(issuer: &Issuer) -> &str {
    let Some(methods) = &issuer.methods else { return "none" };
    ["none", "client_secret_basic", "client_secret_post"]
        .into_iter()
        .find(|known| methods.iter().any(|method| method == known))
        .unwrap_or("none")
}

/// A client whose browser comes back to this machine is a native one.
fn kind(redirect_uri: &str) -> &'static str {
    match Url::parse(redirect_uri) {
        Ok(url) if url.scheme() == "https" && address::reach(&url) == Reach::Far => "web",
        _ => "native",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_on_this_machine_is_native() {
        for native in ["http://127.0.0.1:1/callback", "http://localhost/x", "com.example.app:/cb"] {
            assert_eq!(kind(native), "native", "{native}");
        }
        assert_eq!(kind("https://example.com/callback"), "web");
    }
}
