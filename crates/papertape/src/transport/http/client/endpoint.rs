//! The URL of a server, and how to connect to it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use url::Url;

use crate::wire::error::excerpt;
use papertape_oauth::client::Credentials;
use papertape_oauth::is_loopback;

/// Shorter than servers keep idle connections (Node and uvicorn: 5 s), so that no request meets one that is being closed.
const IDLE: Duration = Duration::from_secs(4);

/// The TCP keep-alive interval.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The URL of a server, and how to connect to it.
///
/// ```
/// use papertape::http::{Credentials, Endpoint};
///
/// let endpoint = Endpoint::new("https://tools.example/mcp")
///     .header("X-Team", "blue")
///     .credentials(Credentials::Bearer("secret".to_owned()));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Endpoint {
    url: String,
    headers: Vec<(String, String)>,
    credentials: Credentials,
    ca: Option<Authorities>,
    proxy: ProxySetting,
    connect_timeout: Duration,
    allow_http: bool,
}

/// CA certificates in PEM.
#[derive(Clone)]
enum Authorities {
    File(PathBuf),
    Pem(Vec<u8>),
}

#[derive(Clone)]
enum ProxySetting {
    /// From the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
    Disabled,
    Url(String),
}

/// An HTTP client for one server.
pub(super) struct HttpTarget {
    pub(super) http: reqwest::Client,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) credentials: Credentials,
}

impl HttpTarget {
    /// The host and port of the server.
    pub(super) fn address(&self) -> Option<(String, u16)> {
        Some((self.url.host_str()?.to_owned(), self.url.port_or_known_default()?))
    }
}

impl Endpoint {
    /// A server at an `http` or `https` URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            credentials: Credentials::None,
            ca: None,
            proxy: ProxySetting::Environment,
            connect_timeout: Duration::from_secs(10),
            allow_http: false,
        }
    }

    /// Adds a header to every request. It is never sent to another host.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the credentials. Tokens are sent to other machines over `https` only, unless [`allow_http`](Self::allow_http)
    /// is set.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Trusts the CA certificates in a PEM file, in addition to those of the system.
    pub fn ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca = Some(Authorities::File(path.into()));
        self
    }

    /// [`ca`](Self::ca) with the content of the file (PEM).
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca = Some(Authorities::Pem(pem.into()));
        self
    }

    /// Uses a proxy. By default the environment decides (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`).
    /// Loopback addresses are never proxied.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = ProxySetting::Url(url.into());
        self
    }

    /// Uses no proxy, and ignores the environment.
    pub fn no_proxy(mut self) -> Self {
        self.proxy = ProxySetting::Disabled;
        self
    }

    /// The timeout of connecting: 10 s.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }

    /// Allows bearer tokens and `Authorization` headers to be sent to another machine over plain `http://`, where others on
    /// the network can read and use them. For networks that are secured otherwise, such as that between two containers.
    pub fn allow_http(mut self) -> Self {
        self.allow_http = true;
        self
    }

    /// Refuses to send secrets unencrypted.
    fn check_encrypted(&self, url: &Url) -> Result<(), String> {
        let secret = matches!(self.credentials, Credentials::Bearer(_))
            || self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if !secret || self.allow_http || url.scheme() == "https" || is_loopback(url) {
            return Ok(());
        }
        Err(format!(
            "the token would be sent to {} over plain http, where others can read it: use https, or allow it with \
             `Endpoint::allow_http` (`--insecure-http`) if the network is trusted",
            shown(url)
        ))
    }

    /// An HTTP client for the endpoint; the error says what is wrong with it.
    pub(super) fn build(self) -> Result<HttpTarget, String> {
        let url = read_url(&self.url)?;
        self.check_encrypted(&url)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let wrong = |what: &str| format!("the header {} has {what}", excerpt(name));
            let name = HeaderName::try_from(name).map_err(|_| wrong("an invalid name"))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong("an invalid value"))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let certificates = self.certificates()?;
        let http = self.client(&url, &certificates)?;
        Ok(HttpTarget { http, url, headers, credentials: self.credentials })
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, String> {
        let place = match &self.ca {
            None => return Ok(Vec::new()),
            Some(Authorities::File(path)) => format!(" in {}", path.display()),
            Some(Authorities::Pem(_)) => String::new(),
        };
        let wrong = |why: String| format!("the certificates{place} cannot be read: {why}");
        let pem = match &self.ca {
            Some(Authorities::File(path)) => std::fs::read(path).map_err(|error| wrong(error.to_string()))?,
            Some(Authorities::Pem(pem)) => pem.clone(),
            None => Vec::new(),
        };
        let certificates =
            reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))?;
        if certificates.is_empty() {
            Err(wrong("it has no PEM certificates".to_owned()))
        } else {
            Ok(certificates)
        }
    }

    fn client(&self, url: &Url, certificates: &[reqwest::Certificate]) -> Result<reqwest::Client, String> {
        let mut builder = reqwest::Client::builder()
            // Credentials must not follow redirects to any host, so redirects are followed by `HttpSender`.
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("papertape/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEP_ALIVE)
            // The system's certificates take a while to read, and are not needed without TLS.
            .tls_built_in_root_certs(url.scheme() == "https");
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate.clone());
        }
        builder = match &self.proxy {
            _ if is_loopback(url) => builder.no_proxy(),
            ProxySetting::Environment => builder,
            ProxySetting::Disabled => builder.no_proxy(),
            ProxySetting::Url(proxy) => {
                let wrong = |error| format!("{} is not a valid proxy URL: {error}", excerpt(proxy));
                builder.proxy(reqwest::Proxy::all(proxy).map_err(wrong)?)
            }
        };
        builder
            .build()
            .map_err(|error| format!("cannot set up the HTTP client: {}", super::errors::cause(&error)))
    }
}

