//! Sessions of clients that open with `initialize`: an id to what was agreed.
//!
//! The id is what was agreed, sealed: any replica with the same key can go on with a session that another one has opened.
//! What only one process can have (streams to come back to, requests that wait for their responses, subscriptions) is in a
//! table, made when it is needed and forgotten when the session is idle. So are the streams of HTTP+SSE.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use http::StatusCode;
use tokio::time::Instant;

use super::refusal::Refusal;
use super::stream::{Lost, Reader, Stream, StreamUsage};
use super::turns::Turns;
use crate::protocol::Revision;
use crate::protocol::capabilities::{Abilities, Implementation};
use crate::server::pipeline::subscribe;
use crate::server::session::Session;
use crate::server::{Principal, Sealer, ServiceCore};
use crate::sync::lock;
use crate::telemetry::{Network, Outcome, SessionTimer, Side};

/// How long a session may be used, at most.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How long what this process knows of a session is kept while it is not used.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// Sessions that this process knows of; when there are more, the one of least priority is evicted.
const MOST: usize = 10_000;
/// How often unused sessions are looked for.
pub(crate) const SWEEP: Duration = Duration::from_secs(30);
/// How long an id that was found to be good is taken for good.
const RECHECK: Duration = Duration::from_secs(60);
/// Sessions whose end is remembered.
const MOST_ENDED: usize = 100_000;
/// Streams of one session; when there are more, those that are over go first.
const MOST_STREAMS: usize = 64;

/// Before the number of a stream for what belongs to no request: an event of such a stream is known as one for ever.
const LISTENING: &str = "get";

type Name = [u8; 16];

/// The sessions of a server.
#[derive(Debug)]
pub(crate) struct Sessions {
    sealer: Option<Sealer>,
    /// The server's name.
    server: String,
    table: Mutex<Table>,
    kept: Arc<StreamUsage>,
}

#[derive(Debug, Default)]
struct Table {
    /// When those that are idle were looked for.
    swept: Option<Instant>,
    live: HashMap<Name, Arc<HttpSession>>,
    /// The same by their ids, which need not be unsealed each time.
    ids: HashMap<Box<str>, Weak<HttpSession>>,
    /// Those that were ended, and the order in which they were.
    ended: (HashSet<Name>, VecDeque<Name>),
}

/// What this process knows of a session.
pub(crate) struct HttpSession {
    name: Name,
    /// As its client knows it.
    id: Box<str>,
    /// Distinguishes what this process knows of the session from what another one does, or did.
    epoch: String,
    pub(crate) revision: Revision,
    /// For what belongs to no request, and for what was agreed.
    pub(crate) session: Arc<Session>,
    timer: SessionTimer,
    /// The connections for that.
    turns: Arc<Turns>,
    inner: Mutex<Inner>,
    kept: Arc<StreamUsage>,
}

/// What was agreed in a session, from its id.
struct Agreed {
    name: Name,
    revision: Revision,
    abilities: Abilities,
    client: Option<Implementation>,
}

/// The most bytes of a client's name and version in the id of its session, which comes with every request.
const MOST_CLIENT: usize = 200;

/// The name and version of a client as the id of its session has them: nothing if they are too long.
fn client_json(client: &Implementation) -> Vec<u8> {
    let short = Implementation {
        name: client.name.clone(),
        version: client.version.clone(),
        ..Implementation::default()
    };
    serde_json::to_vec(&short).ok().filter(|json| json.len() <= MOST_CLIENT).unwrap_or_default()
}

/// The id of an event, taken apart.
pub(crate) struct EventId<'a> {
    stream: &'a str,
    number: u64,
}

struct Inner {
    used: Instant,
    /// When its id was last found to be good.
    checked: Instant,
    last: u64,
    streams: VecDeque<Arc<Stream>>,
}

impl Sessions {
    pub(crate) fn new(service: &ServiceCore) -> Self {
        let sealer = service.sealer().map(|sealer| sealer.lasting(LIFETIME));
        Self { sealer, server: service.name().to_owned(), table: Mutex::default(), kept: Arc::default() }
    }

