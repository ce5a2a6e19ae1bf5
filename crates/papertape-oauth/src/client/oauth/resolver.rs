//! DNS resolution that keeps to the allowed network zones.
//!
//! A name is checked by its addresses when a connection is made, so that the addresses that were checked are the ones that are
//! connected to (DNS rebinding).

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Mutex;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::network::{self, Zone};
use crate::sync::lock;

/// The most names that are remembered as those of other parties; with more, every name is restricted.
const MAX_NAMES: usize = 256;

type Resolved = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Resolves a name.
pub(super) type Lookup = fn(String) -> Resolved;

/// The resolver of the operating system.
pub(super) fn by_system(name: String) -> Resolved {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
}

/// The zone of the server. If it has a name, that is the most public of its addresses and of the one that it responded from
/// (`peer`): a name may resolve to another address next time.
pub(super) async fn zone(server: &Url, peer: Option<SocketAddr>, lookup: Lookup) -> Zone {
    let name = match server.host() {
        Some(Host::Domain(name)) if !network::is_localhost(name) => name.to_owned(),
        _ => return network::zone(server),
    };
    let addresses = lookup(name).await.unwrap_or_default();
    addresses.into_iter().chain(peer).map(|peer| network::zone_of_ip(peer.ip())).min().unwrap_or(Zone::Public)
}

/// The resolver of one HTTP client, which removes the addresses that a server in its zone must not refer to.
pub(super) struct RestrictedResolver {
    zone: Zone,
    lookup: Lookup,
    /// Names of other parties. The remaining names are those of proxies, which the user has configured.
    restricted: Mutex<HashSet<String>>,
}

/// A name of another party resolves to forbidden addresses only.
#[derive(Debug)]
pub(super) struct ForbiddenAddress {
    name: String,
    address: SocketAddr,
}

impl RestrictedResolver {
    pub(super) fn new(zone: Zone, lookup: Lookup) -> Self {
        Self { zone, lookup, restricted: Mutex::default() }
    }

    pub(super) fn zone(&self) -> Zone {
        self.zone
    }

    /// Restricts the name in a URL of another party.
    pub(super) fn restrict(&self, url: &Url) {
        if let Some(Host::Domain(name)) = url.host() {
            let mut restricted = lock(&self.restricted);
            if restricted.len() < MAX_NAMES {
                restricted.insert(name.to_owned());
            }
        }
    }
}

impl Resolve for RestrictedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_ascii_lowercase();
        let restricted = {
            let names = lock(&self.restricted);
            names.contains(&name) || names.len() >= MAX_NAMES
        };
        let (zone, resolved) = (self.zone, (self.lookup)(name.clone()));
        Box::pin(async move {
            let mut addresses = resolved.await?;
            if restricted {
                addresses = allowed_addresses(name, addresses, zone)?;
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn allowed_addresses(
    name: String,
    addresses: Vec<SocketAddr>,
    from: Zone,
) -> Result<Vec<SocketAddr>, ForbiddenAddress> {
    let localhost = network::is_localhost(&name);
    let is_allowed = |address: &SocketAddr| {
        let zone = network::zone_of_ip(address.ip());
        zone <= from && (!localhost || zone == Zone::Loopback)
    };
    let first = addresses.first().copied();
    let allowed: Vec<SocketAddr> = addresses.into_iter().filter(is_allowed).collect();
    match first {
        Some(address) if allowed.is_empty() => Err(ForbiddenAddress { name, address }),
        _ => Ok(allowed),
    }
}

impl fmt::Display for ForbiddenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, address } = self;
        write!(f, "{name} resolves to {}, ", address.ip())?;
        f.write_str(if network::is_localhost(name) {
            "which is not a loopback address"
        } else {
            "which is in a private network: a server outside of it must not refer to it"
        })
    }
}

