//! What legacy revisions keep between requests: the session, the stream of what nobody asked for, and how both end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use url::Url;

use super::super::headers;
use super::events::Place;
use super::line::Request;
use super::outgoing::Sent;
use super::tries::Tries;
use super::{Carrier, EVENTS};
use crate::client::Trouble;
use crate::protocol::Revision;
use crate::wire::message::{self, Bounds, Message, Payload};

/// How long a notification may take.
pub(super) const WORD: Duration = Duration::from_secs(30);

/// What `initialize` has led to.
#[derive(Default)]
pub(super) struct Conversation {
    /// How it was asked for, in case it has to be asked for again.
    initialize: Option<Bytes>,
    revision: Option<Revision>,
    session: Option<HeaderValue>,
    /// Where messages go, if the server is one of the first revision.
    pub(super) old: Option<Url>,
    /// What reads what nobody asked for.
    unasked: Option<AbortHandle>,
}

/// The conversation, and who opens it again.
#[derive(Default)]
pub(super) struct Legacy {
    conversation: Mutex<Conversation>,
    /// Held by whoever does.
    reopening: tokio::sync::Mutex<()>,
    /// Sessions that were opened because the stream of the one before was not found, with nothing heard on it.
    forgotten: Mutex<Tries>,
}

impl Legacy {
    pub(super) fn conversation(&self) -> MutexGuard<'_, Conversation> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn session(&self) -> Option<HeaderValue> {
        self.conversation().session.clone()
    }

    /// Sessions that are forgotten one after the other.
    pub(super) fn forgotten(&self) -> MutexGuard<'_, Tries> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The headers of whatever follows `initialize`.
    pub(super) fn headers(&self) -> HeaderMap {
        let conversation = self.conversation();
        let mut map = HeaderMap::new();
        if let Some(session) = &conversation.session {
            map.insert(HeaderName::from_static(headers::SESSION_ID), session.clone());
        }
        if let Some(revision) = conversation.revision.filter(|revision| revision.is_named_in_headers()) {
            let value = HeaderValue::from_static(revision.as_str());
            map.insert(HeaderName::from_static(headers::PROTOCOL_VERSION), value);
        }
        map
    }

    /// `initialize` sets out: whatever was before is over.
    pub(super) fn begins(&self, initialize: &Sent) {
        let mut conversation = self.conversation();
        if let Some(task) = conversation.unasked.take() {
            task.abort();
        }
        let old = conversation.old.take();
        *conversation =
            Conversation { initialize: Some(initialize.body.clone()), old, ..Conversation::default() };
    }

    /// This reads what nobody asked for from now on.
    pub(super) fn reads_unasked(&self, task: AbortHandle) {
        if let Some(before) = self.conversation().unasked.replace(task) {
            before.abort();
        }
    }

    /// `initialize` is being answered with these headers.
    pub(super) fn answered(&self, headers: &HeaderMap) {
        self.conversation().session = headers.get(headers::SESSION_ID).cloned();
    }

    /// This is the answer.
    pub(super) fn opened(&self, answer: &[u8]) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Opened {
            protocol_version: String,
        }
        let bounds = Bounds { depth: 127, batch: 0 };
        if let Ok(Payload::Single(Message::Response(response))) = message::parse(answer, bounds)
            && let Some(result) = response.result
            && let Ok(opened) = serde_json::from_str::<Opened>(result.get())
        {
            self.conversation().revision = Revision::parse(&opened.protocol_version);
        }
    }
}

impl Carrier {
    /// `initialized` goes out before anything else does, and then the server is asked for what nobody asked for: a
    /// request that overtook either could be misunderstood.
    pub(super) async fn initialized(self: &Arc<Self>, sent: &Sent) {
        if timeout(WORD, self.tell(sent)).await.is_err() {
            tracing::warn!("the server does not take `notifications/initialized`");
        }
        if self.legacy.conversation().old.is_none() {
            self.listen().await;
        }
    }

    /// Asks for a stream, from its place on.
    pub(super) fn get(&self, place: &Place) -> Request {
        let mut headers = self.legacy.headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(last) = &place.last {
            headers.insert(HeaderName::from_static("last-event-id"), last.clone());
        }
        let url = self.line.sender.url.clone();
        Request { method: Method::GET, url, headers, body: None, id: None, in_passing: true }
    }

    /// The server has forgotten the session: another one is opened, unless somebody else has done so meanwhile.
    pub(super) async fn reopen(self: &Arc<Self>, forgotten: &HeaderValue) -> Result<(), Trouble> {
        let _mine = self.legacy.reopening.lock().await;
        if self.legacy.session().as_ref() != Some(forgotten) {
            return Ok(());
        }
        let Some(body) = self.legacy.conversation().initialize.clone() else { return Ok(()) };
        tracing::warn!("the server has forgotten the session; another one is opened");
        let initialize = Sent::read(&body, &self.line.session);
        let revision = self.legacy.conversation().revision;
        self.legacy.begins(&initialize);
        if let Err(trouble) = self.ask_again(&initialize).await {
            // The next request finds out again that the session is forgotten, and subscriptions end until then.
            self.legacy.conversation().session = Some(forgotten.clone());
            self.legacy.conversation().revision = revision;
            self.listen().await;
            return Err(trouble);
        }
        let word = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        let word = Sent::read(&word, &self.line.session);
        if timeout(WORD, self.tell(&word)).await.is_err() {
            tracing::warn!("the server does not take `notifications/initialized`");
        }
        self.listen().await;
        self.subscribe_again(true);
        Ok(())
    }

    /// Takes leave of the session.
    pub(super) async fn leave(&self) {
        if self.legacy.session().is_none() {
            return;
        }
        let (url, headers) = (self.line.sender.url.clone(), self.legacy.headers());
        let request =
            Request { method: Method::DELETE, url, headers, body: None, id: None, in_passing: true };
        match self.line.send(&request).await {
            Ok(response) => tracing::debug!("the session has ended: HTTP {}", response.status()),
            Err(trouble) => tracing::debug!("the session could not be ended: {}", trouble.kind),
        }
    }
}
