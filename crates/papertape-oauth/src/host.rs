//! Loopback URLs, for which plain `http` is safe.

use std::net::IpAddr;

use url::{Host, Url};

/// Whether the host of a URL is `localhost`, a name below it, or a loopback address.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}
