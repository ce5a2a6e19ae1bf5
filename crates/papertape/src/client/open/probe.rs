//! How a client on a pair of streams finds out whether a server supports a stateless revision: it sends `server/discover`.
//! Older servers respond with an error, or not at all.
//!
//! A server that is slow to start is not an old one. The timeout counts from when the server has read the request, where
//! that can be known; after it, `initialize` is sent as well, and a response to `server/discover` still counts.

use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};

use super::{DISCOVER, Discovered, Negotiated, OpenError, Opener};
use crate::client::error::{ClientError, ErrorKind};
use crate::client::session::{Failure, Session};
use crate::protocol::Revision;

/// How much later than the response to `initialize` that to `server/discover` may arrive: a server that processes requests
/// concurrently may be working on both.
const OUT_OF_ORDER: Duration = Duration::from_millis(200);

/// A `server/discover` request without a response yet.
type Probe = Pin<Box<dyn Future<Output = Result<Box<RawValue>, Failure>> + Send>>;

impl Opener {
    pub(super) async fn probe(
        &self,
        session: &Arc<Session>,
        has_read: impl Future<Output = ()>,
        deadline: Instant,
    ) -> Result<Negotiated, OpenError> {
        let mut probe: Probe = Box::pin(self.discover(session, Revision::MODERN, deadline));
        let mut read = false;
        let timed_out = async {
            has_read.await;
            read = true;
            sleep(self.probe_timeout).await;
        };
        let response = tokio::select! {
            biased;
            response = &mut probe => Some(response),
            () = timed_out => None,
        };
        match response.map(|response| self.read_discovered(response)) {
            Some(Discovered::Stateless(negotiated)) => Ok(agree(session, *negotiated)),
            Some(Discovered::Legacy(revision)) => {
                let negotiated = self.send_initialize(session, revision, deadline).await;
                negotiated.map(|negotiated| agree(session, negotiated)).map_err(after_response)
            }
            Some(Discovered::Failed(mut failure)) => {
                if matches!(failure.kind, ErrorKind::TimedOut(_)) && !read {
                    "the request was sent; the server has not read it".clone_into(&mut failure.stage);
                }
                let closed = matches!(failure.kind, ErrorKind::Closed);
                let error = Self::error(session, DISCOVER, failure);
                Err(if closed { OpenError::AfterProbe(error) } else { OpenError::Failed(error) })
            }
            None => {
                tracing::debug!("no response to `server/discover`: sending `initialize`");
                self.try_both(session, probe, deadline).await
            }
        }
    }

    /// Sends `initialize` while `server/discover` has no response yet.
    async fn try_both(
        &self,
        session: &Arc<Session>,
        mut probe: Probe,
        deadline: Instant,
    ) -> Result<Negotiated, OpenError> {
        let mut handshake = pin!(self.send_initialize(session, Revision::NEWEST_LEGACY, deadline));
        let handshake = tokio::select! {
            biased;
            response = &mut probe => {
                return match self.read_discovered(response) {
                    Discovered::Stateless(negotiated) => Ok(agree(session, *negotiated)),
                    _ => handshake.await.map(|negotiated| agree(session, negotiated)).map_err(after_response),
                };
            }
            handshake = &mut handshake => handshake,
        };
        let negotiated = match handshake {
            Ok(negotiated) => negotiated,
            // A server that knows this error knows `server/discover`, too, and may still respond to it.
            Err(error) if is_unsupported(&error) => {
                return match self.read_discovered(probe.await) {
                    Discovered::Stateless(negotiated) => Ok(agree(session, *negotiated)),
                    _ => Err(OpenError::Failed(error)),
                };
            }
            Err(error) => return Err(after_timeout(error)),
        };
        match timeout(OUT_OF_ORDER, &mut probe).await.map(|response| self.read_discovered(response)) {
            Ok(Discovered::Stateless(negotiated)) => return Ok(agree(session, *negotiated)),
            Ok(_) => {}
            // A late response does not change the negotiated revision, but the caller can learn of it.
            Err(_) => {
                session.abandon_probe();
                drop(tokio::spawn(record_late(probe, self.clone(), Arc::clone(&negotiated.offered))));
            }
        }
        Ok(agree(session, negotiated))
    }
}

