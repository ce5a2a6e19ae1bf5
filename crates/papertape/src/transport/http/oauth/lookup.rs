//! A name that a stranger gave us to the addresses that we may go to.
//!
//! Names are judged by what they lead to, when a connection is made: what was judged is what is connected to, whatever the
//! name leads to a moment later.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::address::{self, Reach};

/// So many names of strangers are remembered; when there are more, every name is judged.
const MOST: usize = 256;

/// What a name leads to.
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks up names.
pub(crate) type Lookup = fn(String) -> Found;

/// As the system does it.
pub(crate) fn by_system(name: String) -> Found {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
}

/// How near the MCP server itself is. For one that has a name, all its addresses and the one that answered (`peer`, if that
/// is known) must be as near: a name may lead elsewhere the next time it is looked up.
pub(crate) async fn reach(server: &Url, peer: Option<SocketAddr>, lookup: Lookup) -> Reach {
    let name = match server.host() {
        Some(Host::Domain(name)) if !address::is_local_name(name) => name.to_owned(),
        _ => return address::reach(server),
    };
    let found = lookup(name).await.unwrap_or_default();
    found.into_iter().chain(peer).map(|found| address::of_ip(found.ip())).min().unwrap_or(Reach::Far)
}

/// Looks up names for one HTTP client, and keeps back the addresses that strangers may not send us to.
pub(crate) struct Judge {
    from: Reach,
    lookup: Lookup,
    /// The names that strangers gave. Others are those of proxies.
    strange: Mutex<HashSet<String>>,
}

/// A name leads only to where the one who gave it may not send us.
#[derive(Debug)]
pub(crate) struct Misplaced {
    name: String,
    address: SocketAddr,
}

impl Judge {
    pub(crate) fn new(from: Reach, lookup: Lookup) -> Self {
        Self { from, lookup, strange: Mutex::default() }
    }

    /// The server that named others is so near.
    pub(crate) fn from(&self) -> Reach {
        self.from
    }

    /// From now on the name in this address is judged.
    pub(crate) fn watch(&self, url: &Url) {
        if let Some(Host::Domain(name)) = url.host() {
            let mut strange = self.strange();
            if strange.len() < MOST {
                strange.insert(name.to_owned());
            }
        }
    }

