//! One of the servers behind a bridge: its name, and the sessions with it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use papertape::client::ClientError;
use papertape::protocol::capabilities::ServerCapabilities;
use papertape::protocol::error_code::INTERNAL_ERROR;
use papertape::{Cx, ToolError};
use tokio::sync::{OnceCell, mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::exchange::{Exchange, Hosts};
use crate::failure::pass_on;
use crate::host::Host;
use crate::lock;
use crate::relay::{Output, Request, relay};
use crate::upstream::{Connector, Upstream};

/// The delay before a server that could not be connected is tried again: it doubles up to the longest.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(5 * 60);

pub(crate) struct Member {
    /// What the names of its tools and prompts begin with; empty if it is the only one.
    prefix: String,
    connector: Connector,
    /// Whether it is connected for each session of a host, too.
    per_session: bool,
    /// What is exchanged in the first session, also after it was opened again.
    pub(crate) exchange: Arc<Exchange>,
    /// The session that has the lists, and that hosts use which have none of their own.
    first: watch::Sender<First>,
    opened: Mutex<Vec<Weak<Upstream>>>,
    /// The bridge ends: what fails from now on is not worth a warning.
    closing: AtomicBool,
}

/// How far the first session is.
#[derive(Clone)]
enum First {
    Opening,
    Open(Arc<Upstream>),
    /// It is tried again.
    Failed(Arc<str>),
}

/// How the first attempt to connect to a server ended: the server by number.
pub(crate) type Attempt = (usize, Result<(), ClientError>);

/// What is kept for the session of a host: its session with each server, by the address of the member.
#[derive(Default)]
struct OfSession(Mutex<Vec<(usize, Opened)>>);

/// One that is connected with the first call.
type Opened = Arc<OnceCell<Arc<Upstream>>>;

impl Member {
    pub(crate) fn new(connector: Connector, prefix: String, hosts: Hosts, per_session: bool) -> Arc<Self> {
        let (opened, closing) = Default::default();
        let (exchange, first) = (Exchange::new(hosts), watch::Sender::new(First::Opening));
        Arc::new(Self { prefix, connector, per_session, exchange, first, opened, closing })
    }

    /// Connects to the server, once, for the first session.
    pub(crate) async fn open(&self, host: &Host) -> Result<(), ClientError> {
        let upstream = Upstream::connect(&self.connector, host, Arc::clone(&self.exchange)).await?;
        self.first.send_replace(First::Open(upstream));
        Ok(())
    }

    /// Keeps the first session open: connects until that is successful, and again when the session has ended. Reports how the
    /// first attempt ended.
    pub(crate) async fn keep_open(
        self: Arc<Self>,
        number: usize,
        host: Host,
        first: mpsc::UnboundedSender<Attempt>,
    ) {
        let mut first = Some(first);
        let mut delay = FIRST_DELAY;
        loop {
            let opened = self.open(&host).await;
            if let Err(error) = &opened {
                self.first.send_replace(First::Failed(error.to_string().into()));
            }
            match (opened, first.take()) {
                (opened, Some(report)) => drop(report.send((number, opened))),
                (Ok(()), None) => self.say(format_args!("the server {} is connected", self.name())),
                (Err(error), None) => tracing::info!(server = self.name(), "still not connected: {error}"),
            }
            let since = Instant::now();
            if let Some(upstream) = self.first() {
                upstream.client.closed().await;
                if since.elapsed() > LONGEST_DELAY {
                    delay = FIRST_DELAY;
                }
                let Some(error) = upstream.client.why_closed() else { return };
                self.first.send_replace(First::Failed(error.to_string().into()));
                let seconds = delay.as_secs();
                self.say(format_args!(
                    "the server {} is lost: {error}; it is connected again in {seconds} s",
                    self.name()
                ));
            }
            sleep(delay).await;
            delay = (2 * delay).min(LONGEST_DELAY);
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.connector.name
    }

    /// The session that has the lists, if it is open.
    pub(crate) fn first(&self) -> Option<Arc<Upstream>> {
        match &*self.first.borrow() {
            First::Open(upstream) => Some(Arc::clone(upstream)),
            First::Opening | First::Failed(_) => None,
        }
    }

    /// Waits until it is open, and another one than this.
    pub(crate) async fn first_after(&self, last: Option<u64>) -> Arc<Upstream> {
        let mut first = self.first.subscribe();
        let is_another = |first: &First| matches!(first, First::Open(upstream) if Some(upstream.id) != last);
        loop {
            // The sender is a field of this.
            if let Ok(first) = first.wait_for(is_another).await
                && let First::Open(upstream) = &*first
            {
                return Arc::clone(upstream);
            }
        }
    }

    /// The session that has the lists, for a request of a host.
    fn first_or_error(&self) -> Result<Arc<Upstream>, ToolError> {
        let why = match &*self.first.borrow() {
            First::Open(upstream) => return Ok(Arc::clone(upstream)),
            First::Opening => "it is still being connected".to_owned(),
            First::Failed(why) => format!("{why}; it is tried again"),
        };
        let message = format!("the server {} is not connected: {why}", self.name());
        Err(ToolError::rpc(INTERNAL_ERROR, message, None))
    }

    /// The session for a call: one of the host's own, if it has a session and is to get one.
    pub(crate) async fn of(self: &Arc<Self>, cx: &Cx) -> Result<Arc<Upstream>, ToolError> {
        if !self.per_session {
            return self.first_or_error();
        }
        let Some(kept) = cx.session_value(OfSession::default) else { return self.first_or_error() };
        let cell = {
            let (mut kept, address) = (lock(&kept.0), Arc::as_ptr(self).addr());
            match kept.iter().find(|(of, _)| *of == address) {
                Some((_, cell)) => Arc::clone(cell),
                None => {
                    let cell = Arc::default();
                    kept.push((address, Arc::clone(&cell)));
                    cell
                }
            }
        };
        let open = async {
            let exchange = Exchange::new(Hosts::OneSession);
            let upstream = Upstream::connect(&self.connector, &Host::of_call(cx), exchange).await?;
            let mut opened = lock(&self.opened);
            opened.retain(|other| other.strong_count() > 0);
            opened.push(Arc::downgrade(&upstream));
            Ok::<_, ClientError>(upstream)
        };
        let upstream = cell.get_or_try_init(|| open).await;
        upstream.cloned().map_err(|error| pass_on(&error, self.connector.shown_name(), cx))
    }

    /// Whether the server is connected and has something.
    pub(crate) fn offers(&self, has: impl Fn(&ServerCapabilities) -> bool) -> bool {
        self.first().is_some_and(|upstream| has(upstream.client.capabilities()))
    }

    /// The name that the host sees.
    pub(crate) fn prefixed(&self, name: &str) -> String {
        if self.prefix.is_empty() || name.is_empty() {
            name.to_owned()
        } else {
            format!("{}_{name}", self.prefix)
        }
    }

    /// The name that the server knows.
    pub(crate) fn original<'a>(&self, name: &'a str) -> Option<&'a str> {
        if self.prefix.is_empty() {
            return Some(name);
        }
        name.strip_prefix(&*self.prefix)?.strip_prefix('_')
    }

    pub(crate) async fn relay(self: &Arc<Self>, request: Request, cx: &Cx) -> Result<Output, ToolError> {
        relay(&self.of(cx).await?, request, cx).await
    }

    /// Tells users, unless the bridge ends.
    pub(crate) fn say(&self, sentence: impl fmt::Display) {
        if !self.closing.load(Ordering::Relaxed) {
            self.connector.notices.say(sentence);
        }
    }

    /// Warns of something that is wrong with the server.
    pub(crate) fn warn(&self, problem: impl fmt::Display) {
        if !self.closing.load(Ordering::Relaxed) {
            tracing::warn!(server = self.name(), "{problem}");
        }
    }

    /// Ends all sessions with the server.
    pub(crate) async fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let opened: Vec<_> = lock(&self.opened).drain(..).collect();
        for upstream in opened.into_iter().filter_map(|upstream| upstream.upgrade()) {
            upstream.client.clone().close().await;
        }
        self.exchange.forget_host();
        if let Some(first) = self.first() {
            first.client.clone().close().await;
        }
    }
}
