//! Where a server is and how to get there, to something that sends requests.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use url::{Host, Url};

use super::super::oauth::Credentials;
use crate::wire::error::excerpt;

/// Shorter than servers keep idle connections (Node and uvicorn: 5 s), so that no request meets one that is being closed.
const IDLE: Duration = Duration::from_secs(4);

/// After so long without a byte the system asks whether the other side is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Where a server is, and how to get there.
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
    ca: Option<PathBuf>,
    proxy: Proxying,
    connect_timeout: Duration,
    allow_http: bool,
}

#[derive(Clone)]
enum Proxying {
    /// As the environment says: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    AsUsual,
    Never,
    Through(String),
}

/// What sends requests to one server.
pub(super) struct Sender {
    pub(super) http: reqwest::Client,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) credentials: Credentials,
}

impl Endpoint {
    /// The server at an `http` or `https` URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            credentials: Credentials::None,
            ca: None,
            proxy: Proxying::AsUsual,
            connect_timeout: Duration::from_secs(10),
            allow_http: false,
        }
    }

    /// A header of every request. It never goes to another host.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// How to show who asks. A token goes to other machines by `https` only, unless [`allow_http`](Self::allow_http) is set.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// A file of certificates (PEM) that are trusted beside those of the system.
    pub fn ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca = Some(path.into());
        self
    }

    /// A proxy to go through. Without it the environment is asked (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`).
    /// To this machine there is never a proxy.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Proxying::Through(url.into());
        self
    }

    /// No proxy, whatever the environment says.
    pub fn no_proxy(mut self) -> Self {
        self.proxy = Proxying::Never;
        self
    }

    /// How long it may take to connect: 10 s.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }

    /// Lets a bearer token and `Authorization` headers go to another machine by plain `http://`, where others on
    /// the network can read and use them. For networks that something else keeps safe, such as that between two containers.
    pub fn allow_http(mut self) -> Self {
        self.allow_http = true;
        self
    }

    /// A secret must not be sent where others can read it.
    fn check_encrypted(&self, url: &Url) -> Result<(), String> {
        let secret = matches!(self.credentials, Credentials::Bearer(_))
            || self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if !secret || self.allow_http || url.scheme() == "https" || is_loopback(url) {
            return Ok(());
        }
        Err(format!(
            "the token would go to {} by plain http, where others can read it: use https, or allow it with \
             `Endpoint::allow_http` (`--insecure-http`) if the network is safe",
            shown(url)
        ))
    }

    /// What sends requests there; or what is wrong with it.
    pub(super) fn build(self) -> Result<Sender, String> {
        let url = read_url(&self.url)?;
        self.check_encrypted(&url)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let wrong = |what: &str| format!("the header {} has {what}", excerpt(name));
            let name = HeaderName::try_from(name).map_err(|_| wrong("a name that no header can have"))?;
            let mut value =
                HeaderValue::from_str(value).map_err(|_| wrong("a value that no header can have"))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let certificates = self.certificates()?;
        let http = self.client(&url, &certificates)?;
        Ok(Sender { http, url, headers, credentials: self.credentials })
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, String> {
        let Some(path) = &self.ca else { return Ok(Vec::new()) };
        let wrong = |why: String| format!("the certificates in {} cannot be read: {why}", path.display());
        let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let certificates =
            reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))?;
        if certificates.is_empty() {
            Err(wrong("there are none in PEM".to_owned()))
        } else {
            Ok(certificates)
        }
    }

    fn client(&self, url: &Url, certificates: &[reqwest::Certificate]) -> Result<reqwest::Client, String> {
        let mut builder = reqwest::Client::builder()
            // Credentials must not follow wherever a server points, so that is done by hand.
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("papertape/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEP_ALIVE)
            // The system's certificates take a while to read, and are of no use without TLS.
            .tls_built_in_root_certs(url.scheme() == "https");
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate.clone());
        }
        builder = match &self.proxy {
            _ if is_loopback(url) => builder.no_proxy(),
            Proxying::AsUsual => builder,
            Proxying::Never => builder.no_proxy(),
            Proxying::Through(proxy) => {
                let wrong = |error| format!("{} is no proxy: {error}", excerpt(proxy));
                builder.proxy(reqwest::Proxy::all(proxy).map_err(wrong)?)
            }
        };
        builder.build().map_err(|error| format!("HTTP cannot be used here: {}", super::fault::cause(&error)))
    }
}

fn read_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| format!("{} is no URL: {error}", excerpt(text)))?;
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(format!("{} is {scheme}, but only http and https are spoken", excerpt(text)));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let way_out = "give an Authorization header instead";
        return Err(format!("a URL with a name or a password in it would end up in logs: {way_out}"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Whether a URL leads to this machine, without any doubt.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

/// A URL for people: without its query, which may hold what nobody else is to see.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    crate::wire::error::shortened(url.as_str()).to_owned()
}

/// Without values that are secret.
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
    fn what_is_no_endpoint_is_said() {
        for (url, problem) in [
            ("", "is no URL"),
            ("localhost:80", "only http and https"),
            ("http://", "is no URL"),
            ("ftp://example.com/", "only http and https"),
            ("http://me:secret@example.com/", "end up in logs"),
        ] {
            let told = read_url(url).unwrap_err();
            assert!(told.contains(problem) && !told.contains("secret"), "{url}: {told}");
        }
        let build = |endpoint: Endpoint| endpoint.build().map(drop).unwrap_err();
        let endpoint = || Endpoint::new("http://localhost/");
        assert!(build(endpoint().header("a b", "x")).contains("a name that no header"));
        assert!(build(endpoint().header("a", "x\ny")).contains("a value that no header"));
        assert!(build(endpoint().ca("/nowhere/ca.pem")).contains("/nowhere/ca.pem"));
        assert!(build(Endpoint::new("http://example.com").proxy("")).contains("is no proxy"));
    }

    #[test]
    fn a_token_goes_to_other_machines_by_https_alone() {
        let bearer = |url: &str| Endpoint::new(url).credentials(Credentials::Bearer("secret".to_owned()));
        let by_hand = |url: &str| Endpoint::new(url).header("AUTHORIZATION", "Bearer secret");
        for url in ["http://example.com/mcp", "http://tools/mcp", "http://10.0.0.1/", "http://[::127.0.0.1]/"]
        {
            for endpoint in [bearer(url), by_hand(url)] {
                let told = endpoint.clone().build().map(drop).unwrap_err();
                assert!(told.contains("use https") && told.contains("--insecure-http"), "{told}");
                assert!(!told.contains("secret"), "{told}");
                endpoint.allow_http().build().unwrap();
            }
            Endpoint::new(url).header("X-Team", "blue").build().unwrap();
        }
        for url in ["http://localhost:1/", "http://127.0.0.1/", "http://[::1]/", "https://example.com/"] {
            bearer(url).build().unwrap();
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let endpoint = Endpoint::new("https://example.com/mcp?key=secret#f").header("X-Key", "secret");
        assert_eq!(format!("{endpoint:?}").matches("secret").count(), 0);
        assert_eq!(shown(&Url::parse("https://example.com/mcp?key=s").unwrap()), "https://example.com/mcp");
    }

    #[test]
    fn this_machine_has_many_names() {
        let loopback = |url| is_loopback(&Url::parse(url).unwrap());
        for url in ["http://localhost:1/", "http://a.localhost/", "http://127.9.9.9/", "http://[::1]:8/"] {
            assert!(loopback(url), "{url}");
        }
        for url in ["http://example.com/", "http://10.0.0.1/", "http://localhost.example.com/"] {
            assert!(!loopback(url), "{url}");
        }
    }
}