impl Error for ForbiddenAddress {}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::http_client::HttpClient;
    use super::*;
    use crate::client::AuthStep;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 0)).collect()
    }

    fn to_this_machine(_: String) -> Resolved {
        Box::pin(async { Ok(addresses(&["127.0.0.1"])) })
    }

    #[test]
    fn addresses_in_a_less_public_zone_than_the_server_are_removed() {
        let allowed =
            |name: &str, found: &[&str], from| allowed_addresses(name.to_owned(), addresses(found), from);
        let both = ["127.0.0.1", "8.8.8.8", "::1", "10.0.0.1", "64:ff9b::7f00:1"];
        assert_eq!(allowed("a.example", &both, Zone::Public).unwrap(), addresses(&["8.8.8.8"]));
        assert_eq!(allowed("a.example", &both, Zone::Private).unwrap(), addresses(&["8.8.8.8", "10.0.0.1"]));
        assert_eq!(allowed("a.example", &both, Zone::Loopback).unwrap(), addresses(&both));
        assert_eq!(allowed("localhost", &both[..2], Zone::Loopback).unwrap(), addresses(&both[..1]));
        assert!(allowed("a.localhost.", &["8.8.8.8"], Zone::Loopback).is_err());
        assert!(allowed("a.example", &[], Zone::Public).unwrap().is_empty());
        let error = allowed("a.example", &["192.168.0.1"], Zone::Public).unwrap_err().to_string();
        assert!(error.contains("a.example resolves to 192.168.0.1"), "{error}");
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_loopback_is_not_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let http =
            HttpClient::new(reqwest::Client::builder().no_proxy(), Zone::Public, to_this_machine).unwrap();
        let url = Url::parse(&format!("https://metadata.example:{port}/x")).unwrap();
        let error = http.get(AuthStep::ResourceMetadata, &url).await.err().unwrap();
        assert!(error.permanent, "{error}");
        assert!(error.to_string().contains("metadata.example resolves to 127.0.0.1"), "{error}");
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // A server on loopback may name loopback: the connection is made, and fails because there is no TLS.
        let http =
            HttpClient::new(reqwest::Client::builder().no_proxy(), Zone::Loopback, to_this_machine).unwrap();
        let ask = tokio::spawn(async move { http.get(AuthStep::ResourceMetadata, &url).await.map(drop) });
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        drop(listener.accept().await.unwrap());
        assert!(ask.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn the_addresses_that_were_checked_are_connected_to() {
        static LOOKUPS: AtomicUsize = AtomicUsize::new(0);
        // DNS rebinding: another address each time.
        fn rebinding(_: String) -> Resolved {
            let first = LOOKUPS.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move { Ok(addresses(&[if first { "127.0.0.1" } else { "::1" }])) })
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url =
            Url::parse(&format!("https://a.example:{}/", listener.local_addr().unwrap().port())).unwrap();
        let http = HttpClient::new(reqwest::Client::builder().no_proxy(), Zone::Loopback, rebinding).unwrap();
        let ask = tokio::spawn(async move { http.get(AuthStep::Token, &url).await.map(drop) });
        drop(listener.accept().await.unwrap());
        assert!(ask.await.unwrap().is_err());
        assert_eq!(LOOKUPS.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn the_zone_of_a_server_is_the_most_public_of_its_addresses() {
        fn office(_: String) -> Resolved {
            Box::pin(async { Ok(addresses(&["10.0.0.1", "127.0.0.1"])) })
        }
        fn unknown(_: String) -> Resolved {
            Box::pin(async { Err(io::ErrorKind::NotFound.into()) })
        }
        let url = |text| Url::parse(text).unwrap();
        let named = url("https://mcp.example/");
        assert_eq!(zone(&named, None, to_this_machine).await, Zone::Loopback);
        assert_eq!(zone(&named, None, office).await, Zone::Private);
        assert_eq!(zone(&named, None, unknown).await, Zone::Public);
        // The server responded from a public address, and its name resolves to another one since.
        let peer = addresses(&["8.8.8.8"]).pop();
        assert_eq!(zone(&named, peer, to_this_machine).await, Zone::Public);
        assert_eq!(zone(&url("http://127.0.0.1/"), peer, unknown).await, Zone::Loopback);
        assert_eq!(zone(&url("http://localhost/"), None, unknown).await, Zone::Loopback);
    }
}
