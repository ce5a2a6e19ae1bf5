//! A client on HTTP: frames out as requests, frames in from responses.
//!
//! `endpoint` says where the server is; `line` sends one request there and follows what the server asks for before it
//! answers; `exchange` reads the response, `events` if it is a stream; `legacy` keeps what older revisions have between
//! requests, `unasked` reads what belongs to none, `old` is what only the first revision had. `outgoing` says what a frame is about, `tries` when to come back, `body` and
//! `fault` are what they say.

mod body;
mod endpoint;
mod events;
mod exchange;
mod fault;
mod legacy;
mod line;
mod old;
mod outgoing;
mod tries;
mod unasked;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

pub use endpoint::Endpoint;
pub(crate) use endpoint::is_loopback;

use crate::client::{Client, ClientError, ClientOptions, ErrorKind, Evidence, Remains, Session};
use crate::outbox::{OUTBOX, Outgoing};
use crate::protocol::method;
use crate::transport::pump::{EndWhenDropped, Settings};
use legacy::{Legacy, WORD};
use line::Line;
use outgoing::Sent;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Requests that may be under way at once, each with a connection of its own; more wait. Subscriptions do not count.
const MOST_REQUESTS: usize = 256;

/// The same for what wants no answer.
const MOST_WORDS: usize = 64;

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Opens a conversation with a server at a URL, in the newest revision that it speaks.
///
/// ```no_run
/// # async fn f() -> Result<(), papertape::ClientError> {
/// use papertape::http;
/// use serde_json::json;
///
/// let client = http::connect("https://tools.example/mcp").await?;
/// let result = client.call("word_count", json!({"text": "one two"})).await?;
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the server cannot be reached, or the conversation does not open.
pub async fn connect(url: &str) -> Result<Client, ClientError> {
    connect_with(Endpoint::new(url), ClientOptions::new()).await
}

/// The same, with more said about the way there, and with options.
///
/// # Errors
/// If the server cannot be reached, the conversation does not open, or the tape cannot be written.
pub async fn connect_with(endpoint: Endpoint, options: ClientOptions) -> Result<Client, ClientError> {
    let sender = endpoint.build().map_err(|why| {
        let kind = ErrorKind::Unreachable(why);
        ClientError::new("reading the address of the server", kind, "nothing was sent", Evidence::default())
    })?;
    let settings = Settings::new(options)?;
    let remains = Arc::new(Remains::default());
    let session = settings.session(&remains);
    session.go_own_ways();
    let (tell, gone) = watch::channel(false);
    let line =
        Line { session: Arc::clone(&session), sender, tap: Arc::clone(&settings.tap), limit: settings.frame };
    let carrier = Arc::new(Carrier { line, legacy: Legacy::default(), background: Mutex::default() });
    tokio::spawn(async move {
        carrier.run().await;
        tell.send_replace(true);
    });
    // Whoever stops waiting, by dropping this, leaves nothing behind.
    let mut leaving = CloseWhenDropped(Some(Arc::clone(&session)));
    let opened = settings.introduction.open_on_http(&session).await?;
    session.set_revision(opened.revision);
    leaving.0 = None;
    Ok(settings.client(session, opened, gone, remains))
}

/// The sibling of the pump: it carries each message on its own.
struct Carrier {
    line: Line,
    legacy: Legacy,
    /// Streams that belong to no request.
    background: Mutex<JoinSet<()>>,
}

/// What is under way, and what waits to be.
#[derive(Default)]
struct UnderWay {
    requests: JoinSet<()>,
    waiting_requests: VecDeque<Sent>,
    /// What wants no answer.
    words: JoinSet<()>,
    waiting_words: VecDeque<Sent>,
    subscriptions: JoinSet<()>,
}

impl UnderWay {
    /// Bytes that wait.
    fn waiting(&self) -> usize {
        self.waiting_requests.iter().chain(&self.waiting_words).map(|sent| sent.body.len()).sum()
    }
}

