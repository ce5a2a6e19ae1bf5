//! A response that is an event stream (SSE): its messages go to the session.

use std::time::Duration;

use http::HeaderValue;
use reqwest::Response;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::errors;
use super::sender::{ExchangeNumber, HttpSender};
use crate::wire::sse::Decoder;

/// How long to read a stream after its response has arrived: if it ends, its connection can be reused.
const DRAIN: Duration = Duration::from_secs(1);

/// The state of a stream, over all the connections that it is resumed on.
#[derive(Default)]
pub(super) struct StreamState {
    /// The id of the last event that had one, with which the stream can be resumed.
    pub(super) last_event_id: Option<HeaderValue>,
    /// The delay before that (`retry`).
    pub(super) retry: Option<Duration>,
    /// A message has arrived since this was last cleared.
    pub(super) received: bool,
    /// The beginning of the last message.
    pub(super) latest: Vec<u8>,
    /// Receives the `endpoint` event, which the HTTP+SSE transport of 2024-11-05 begins with.
    pub(super) endpoint: Option<oneshot::Sender<String>>,
}

/// How a stream ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The awaited response has arrived.
    Responded,
    /// The server closed it.
    Closed,
    /// The connection was interrupted.
    Interrupted(String),
    /// It is not a valid event stream.
    Invalid(String),
}

/// The response that a stream is read for.
#[derive(Clone, Copy)]
pub(super) struct Awaiting<'a> {
    /// Notified when it has arrived, or is not awaited any more.
    pub(super) responded: &'a Notify,
    /// It is that of `initialize`.
    pub(super) is_initialize: bool,
}

impl HttpSender {
    /// Hands the messages of a stream to the session, until it ends or the awaited response has arrived. `initialized` gets
    /// every message of a stream that is read for the response to `initialize`.
    pub(super) async fn read_events(
        &self,
        mut response: Response,
        stream: &mut StreamState,
        awaiting: Awaiting<'_>,
        mut initialized: impl FnMut(&[u8]),
    ) -> StreamEnd {
        let mut decoder = Decoder::new(self.limit);
        let exchange = ExchangeNumber::of(&response);
        loop {
            // Requests of the server get responses; if it does not accept those, nothing more is read.
            self.session.has_room().await;
            let chunk = tokio::select! {
                biased;
                () = awaiting.responded.notified() => {
                    drop(timeout(DRAIN, self.drain(response, decoder)).await);
                    return StreamEnd::Responded;
                }
                chunk = response.chunk() => chunk,
            };
            match chunk {
                Ok(Some(bytes)) => decoder.push(&bytes),
                Ok(None) => {
                    return match self.record_rest(exchange, &decoder) {
                        false => StreamEnd::Closed,
                        true => {
                            StreamEnd::Interrupted("the stream ended in the middle of an event".to_owned())
                        }
                    };
                }
                Err(error) => {
                    self.record_rest(exchange, &decoder);
                    return StreamEnd::Interrupted(errors::interrupted(&error));
                }
            }
            loop {
                let block = match decoder.next_block() {
                    Ok(Some(block)) => block,
                    Ok(None) => break,
                    Err(error) => return StreamEnd::Invalid(error.to_string()),
                };
                if block.raw.iter().any(|b| !b.is_ascii_whitespace()) {
                    self.record(exchange, block.raw);
                }
                let event = block.event;
                if let Some(id) = event.id {
                    // An empty id resets the last event id.
                    stream.last_event_id = HeaderValue::from_str(&id).ok().filter(|id| !id.is_empty());
                }
                if let Some(retry) = event.retry {
                    stream.retry = Some(Duration::from_millis(retry));
                }
                let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
                match event.name.as_deref() {
                    None | Some("" | "message") => {
                        stream.received = true;
                        stream.latest = data.get(..1024).unwrap_or(&data).to_vec();
                        if awaiting.is_initialize {
                            initialized(&data);
                        }
                        self.session.receive(&data);
                    }
                    Some("endpoint") => {
                        if let Some(endpoint) = stream.endpoint.take() {
                            drop(endpoint.send(String::from_utf8_lossy(&data).into_owned()));
                        }
                    }
                    Some(other) => tracing::debug!("ignored an event named {other:?}"),
                }
            }
        }
    }

    /// Reads the rest of a stream.
    async fn drain(&self, mut response: Response, mut decoder: Decoder) {
        let exchange = ExchangeNumber::of(&response);
        while let Ok(Some(bytes)) = response.chunk().await {
            decoder.push(&bytes);
            while let Ok(Some(block)) = decoder.next_block() {
                self.record(exchange, block.raw);
                if let Some(data) = block.event.data.filter(|data| !data.is_empty()) {
                    self.session.receive(&data);
                }
            }
            if decoder.unfinished().len() > self.limit {
                return;
            }
        }
    }

    /// Records what is left after the last event. Whether that is an incomplete event.
    fn record_rest(&self, exchange: Option<ExchangeNumber>, decoder: &Decoder) -> bool {
        let rest = decoder.unfinished();
        // The second half of a line end is not an event.
        if rest.iter().all(u8::is_ascii_whitespace) {
            return false;
        }
        self.record(exchange, rest);
        // Neither is a comment.
        rest.split(|b| matches!(b, b'\n' | b'\r')).any(|line| !line.is_empty() && !line.starts_with(b":"))
    }
}
