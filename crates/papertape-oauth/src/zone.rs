//! The network zones of hosts, from the internet to this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The network zone of a host. What a server names must be in its own zone or in a more public one.
///
/// ```
/// use papertape_oauth::{Zone, zone};
///
/// let zone_of = |url: &str| zone(&url.parse().unwrap());
/// assert_eq!(zone_of("https://example.com"), Zone::Public);
/// assert!(zone_of("http://10.0.0.1") > zone_of("https://example.com"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    /// The internet, or a name that is not resolved yet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
}

/// The zone of a URL by its text: a name that is not resolved yet counts as public.
#[must_use]
pub fn zone(url: &Url) -> Zone {
    match url.host() {
        Some(Host::Domain(name)) if is_localhost(name) => Zone::Loopback,
        Some(Host::Ipv4(ip)) => zone_of_ip(ip.into()),
        Some(Host::Ipv6(ip)) => zone_of_ip(ip.into()),
        Some(Host::Domain(_)) | None => Zone::Public,
    }
}

/// A name that every resolver maps to loopback (RFC 6761).
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// The zone of an address; of one that may be translated, the least public.
pub(crate) fn zone_of_ip(ip: IpAddr) -> Zone {
    let ip = match ip {
        IpAddr::V4(ip) => return zone_of_v4(ip),
        IpAddr::V6(ip) => ip,
    };
    let own = match ip.segments() {
        [0x64, 0xff9b, 1, ..] | [0xfec0..=0xfeff, ..] => Zone::Private,
        _ if ip.is_loopback() || ip.is_unspecified() => Zone::Loopback,
        _ if ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_multicast() => Zone::Private,
        _ => Zone::Public,
    };
    embedded_v4(ip).into_iter().flatten().map(zone_of_v4).fold(own, Zone::max)
}

/// The IPv4 addresses that an IPv6 address may be translated to.
fn embedded_v4(ip: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)));
    match ip.segments() {
        // Compatible, mapped (RFC 4291), translated (RFC 2765), and NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0 | 0xffff, a, b]
        | [0, 0, 0, 0, 0xffff, 0, a, b]
        | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => [v4(a, b), None],
        // Local-use NAT64, whose prefix may have 48 to 96 bits (RFC 8215); octet 8 is always zero.
        [0x64, 0xff9b, 1, a, b, c, d, e] => [v4(a, (b << 8) | (c >> 8)), v4(d, e)],
        // 6to4 (RFC 3056), and Teredo with its server and its client (RFC 4380).
        [0x2002, a, b, ..] => [v4(a, b), None],
        [0x2001, 0, a, b, _, _, c, d] => [v4(a, b), v4(!c, !d)],
        _ => [None, None],
    }
}

fn zone_of_v4(ip: Ipv4Addr) -> Zone {
    match ip.octets() {
        [127, ..] | [0, 0, 0, 0] => Zone::Loopback,
        // "This network", carrier-grade NAT, IETF protocol assignments, benchmarking, multicast, and reserved.
        [0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] | [224..=255, ..] => {
            Zone::Private
        }
        _ if ip.is_private() || ip.is_link_local() => Zone::Private,
        _ => Zone::Public,
    }
}
