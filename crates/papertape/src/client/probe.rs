//! How a client finds out over a pair of streams whether a server is modern: it asks, and knows older servers by what they
//! say, or by their silence.
//!
//! A server that is slow to start is not an old one. Silence counts from when the server has read the question, where that
//! can be known; from then on `initialize` is tried beside it, and an answer to the question still counts.

use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};

use super::error::{ClientError, ErrorKind};
use super::opening::{Introduction, NotOpened, Opened, Probed, UNSUPPORTED_PROTOCOL_VERSION};
use super::session::{Session, Trouble};
use crate::protocol::Revision;

const ASKING: &str = "asking the server what it speaks";

/// How much later than that of `initialize` the answer to the question may come: a server that answers in any order may
/// have both under way.
const OUT_OF_ORDER: Duration = Duration::from_millis(200);

/// A question that has not been answered yet.
type Probe = Pin<Box<dyn Future<Output = Result<Box<RawValue>, Trouble>> + Send>>;

impl Introduction {
    pub(super) async fn probe(
        &self,
        session: &Arc<Session>,
        has_read: impl Future<Output = ()>,
        deadline: Instant,
    ) -> Result<Opened, NotOpened> {
        let mut probe: Probe = Box::pin(self.discover(session, Revision::MODERN, deadline));
        let mut read = false;
        let silence = async {
            has_read.await;
            read = true;
            sleep(self.probe_timeout).await;
        };
        let answered = tokio::select! {
            biased;
            probed = &mut probe => Some(probed),
            () = silence => None,
        };
        match answered.map(|probed| self.read_probe(probed)) {
            Some(Probed::Modern(opened)) => Ok(agree(session, *opened)),
            Some(Probed::Legacy(revision)) => {
                let opened = self.ask_to_initialize(session, revision, deadline).await;
                opened.map(|opened| agree(session, opened)).map_err(after_answer)
            }
            Some(Probed::Failed(mut trouble)) => {
                if matches!(trouble.kind, ErrorKind::TimedOut(_)) && !read {
                    "the request was sent; the server has not read it".clone_into(&mut trouble.reached);
                }
                let gone = matches!(trouble.kind, ErrorKind::Closed);
                let error = self.error(session, ASKING, trouble);
                Err(if gone { NotOpened::AfterProbe(error) } else { NotOpened::Failed(error) })
            }
            None => {
                tracing::debug!("no answer to `server/discover`: trying `initialize`");
                self.try_both(session, probe, deadline).await
            }
        }
    }

    /// Tries `initialize` beside a question that has not been answered.
    async fn try_both(
        &self,
        session: &Arc<Session>,
        mut probe: Probe,
        deadline: Instant,
    ) -> Result<Opened, NotOpened> {
        let mut handshake = pin!(self.ask_to_initialize(session, Revision::NEWEST_LEGACY, deadline));
        let handshake = tokio::select! {
            biased;
            probed = &mut probe => {
                return match self.read_probe(probed) {
                    Probed::Modern(opened) => Ok(agree(session, *opened)),
                    _ => handshake.await.map(|opened| agree(session, opened)).map_err(after_answer),
                };
            }
            handshake = &mut handshake => handshake,
        };
        let opened = match handshake {
            Ok(opened) => opened,
            // It knows the modern error, so that it knows the question too, and may answer it yet.
            Err(error) if is_unsupported(&error) => {
                return match self.read_probe(probe.await) {
                    Probed::Modern(opened) => Ok(agree(session, *opened)),
                    _ => Err(NotOpened::Failed(error)),
                };
            }
            Err(error) => return Err(after_silence(error)),
        };
        match timeout(OUT_OF_ORDER, &mut probe).await.map(|probed| self.read_probe(probed)) {
            Ok(Probed::Modern(opened)) => return Ok(agree(session, *opened)),
            Ok(_) => {}
            // What is agreed stays agreed. But it is worth knowing.
            Err(_) => {
                session.probe_is_over();
                drop(tokio::spawn(note_late(probe, self.clone(), Arc::clone(&opened.offered))));
            }
        }
        Ok(agree(session, opened))
    }
}

