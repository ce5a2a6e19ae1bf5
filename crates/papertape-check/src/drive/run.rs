//! One process, from its start to its end: what was sent, what it wrote, and how it ended.

use std::time::Duration;

use serde_json::Value;

use crate::definitions::Lists;
use crate::drive::ending::{self, Ended, Ending};
use crate::drive::silence::Silence;
use crate::stdio::recording::Recording;
use crate::stdio::scan::{self, Kind, Piece};
use crate::stdio::session::{Exchange, InputEnd, NoResponse, Response, Session, Unsolicited};

/// What is in the buffer of a server is written soon after the end of its input: what comes later was not ready before.
const FLUSHED_WITHIN: Duration = Duration::from_secs(1);

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
    /// The end of its input.
    pub(crate) input_end: Option<InputEnd>,
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
        let (stdout, stderr) = session.process.take_recordings();
        Self {
            opening,
            opened,
            failure,
            silence,
            pieces: scan::scan_kept(&stdout),
            stdout,
            stderr,
            input_end: session.input_end,
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

    /// Whether the first response was ready before, and was written only at the end of input. A server that had not read all of its
    /// input by then, or that responds a while later, was busy with something else.
    pub(crate) fn flushed_at_end(&self) -> bool {
        let Some((exchange, response)) = self.first_response().filter(|(_, response)| response.after_end)
        else {
            return false;
        };
        self.input_end.is_none_or(|end| {
            let arrived = exchange.sent + response.elapsed;
            end.unread.is_none_or(|unread| unread == 0) && arrived.saturating_sub(end.at) < FLUSHED_WITHIN
        })
    }

    /// When the first response came, after the start, if that was later than it was waited for.
    pub(crate) fn answered_late(&self) -> Option<Duration> {
        let (exchange, response) = self.first_response()?;
        (self.silence.is_some() && !self.flushed_at_end()).then(|| exchange.sent + response.elapsed)
    }

    /// The first request and the response to it.
    pub(crate) fn first_response(&self) -> Option<(&Exchange, &Response)> {
        let exchange = self.exchanges.first()?;
        Some((exchange, exchange.response.as_ref()?))
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
