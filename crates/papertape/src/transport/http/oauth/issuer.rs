//! An issuer to its endpoints (RFC 8414, OpenID Connect Discovery).

use http::StatusCode;
use serde::Deserialize;
use url::Url;

use super::address::{self, Reach};
use super::error::{AuthError, AuthStep, quote};
use super::fetch::{Fetcher, place};
use super::resource::Resource;

const STEP: AuthStep = AuthStep::ServerMetadata;

/// An authorization server, as far as it can be trusted.
#[derive(Debug, Clone)]
pub(crate) struct Issuer {
    /// Its name, to be compared byte for byte.
    pub(crate) name: String,
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    pub(crate) scopes: Vec<String>,
    /// How clients may show who they are at the token endpoint; None if it does not say.
    pub(crate) methods: Option<Vec<String>>,
    /// Answers in the browser have `iss` in them.
    pub(crate) sends_iss: bool,
    /// Takes a URL of the client's as its id.
    pub(crate) takes_urls: bool,
    /// Takes the one kind of proof of possession that we make.
    pub(crate) dpop: bool,
    /// Whether it proves who redeems a code (PKCE, S256). None if there is no metadata to say so.
    pub(crate) pkce: Option<bool>,
}

#[derive(Deserialize)]
struct Document {
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

impl Issuer {
    /// Whether there was no metadata, so that its endpoints are only where they used to be by custom.
    pub(crate) fn guessed(&self) -> bool {
        self.pkce.is_none()
    }
}

/// Finds an issuer's endpoints. `from` is how near the MCP server is that named it.
pub(crate) async fn discover(
    fetcher: &Fetcher,
    resource: &Resource,
    name: &str,
    from: Reach,
) -> Result<Issuer, AuthError> {
    let base = address::go_to(name, from)
        .map_err(|why| AuthError::refusal(STEP, format!("the server's authorization server: {why}")))?;
    let mut looked = Vec::new();
    for url in well_known(&base) {
        let answer = fetcher.get(STEP, &url).await?;
        if answer.status.is_client_error() {
            looked.push(place(&url));
            continue;
        }
        if answer.status != StatusCode::OK {
            return Err(AuthError::new(STEP, format!("{} answered HTTP {}", place(&url), answer.status)));
        }
        return read(answer.json(STEP, &url)?, name, &url, from);
    }
    if resource.old {
        return old(name, from);
    }
    Err(AuthError::new(STEP, format!("there is none at {}", looked.join(", nor at "))))
}

/// Where metadata may be, best first.
fn well_known(base: &Url) -> Vec<Url> {
    let path = base.path().trim_end_matches('/').to_owned();
    let mut places = vec![format!("/.well-known/oauth-authorization-server{path}")];
    places.push(format!("/.well-known/openid-configuration{path}"));
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    places
        .iter()
        .map(|place| {
            let mut url = base.clone();
            url.set_path(place);
            url.set_query(None);
            url.set_fragment(None);
            url
        })
        .collect()
}

fn read(document: Document, name: &str, at: &Url, from: Reach) -> Result<Issuer, AuthError> {
    if document.issuer != name {
        return Err(AuthError::refusal(
            STEP,
            format!(
                "the document at {} is of {}, not of {}: somebody may be passing one for the other, \
                 so none of it is used",
                place(at),
                quote(&document.issuer, &[]),
                quote(name, &[])
            ),
        ));
    }
    let endpoint = |kind: &str, address: Option<String>| {
        address
            .map(|address| {
                address::go_to(&address, from)
                    .map_err(|why| AuthError::refusal(STEP, format!("its {kind} endpoint: {why}")))
            })
            .transpose()
    };
    let has = |list: &Option<Vec<String>>, word: &str| {
        list.as_ref().is_some_and(|list| list.iter().any(|entry| entry == word))
    };
    Ok(Issuer {
        pkce: Some(has(&document.code_challenge_methods_supported, "S256")),
        dpop: has(&document.dpop_signing_alg_values_supported, "ES256"),
        name: document.issuer,
        authorization: endpoint("authorization", document.authorization_endpoint)?,
        token: endpoint("token", document.token_endpoint)?
            .ok_or_else(|| AuthError::refusal(STEP, format!("{} names no token endpoint", place(at))))?,
        registration: endpoint("registration", document.registration_endpoint)?,
        scopes: document.scopes_supported.unwrap_or_default(),
        methods: document.token_endpoint_auth_methods_supported,
        sends_iss: document.authorization_response_iss_parameter_supported.unwrap_or_default(),
        takes_urls: document.client_id_metadata_document_supported.unwrap_or_default(),
    })
}

/// A server of 2025-03-26 without any metadata: its endpoints have names by custom.
fn old(name: &str, from: Reach) -> Result<Issuer, AuthError> {
    let at = |path: &str| {
        address::go_to(&format!("{name}{path}"), from).map_err(|why| AuthError::refusal(STEP, why))
    };
    Ok(Issuer {
        name: name.to_owned(),
        authorization: Some(at("/authorize")?),
        token: at("/token")?,
        registration: Some(at("/register")?),
        scopes: Vec::new(),
        methods: None,
        sends_iss: false,
        takes_urls: false,
        dpop: false,
        pkce: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(issuer: &str) -> Vec<String> {
        well_known(&Url::parse(issuer).unwrap()).iter().map(Url::to_string).collect()
    }

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specification() {
        assert_eq!(
            places("https://as.example/t1"),
            [
                "https://as.example/.well-known/oauth-authorization-server/t1",
                "https://as.example/.well-known/openid-configuration/t1",
                "https://as.example/t1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://as.example"),
            [
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ]
        );
    }

    fn document(issuer: &str, token: &str) -> Document {
        let json = serde_json::json!({ "issuer": issuer, "token_endpoint": token });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn an_issuer_is_compared_byte_for_byte() {
        let at = Url::parse("https://as.example/x").unwrap();
        let token = "https://as.example/token";
        assert!(read(document("https://as.example", token), "https://as.example", &at, Reach::Far).is_ok());
        for other in
            ["https://as.example/", "https://AS.example", "https://as.example:443", "https://evil.example"]
        {
            assert!(read(document(other, token), "https://as.example", &at, Reach::Far).is_err(), "{other}");
        }
    }

    #[test]
    fn endpoints_may_not_be_nearer_than_the_server() {
        let at = Url::parse("https://as.example/x").unwrap();
        for token in ["http://as.example/token", "https://127.0.0.1/token", "file:///token"] {
            let issuer = document("https://as.example", token);
            assert!(read(issuer, "https://as.example", &at, Reach::Far).is_err(), "{token}");
        }
    }
}
