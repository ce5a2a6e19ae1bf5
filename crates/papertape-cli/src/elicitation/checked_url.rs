//! Checks on a URL that a server asks the user to open.

use url::{Host, Url};

/// A URL that may be opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CheckedUrl {
    /// The host, in ASCII and, where it differs, in Unicode.
    pub(crate) host: String,
    /// What the user should know before opening it.
    pub(crate) warnings: Vec<String>,
}

impl CheckedUrl {
    /// Checks a URL; the error says why it must not be opened.
    pub(crate) fn check(url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("this is not a URL ({error})"))?;
        match url.scheme() {
            "https" | "http" => {}
            scheme => {
                return Err(format!(
                    "a {scheme}: URL is not a web page, and could run or read something here"
                ));
            }
        }
        let Some(host) = url.host() else { return Err("this URL has no host".to_owned()) };
        let ascii = host.to_string();
        let mut warnings = Vec::new();
        let (unicode, is_unicode) = idna::domain_to_unicode(&ascii);
        let is_foreign = matches!(host, Host::Domain(_)) && unicode != ascii;
        if is_foreign {
            let readable = if is_unicode.is_ok() { "" } else { ", which is not a valid name" };
            warnings.push(format!(
                "the host is an internationalized name (Punycode): {ascii} is read as \"{unicode}\"{readable}; letters of \
                 other alphabets can look like those of a name you know"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            warnings.push(format!("the part before the @ is not the host: the host is {ascii}"));
        }
        if url.scheme() == "http" && !is_loopback(&host) {
            warnings.push("http: the connection is not encrypted, so that others can read and change what you enter there".to_owned());
        }
        let host = if is_foreign { format!("{ascii} ({unicode})") } else { ascii };
        Ok(Self { host, warnings })
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::CheckedUrl;

    #[test]
    fn only_http_urls_are_opened() {
        for address in [
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "java\nscript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "vbscript:x",
            "ms-msdt:x",
            "ftp://example.com/",
            "blob:https://example.com/x",
            "https://",
            "no url",
            "//example.com",
            "",
        ] {
            assert!(CheckedUrl::check(address).is_err(), "{address}");
        }
        assert!(CheckedUrl::check("javascript:alert(1)").unwrap_err().starts_with("a javascript: URL"));
    }

    #[test]
    fn the_host_is_shown_in_ascii_and_unicode() {
        for address in ["https://xn--80ak6aa92e.com/login", "https://аррӏе.com/login"] {
            let checked = CheckedUrl::check(address).unwrap();
            assert_eq!(checked.host, "xn--80ak6aa92e.com (аррӏе.com)");
            assert!(checked.warnings[0].contains("Punycode"), "{checked:?}");
        }
        let plain = CheckedUrl::check("https://example.com:8443/a?b#c").unwrap();
        assert_eq!((plain.host.as_str(), plain.warnings.len()), ("example.com", 0));
    }

    #[test]
    fn misleading_urls_have_warnings() {
        let checked = CheckedUrl::check("https://bank.example@evil.example/").unwrap();
        assert_eq!(checked.host, "evil.example");
        assert!(checked.warnings[0].contains("the host is evil.example"), "{checked:?}");
        assert!(CheckedUrl::check("http://example.com").unwrap().warnings[0].starts_with("http:"));
        for local in ["http://localhost:1/", "http://127.0.0.1/", "http://[::1]:80/"] {
            assert_eq!(CheckedUrl::check(local).unwrap().warnings, [""; 0], "{local}");
        }
    }
}
