//! How much of a server one client may take: a bound on its requests that are being served, streams among them, so that it
//! cannot shut out the others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

use http::StatusCode;

use super::response::Refusal;
use crate::server::Principal;
use crate::sync::lock;

/// The requests that are being served, by client.
#[derive(Debug)]
pub(crate) struct Clients {
    most: usize,
    open: Mutex<HashMap<Client, usize>>,
}

/// A client: a principal wherever it comes from, and without one an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Client {
    Principal(String),
    Address(IpAddr),
}

/// One request of a client, until it is answered or its stream has ended.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    clients: Arc<Clients>,
    client: Client,
}

impl Clients {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Client, usize>> {
        lock(&self.open)
    }

    /// A request comes in. Nothing is counted if nothing is known of its client.
    pub(crate) fn enter(
        self: &Arc<Self>,
        principal: Option<&Arc<Principal>>,
        address: Option<IpAddr>,
    ) -> Result<Option<RequestPermit>, Refusal> {
        let client = match (principal, address) {
            (Some(principal), _) => Client::Principal(principal.name.clone()),
            (None, Some(address)) => Client::Address(network(address)),
            (None, None) => return Ok(None),
        };
        let mut open = self.open();
        let count = open.entry(client.clone()).or_default();
        if *count >= self.most {
            let message = format!(
                "this client has {} requests and streams open, the limit: end one of them and try again",
                self.most
            );
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(1));
        }
        *count += 1;
        drop(open);
        Ok(Some(RequestPermit { clients: Arc::clone(self), client }))
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut open = self.clients.open();
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// What one client has of addresses: in IPv6 that is a network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::{Clients, network};

    #[test]
    fn a_network_is_one_client() {
        let of = |address: &str| network(address.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }

    #[test]
    fn a_client_without_requests_is_forgotten() {
        let clients = Clients::new(2);
        let enter = |address: &str| clients.enter(None, Some(address.parse().unwrap()));
        let (first, second) = (enter("10.0.0.1").unwrap(), enter("10.0.0.1").unwrap());
        assert!(enter("10.0.0.1").is_err());
        assert!(enter("10.0.0.2").is_ok());
        drop(first);
        assert!(enter("10.0.0.1").is_ok());
        drop(second);
        assert!(clients.open().is_empty());
    }
}
