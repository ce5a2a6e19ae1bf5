//! The HTTP+SSE transport of 2024-11-05: a stream with all messages of the server, and a URL for those of the client.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::http::client::{Client, EVENTS};
use crate::http::exchange::{Events, Exchange, MOST, Shown, responds_to};
use crate::http::failure::{Failure, FailureKind};
use crate::stdio::scan_refused::tolerant;

/// An open stream.
#[derive(Debug)]
pub(crate) struct SseStream {
    stream: reqwest::Response,
    events: Events,
    /// How many bytes have arrived in all.
    total: usize,
    /// Where messages are posted to.
    pub(crate) messages: Url,
}

impl SseStream {
    /// Opens the stream at the URL of the client: `None` if it is not one that begins with an `endpoint` event.
    pub(crate) async fn open(client: &Client, wait: Duration) -> Option<Self> {
        Self::open_at(client, &client.url, wait).await
    }

    /// [`open`](Self::open) at another URL.
    pub(crate) async fn open_at(client: &Client, url: &Url, wait: Duration) -> Option<Self> {
        let stream = client.stream(client.listen().at(url.clone()).within(wait)).await.ok()?;
        let kind =
            stream.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !stream.status().is_success() || !kind.to_ascii_lowercase().starts_with(EVENTS) {
            return None;
        }
        let mut opened = Self { stream, events: Events::new(), total: 0, messages: url.clone() };
        let deadline = Instant::now() + wait;
        while opened.events.taken.is_empty() {
            opened.more(deadline).await.ok()?;
        }
        let endpoint = opened.events.taken.iter().find(|event| event.name.as_deref() == Some("endpoint"))?;
        let text = String::from_utf8_lossy(endpoint.data.as_deref()?).trim().to_owned();
        let messages = url.join(&text).ok()?;
        // The caller's headers go nowhere else.
        if messages.origin() != client.url.origin() {
            return None;
        }
        opened.messages = messages;
        Some(opened)
    }

    /// Waits for more of the stream.
    async fn more(&mut self, deadline: Instant) -> Result<(), Failure> {
        let closed = |cause: String| Failure { kind: FailureKind::Closed, cause };
        match timeout_at(deadline, self.stream.chunk()).await {
            Err(_) => Err(Failure::timeout()),
            Ok(Err(error)) => Err(Failure::of(&error)),
            Ok(Ok(None)) => Err(closed("the stream ended".to_owned())),
            Ok(Ok(Some(bytes))) => {
                self.total = self.total.saturating_add(bytes.len());
                if self.total > MOST || !self.events.push(&bytes) {
                    return Err(closed("the stream is too long".to_owned()));
                }
                Ok(())
            }
        }
    }

    /// Whether a long response has room among what is read of the stream.
    pub(crate) fn has_room(&self) -> bool {
        self.total < MOST / 2
    }

    /// Posts a request, and waits for its response on the stream.
    pub(crate) async fn call(&mut self, client: &Client, method: &str, params: Option<Value>) -> Exchange {
        let deadline = Instant::now() + client.wait;
        let mut exchange = client.send(client.call(method, params).at(self.messages.clone())).await;
        let Some(id) = exchange.id else { return exchange };
        if !exchange.is_accepted() || exchange.message().is_some() {
            return exchange;
        }
        let mut seen = 0;
        loop {
            for event in self.events.taken.iter().skip(seen).filter(|event| event.is_message()) {
                let data = event.data.as_deref().unwrap_or_default();
                let Some((message, refused)) = tolerant(data) else { continue };
                if responds_to(&message, id) {
                    if let Ok(response) = &mut exchange.outcome {
                        // It has come as an event.
                        response.headers.insert("content-type", HeaderValue::from_static(EVENTS));
                        let shown = Shown::new(response.status, &response.headers, data, &client.redactor);
                        (response.body, response.messages, response.shown) =
                            (data.to_vec(), vec![message], shown);
                        response.refused = refused;
                    }
                    return exchange;
                }
            }
            seen = self.events.taken.len();
            if let Err(failure) = self.more(deadline).await {
                exchange.outcome = Err(failure);
                return exchange;
            }
        }
    }

    /// Posts a notification.
    pub(crate) async fn notify(&self, client: &Client, method: &str) -> Exchange {
        client.send(client.notify(method).at(self.messages.clone())).await
    }
}