/// From now on this is spoken.
fn agree(session: &Session, opened: Opened) -> Opened {
    if opened.revision.opens_with_handshake() {
        Introduction::finish_handshake(session, &opened);
    } else {
        session.set_revision(opened.revision);
    }
    opened
}

/// Notes what the server offers if it says so after the conversation was opened.
async fn note_late(probe: Probe, introduction: Introduction, offered: Arc<OnceLock<Vec<String>>>) {
    if let Probed::Modern(late) = introduction.read_probe(probe.await)
        && let Some(revisions) = late.offered.get()
    {
        tracing::info!("the server was slow to say that it speaks {}", late.revision);
        drop(offered.set(revisions.clone()));
    }
}

/// `initialize` failed though the server had answered the question.
fn after_answer(error: ClientError) -> NotOpened {
    match error.kind() {
        ErrorKind::Closed => NotOpened::AfterProbe(error),
        _ => NotOpened::Failed(error),
    }
}

/// `initialize` failed, and the question had not been answered: it may be what the server cannot bear.
fn after_silence(error: ClientError) -> NotOpened {
    match error.kind() {
        ErrorKind::Closed | ErrorKind::Rpc(_) | ErrorKind::Protocol(_) => NotOpened::AfterProbe(error),
        _ => NotOpened::Failed(error),
    }
}

fn is_unsupported(error: &ClientError) -> bool {
    matches!(error.kind(), ErrorKind::Rpc(error) if error.code == UNSUPPORTED_PROTOCOL_VERSION)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::client::{ClientOptions, Handlers, Remains};
    use crate::protocol::capabilities::ClientCapabilities;
    use crate::wire::Framing;

    fn introduction() -> Introduction {
        let ClientOptions { identity, revision, probe_timeout, open_timeout, .. } = ClientOptions::new();
        let capabilities = ClientCapabilities::default();
        Introduction { identity, capabilities, revision, probe_timeout, open_timeout }
    }

    /// A conversation with a server that never answers.
    fn silent() -> Arc<Session> {
        Session::new(Framing::Line, Handlers::default(), Duration::ZERO, Arc::new(Remains::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_opening_has_one_limit() {
        let introduction = introduction();
        let limit = introduction.open_timeout;
        for already in [0, 1, 20] {
            let (began, deadline) = (Instant::now(), introduction.deadline());
            sleep(Duration::from_secs(already)).await;
            // With `initialize` beside the question, with a server that does not read, and in a second process.
            let (both, unread, again) = (silent(), silent(), silent());
            let (both, unread, again) = tokio::join!(
                introduction.open(&both, ready(()), deadline),
                introduction.open(&unread, pending(), deadline),
                introduction.open_with_handshake(&again, deadline),
            );
            assert_eq!(began.elapsed(), limit);
            let not_opened = |error: NotOpened| match error {
                NotOpened::Failed(error) => error,
                NotOpened::AfterProbe(error) => panic!("{error}"),
            };
            for error in [both.map_err(not_opened), unread.map_err(not_opened), again] {
                let error = error.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::TimedOut(time) if *time == limit), "{error:?}");
                assert!(error.to_string().contains("ClientOptions::open_timeout"), "{error}");
            }
        }
    }

    #[cfg(feature = "http")]
    #[tokio::test(start_paused = true)]
    async fn so_has_an_opening_on_http() {
        let (introduction, session) = (introduction(), silent());
        let began = Instant::now();
        let answer = async {
            sleep(Duration::from_secs(20)).await;
            session.receive(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#);
        };
        let (opened, ()) = tokio::join!(introduction.open_on_http(&session), answer);
        assert_eq!(began.elapsed(), introduction.open_timeout);
        let error = opened.unwrap_err();
        assert!(error.doing().contains("initialize") && error.to_string().contains("within 30 s"), "{error}");
    }
}
