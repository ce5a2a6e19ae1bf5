//! `Host` and `Origin`: whether a request is accepted (protection against DNS rebinding), and which pages can read the responses
//! (CORS).
//!
//! A web page anywhere can make a browser send requests to a server on the user's own machine, under any name that leads
//! there. So only names that are known pass, and only pages of the same origin, or of one that was configured.

use crate::sync::{read, write};
use std::sync::RwLock;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};

use super::refusal::Refusal;

/// The hosts and origins that are accepted.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    any_host: bool,
    /// The `Host` that passed last, as it was written: nearly all requests have the same one.
    last: RwLock<Box<[u8]>>,
}

/// Names that lead to the machine itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The longest list of headers that a page may request.
const MOST_WANTED: usize = 4 * 1024;

impl Guard {
    /// Lets in the machine's own names and the given ones.
    pub(crate) fn new(hosts: &[String], origins: &[String], any_host: bool) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { hosts, origins, any_host, last: RwLock::default() }
    }

    /// Whether a request is accepted.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Refusal> {
        let plain = plain_host(request);
        if let Some(host) = plain
            && **read(&self.last) == *host
        {
            return Ok(());
        }
        let authority = self.authority(request)?;
        self.check_origin(&request.headers, &authority)?;
        if let Some(host) = plain {
            *write(&self.last) = host.into();
        }
        Ok(())
    }

    /// Whether a request comes from a page of an origin that was configured.
    pub(crate) fn knows_origin(&self, headers: &HeaderMap) -> bool {
        !self.origins.is_empty()
            && only(headers, ORIGIN.as_str())
                .is_some_and(|origin| self.origins.contains(&origin.to_ascii_lowercase()))
    }

    /// Where the request was sent to, in lower case: the target's own authority decides over the header.
    fn authority(&self, request: &Parts) -> Result<String, Refusal> {
        let host = only(&request.headers, HOST.as_str());
        let authority = match (request.uri.authority(), host) {
            // In HTTP/2 the target takes the header's place, and should there be both, they must not disagree.
            (Some(authority), host) if request.version >= Version::HTTP_2 => {
                let disagree = host.is_some_and(|host| !host.eq_ignore_ascii_case(authority.as_str()));
                if disagree || (host.is_none() && request.headers.contains_key(HOST)) {
                    let message = "the `Host` header names another host than the request's target";
                    return Err(Refusal::new(StatusCode::FORBIDDEN, message));
                }
                authority.as_str()
            }
            (Some(authority), Some(_)) => authority.as_str(),
            (None, Some(host)) => host,
            (_, None) => {
                return Err(Refusal::new(StatusCode::BAD_REQUEST, "there must be one `Host` header"));
            }
        }
        .to_ascii_lowercase();
        let Some((host, _)) = split(&authority) else {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "the `Host` header is invalid: it must be HOST or HOST:PORT",
            ));
        };
        let configured = self.hosts.iter().any(|name| name == host || *name == authority);
        if self.any_host || configured || LOOPBACK.contains(&host) {
            return Ok(authority);
        }
        let message = "this `Host` is not allowed: to allow it, start `papertape` with `--allow-host NAME`, or add it \
             with `Options::host` in a program";
        Err(Refusal::new(StatusCode::FORBIDDEN, message))
    }

    fn check_origin(&self, headers: &HeaderMap, authority: &str) -> Result<(), Refusal> {
        let refused = || {
            let message = "this `Origin` is not allowed: to allow it, start `papertape` with `--allow-origin ORIGIN`, or \
                 add it with `Options::origin` in a program";
            Refusal::new(StatusCode::FORBIDDEN, message)
        };
        if !headers.contains_key(ORIGIN) {
            // Browsers send `Sec-Fetch-Site`, which pages cannot forge; other clients do not send it.
            let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
            return if site == Some(b"cross-site") { Err(refused()) } else { Ok(()) };
        }
        let origin = only(headers, ORIGIN.as_str()).ok_or_else(refused)?.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return Ok(());
        }
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        match own {
            // The host has been checked, so that the same origin is the server's own.
            Some(own) if !self.any_host && with_port(own, &origin) == with_port(authority, &origin) => Ok(()),
            _ => Err(refused()),
        }
    }
}

/// The check of `Host` and `Origin` that servers do, for what serves HTTP without a [`Server`](crate::Server), such as a proxy:
/// against web pages that reach a server of the user's own machine.
#[derive(Debug)]
pub struct HostGuard(Guard);

impl HostGuard {
    /// Accepts the loopback names and the given ones; and origins that are the same as the host, and the given ones.
    #[must_use]
    pub fn new(hosts: &[String], origins: &[String]) -> Self {
        Self(Guard::new(hosts, origins, false))
    }

    /// Whether a request is accepted.
    ///
    /// # Errors
    /// The status of the response and the reason, if it is not.
    pub fn check(&self, request: &Parts) -> Result<(), (StatusCode, String)> {
        self.0.check(request).map_err(|refusal| (refusal.status, refusal.message))
    }
}