    fn strange(&self) -> MutexGuard<'_, HashSet<String>> {
        self.strange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resolve for Judge {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_ascii_lowercase();
        let strange = self.strange();
        let (from, judged) = (self.from, strange.contains(&name) || strange.len() >= MOST);
        drop(strange);
        let found = (self.lookup)(name.clone());
        Box::pin(async move {
            let mut found = found.await?;
            if judged {
                found = judge(name, found, from)?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The addresses of a name that we may go to.
fn judge(name: String, found: Vec<SocketAddr>, from: Reach) -> Result<Vec<SocketAddr>, Misplaced> {
    let local = address::is_local_name(&name);
    let may = |address: &SocketAddr| {
        let there = address::of_ip(address.ip());
        there <= from && (!local || there == Reach::Here)
    };
    let first = found.first().copied();
    let fine: Vec<SocketAddr> = found.into_iter().filter(may).collect();
    match first {
        Some(address) if fine.is_empty() => Err(Misplaced { name, address }),
        _ => Ok(fine),
    }
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, address } = self;
        if address::is_local_name(name) {
            return write!(f, "{name} leads to {}, which is not this machine", address.ip());
        }
        write!(
            f,
            "{name} leads to {}, which is in a private network: a server that is not there itself may not name it",
            address.ip()
        )
    }
}

impl Error for Misplaced {}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::error::AuthStep;
    use super::super::fetch::Fetcher;
    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 0)).collect()
    }

    fn to_this_machine(_: String) -> Found {
        Box::pin(async { Ok(addresses(&["127.0.0.1"])) })
    }

    #[test]
    fn only_addresses_that_are_no_nearer_than_the_server_are_gone_to() {
        let judged = |name: &str, found: &[&str], from| judge(name.to_owned(), addresses(found), from);
        let both = ["127.0.0.1", "8.8.8.8", "::1", "10.0.0.1", "64:ff9b::7f00:1"];
        assert_eq!(judged("a.example", &both, Reach::Far).unwrap(), addresses(&["8.8.8.8"]));
        assert_eq!(judged("a.example", &both, Reach::Near).unwrap(), addresses(&["8.8.8.8", "10.0.0.1"]));
        assert_eq!(judged("a.example", &both, Reach::Here).unwrap(), addresses(&both));
        assert_eq!(judged("localhost", &both[..2], Reach::Here).unwrap(), addresses(&both[..1]));
        assert!(judged("a.localhost.", &["8.8.8.8"], Reach::Here).is_err());
        assert!(judged("a.example", &[], Reach::Far).unwrap().is_empty());
        let told = judged("a.example", &["192.168.0.1"], Reach::Far).unwrap_err().to_string();
        assert!(told.contains("a.example leads to 192.168.0.1"), "{told}");
    }

    #[tokio::test]
    async fn a_name_that_leads_here_is_not_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let fetcher =
            Fetcher::new(reqwest::Client::builder().no_proxy(), Reach::Far, to_this_machine).unwrap();
        let url = Url::parse(&format!("https://metadata.example:{port}/x")).unwrap();
        let told = fetcher.get(AuthStep::ResourceMetadata, &url).await.err().unwrap();
        assert!(told.final_word, "{told}");
        assert!(told.to_string().contains("metadata.example leads to 127.0.0.1"), "{told}");
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // A server that is here itself may name what is here: this is connected to, and fails for want of TLS.
        let fetcher =
            Fetcher::new(reqwest::Client::builder().no_proxy(), Reach::Here, to_this_machine).unwrap();
        let ask = tokio::spawn(async move { fetcher.get(AuthStep::ResourceMetadata, &url).await.map(drop) });
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        drop(listener.accept().await.unwrap());
        assert!(ask.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn what_was_judged_is_what_is_connected_to() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        // Another address each time; a connection is accepted at the first one only.
        fn rebinding(_: String) -> Found {
            let first = ASKED.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move { Ok(addresses(&[if first { "127.0.0.1" } else { "::1" }])) })
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url =
            Url::parse(&format!("https://a.example:{}/", listener.local_addr().unwrap().port())).unwrap();
        let fetcher = Fetcher::new(reqwest::Client::builder().no_proxy(), Reach::Here, rebinding).unwrap();
        let ask = tokio::spawn(async move { fetcher.get(AuthStep::Token, &url).await.map(drop) });
        drop(listener.accept().await.unwrap());
        assert!(ask.await.unwrap().is_err());
        assert_eq!(ASKED.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_server_is_as_near_as_the_farthest_of_its_addresses() {
        fn office(_: String) -> Found {
            Box::pin(async { Ok(addresses(&["10.0.0.1", "127.0.0.1"])) })
        }
        fn unknown(_: String) -> Found {
            Box::pin(async { Err(io::ErrorKind::NotFound.into()) })
        }
        let url = |text| Url::parse(text).unwrap();
        let named = url("https://mcp.example/");
        assert_eq!(reach(&named, None, to_this_machine).await, Reach::Here);
        assert_eq!(reach(&named, None, office).await, Reach::Near);
        assert_eq!(reach(&named, None, unknown).await, Reach::Far);
        // It answered from elsewhere, and has changed its name's address since.
        let peer = addresses(&["8.8.8.8"]).pop();
        assert_eq!(reach(&named, peer, to_this_machine).await, Reach::Far);
        assert_eq!(reach(&url("http://127.0.0.1/"), peer, unknown).await, Reach::Here);
        assert_eq!(reach(&url("http://localhost/"), None, unknown).await, Reach::Here);
    }
}
