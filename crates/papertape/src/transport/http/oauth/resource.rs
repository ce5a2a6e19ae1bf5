//! A challenge to the MCP server's own metadata: whom it trusts, and what it calls itself (RFC 9728).

use http::StatusCode;
use serde::Deserialize;
use url::Url;

use super::address::{self, Reach};
use super::error::{AuthError, AuthStep, quote};
use super::fetch::{Fetcher, place};

const STEP: AuthStep = AuthStep::ResourceMetadata;
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The most authorization servers and scopes of one server that are looked at.
const MOST: usize = 100;

/// Whom an MCP server trusts.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// The server's name for itself, to be sent byte for byte.
    pub(crate) name: String,
    /// The issuers of tokens, at least one.
    pub(crate) issuers: Vec<String>,
    pub(crate) scopes: Vec<String>,
    /// There is no metadata: the server is its own authorization server, as up to 2025-03-26.
    pub(crate) old: bool,
}

#[derive(Deserialize)]
struct Document {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Option<Vec<String>>,
}

/// Finds out whom a server trusts. `told` is the address from the challenge.
pub(crate) async fn discover(
    fetcher: &Fetcher,
    server: &Url,
    told: Option<&str>,
) -> Result<Resource, AuthError> {
    let from = fetcher.from();
    if let Some(told) = told {
        let url = address::go_to(told, from)
            .map_err(|why| AuthError::refusal(STEP, format!("the server's resource_metadata: {why}")))?;
        return match fetch(fetcher, server, &url).await? {
            Some(resource) => Ok(resource),
            None => Err(AuthError::new(
                STEP,
                format!("there is nothing at {}, where the server says that its metadata is", place(&url)),
            )),
        };
    }
    for url in well_known(server, from)? {
        if let Some(resource) = fetch(fetcher, server, &url).await? {
            return Ok(resource);
        }
    }
    let origin = server.origin().ascii_serialization();
    Ok(Resource { name: own_name(server), issuers: vec![origin], scopes: Vec::new(), old: true })
}

/// Where metadata is if nobody says where: with the server's path, then without.
fn well_known(server: &Url, from: Reach) -> Result<Vec<Url>, AuthError> {
    let origin = server.origin().ascii_serialization();
    let path = server.path().trim_end_matches('/');
    let mut places = vec![format!("{origin}{WELL_KNOWN}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{WELL_KNOWN}"));
    }
    places
        .iter()
        .map(|place| address::go_to(place, from).map_err(|why| AuthError::refusal(STEP, why)))
        .collect()
}

/// None if there is nothing.
async fn fetch(fetcher: &Fetcher, server: &Url, url: &Url) -> Result<Option<Resource>, AuthError> {
    let answer = fetcher.get(STEP, url).await?;
    if answer.status.is_client_error() {
        return Ok(None);
    }
    if answer.status != StatusCode::OK {
        return Err(AuthError::new(STEP, format!("{} answered HTTP {}", place(url), answer.status)));
    }
    let document: Document = answer.json(STEP, url)?;
    if !covers(&document.resource, server) {
        let said = quote(&document.resource, &[]);
        return Err(AuthError::refusal(
            STEP,
            format!(
                "the metadata at {} is for {said}, not for {}: a token for one must not go to the other, \
                 so check the address, or tell the server's operator",
                place(url),
                place(server)
            ),
        ));
    }
    if document.authorization_servers.is_empty() {
        return Err(AuthError::refusal(
            STEP,
            format!("the metadata at {} names no authorization server", place(url)),
        ));
    }
    Ok(Some(Resource {
        name: document.resource,
        issuers: document.authorization_servers.into_iter().take(MOST).collect(),
        scopes: document.scopes_supported.unwrap_or_default().into_iter().take(MOST).collect(),
        old: false,
    }))
}

/// Whether a resource is the server, or the part of the same site that the server is in.
pub(crate) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.fragment().is_some()
        || resource.origin() != server.origin()
        || !resource.origin().is_tuple()
        || !resource.username().is_empty()
        || resource.query().is_some_and(|query| Some(query) != server.query())
    {
        return false;
    }
    let part = resource.path().trim_end_matches('/');
    server.path().strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A server's name if it does not tell it: its address, without what does not belong to a name.
fn own_name(server: &Url) -> String {
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
    fn a_resource_is_the_server_or_the_part_of_the_site_it_is_in() {
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
    fn metadata_is_looked_for_with_the_path_first() {
        let places = |url: &str| -> Vec<String> {
            well_known(&Url::parse(url).unwrap(), Reach::Far).unwrap().iter().map(Url::to_string).collect()
        };
        assert_eq!(
            places("https://example.com/mcp"),
            [
                "https://example.com/.well-known/oauth-protected-resource/mcp",
                "https://example.com/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            places("https://example.com"),
            ["https://example.com/.well-known/oauth-protected-resource"]
        );
    }

    #[test]
    fn a_name_without_a_path_has_no_slash() {
        assert_eq!(own_name(&Url::parse("https://example.com").unwrap()), "https://example.com");
        assert_eq!(own_name(&Url::parse("https://example.com/mcp#x").unwrap()), "https://example.com/mcp");
    }
}