    /// What the id of a session is sealed for: another server, or another principal, cannot use it.
    fn purpose(&self, principal: Option<&Arc<Principal>>) -> Vec<u8> {
        let who = principal.map(|principal| &*principal.name);
        serde_json::to_vec(&("session", &self.server, who)).unwrap_or_default()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    /// How many sessions this process knows of.
    #[cfg(feature = "metrics")]
    pub(crate) fn count(&self) -> usize {
        self.table().live.len()
    }

    /// The id of a new session, in which this was agreed.
    pub(crate) fn mint(&self, session: &Session) -> Option<String> {
        let mut name = Name::default();
        getrandom::fill(&mut name).ok()?;
        let client = session.client().map(|client| client_json(&client)).unwrap_or_default();
        let agreed = [u8::try_from(session.legacy()?.index()).ok()?, session.abilities().to_bits()];
        let agreed = [&name[..], &agreed, &client].concat();
        self.sealer.as_ref()?.seal(&agreed, &self.purpose(session.principal()))
    }

    /// What was agreed in the session with that id, which must be one of this principal's.
    fn agreed(&self, id: &str, principal: Option<&Arc<Principal>>) -> Result<Agreed, Refusal> {
        let purpose = self.purpose(principal);
        let agreed =
            self.sealer.as_ref().and_then(|sealer| sealer.open(id, &purpose).ok()).ok_or_else(unknown)?;
        let (name, agreed) = agreed.split_first_chunk::<16>().ok_or_else(unknown)?;
        let &[revision, abilities, ref client @ ..] = agreed else { return Err(unknown()) };
        let revision = Revision::ALL.into_iter().find(|known| known.index() == usize::from(revision));
        Ok(Agreed {
            name: *name,
            revision: revision.ok_or_else(unknown)?,
            abilities: Abilities::from_bits(abilities),
            client: serde_json::from_slice(client).ok(),
        })
    }

    /// The revision of a session, which must not have ended.
    pub(crate) fn check(&self, id: &str, principal: Option<&Arc<Principal>>) -> Result<Revision, Refusal> {
        let Agreed { name, revision, .. } = self.agreed(id, principal)?;
        if self.table().ended.0.contains(&name) { Err(unknown()) } else { Ok(revision) }
    }

    /// The session with that id, which must be one of this principal's.
    pub(crate) fn find(
        &self,
        id: &str,
        principal: Option<&Arc<Principal>>,
        service: &ServiceCore,
    ) -> Result<Arc<HttpSession>, Refusal> {
        let http_session = self.known_or_made(id, principal, service)?;
        http_session.session.set_latest_principal(principal);
        Ok(http_session)
    }

    fn known_or_made(
        &self,
        id: &str,
        principal: Option<&Arc<Principal>>,
        service: &ServiceCore,
    ) -> Result<Arc<HttpSession>, Refusal> {
        if let Some(http_session) = self.table().known(id, principal) {
            return Ok(http_session);
        }
        let Agreed { name, revision, abilities, client } = self.agreed(id, principal)?;
        let mut table = self.table();
        if table.ended.0.contains(&name) {
            return Err(unknown());
        }
        if let Some(http_session) = table.live.get(&name) {
            http_session.touch();
            http_session.inner().checked = Instant::now();
            return Ok(Arc::clone(http_session));
        }
        table.make_room();
        let session = Session::with_id(principal.cloned(), HEXLOWER.encode(&name));
        session.set_legacy(revision);
        session.set_client(client);
        session.count_readers();
        session.set_initialized();
        session.set_abilities(abilities);
        service.add_subscriber(&session);
        let http_session = Arc::new(HttpSession::new((name, id), revision, session, &self.kept));
        table.live.insert(name, Arc::clone(&http_session));
        table.ids.insert(id.into(), Arc::downgrade(&http_session));
        Ok(http_session)
    }

    /// Ends a session: everything that runs in it is stopped.
    pub(crate) fn end(&self, http_session: &HttpSession) {
        let mut table = self.table();
        let ended = table.live.remove(&http_session.name);
        table.ids.remove(&http_session.id);
        let (names, order) = &mut table.ended;
        names.insert(http_session.name);
        order.push_back(http_session.name);
        if order.len() > MOST_ENDED
            && let Some(oldest) = order.pop_front()
        {
            names.remove(&oldest);
        }
        drop(table);
        if let Some(http_session) = ended {
            http_session.close();
        }
    }

    /// Streams that would go on for ever are to end.
    pub(crate) fn drain(&self) {
        for http_session in self.table().live.values() {
            http_session.session.close();
            http_session.turns.wake_all();
        }
    }

    /// All sessions, which handle notifications, and those of the requests that run in them.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        let table = self.table();
        let sessions = |http_session: &Arc<HttpSession>| -> Vec<Arc<Session>> {
            let inner = http_session.inner();
            let requests = inner.streams.iter().map(|stream| &stream.session);
            requests.chain([&http_session.session]).cloned().collect()
        };
        table.live.values().flat_map(sessions).collect()
    }

