//! What is wrong with the metadata that clients sign in by: of the protected resource, and of its authorization servers.

use papertape_oauth::zone;
use reqwest::Url;
use serde_json::Value;

use crate::code::http::{PT0825, PT0826, PT0827, PT0828, PT0829, PT0830};
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::http::client::{Client, shown};
use crate::http::exchange::Exchange;
use crate::http::inspect::finding;
use crate::inspect::quote;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// How many authorization servers are looked at.
const SERVERS: usize = 3;
const REDIRECTS: usize = 3;

/// What is wrong with a 401 response and with the metadata it leads to; and what the resource calls itself.
pub(crate) async fn inspect(client: &Client, refused: &Exchange) -> (Vec<Finding>, Vec<String>) {
    let mut findings = Vec::new();
    let headers = refused.response().map(|response| &response.headers);
    let challenges: Vec<String> = headers
        .into_iter()
        .flat_map(|headers| headers.get_all("www-authenticate"))
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    if challenges.is_empty() {
        findings.push(refused.proves(
            finding(PT0825, "401 comes without `WWW-Authenticate`, which names the authentication scheme and where to sign in")
                .remedy("send `WWW-Authenticate: Bearer resource_metadata=\"..\"` with it"),
        ));
    }
    let named = challenges.iter().find_map(|challenge| parameter(challenge, "resource_metadata"));
    let (found, metadata) = match &named {
        Some(url) => at_named(client, url).await,
        None => at_well_known(client).await,
    };
    findings.extend(found);
    let Some((document, metadata)) = metadata else { return (findings, Vec::new()) };
    let resource = metadata.get("resource").and_then(Value::as_str);
    if !resource.is_some_and(|resource| covers(resource, &client.url)) {
        let says = resource.map_or("no resource".to_owned(), quote);
        let message =
            format!("the protected resource metadata is for {says}, not for {}", shown(&client.url));
        findings.push(
            document.proves(
                finding(PT0827, message)
                    .remedy("set `resource` to the public URL of the server, as hosts have it"),
            ),
        );
    }
    let servers = metadata.get("authorization_servers").and_then(Value::as_array);
    let issuers: Vec<&str> = servers.into_iter().flatten().filter_map(Value::as_str).take(SERVERS).collect();
    if issuers.is_empty() {
        findings.push(
            document.proves(
                finding(PT0828, "the protected resource metadata has no `authorization_servers`")
                    .remedy("name the issuers of the tokens there"),
            ),
        );
    }
    for issuer in issuers {
        findings.extend(authorization_server(client, issuer).await);
    }
    (findings, resource.map(str::to_owned).into_iter().collect())
}

type Document = (Exchange, Value);

/// The metadata at the URL that `WWW-Authenticate` names.
async fn at_named(client: &Client, url: &str) -> (Vec<Finding>, Option<Document>) {
    match fetch(client, url).await {
        Ok(document) => (Vec::new(), Some(document)),
        Err(failed) => {
            let message = format!("the protected resource metadata at {} {}", quote(url), failed.why);
            let remedy =
                "serve it there, without authorization, as JSON; proxies must forward `/.well-known/`";
            (vec![failed.proves(finding(PT0826, message).remedy(remedy))], None)
        }
    }
}

/// The metadata at the well-known URLs.
async fn at_well_known(client: &Client) -> (Vec<Finding>, Option<Document>) {
    let path = client.url.path().trim_end_matches('/').to_owned();
    for path in [format!("{RESOURCE}{path}"), RESOURCE.to_owned()] {
        if let Ok(document) = fetch(client, at_path(&client.url, &path).as_str()).await {
            return (Vec::new(), Some(document));
        }
    }
    // Up to 2025-03-26 the server was its own authorization server.
    if fetch(client, at_path(&client.url, SERVER).as_str()).await.is_ok() {
        return (Vec::new(), None);
    }
    let message = "there is no protected resource metadata, neither in `WWW-Authenticate` nor at the well-known URLs: users cannot sign in from their hosts";
    let remedy = "serve the metadata if users are to sign in; if they configure a key, tell them the header";
    (vec![finding(PT0826, message).severity(Severity::Warning).affects(Vec::new()).remedy(remedy)], None)
}

