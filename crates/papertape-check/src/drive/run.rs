//! One process, from its start to its end: what was sent, what it wrote, and how it ended.

use serde_json::Value;

use crate::definitions::Lists;
use crate::drive::ending::{self, Ended, Ending};
use crate::drive::silence::Silence;
use crate::stdio::recording::Recording;
use crate::stdio::scan::{self, Kind, Piece};
use crate::stdio::session::{Exchange, NoResponse, Session, Unsolicited};

/// How a process is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// With `initialize` of the newest session-based revision; all lists are read.
    Legacy(&'static str),
    /// The same in `Content-Length` framing.
    Headers(&'static str),
    /// With `initialize` of an older revision; its tools are listed.
    Older(&'static str),
    /// With `server/discover`; all lists are read.
    Modern,
}

/// What happened in one process.
#[derive(Debug)]
pub(crate) struct Run {
    /// How it was opened.
    pub(crate) opening: Opening,
    /// The revision that it was opened in, if it was.
    pub(crate) opened: Option<String>,
    /// Why driving it stopped early.
    pub(crate) failure: Option<NoResponse>,
    /// Its state while it did not answer the first request.
    pub(crate) silence: Option<Silence>,
    /// Requests and responses.
    pub(crate) exchanges: Vec<Exchange>,
    /// Other messages.
    pub(crate) unsolicited: Vec<Unsolicited>,
    /// What it lists.
    pub(crate) lists: Lists,
    /// What it wrote to stdout.
    pub(crate) stdout: Recording,
    /// The same in pieces.
    pub(crate) pieces: Vec<Piece>,
    /// What it wrote to stderr.
    pub(crate) stderr: Recording,
    /// How it ended.
    pub(crate) ended: Ended,
}

/// What a run has come to before its end.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The revision that it was opened in, if it was.
    pub(crate) opened: Option<String>,
    /// Why driving it stopped early.
    pub(crate) failure: Option<NoResponse>,
    /// Its state while it did not answer the first request.
    pub(crate) silence: Option<Silence>,
    /// What it lists.
    pub(crate) lists: Lists,
}

impl Run {
    /// Ends a session, and keeps what happened in it.
    pub(crate) async fn finish(
        opening: Opening,
        mut session: Session,
        progress: Progress,
        ending: Ending,
    ) -> Self {
        let ended = ending::end(&mut session, ending).await;
        let Progress { opened, failure, silence, lists } = progress;
        let (stdout, stderr) = (session.process.stdout().clone(), session.process.stderr().clone());
        Self {
            opening,
            opened,
            failure,
            silence,
            pieces: scan::scan_kept(&stdout),
            stdout,
            stderr,
            exchanges: session.exchanges,
            unsolicited: session.unsolicited,
            lists,
            ended,
        }
    }

    /// Whether any request was answered. An error in response to headers, which were read as lines, does not count.
    pub(crate) fn answered(&self) -> bool {
        let headers = matches!(self.opening, Opening::Headers(_));
        let framed = self.pieces.iter().any(|piece| piece.kind == Kind::Headers);
        self.exchanges.iter().any(|exchange| match exchange.response {
            Some(_) => !headers || framed || exchange.result().is_some(),
            None => false,
        })
    }

    /// Whether the first request was answered, but only after the end of input.
    pub(crate) fn answered_at_end(&self) -> bool {
        self.exchanges
            .first()
            .and_then(|exchange| exchange.response.as_ref())
            .is_some_and(|response| response.after_end)
    }

    /// What the server says about itself.
    pub(crate) fn server_info(&self) -> Option<&Value> {
        self.exchanges.iter().filter_map(Exchange::result).find_map(|result| {
            result
                .get("serverInfo")
                .or_else(|| result.get("_meta")?.get("io.modelcontextprotocol/serverInfo"))
        })
    }
}
