//! A request on its way in: what it must say about itself, its body, and how much of a server one client and all bodies may take.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;

use super::refusal::Refusal;
use crate::protocol::Revision;
use crate::server::Principal;
use crate::server::session::Session;
use crate::sync::lock;
use crate::transport::http::headers::PROTOCOL_VERSION;

/// The revision that a request's header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedRevision {
    Absent,
    Known(Revision),
    /// None that is supported here, or several.
    Unknown,
}

impl NamedRevision {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(PROTOCOL_VERSION).iter();
        let Some(value) = values.next() else { return NamedRevision::Absent };
        let revision = value.to_str().ok().and_then(|name| Revision::parse(name.trim()));
        revision.filter(|_| values.next().is_none()).map_or(NamedRevision::Unknown, NamedRevision::Known)
    }

    /// Whether the error of a request without a readable id omits `id`. Older revisions get `null`; a request that names no
    /// revision, or an unknown one, counts as new.
    pub(crate) fn omits_unreadable_id(self) -> bool {
        match self {
            NamedRevision::Known(revision) => revision.omits_unreadable_id(),
            NamedRevision::Absent | NamedRevision::Unknown => true,
        }
    }
}

/// An exchange, which is cancelled when its connection ends.
pub(crate) struct Exchange(pub(crate) Arc<Session>);

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// The requests that are being served, by client: each may have so many, streams among them, so that it cannot shut out the others.
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
            (Some(principal), _) if !principal.is_anonymous() => Client::Principal(principal.name.clone()),
            (_, Some(address)) => Client::Address(network(address)),
            (_, None) => return Ok(None),
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

/// A body that can be read.
pub(crate) trait Readable: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> {}

impl<B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>> Readable for B {}

/// Bodies up to this size are not counted among the bytes in flight.
const SMALL: usize = 64 * 1024;

/// The bytes of requests that are held at once, over all connections.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    most: usize,
}

/// A body, and its part of the budget.
pub(crate) struct Taken {
    pub(crate) bytes: Bytes,
    /// Held until the body is dropped, and all that was made of it.
    pub(crate) held: Option<Arc<Held>>,
}

/// A part of the budget.
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), most })
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.held.load(Ordering::Relaxed).saturating_add(bytes) <= self.most
    }
}

impl Held {
    /// Holds so many bytes in all.
    fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let more = bytes.saturating_sub(self.bytes);
        let before = self.budget.held.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        if before + more > self.budget.most { Err(full()) } else { Ok(()) }
    }
}

fn full() -> Refusal {
    let message = "the memory budget for requests is exhausted: try again in a moment";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(1)
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Reads a body that may have so many bytes.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    most: usize,
    budget: &Arc<Budget>,
) -> Result<Taken, Refusal>
where
    B: Readable,
{
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {most} bytes, the limit"),
        )
        .closing()
    };
    let announced =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut held = Held { budget: Arc::clone(budget), bytes: 0 };
    // A length that is only announced reserves nothing, but a body that does not fit is refused at once.
    if announced.is_some_and(|length| length > SMALL && !budget.has_room(length)) {
        return Err(full());
    }
    let mut body = std::pin::pin!(body);
    let (mut first, mut more) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            Refusal::new(StatusCode::BAD_REQUEST, "the body could not be read to its end").closing()
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let size = first.len() + more.len() + data.len();
        if size > most {
            return Err(too_large());
        }
        if size > SMALL {
            held.grow(size)?;
        }
        if first.is_empty() && more.is_empty() {
            // Most bodies come in one piece, which need not be copied.
            first = data;
        } else {
            if more.is_empty() {
                more.extend_from_slice(&std::mem::take(&mut first));
            }
            // It grows with what arrives, never by what is announced: that costs a client nothing to say.
            more.extend_from_slice(&data);
        }
    }
    let bytes = if more.is_empty() { first } else { more.freeze() };
    Ok(Taken { bytes, held: (held.bytes > 0).then(|| Arc::new(held)) })
}

/// Refuses what is not JSON in UTF-8.
pub(crate) fn check_content(headers: &HeaderMap) -> Result<(), Refusal> {
    let refused = |message| Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let kind = types.next().and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let mut parts = kind.split(';').map(str::trim);
    if types.next().is_some() || !parts.next().unwrap_or_default().eq_ignore_ascii_case("application/json") {
        return refused("`Content-Type` must be application/json");
    }
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name.eq_ignore_ascii_case("charset") && !value.trim_matches('"').eq_ignore_ascii_case("utf-8") {
            return refused("the only charset is utf-8");
        }
    }
    match headers.get(CONTENT_ENCODING).map(http::HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(()),
        Some(_) => refused("compressed bodies are not read: send the JSON as it is"),
    }
}

/// Accepts all media types of MCP.
const USUAL: &str = "application/json, text/event-stream";

/// Refuses clients that do not accept the media types of the response.
pub(crate) fn check_accept(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refusal> {
    // What nearly all clients send need not be parsed.
    if headers.get(ACCEPT).is_some_and(|value| value == USUAL) {
        return Ok(());
    }
    let takes = |kind: &str| accepts(headers, &ACCEPT, kind);
    if kinds.iter().all(|kind| takes(kind)) {
        return Ok(());
    }
    let message = format!("`Accept` must list {}", kinds.join(" and "));
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message))
}

/// Whether a client prefers an SSE stream even for a single message: it lists that first.
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    kinds.next().is_some_and(|kinds| kinds.trim_start().starts_with("text/event-stream"))
}

fn accepts(headers: &HeaderMap, name: &HeaderName, kind: &str) -> bool {
    let family = kind.split('/').next().unwrap_or_default();
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default();
            let unwanted = parts.any(|part| {
                part.split_once('=').is_some_and(|(name, weight)| {
                    name.eq_ignore_ascii_case("q") && weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0)
                })
            });
            let matches = range == "*/*"
                || range.eq_ignore_ascii_case(kind)
                || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(family));
            matches && !unwanted
        })
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