/// What is wrong with an authorization server.
async fn authorization_server(client: &Client, issuer: &str) -> Option<Finding> {
    let remedy =
        "compare the issuer in `authorization_servers` with that in the metadata of the authorization server";
    let Ok(url) = Url::parse(issuer) else {
        let message = format!("the authorization server {} is not a URL", quote(issuer));
        return Some(finding(PT0829, message).remedy(remedy));
    };
    let path = url.path().trim_end_matches('/');
    let mut places = vec![format!("{SERVER}{path}"), format!("{OPENID}{path}")];
    if !path.is_empty() {
        places.push(format!("{path}{OPENID}"));
    }
    let mut failed = None;
    let mut found = None;
    for place in places {
        match fetch(client, at_path(&url, &place).as_str()).await {
            Ok(document) => {
                found = Some(document);
                break;
            }
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    let Some((exchange, metadata)) = found else {
        let message =
            format!("no well-known URL has the metadata of the authorization server {}", quote(issuer));
        let found = finding(PT0829, message).remedy(remedy);
        return Some(match failed {
            Some(failed) => failed.proves(found),
            None => found,
        });
    };
    let says = metadata.get("issuer").and_then(Value::as_str).unwrap_or_default();
    if says != issuer {
        let message =
            format!("the metadata of the authorization server {} is that of {}", quote(issuer), quote(says));
        // Older clients do not compare it, and a slash at the end is what many get wrong.
        let severity = if says.trim_end_matches('/') == issuer.trim_end_matches('/') {
            Severity::Note
        } else {
            Severity::Warning
        };
        return Some(
            exchange.proves(finding(PT0829, message).severity(severity).affects(Vec::new()).remedy(remedy)),
        );
    }
    let remedy = "switch PKCE with S256 on, and list it in `code_challenge_methods_supported`";
    match metadata.get("code_challenge_methods_supported").and_then(Value::as_array) {
        Some(methods) if methods.iter().any(|method| method == "S256") => None,
        Some(_) => {
            let message = format!("the authorization server {} does not list S256 for PKCE", quote(issuer));
            Some(exchange.proves(finding(PT0830, message).remedy(remedy)))
        }
        None => {
            let message = format!(
                "the metadata of the authorization server {} does not say that it supports PKCE",
                quote(issuer)
            );
            let found = finding(PT0830, message).severity(Severity::Warning).affects(Vec::new());
            Some(exchange.proves(found.remedy(remedy)))
        }
    }
}

/// Why there is no document at a URL.
struct NoDocument {
    why: String,
    exchange: Option<Exchange>,
}

impl NoDocument {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), exchange: None }
    }

    fn proves(&self, finding: Finding) -> Finding {
        match &self.exchange {
            Some(exchange) => exchange.proves(finding),
            None => finding.evidence(Evidence::fact(self.why.clone())),
        }
    }
}

/// Fetches a JSON document from a URL that the server has named.
async fn fetch(client: &Client, url: &str) -> Result<Document, NoDocument> {
    let mut url =
        Url::parse(url).map_err(|_| NoDocument::new("cannot be fetched: that is not an absolute URL"))?;
    for _ in 0..=REDIRECTS {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(NoDocument::new("cannot be fetched: that is not a URL with https"));
        }
        // A server elsewhere must not make this machine send requests into its own network.
        if zone(&url) > zone(&client.url) {
            return Err(NoDocument::new(
                "is not fetched: it is in a private network, which a server outside of it must not refer to",
            ));
        }
        let exchange = client.send(client.get_document(url.clone())).await;
        let Some(response) = exchange.response() else {
            return Err(NoDocument { why: "cannot be fetched".to_owned(), exchange: Some(exchange) });
        };
        if (300..400).contains(&response.status)
            && let Some(next) = response.header("location").and_then(|to| url.join(to).ok())
        {
            url = next;
            continue;
        }
        if response.status != 200 {
            return Err(NoDocument {
                why: format!("is answered with HTTP {}", response.status),
                exchange: Some(exchange),
            });
        }
        return match response.json().filter(Value::is_object) {
            Some(document) => Ok((exchange, document)),
            None => Err(NoDocument { why: "is not JSON".to_owned(), exchange: Some(exchange) }),
        };
    }
    Err(NoDocument::new("redirects in a circle"))
}

fn at_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Whether a token for a resource may be sent to a server: same origin, and its path is below that of the resource.
pub(crate) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let base = resource.path().trim_end_matches('/');
    resource.origin() == server.origin()
        && resource.origin().is_tuple()
        && server.path().strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The value of a parameter of a challenge.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let lower = challenge.to_ascii_lowercase();
    let at = lower.find(&format!("{name}="))? + name.len() + 1;
    let rest = challenge.get(at..)?.trim_start();
    let value = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ' ', '\t']).next(),
    };
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::{covers, parameter};

    #[test]
    fn parameters_are_read_with_and_without_quotes() {
        let challenge = "Bearer error=\"x\", Resource_Metadata=\"https://a/b\", scope=c";
        assert_eq!(parameter(challenge, "resource_metadata").as_deref(), Some("https://a/b"));
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("c"));
        assert_eq!(parameter("Bearer", "resource_metadata"), None);
        assert_eq!(parameter("Bearer resource_metadata=", "resource_metadata"), None);
    }

    #[test]
    fn a_resource_covers_the_paths_below_its_own() {
        let server = Url::parse("https://example.com/a/mcp").unwrap();
        for fine in [
            "https://example.com/a/mcp",
            "https://example.com/a/mcp/",
            "https://example.com",
            "https://EXAMPLE.com:443/a",
        ] {
            assert!(covers(fine, &server), "{fine}");
        }
        for bad in
            ["http://example.com/a/mcp", "https://example.com/a/mc", "https://example.com/b", "", "urn:x"]
        {
            assert!(!covers(bad, &server), "{bad}");
        }
    }
}
