//! Which addresses a stranger may send us to.
//!
//! Every address of the flow but the first comes from somebody else: the MCP server names the authorization server, and
//! that names its endpoints. None of them may make us talk without encryption, or to machines that only we can reach.

use url::{Host, Url};

/// How near the MCP server itself is: what it names may be as near, but no nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Somewhere on the internet, or behind a name.
    Far,
    /// An address of a private network.
    Near,
    /// This machine.
    Here,
}

/// How near an address is, by what is written in it: names are not looked up.
pub(crate) fn reach(url: &Url) -> Reach {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            if name == "localhost" || name.ends_with(".localhost") { Reach::Here } else { Reach::Far }
        }
        Some(Host::Ipv4(ip)) => of_v4(ip),
        Some(Host::Ipv6(ip)) => match ip.to_ipv4_mapped() {
            Some(ip) => of_v4(ip),
            None if ip.is_loopback() => Reach::Here,
            None if ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified() => Reach::Near,
            None => Reach::Far,
        },
        None => Reach::Far,
    }
}

fn of_v4(ip: std::net::Ipv4Addr) -> Reach {
    let [first, second, ..] = ip.octets();
    let shared = first == 100 && (64..128).contains(&second);
    if ip.is_loopback() {
        Reach::Here
    } else if ip.is_private() || ip.is_link_local() || ip.is_unspecified() || shared {
        Reach::Near
    } else {
        Reach::Far
    }
}

/// Reads an address that a stranger gave us, if we may go there.
pub(crate) fn go_to(address: &str, from: Reach) -> Result<Url, String> {
    let shown = super::error::quote(address, &[]);
    let url = Url::parse(address).map_err(|_| format!("{shown} is not a URL"))?;
    let there = reach(&url);
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("the URL of {} has a user name in it", url.host_str().unwrap_or("nobody")));
    }
    if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{shown} is neither http nor https"));
    }
    if url.scheme() == "http" && there != Reach::Here {
        return Err(format!("{shown} is not encrypted: http is for this machine alone, others need https"));
    }
    if there > from {
        return Err(format!(
            "{shown} is in a private network, which a server that is not there itself may not name"
        ));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_for_this_machine_alone() {
        for fine in ["http://localhost:1/x", "http://127.0.0.1/", "http://[::1]:8/", "https://example.com/a"]
        {
            assert!(go_to(fine, Reach::Here).is_ok(), "{fine}");
        }
        for bad in ["http://example.com/", "http://10.0.0.1/", "http://localhost.example.com/"] {
            assert!(go_to(bad, Reach::Here).unwrap_err().contains("https"), "{bad}");
        }
        for bad in ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "x", ""] {
            assert!(go_to(bad, Reach::Here).is_err(), "{bad}");
        }
        assert!(go_to("https://user:pw@example.com/", Reach::Here).is_err());
    }

    #[test]
    fn a_far_server_cannot_send_us_to_near_machines() {
        let near = [
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
        ];
        for address in near {
            assert!(go_to(address, Reach::Far).is_err(), "{address}");
        }
        assert!(go_to("https://10.1.2.3/", Reach::Near).is_ok());
        assert!(go_to("https://127.0.0.1/", Reach::Near).is_err());
    }
}