/// Ends the negotiation.
fn agree(session: &Session, negotiated: Negotiated) -> Negotiated {
    if negotiated.revision.opens_with_handshake() {
        Opener::finish_handshake(session, &negotiated);
    } else {
        session.set_revision(negotiated.revision);
    }
    negotiated
}

/// Records the revisions that the server offers in a response after the negotiation.
async fn record_late(probe: Probe, opener: Opener, offered: Arc<OnceLock<Vec<String>>>) {
    if let Discovered::Stateless(late) = opener.read_discovered(probe.await)
        && let Some(revisions) = late.offered.get()
    {
        tracing::info!("the server supports {}, but responded to `server/discover` too late", late.revision);
        drop(offered.set(revisions.clone()));
    }
}

/// `initialize` failed after a response to `server/discover`.
fn after_response(error: ClientError) -> OpenError {
    match error.kind() {
        ErrorKind::Closed => OpenError::AfterProbe(error),
        _ => OpenError::Failed(error),
    }
}

/// `initialize` failed without a response to `server/discover`, which may be the reason.
fn after_timeout(error: ClientError) -> OpenError {
    match error.kind() {
        ErrorKind::Closed | ErrorKind::Rpc(_) | ErrorKind::Protocol(_) => OpenError::AfterProbe(error),
        _ => OpenError::Failed(error),
    }
}

fn is_unsupported(error: &ClientError) -> bool {
    matches!(error.kind(), ErrorKind::Rpc(error) if error.code == crate::protocol::error_code::UNSUPPORTED_PROTOCOL_VERSION)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::client::{ClientOptions, Handlers, ProcessRecord};
    use crate::protocol::capabilities::ClientCapabilities;
    use crate::wire::Framing;

    fn opener() -> Opener {
        let ClientOptions { identity, revision, probe_timeout, open_timeout, .. } = ClientOptions::new();
        let capabilities = ClientCapabilities::default();
        Opener { identity, capabilities, revision, probe_timeout, open_timeout }
    }

    /// A session with a server that never responds.
    fn silent() -> Arc<Session> {
        Session::new(Framing::Line, Handlers::default(), Duration::ZERO, Arc::new(ProcessRecord::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn the_negotiation_has_one_timeout() {
        let opener = opener();
        let limit = opener.open_timeout;
        for already in [0, 1, 20] {
            let (began, deadline) = (Instant::now(), opener.deadline());
            sleep(Duration::from_secs(already)).await;
            // With `initialize` after `server/discover`, with a server that does not read, and in a second process.
            let (both, unread, again) = (silent(), silent(), silent());
            let (both, unread, again) = tokio::join!(
                opener.open(&both, ready(()), deadline),
                opener.open(&unread, pending(), deadline),
                opener.open_with_initialize(&again, deadline),
            );
            assert_eq!(began.elapsed(), limit);
            let not_opened = |error: OpenError| match error {
                OpenError::Failed(error) => error,
                OpenError::AfterProbe(error) => panic!("{error}"),
            };
            for error in [both.map_err(not_opened), unread.map_err(not_opened), again] {
                let error = error.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::TimedOut(time) if *time == limit), "{error:?}");
                assert!(error.to_string().contains("ClientOptions::open_timeout"), "{error}");
            }
        }
    }

    #[cfg(feature = "http-client")]
    #[tokio::test(start_paused = true)]
    async fn the_negotiation_on_http_has_one_timeout() {
        let (opener, session) = (opener(), silent());
        let began = Instant::now();
        let respond = async {
            sleep(Duration::from_secs(20)).await;
            session.receive(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#);
        };
        let (opened, ()) = tokio::join!(opener.open_on_http(&session), respond);
        assert_eq!(began.elapsed(), opener.open_timeout);
        let error = opened.unwrap_err();
        assert!(
            error.operation().contains("initialize") && error.to_string().contains("within 30 s"),
            "{error}"
        );
    }
}
