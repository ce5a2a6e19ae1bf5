//! An address that a server wants a person to open, looked over before it is believed.

use url::{Host, Url};

/// An address that may be opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The host, in ASCII and, where that differs, as it is read.
    pub(crate) host: String,
    /// What a person should know before.
    pub(crate) warnings: Vec<String>,
}

impl Address {
    /// Looks an address over; the error says why it must not be opened.
    pub(crate) fn judge(address: &str) -> Result<Self, String> {
        let url = Url::parse(address).map_err(|error| format!("this is not a URL ({error})"))?;
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
            warnings.push(format!("what stands before the @ is not the host: the host is {ascii}"));
        }
        if url.scheme() == "http" && !is_loopback(&host) {
            warnings.push("http: what you type there can be read and changed on its way".to_owned());
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
    use super::Address;

    #[test]
    fn only_web_pages_are_opened() {
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
            assert!(Address::judge(address).is_err(), "{address}");
        }
        assert!(Address::judge("javascript:alert(1)").unwrap_err().starts_with("a javascript: URL"));
    }

    #[test]
    fn the_host_is_told_in_both_forms() {
        for address in ["https://xn--80ak6aa92e.com/login", "https://аррӏе.com/login"] {
            let judged = Address::judge(address).unwrap();
            assert_eq!(judged.host, "xn--80ak6aa92e.com (аррӏе.com)");
            assert!(judged.warnings[0].contains("Punycode"), "{judged:?}");
        }
        let plain = Address::judge("https://example.com:8443/a?b#c").unwrap();
        assert_eq!((plain.host.as_str(), plain.warnings.len()), ("example.com", 0));
    }

    #[test]
    fn what_misleads_is_told() {
        let judged = Address::judge("https://bank.example@evil.example/").unwrap();
        assert_eq!(judged.host, "evil.example");
        assert!(judged.warnings[0].contains("the host is evil.example"), "{judged:?}");
        assert!(Address::judge("http://example.com").unwrap().warnings[0].starts_with("http:"));
        for local in ["http://localhost:1/", "http://127.0.0.1/", "http://[::1]:80/"] {
            assert_eq!(Address::judge(local).unwrap().warnings, [""; 0], "{local}");
        }
    }
}