    /// Forgets all streams that are kept only in case that their clients come back.
    pub(crate) fn forget_past(&self) {
        for http_session in self.table().live.values() {
            http_session.inner().streams.retain(|stream| !stream.is_past());
        }
    }

    /// Forgets sessions that have not been used for a while.
    pub(crate) fn sweep(&self) {
        self.table().sweep();
    }
}

impl Table {
    /// The session with that id, if it is known here, is this principal's, and was found to be good not long ago.
    fn known(&self, id: &str, principal: Option<&Arc<Principal>>) -> Option<Arc<HttpSession>> {
        let http_session = self.ids.get(id)?.upgrade()?;
        let (owner, asking) = (http_session.session.principal(), principal);
        if owner.map(|who| &who.name) != asking.map(|who| &who.name)
            || !self.live.contains_key(&http_session.name)
        {
            return None;
        }
        let mut inner = http_session.inner();
        if inner.checked.elapsed() > RECHECK {
            return None;
        }
        inner.used = Instant::now();
        drop(inner);
        Some(http_session)
    }

    fn sweep(&mut self) {
        self.swept = Some(Instant::now());
        self.live.retain(|_, http_session| !http_session.is_idle());
        self.ids.retain(|_, http_session| http_session.strong_count() > 0);
    }

    fn make_room(&mut self) {
        // A server that is mounted in an application has no task that sweeps.
        if self.swept.is_none_or(|swept| swept.elapsed() > SWEEP) {
            self.sweep();
        }
        while self.live.len() >= MOST {
            let least = self
                .live
                .values()
                .min_by_key(|http_session| http_session.priority())
                .map(|http_session| http_session.name);
            if let Some(http_session) = least.and_then(|name| self.live.remove(&name)) {
                self.ids.remove(&http_session.id);
                http_session.close();
            }
        }
    }
}