fn read_url(text: &str) -> Result<Url, String> {
    let mut url =
        Url::parse(text).map_err(|error| format!("{} is not a valid URL: {error}", excerpt(text)))?;
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(format!(
            "{} has the scheme {scheme}, but only http and https are supported",
            excerpt(text)
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let remedy = "send an Authorization header instead";
        return Err(format!("a URL with a user name or a password would end up in logs: {remedy}"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// A URL for messages: without its query, which may contain secrets.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    crate::wire::error::shortened(url.as_str()).to_owned()
}

/// A server at a URL.
impl From<&str> for Endpoint {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

/// A server at a URL.
impl From<&String> for Endpoint {
    fn from(url: &String) -> Self {
        Self::new(url)
    }
}

/// A server at a URL.
impl From<String> for Endpoint {
    fn from(url: String) -> Self {
        Self::new(url)
    }
}

/// Without the values of headers, which may be secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let url = Url::parse(&self.url).map(|url| shown(&url)).unwrap_or_default();
        f.debug_struct("Endpoint").field("url", &url).field("headers", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{Credentials, Endpoint, is_loopback, read_url, shown};

    #[test]
    fn invalid_endpoints_are_rejected_with_a_reason() {
        for (url, problem) in [
            ("", "is not a valid URL"),
            ("localhost:80", "only http and https"),
            ("http://", "is not a valid URL"),
            ("ftp://example.com/", "only http and https"),
            ("http://me:secret@example.com/", "end up in logs"),
        ] {
            let error = read_url(url).unwrap_err();
            assert!(error.contains(problem) && !error.contains("secret"), "{url}: {error}");
        }
        let build = |endpoint: Endpoint| endpoint.build().map(drop).unwrap_err();
        let endpoint = || Endpoint::new("http://localhost/");
        assert!(build(endpoint().header("a b", "x")).contains("has an invalid name"));
        assert!(build(endpoint().header("a", "x\ny")).contains("has an invalid value"));
        assert!(build(endpoint().ca("/nowhere/ca.pem")).contains("/nowhere/ca.pem"));
        assert!(build(endpoint().root_certificates("x")).contains("it has no PEM certificates"));
        assert!(build(Endpoint::new("http://example.com").proxy("")).contains("is not a valid proxy URL"));
    }

    #[test]
    fn tokens_are_sent_to_other_machines_over_https_only() {
        let bearer = |url: &str| Endpoint::new(url).credentials(Credentials::Bearer("secret".to_owned()));
        let by_hand = |url: &str| Endpoint::new(url).header("AUTHORIZATION", "Bearer secret");
        for url in ["http://example.com/mcp", "http://tools/mcp", "http://10.0.0.1/", "http://[::127.0.0.1]/"]
        {
            for endpoint in [bearer(url), by_hand(url)] {
                let error = endpoint.clone().build().map(drop).unwrap_err();
                assert!(error.contains("use https") && error.contains("--insecure-http"), "{error}");
                assert!(!error.contains("secret"), "{error}");
                endpoint.allow_http().build().unwrap();
            }
            Endpoint::new(url).header("X-Team", "blue").build().unwrap();
        }
        for url in ["http://localhost:1/", "http://127.0.0.1/", "http://[::1]/", "https://example.com/"] {
            bearer(url).build().unwrap();
        }
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let endpoint = Endpoint::new("https://example.com/mcp?key=secret#f").header("X-Key", "secret");
        assert_eq!(format!("{endpoint:?}").matches("secret").count(), 0);
        assert_eq!(shown(&Url::parse("https://example.com/mcp?key=s").unwrap()), "https://example.com/mcp");
    }

    #[test]
    fn loopback_hosts_are_recognised() {
        let loopback = |url| is_loopback(&Url::parse(url).unwrap());
        for url in ["http://localhost:1/", "http://a.localhost/", "http://127.9.9.9/", "http://[::1]:8/"] {
            assert!(loopback(url), "{url}");
        }
        for url in ["http://example.com/", "http://10.0.0.1/", "http://localhost.example.com/"] {
            assert!(!loopback(url), "{url}");
        }
    }
}
