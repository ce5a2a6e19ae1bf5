//! A response that is an event stream to messages for the session.

use std::time::Duration;

use http::HeaderValue;
use reqwest::Response;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::fault;
use super::line::Line;
use crate::wire::sse::Decoder;
use crate::wire::tape::Direction;

/// How long a stream may go on once it has said what it was there for: if it ends, its connection can be used again.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// What is known of a stream, over all the responses that carry it.
#[derive(Default)]
pub(super) struct Place {
    /// The last event that had an id, so that the stream can be taken up after it.
    pub(super) last: Option<HeaderValue>,
    /// How long to wait before that.
    pub(super) retry: Option<Duration>,
    /// A message has come since this was last cleared.
    pub(super) news: bool,
    /// The beginning of the last message.
    pub(super) latest: Vec<u8>,
    /// Who waits for the address that an old server sends first.
    pub(super) address: Option<oneshot::Sender<String>>,
}

/// How a response ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// What it was there for is done.
    Done,
    /// The server ended it.
    Ended,
    /// It broke off.
    BrokeOff(String),
    /// It cannot be understood any further.
    Broken(String),
}

/// Who waits for a stream.
#[derive(Clone, Copy)]
pub(super) struct For<'a> {
    /// Told when nobody does any more.
    pub(super) left: &'a Notify,
    /// It answers `initialize`.
    pub(super) opens: bool,
}

impl Line {
    /// Hands the messages of a stream to the session, until it ends or nobody waits for it any more.
    pub(super) async fn read_events(
        &self,
        mut response: Response,
        place: &mut Place,
        whom: For<'_>,
        mut opened: impl FnMut(&[u8]),
    ) -> End {
        let mut decoder = Decoder::new(self.limit);
        loop {
            // What the server asks is answered; if it does not take the answers, nothing more is read.
            self.session.has_room().await;
            let chunk = tokio::select! {
                biased;
                () = whom.left.notified() => {
                    drop(timeout(AFTERWARDS, self.drain(response, decoder)).await);
                    return End::Done;
                }
                chunk = response.chunk() => chunk,
            };
            match chunk {
                Ok(Some(bytes)) => decoder.push(&bytes),
                Ok(None) => {
                    return match self.rest(&decoder) {
                        false => End::Ended,
                        true => End::BrokeOff("it ended in the middle of an event".to_owned()),
                    };
                }
                Err(error) => {
                    self.rest(&decoder);
                    return End::BrokeOff(fault::broke_off(&error));
                }
            }
            loop {
                let block = match decoder.next_block() {
                    Ok(Some(block)) => block,
                    Ok(None) => break,
                    Err(error) => return End::Broken(error.to_string()),
                };
                if block.raw.iter().any(|b| !b.is_ascii_whitespace()) {
                    self.see(Direction::ToClient, block.raw);
                }
                let event = block.event;
                if let Some(id) = event.id {
                    // An empty id means that there is none any more.
                    place.last = HeaderValue::from_str(&id).ok().filter(|id| !id.is_empty());
                }
                if let Some(retry) = event.retry {
                    place.retry = Some(Duration::from_millis(retry));
                }
                let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
                match event.name.as_deref() {
                    None | Some("" | "message") => {
                        place.news = true;
                        place.latest = data.get(..1024).unwrap_or(&data).to_vec();
                        if whom.opens {
                            opened(&data);
                        }
                        self.session.receive(&data);
                    }
                    Some("endpoint") => {
                        if let Some(address) = place.address.take() {
                            drop(address.send(String::from_utf8_lossy(&data).into_owned()));
                        }
                    }
                    Some(other) => tracing::debug!("ignored an event named {other:?}"),
                }
            }
        }
    }

    /// Reads what comes after the end.
    async fn drain(&self, mut response: Response, mut decoder: Decoder) {
        while let Ok(Some(bytes)) = response.chunk().await {
            decoder.push(&bytes);
            while let Ok(Some(block)) = decoder.next_block() {
                self.see(Direction::ToClient, block.raw);
                if let Some(data) = block.event.data.filter(|data| !data.is_empty()) {
                    self.session.receive(&data);
                }
            }
            if decoder.unfinished().len() > self.limit {
                return;
            }
        }
    }

    /// Whether the stream ended in the middle of something, which is then seen too.
    fn rest(&self, decoder: &Decoder) -> bool {
        let rest = decoder.unfinished();
        // The second half of a line end is nothing.
        if rest.iter().all(u8::is_ascii_whitespace) {
            return false;
        }
        self.see(Direction::ToClient, rest);
        // Nor is a comment.
        rest.split(|b| matches!(b, b'\n' | b'\r')).any(|line| !line.is_empty() && !line.starts_with(b":"))
    }
}
