//! One of the servers behind a bridge: its name, and the sessions with it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use papertape::client::ClientError;
use papertape::protocol::capabilities::ServerCapabilities;
use papertape::{Cx, ToolError};
use tokio::sync::OnceCell;

use crate::bridge::Connect;
use crate::exchange::Hosts;
use crate::failure::pass_on;
use crate::host::Host;
use crate::lock;
use crate::relay::{Output, Request, relay};
use crate::upstream::Upstream;

pub(crate) struct Member {
    name: String,
    /// What the names of its tools and prompts begin with; empty if it is the only one.
    prefix: String,
    first: Arc<Upstream>,
    /// Connects for each session of a host.
    per_session: Option<Connect>,
    opened: Mutex<Vec<Weak<Upstream>>>,
    /// The bridge ends: what fails from now on is not worth a warning.
    closing: AtomicBool,
}

/// What is kept for the session of a host: its session with each server, by the address of the member.
#[derive(Default)]
struct OfSession(Mutex<Vec<(usize, Opened)>>);

/// One that is connected with the first call.
type Opened = Arc<OnceCell<Arc<Upstream>>>;

impl Member {
    pub(crate) fn new(
        name: String,
        prefix: String,
        first: Arc<Upstream>,
        per_session: Option<Connect>,
    ) -> Arc<Self> {
        let (opened, closing) = Default::default();
        Arc::new(Self { name, prefix, first, per_session, opened, closing })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The session that was opened first, which has the lists.
    pub(crate) fn first(&self) -> Arc<Upstream> {
        Arc::clone(&self.first)
    }

    /// The session for a call: one of the host's own, if it has a session and is to get one.
    pub(crate) async fn of(self: &Arc<Self>, cx: &Cx) -> Result<Arc<Upstream>, ToolError> {
        let Some(connect) = &self.per_session else { return Ok(self.first()) };
        let Some(kept) = cx.session_value(OfSession::default) else { return Ok(self.first()) };
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
            let upstream = Upstream::connect(connect, &Host::of_call(cx), Hosts::OneSession).await?;
            let mut opened = lock(&self.opened);
            opened.retain(|other| other.strong_count() > 0);
            opened.push(Arc::downgrade(&upstream));
            Ok::<_, ClientError>(upstream)
        };
        let upstream = cell.get_or_try_init(|| open).await;
        upstream.cloned().map_err(|error| pass_on(&error, cx))
    }

    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        self.first.client.capabilities()
    }

    pub(crate) fn watches_resources(&self) -> bool {
        self.capabilities().resources.as_ref().is_some_and(|resources| resources.subscribe)
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

    /// Warns of something that is wrong with the server.
    pub(crate) fn warn(&self, problem: impl fmt::Display) {
        if !self.closing.load(Ordering::Relaxed) {
            tracing::warn!(server = self.name, "{problem}");
        }
    }

    /// Ends all sessions with the server.
    pub(crate) async fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let opened: Vec<_> = lock(&self.opened).drain(..).collect();
        for upstream in opened.into_iter().filter_map(|upstream| upstream.upgrade()) {
            upstream.client.clone().close().await;
        }
        self.first.exchange.forget_host();
        self.first.client.clone().close().await;
    }
}
