//! Which addresses a stranger may send us to.
//!
//! Every address of the flow but the first comes from somebody else: the MCP server names the authorization server, and
//! that names its endpoints. None of them may make us talk without encryption, or to machines that only we can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::super::client::is_loopback;

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

/// How near an address is, by what is written in it: what a name leads to is judged when it is looked up.
pub(crate) fn reach(url: &Url) -> Reach {
    match url.host() {
        Some(Host::Domain(name)) if is_local_name(name) => Reach::Here,
        Some(Host::Ipv4(ip)) => of_ip(ip.into()),
        Some(Host::Ipv6(ip)) => of_ip(ip.into()),
        Some(Host::Domain(_)) | None => Reach::Far,
    }
}

/// A name that means this machine for every resolver (RFC 6761).
pub(crate) fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// How near the machine with that address may be.
pub(crate) fn of_ip(ip: IpAddr) -> Reach {
    let ip = match ip {
        IpAddr::V4(ip) => return of_v4(ip),
        IpAddr::V6(ip) => ip,
    };
    let own = match ip.segments() {
        [0x64, 0xff9b, 1, ..] | [0xfec0..=0xfeff, ..] => Reach::Near,
        _ if ip.is_loopback() || ip.is_unspecified() => Reach::Here,
        _ if ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_multicast() => Reach::Near,
        _ => Reach::Far,
    };
    within(ip).into_iter().flatten().map(of_v4).fold(own, Reach::max)
}

/// The IPv4 addresses that an IPv6 address may lead to, through whatever translates it.
fn within(ip: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)));
    match ip.segments() {
        // Compatible, mapped (RFC 4291), translated (RFC 2765), and by NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0 | 0xffff, a, b]
        | [0, 0, 0, 0, 0xffff, 0, a, b]
        | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => [v4(a, b), None],
        // A NAT64 of one's own, whose prefix may have 48 to 96 bits (RFC 8215); octet 8 is always zero.
        [0x64, 0xff9b, 1, a, b, c, d, e] => [v4(a, (b << 8) | (c >> 8)), v4(d, e)],
        // 6to4 (RFC 3056), and Teredo with its server and its client (RFC 4380).
        [0x2002, a, b, ..] => [v4(a, b), None],
        [0x2001, 0, a, b, _, _, c, d] => [v4(a, b), v4(!c, !d)],
        _ => [None, None],
    }
}

fn of_v4(ip: Ipv4Addr) -> Reach {
    match ip.octets() {
        [127, ..] | [0, 0, 0, 0] => Reach::Here,
        // This network, carriers' networks, protocols' own, trials, multicast, and what is not given out.
        [0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] | [224..=255, ..] => Reach::Near,
        _ if ip.is_private() || ip.is_link_local() => Reach::Near,
        _ => Reach::Far,
    }
}

/// Reads an address that a stranger gave us, if we may go there.
pub(crate) fn go_to(address: &str, from: Reach) -> Result<Url, String> {
    let shown = super::error::quote(address, &[]);
    let url = Url::parse(address).map_err(|_| format!("{shown} is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("the URL of {} has a user name in it", url.host_str().unwrap_or("nobody")));
    }
    if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{shown} is neither http nor https"));
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(format!("{shown} is not encrypted: http is for this machine alone, others need https"));
    }
    if reach(&url) > from {
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
        for address in near {
            assert!(go_to(address, Reach::Far).is_err(), "{address}");
        }
        assert!(go_to("https://10.1.2.3/", Reach::Near).is_ok());
        for here in ["https://127.0.0.1/", "https://[64:ff9b:1:7f00:0:100::]/", "https://[::127.0.0.1]/"] {
            assert!(go_to(here, Reach::Near).is_err(), "{here}");
        }
        for far in ["https://8.8.8.8/", "https://[2606:4700::1111]/", "https://[64:ff9b::8.8.8.8]/"] {
            assert!(go_to(far, Reach::Far).is_ok(), "{far}");
        }
        // What may lead here is not what surely does.
        assert!(go_to("http://[::127.0.0.1]/", Reach::Here).is_err());
    }
}
