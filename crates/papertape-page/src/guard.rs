//! `Host`, `Origin` and `Sec-Fetch-Site`: a request must be meant for this server, and come from its own page or from none.
//!
//! A web page can make a browser send requests to loopback, under any name that leads there (DNS rebinding). So the name must be
//! one of this machine with the port of this server, and the page one of this server.

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::reply::Refusal;

/// Names of this machine alone. `0.0.0.0` is none: browsers have taken it for this machine, too.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Whether a request may be served by the server on this port.
pub(crate) fn check(request: &Parts, port: u16) -> Result<(), Refusal> {
    let host = host(request, port)?;
    match only(&request.headers, ORIGIN.as_str()) {
        Some(origin) if origin.to_ascii_lowercase().strip_prefix("http://") == Some(&host) => {}
        Some(_) => return Err(refused("`Origin` is not this page")),
        None if request.headers.contains_key(ORIGIN) => {
            return Err(refused("there are several `Origin` headers"));
        }
        None => {}
    }
    let site = request.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    // `none`: typed, or opened by a program. Other ports of this machine are the same site, and another origin.
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(refused("the request comes from another site")),
    }
}

/// The `Host`, which must be this machine and this port.
fn host(request: &Parts, port: u16) -> Result<String, Refusal> {
    let wrong = || refused("`Host` is not a loopback name with the port of this server");
    let host = only(&request.headers, HOST.as_str()).ok_or_else(wrong)?.to_ascii_lowercase();
    // A target with an authority of its own (`GET http://.. HTTP/1.1`) must not disagree.
    if request.uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(&host)) {
        return Err(wrong());
    }
    let is_own = match host.strip_suffix(&format!(":{port}")) {
        Some(name) => LOOPBACK.contains(&name),
        // Browsers leave out the port of http.
        None => port == 80 && LOOPBACK.contains(&host.as_str()),
    };
    if is_own { Ok(host) } else { Err(wrong()) }
}

fn refused(message: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, message)
}

/// The value of a header that is there once.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use http::{Request, StatusCode};

    use super::check;

    fn checked(target: &str, headers: &[(&str, &str)]) -> Result<(), StatusCode> {
        let mut request = Request::post(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(&parts, 8080).map_err(|refusal| refusal.status)
    }

    #[test]
    fn only_the_own_names_with_the_own_port_pass() {
        for fine in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:8080"] {
            assert_eq!(checked("/", &[("host", fine)]), Ok(()), "{fine}");
        }
        for evil in [
            "",
            "localhost",
            "localhost:8081",
            "localhost:80808080",
            "evil.example:8080",
            "evil.example",
            "0.0.0.0:8080",
            "127.0.0.1.nip.io:8080",
            "localhost.:8080",
            "127.1:8080",
            "2130706433:8080",
            "[::ffff:127.0.0.1]:8080",
            "a@localhost:8080",
            "localhost:8080, evil:8080",
        ] {
            assert_eq!(checked("/", &[("host", evil)]), Err(StatusCode::FORBIDDEN), "{evil}");
        }
        assert_eq!(checked("/", &[]), Err(StatusCode::FORBIDDEN));
        let twice = [("host", "localhost:8080"), ("host", "localhost:8080")];
        assert_eq!(checked("/", &twice), Err(StatusCode::FORBIDDEN));
        assert_eq!(checked("http://evil/", &[("host", "localhost:8080")]), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn only_the_own_page_passes() {
        let from = |name: &str, value: &str| checked("/", &[("host", "127.0.0.1:8080"), (name, value)]);
        assert_eq!(from("origin", "http://127.0.0.1:8080"), Ok(()));
        for site in ["same-origin", "none"] {
            assert_eq!(from("sec-fetch-site", site), Ok(()), "{site}");
        }
        for evil in [
            "null",
            "",
            "http://evil.example",
            "https://127.0.0.1:8080",
            "http://127.0.0.1",
            "http://127.0.0.1:8081",
            "http://localhost:8080",
            "http://127.0.0.1:8080.evil.example",
            "http://0.0.0.0:8080",
            "file://",
        ] {
            assert_eq!(from("origin", evil), Err(StatusCode::FORBIDDEN), "{evil}");
        }
        for site in ["cross-site", "same-site", "other"] {
            assert_eq!(from("sec-fetch-site", site), Err(StatusCode::FORBIDDEN), "{site}");
        }
    }
}
