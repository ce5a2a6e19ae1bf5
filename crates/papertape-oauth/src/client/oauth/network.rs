//! Which URLs of other parties may be fetched (server-side request forgery).
//!
//! Every URL of the flow but the first comes from another party: the server names its authorization server, and that one
//! names its endpoints. None of them may lead to an unencrypted connection, or into a network that its author cannot reach.

use url::Url;

use crate::is_loopback;
pub(super) use crate::zone::{Zone, is_localhost, zone, zone_of_ip};

/// Parses a URL of another party, which is in zone `from`; the error says why it must not be fetched.
pub(super) fn parse_url(text: &str, from: Zone) -> Result<Url, String> {
    let shown = crate::client::error::quote(text, &[]);
    let url = Url::parse(text).map_err(|_| format!("{shown} is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("the URL of {} contains a user name", url.host_str().unwrap_or("no host")));
    }
    if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{shown} is neither http nor https"));
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(format!("{shown} is not encrypted: http is allowed on loopback only, use https"));
    }
    if zone(&url) > from {
        return Err(format!(
            "{shown} is in a private network, which a server outside of it must not refer to"
        ));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_allowed_on_loopback_only() {
        for fine in ["http://localhost:1/x", "http://127.0.0.1/", "http://[::1]:8/", "https://example.com/a"]
        {
            assert!(parse_url(fine, Zone::Loopback).is_ok(), "{fine}");
        }
        for bad in ["http://example.com/", "http://10.0.0.1/", "http://localhost.example.com/"] {
            assert!(parse_url(bad, Zone::Loopback).unwrap_err().contains("https"), "{bad}");
        }
        for bad in ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "x", ""] {
            assert!(parse_url(bad, Zone::Loopback).is_err(), "{bad}");
        }
        assert!(parse_url("https://user:pw@example.com/", Zone::Loopback).is_err());
    }

    #[test]
    fn a_public_server_cannot_refer_to_a_private_network() {
        let private = [
            "https://127.0.0.1/",
            "http://localhost:8080/",
            "https://10.1.2.3/",
            "https://192.168.0.1/",
            "https://169.254.169.254/latest",
            "https://0x7f000001/",
            "https://2130706433/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://a.localhost/",
            "https://localhost./",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://198.18.0.1/",
            "https://[::]/",
            "https://[::127.0.0.1]/",
            "https://[::10.0.0.1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:0:127.0.0.1]/",
            "https://[64:ff9b::127.0.0.1]/",
            "https://[64:ff9b::169.254.169.254]/",
            "https://[64:ff9b:1::8.8.8.8]/",
            "https://[64:ff9b:1:7f00:0:100::]/",
            "https://[2002:7f00:1::]/",
            "https://[2002:c0a8:1::1]/",
            "https://[2001:0:7f00:1::]/",
            "https://[2001:0:808:808:0:0:80ff:fffe]/",
            "https://[fec0::1]/",
        ];
        for address in private {
            assert!(parse_url(address, Zone::Public).is_err(), "{address}");
        }
        assert!(parse_url("https://10.1.2.3/", Zone::Private).is_ok());
        for loopback in ["https://127.0.0.1/", "https://[64:ff9b:1:7f00:0:100::]/", "https://[::127.0.0.1]/"]
        {
            assert!(parse_url(loopback, Zone::Private).is_err(), "{loopback}");
        }
        for public in ["https://8.8.8.8/", "https://[2606:4700::1111]/", "https://[64:ff9b::8.8.8.8]/"] {
            assert!(parse_url(public, Zone::Public).is_ok(), "{public}");
        }
        // An address that may be translated to loopback is not loopback, so http is not allowed.
        assert!(parse_url("http://[::127.0.0.1]/", Zone::Loopback).is_err());
    }
}