impl HttpSession {
    fn new(
        (name, id): (Name, &str),
        revision: Revision,
        session: Arc<Session>,
        kept: &Arc<StreamUsage>,
    ) -> Self {
        let mut epoch = [0; 6];
        if getrandom::fill(&mut epoch).is_err() {
            tracing::error!("the system provides no randomness: streams of several replicas may be confused");
        }
        let epoch = BASE64URL_NOPAD.encode(&epoch);
        let inner =
            Inner { used: Instant::now(), checked: Instant::now(), last: 0, streams: VecDeque::new() };
        Self {
            name,
            id: id.into(),
            epoch,
            revision,
            session,
            timer: SessionTimer::begin(),
            turns: Arc::default(),
            inner: Mutex::new(inner),
            kept: Arc::clone(kept),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    fn touch(&self) {
        self.inner().used = Instant::now();
    }

    /// The order of eviction: whether it has a reader, whether something runs, and when it was last used.
    fn priority(&self) -> (bool, bool, Instant) {
        let inner = self.inner();
        let is_read = inner.streams.iter().any(|stream| stream.is_read());
        (is_read, inner.streams.iter().any(|stream| stream.is_running()), inner.used)
    }

    fn is_idle(&self) -> bool {
        let (is_read, runs, used) = self.priority();
        !is_read && !runs && used.elapsed() > IDLE
    }

    /// How many requests run in it.
    pub(crate) fn running(&self) -> usize {
        self.inner().streams.iter().filter(|stream| stream.is_running()).count()
    }

    /// A stream for a request of this session, if there is room for one.
    pub(crate) fn open(&self, session: &Arc<Session>) -> Result<Arc<Stream>, Refusal> {
        self.add("", true, session)
    }

    /// Another stream for what belongs to no request.
    pub(crate) fn listen(&self) -> Result<Reader, Refusal> {
        Ok(self.add(LISTENING, false, &self.session)?.read(Some(self.turns.join())))
    }

    fn add(&self, prefix: &str, responds: bool, session: &Arc<Session>) -> Result<Arc<Stream>, Refusal> {
        let mut inner = self.inner();
        if self.kept.is_full() {
            inner.streams.retain(|stream| !stream.is_past());
            if self.kept.is_full() {
                let message = "too many session requests are running: try again in a moment";
                return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(1));
            }
        }
        inner.last += 1;
        let name = format!("{}-{prefix}{}", self.epoch, inner.last);
        let primed = self.revision.can_come_back();
        let stream = Stream::new(name, responds, Arc::clone(session), primed, &self.kept);
        while inner.streams.len() >= MOST_STREAMS
            && let Some(at) = inner.streams.iter().position(|stream| stream.is_past())
        {
            drop(inner.streams.remove(at));
        }
        inner.streams.push_back(Arc::clone(&stream));
        Ok(stream)
    }

    /// The rest of the stream that an event belongs to.
    pub(crate) fn resume(&self, event: &EventId<'_>) -> Result<Reader, Lost> {
        let found = self.inner().streams.iter().find(|stream| stream.name == event.stream).cloned();
        let turn = event.is_of_no_request().then(|| self.turns.join());
        found.ok_or(Lost)?.read_after(event.number, turn)
    }

    fn close(&self) {
        self.session.close();
        self.turns.wake_all();
        self.session.end_client_requests();
        let streams = std::mem::take(&mut self.inner().streams);
        for stream in streams {
            stream.session.cancel_all();
        }
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.session.cancel_all();
        self.timer.end(Side::Server, Network::Http, Some(self.revision), &Outcome::Success);
    }
}

impl<'a> EventId<'a> {
    pub(crate) fn read(id: &'a str) -> Option<Self> {
        let (stream, number) = id.rsplit_once('-')?;
        Some(Self { stream, number: number.parse().ok()? })
    }

    /// Whether its stream is one for what belongs to no request, also if another process had it.
    pub(crate) fn is_of_no_request(&self) -> bool {
        let number = self.stream.rsplit_once('-').and_then(|(_, name)| name.strip_prefix(LISTENING));
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    }
}

fn unknown() -> Refusal {
    let message = "there is no such session (it may have ended): open a new one with `initialize`";
    Refusal::new(StatusCode::NOT_FOUND, message)
}

impl std::fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpSession").field("revision", &self.revision).finish_non_exhaustive()
    }
}

/// The streams of HTTP+SSE that are open, by the name in the address that their clients were given.
#[derive(Debug, Default)]
pub(crate) struct HttpSseStreams(Mutex<HashMap<String, Weak<Session>>>);

impl HttpSseStreams {
    pub(crate) fn open(&self) -> MutexGuard<'_, HashMap<String, Weak<Session>>> {
        lock(&self.0)
    }

    /// No more is read; what runs may finish.
    pub(crate) fn drain(&self, service: &ServiceCore) {
        for session in self.open().values().filter_map(Weak::upgrade) {
            subscribe::end_all(service, &session);
            session.close();
        }
    }

    /// The sessions of all that are open.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        self.open().values().filter_map(Weak::upgrade).collect()
    }
}