/// The `Host` of a request of which nothing else has to be known: it comes from no page, and its target names no host.
fn plain_host(request: &Parts) -> Option<&[u8]> {
    let headers = &request.headers;
    if request.uri.authority().is_some()
        || headers.contains_key(ORIGIN)
        || headers.contains_key("sec-fetch-site")
    {
        return None;
    }
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.as_bytes();
    // What has passed was not empty.
    hosts.next().is_none().then_some(host).filter(|host| !host.is_empty())
}

/// The value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// A host and the port after it, if that is what it is.
fn split(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.rfind(':') {
        // The colons within brackets belong to the address.
        Some(at) if !authority.ends_with(']') => (authority.get(..at)?, Some(authority.get(at + 1..)?)),
        _ => (authority, None),
    };
    let port = match port {
        None => None,
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => Some(digits.parse().ok()?),
        Some(_) => return None,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let bracketed = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let sound = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => !inner.is_empty() && inner.bytes().all(bracketed),
        None => !host.is_empty() && host.bytes().all(plain),
    };
    sound.then_some((host, port))
}

/// An authority with the port that its scheme stands for, if it has none.
fn with_port(authority: &str, origin: &str) -> Option<(String, u16)> {
    let (host, port) = split(authority)?;
    let usual = if origin.starts_with("https:") { 443 } else { 80 };
    Some((host.to_owned(), port.unwrap_or(usual)))
}

/// A CORS preflight request: what a page may do, before the browser lets it.
pub(crate) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// A page of an accepted origin may send what MCP needs, `Mcp-Param-*` of any name among it.
pub(crate) fn answer_preflight(parts: &Parts, response: &mut HeaderMap) {
    response.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    let wanted = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
    if let Some(wanted) = wanted.filter(|wanted| wanted.len() <= MOST_WANTED) {
        response.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
}

/// Lets pages of an origin that was configured read a response, with CORS.
pub(crate) fn let_read(headers: &HeaderMap, response: &mut HeaderMap) {
    let Some(origin) = headers.get(ORIGIN) else { return };
    let readable = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After");
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, readable);
    response.append(VARY, HeaderValue::from_static("Origin"));
}

#[cfg(test)]
mod tests {
    use http::{Request, StatusCode};

    use super::Guard;

    fn check(guard: &Guard, target: &str, headers: &[(&str, &str)]) -> Result<(), StatusCode> {
        let mut request = Request::post(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        guard.check(&parts).map_err(|refusal| refusal.status)
    }

    fn host(host: &str) -> Result<(), StatusCode> {
        check(&Guard::new(&["tools.example".to_owned()], &[], false), "/mcp", &[("host", host)])
    }

    fn origin(origin: &str) -> Result<(), StatusCode> {
        let guard = Guard::new(&[], &["https://app.example".to_owned()], false);
        check(&guard, "/mcp", &[("host", "127.0.0.1:8080"), ("origin", origin)])
    }

    #[test]
    fn only_known_hosts_pass() {
        for fine in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]", "[::1]:9", "tools.example:443"] {
            assert_eq!(host(fine), Ok(()), "{fine}");
        }
        for evil in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "localhost.",
            "127.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
        ] {
            assert_eq!(host(evil), Err(StatusCode::FORBIDDEN), "{evil}");
        }
        for bad in [
            "a@localhost",
            "localhost:99999",
            "localhost:0x50",
            "local host",
            "localhost,evil",
            "",
            "[::1",
            "[]",
        ] {
            assert_eq!(host(bad), Err(StatusCode::BAD_REQUEST), "{bad}");
        }
    }

    #[test]
    fn the_target_decides_over_the_header() {
        let guard = Guard::new(&[], &[], false);
        let headers = [("host", "localhost")];
        assert_eq!(check(&guard, "http://evil.example/mcp", &headers), Err(StatusCode::FORBIDDEN));
        assert_eq!(check(&guard, "http://localhost/mcp", &headers), Ok(()));
        assert_eq!(check(&guard, "/mcp", &[]), Err(StatusCode::BAD_REQUEST));
        assert_eq!(
            check(&guard, "/mcp", &[("host", "localhost"), ("host", "localhost")]),
            Err(StatusCode::BAD_REQUEST)
        );
    }

    #[test]
    fn only_the_same_origin_and_configured_ones_pass() {
        for fine in
            ["http://127.0.0.1:8080", "https://127.0.0.1:8080", "https://app.example", "HTTPS://APP.example"]
        {
            assert_eq!(origin(fine), Ok(()), "{fine}");
        }
        for evil in [
            "http://evil.example",
            "https://evil",
            "null",
            "file://",
            "http://127.0.0.1.evil.example",
            "http://localhost.evil",
            "http://evil#127.0.0.1:8080",
            "http://127.0.0.1:8080@evil",
            "http://localhost:8081",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "http://localhost:8080",
            "",
            "127.0.0.1:8080",
        ] {
            assert_eq!(origin(evil), Err(StatusCode::FORBIDDEN), "{evil}");
        }
        let guard = Guard::new(&[], &[], false);
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(check(&guard, "/mcp", &twice), Err(StatusCode::FORBIDDEN));
        let cross = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(check(&guard, "/mcp", &cross), Err(StatusCode::FORBIDDEN));
        let same = [("host", "localhost"), ("sec-fetch-site", "same-origin")];
        assert_eq!(check(&guard, "/mcp", &same), Ok(()));
    }
}
