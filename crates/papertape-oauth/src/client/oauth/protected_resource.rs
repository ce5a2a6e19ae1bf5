//! Protected resource metadata (RFC 9728): the resource identifier of a server, and the authorization servers it trusts.

use serde::Deserialize;
use url::Url;

use super::http_client::{HttpClient, display_url};
use super::network::{self, Zone};
use crate::client::error::{AuthError, AuthStep, quote};

const STEP: AuthStep = AuthStep::ResourceMetadata;
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The most authorization servers and scopes that are read.
const MAX_COUNT: usize = 100;

#[derive(Debug, Clone)]
pub(super) struct ProtectedResource {
    /// The resource identifier, which is sent byte for byte.
    pub(super) name: String,
    /// The issuers of the authorization servers, at least one.
    pub(super) issuers: Vec<String>,
    pub(super) scopes: Vec<String>,
    /// There is no metadata: the server is its own authorization server, as up to the revision 2025-03-26.
    pub(super) without_metadata: bool,
}

#[derive(Deserialize)]
struct Metadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Option<Vec<String>>,
}

/// Fetches the metadata of a server, from `resource_metadata` if its challenge has that.
pub(super) async fn discover(
    http: &HttpClient,
    server: &Url,
    resource_metadata: Option<&str>,
) -> Result<ProtectedResource, AuthError> {
    if let Some(url) = resource_metadata {
        let url = network::parse_url(url, http.zone())
            .map_err(|problem| AuthError::permanent(STEP, format!("the resource_metadata URL: {problem}")))?;
        return fetch(http, server, &url).await?.ok_or_else(|| {
            AuthError::new(STEP, format!("not found at {}, the resource_metadata URL", display_url(&url)))
        });
    }
    for url in well_known(server, http.zone())? {
        if let Some(resource) = fetch(http, server, &url).await? {
            return Ok(resource);
        }
    }
    let origin = server.origin().ascii_serialization();
    Ok(ProtectedResource {
        name: default_name(server),
        issuers: vec![origin],
        scopes: Vec::new(),
        without_metadata: true,
    })
}

/// The default locations of the metadata: with the path of the server, then without.
fn well_known(server: &Url, from: Zone) -> Result<Vec<Url>, AuthError> {
    let origin = server.origin().ascii_serialization();
    let path = server.path().trim_end_matches('/');
    let mut urls = vec![format!("{origin}{WELL_KNOWN}{path}")];
    if !path.is_empty() {
        urls.push(format!("{origin}{WELL_KNOWN}"));
    }
    let checked =
        |url: &String| network::parse_url(url, from).map_err(|problem| AuthError::permanent(STEP, problem));
    urls.iter().map(checked).collect()
}

/// `None` if there is no metadata at this URL.
async fn fetch(http: &HttpClient, server: &Url, url: &Url) -> Result<Option<ProtectedResource>, AuthError> {
    let response = http.get(STEP, url).await?;
    if response.status.is_client_error() {
        return Ok(None);
    }
    response.expect_ok(STEP, url)?;
    let metadata: Metadata = response.json(STEP, url)?;
    if !covers(&metadata.resource, server) {
        return Err(AuthError::permanent(
            STEP,
            format!(
                "the metadata at {} is for the resource {}, not for {}: check the URL of the server, or tell its operator",
                display_url(url),
                quote(&metadata.resource, &[]),
                display_url(server)
            ),
        ));
    }
    if metadata.authorization_servers.is_empty() {
        return Err(AuthError::permanent(
            STEP,
            format!("the metadata at {} has no authorization_servers", display_url(url)),
        ));
    }
    Ok(Some(ProtectedResource {
        name: metadata.resource,
        issuers: metadata.authorization_servers.into_iter().take(MAX_COUNT).collect(),
        scopes: metadata.scopes_supported.unwrap_or_default().into_iter().take(MAX_COUNT).collect(),
        without_metadata: false,
    }))
}

/// Whether a token for a resource may be sent to a server: same origin, and the path of the server is below the resource's.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.fragment().is_some()
        || resource.origin() != server.origin()
        || !resource.origin().is_tuple()
        || !resource.username().is_empty()
        || resource.query().is_some_and(|query| Some(query) != server.query())
    {
        return false;
    }
    let base = resource.path().trim_end_matches('/');
    server.path().strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The resource identifier of a server without metadata: its URL, without a fragment.
fn default_name(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    if url.path() == "/" && url.query().is_none() {
        return url.origin().ascii_serialization();
    }
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_the_paths_below_its_own() {
        let server = Url::parse("https://example.com/a/mcp").unwrap();
        for fine in [
            "https://example.com/a/mcp",
            "https://example.com/a/mcp/",
            "https://example.com/a",
            "https://example.com",
            "https://EXAMPLE.com:443/",
        ] {
            assert!(covers(fine, &server), "{fine}");
        }
        for bad in [
            "https://evil.example.com/a/mcp",
            "http://example.com/a/mcp",
            "https://example.com:444/a/mcp",
            "https://example.com/a/mc",
            "https://example.com/a/mcp/more",
            "https://example.com/b",
            "https://example.com/a/mcp#x",
            "https://example.com/a/mcp?tenant=1",
            "https://x@example.com/a/mcp",
            "data:,x",
            "",
        ] {
            assert!(!covers(bad, &server), "{bad}");
        }
    }

    #[test]
    fn metadata_with_the_path_of_the_server_comes_first() {
        let urls = |url: &str| -> Vec<String> {
            well_known(&Url::parse(url).unwrap(), Zone::Public).unwrap().iter().map(Url::to_string).collect()
        };
        assert_eq!(
            urls("https://example.com/mcp"),
            [
                "https://example.com/.well-known/oauth-protected-resource/mcp",
                "https://example.com/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(urls("https://example.com"), ["https://example.com/.well-known/oauth-protected-resource"]);
    }

    #[test]
    fn a_resource_identifier_without_a_path_has_no_slash() {
        assert_eq!(default_name(&Url::parse("https://example.com").unwrap()), "https://example.com");
        assert_eq!(
            default_name(&Url::parse("https://example.com/mcp#x").unwrap()),
            "https://example.com/mcp"
        );
    }
}