impl Carrier {
    /// Runs until the conversation is to end.
    async fn run(self: Arc<Self>) {
        let _ended = EndWhenDropped(Arc::clone(&self.line.session));
        let _silence = Silence(Arc::clone(&self));
        let mut under_way = UnderWay::default();
        let patience = tokio::select! {
            biased;
            patience = self.line.session.close_wanted() => patience,
            () = self.carry(&mut under_way) => Duration::ZERO,
        };
        under_way.requests.abort_all();
        under_way.subscriptions.abort_all();
        drop(timeout(patience.min(LAST_WORDS), self.last_words(under_way)).await);
    }

    /// Carries what there is to carry, for ever.
    async fn carry(self: &Arc<Self>, under_way: &mut UnderWay) {
        loop {
            if under_way.waiting() < OUTBOX {
                for sent in self.outgoing() {
                    if sent.is(method::INITIALIZED) {
                        self.initialized(&sent).await;
                    } else if sent.is(method::LISTEN) {
                        self.set_out(&mut under_way.subscriptions, sent);
                    } else if sent
                        .id
                        .is_some_and(|id| !sent.is(method::UNSUBSCRIBE) || self.line.session.awaits(id))
                    {
                        under_way.waiting_requests.push_back(sent);
                    } else {
                        // What wants no answer, and the end of a subscription, whose answer nobody waits for.
                        under_way.waiting_words.push_back(sent);
                    }
                }
            }
            while under_way.requests.len() < MOST_REQUESTS
                && let Some(sent) = under_way.waiting_requests.pop_front()
            {
                self.set_out(&mut under_way.requests, sent);
            }
            while under_way.words.len() < MOST_WORDS
                && let Some(sent) = under_way.waiting_words.pop_front()
            {
                let this = Arc::clone(self);
                under_way.words.spawn(async move {
                    if timeout(WORD, this.tell(&sent)).await.is_err() {
                        tracing::warn!("the server did not take {} in time", sent.method);
                    }
                });
            }
            tokio::select! {
                biased;
                () = self.line.session.wake.notified() => {}
                Some(_) = under_way.requests.join_next() => {}
                Some(_) = under_way.words.join_next() => {}
                Some(_) = under_way.subscriptions.join_next() => {}
            }
        }
    }

    /// What waits to be sent.
    fn outgoing(&self) -> Vec<Sent> {
        let mut outgoing = Outgoing::default();
        self.line.session.take(&mut outgoing);
        let frames = outgoing::split(&mut outgoing);
        frames.iter().map(|body| Sent::read(body, &self.line.session)).collect()
    }

    /// A request goes its way, if anybody still waits for it.
    fn set_out(self: &Arc<Self>, requests: &mut JoinSet<()>, sent: Sent) {
        let Some(id) = sent.id else { return };
        let Some(left) = self.line.session.set_out(id) else { return };
        let this = Arc::clone(self);
        let task = requests.spawn(async move {
            if let Err(trouble) = this.ask(&sent, id, &left).await {
                this.line.session.fail_request(id, trouble);
            }
        });
        self.line.session.carried_by(id, task);
    }

    /// Says what is still to be said, and takes leave.
    async fn last_words(self: &Arc<Self>, under_way: UnderWay) {
        let UnderWay { mut words, waiting_words, .. } = under_way;
        let last = self.outgoing().into_iter().filter(|sent| sent.id.is_none());
        for sent in waiting_words.into_iter().chain(last).take(MOST_WORDS) {
            let this = Arc::clone(self);
            words.spawn(async move { this.tell(&sent).await });
        }
        while words.join_next().await.is_some() {}
        self.leave().await;
    }

    /// Runs something that belongs to no request, until it or the conversation ends.
    fn in_background(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut background = self.background.lock().unwrap_or_else(PoisonError::into_inner);
        while background.try_join_next().is_some() {}
        background.spawn(task)
    }
}

/// Ends what runs in the background, which would otherwise keep itself alive.
struct Silence(Arc<Carrier>);

impl Drop for Silence {
    fn drop(&mut self) {
        *self.0.background.lock().unwrap_or_else(PoisonError::into_inner) = JoinSet::new();
    }
}

/// Ends a conversation that did not open.
struct CloseWhenDropped(Option<Arc<Session>>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.want_close(LAST_WORDS);
        }
    }
}
