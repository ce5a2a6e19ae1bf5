//! Authorization server metadata (RFC 8414, OpenID Connect Discovery).

use serde::Deserialize;
use url::Url;

use super::http_client::{HttpClient, display_url};
use super::network::{self, Zone};
use super::protected_resource::ProtectedResource;
use crate::client::error::{AuthError, AuthStep, quote};
use crate::oauth::authorization_server_metadata;

const STEP: AuthStep = AuthStep::ServerMetadata;

/// An authorization server and its endpoints, checked.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationServer {
    /// The issuer identifier, which is compared byte for byte.
    pub(super) name: String,
    pub(super) authorization: Option<Url>,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// `token_endpoint_auth_methods_supported`, if the metadata has it.
    pub(super) methods: Option<Vec<String>>,
    /// Authorization responses have `iss` (RFC 9207).
    pub(super) sends_iss: bool,
    /// Accepts the URL of a client id metadata document as a client id.
    pub(super) client_id_urls: bool,
    /// Accepts DPoP proofs with ES256.
    pub(super) dpop: bool,
    /// Supports PKCE with S256; `None` without metadata.
    pub(super) pkce: Option<bool>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: Option<bool>,
    client_id_metadata_document_supported: Option<bool>,
    dpop_signing_alg_values_supported: Option<Vec<String>>,
}

impl AuthorizationServer {
    /// Whether there is no metadata, so that the endpoints are the defaults of 2025-03-26.
    pub(super) fn has_default_endpoints(&self) -> bool {
        self.pkce.is_none()
    }
}

/// Fetches the metadata of an issuer that a protected resource in zone `from` names.
pub(super) async fn discover(
    http: &HttpClient,
    resource: &ProtectedResource,
    issuer: &str,
    from: Zone,
) -> Result<AuthorizationServer, AuthError> {
    let base = network::parse_url(issuer, from)
        .map_err(|problem| AuthError::permanent(STEP, format!("the issuer: {problem}")))?;
    let mut tried = Vec::new();
    for url in authorization_server_metadata(&base) {
        let response = http.get(STEP, &url).await?;
        if response.status.is_client_error() {
            tried.push(display_url(&url));
            continue;
        }
        response.expect_ok(STEP, &url)?;
        return read(response.json(STEP, &url)?, issuer, &url, from);
    }
    if resource.without_metadata {
        return with_default_endpoints(issuer, from);
    }
    Err(AuthError::new(STEP, format!("not found at {}", tried.join(", nor at "))))
}

fn read(metadata: Metadata, issuer: &str, at: &Url, from: Zone) -> Result<AuthorizationServer, AuthError> {
    if metadata.issuer != issuer {
        return Err(AuthError::permanent(
            STEP,
            format!(
                "the metadata at {} is of the issuer {}, not of {}, and is not used (issuer mix-up)",
                display_url(at),
                quote(&metadata.issuer, &[]),
                quote(issuer, &[])
            ),
        ));
    }
    let endpoint = |kind: &str, url: Option<String>| {
        let checked = |url: String| {
            network::parse_url(&url, from)
                .map_err(|problem| AuthError::permanent(STEP, format!("the {kind} endpoint: {problem}")))
        };
        url.map(checked).transpose()
    };
    let has = |list: &Option<Vec<String>>, value: &str| {
        list.as_ref().is_some_and(|list| list.iter().any(|entry| entry == value))
    };
    Ok(AuthorizationServer {
        pkce: Some(has(&metadata.code_challenge_methods_supported, "S256")),
        dpop: has(&metadata.dpop_signing_alg_values_supported, "ES256"),
        name: metadata.issuer,
        authorization: endpoint("authorization", metadata.authorization_endpoint)?,
        token: endpoint("token", metadata.token_endpoint)?.ok_or_else(|| {
            AuthError::permanent(STEP, format!("the metadata at {} has no token_endpoint", display_url(at)))
        })?,
        registration: endpoint("registration", metadata.registration_endpoint)?,
        scopes: metadata.scopes_supported.unwrap_or_default(),
        methods: metadata.token_endpoint_auth_methods_supported,
        sends_iss: metadata.authorization_response_iss_parameter_supported.unwrap_or_default(),
        client_id_urls: metadata.client_id_metadata_document_supported.unwrap_or_default(),
    })
}

/// A server of the revision 2025-03-26 without metadata, which has default endpoints.
fn with_default_endpoints(issuer: &str, from: Zone) -> Result<AuthorizationServer, AuthError> {
    let at = |path: &str| {
        let url = network::parse_url(&format!("{issuer}{path}"), from);
        url.map_err(|problem| AuthError::permanent(STEP, problem))
    };
    Ok(AuthorizationServer {
        name: issuer.to_owned(),
        authorization: Some(at("/authorize")?),
        token: at("/token")?,
        registration: Some(at("/register")?),
        scopes: Vec::new(),
        methods: None,
        sends_iss: false,
        client_id_urls: false,
        dpop: false,
        pkce: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(issuer: &str, token: &str) -> Metadata {
        let json = serde_json::json!({ "issuer": issuer, "token_endpoint": token });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_issuer_is_compared_byte_for_byte() {
        let at = Url::parse("https://as.example/x").unwrap();
        let token = "https://as.example/token";
        assert!(read(metadata("https://as.example", token), "https://as.example", &at, Zone::Public).is_ok());
        for other in
            ["https://as.example/", "https://AS.example", "https://as.example:443", "https://evil.example"]
        {
            assert!(
                read(metadata(other, token), "https://as.example", &at, Zone::Public).is_err(),
                "{other}"
            );
        }
    }

    #[test]
    fn endpoints_are_in_the_zone_of_the_server_or_a_more_public_one() {
        let at = Url::parse("https://as.example/x").unwrap();
        for token in ["http://as.example/token", "https://127.0.0.1/token", "file:///token"] {
            let issuer = metadata("https://as.example", token);
            assert!(read(issuer, "https://as.example", &at, Zone::Public).is_err(), "{token}");
        }
    }
}
