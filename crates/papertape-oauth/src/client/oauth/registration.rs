//! Client registration: a given client, a client id metadata document, an earlier registration, or a new one (RFC 7591).

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::authorization_server::AuthorizationServer;
use super::http_client::{HttpClient, display_url};
use super::network::{self, Zone};
use super::oauth_client::{OAuthClient, RegisteredClient};
use super::secret::Secret;
use crate::client::error::{AuthError, AuthStep, quote};

const STEP: AuthStep = AuthStep::Registration;

/// What the options say about this client.
pub(super) struct ClientOptions<'a> {
    pub(super) client: Option<&'a OAuthClient>,
    pub(super) metadata_url: Option<&'a str>,
    pub(super) name: &'a str,
}

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<String>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
}

/// The client to use with an authorization server. `earlier` is the one that it has registered before.
pub(super) async fn client(
    http: &HttpClient,
    issuer: &AuthorizationServer,
    options: &ClientOptions<'_>,
    earlier: Option<RegisteredClient>,
    redirect_uri: &str,
) -> Result<RegisteredClient, AuthError> {
    if let Some(client) = options.client {
        return Ok(RegisteredClient::given(client, Some(redirect_uri.to_owned())));
    }
    if let (true, Some(url)) = (issuer.client_id_urls, options.metadata_url) {
        return Ok(RegisteredClient::given(&OAuthClient::new(url), Some(redirect_uri.to_owned())));
    }
    let usable = |client: &RegisteredClient| {
        client.redirect_uri.as_deref() == Some(redirect_uri) && !client.is_expired()
    };
    match (earlier.filter(usable), &issuer.registration) {
        (Some(earlier), _) => Ok(earlier),
        (None, Some(endpoint)) => register(http, issuer, endpoint, options.name, redirect_uri).await,
        (None, None) => Err(AuthError::permanent(
            STEP,
            format!(
                "{} does not support dynamic client registration: register a client there with the redirect URI \
                 {redirect_uri}, and configure its client id",
                quote(&issuer.name, &[])
            ),
        )),
    }
}

async fn register(
    http: &HttpClient,
    issuer: &AuthorizationServer,
    endpoint: &Url,
    name: &str,
    redirect_uri: &str,
) -> Result<RegisteredClient, AuthError> {
    let body = json!({
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth_method(issuer),
        "application_type": application_type(redirect_uri),
    });
    let response = http.post_json(STEP, endpoint, &body).await?;
    if issuer.has_default_endpoints() && response.status.is_client_error() {
        return Err(AuthError::permanent(
            STEP,
            format!(
                "{} has no authorization metadata, and no registration endpoint at {} either: ask its operator for a \
                 token",
                quote(&issuer.name, &[]),
                display_url(endpoint)
            ),
        ));
    }
    if !response.status.is_success() {
        return Err(AuthError::permanent(
            STEP,
            format!(
                "{} refuses the registration: {}; if that does not change, register a client by hand and configure its \
                 client id",
                display_url(endpoint),
                response.error(&[])
            ),
        ));
    }
    let registered: RegistrationResponse = response.json(STEP, endpoint)?;
    tracing::info!(issuer = %issuer.name, "registered a new client");
    Ok(RegisteredClient {
        id: registered.client_id,
        secret: registered.client_secret.map(Secret::new),
        method: registered.token_endpoint_auth_method,
        redirect_uri: Some(redirect_uri.to_owned()),
        secret_expires_at: registered.client_secret_expires_at.unwrap_or_default(),
        dynamic: true,
    })
}

/// A public client if possible: a program on a user's machine cannot keep a secret.
fn auth_method(issuer: &AuthorizationServer) -> &str {
    let Some(methods) = &issuer.methods else { return "none" };
    ["none", "client_secret_basic", "client_secret_post"]
        .into_iter()
        .find(|known| methods.iter().any(|method| method == known))
        .unwrap_or("none")
}

/// A client whose redirect URI is on the user's machine is native.
fn application_type(redirect_uri: &str) -> &'static str {
    match Url::parse(redirect_uri) {
        Ok(url) if url.scheme() == "https" && network::zone(&url) == Zone::Public => "web",
        _ => "native",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_on_this_machine_means_a_native_client() {
        for native in ["http://127.0.0.1:1/callback", "http://localhost/x", "com.example.app:/cb"] {
            assert_eq!(application_type(native), "native", "{native}");
        }
        assert_eq!(application_type("https://example.com/callback"), "web");
    }
}
