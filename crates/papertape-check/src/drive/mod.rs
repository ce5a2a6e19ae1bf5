//! What is tried with a server on stdio: a process for each way to open it, and what each of them did.

pub(crate) mod arguments;
pub(crate) mod bad_input;
pub(crate) mod behave;
pub(crate) mod calls;
pub(crate) mod client;
pub(crate) mod ending;
pub(crate) mod legacy;
pub(crate) mod lists;
pub(crate) mod modern;
pub(crate) mod offers;
pub(crate) mod reads;
pub(crate) mod run;
pub(crate) mod silence;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use papertape::stdio::ServerCommand;

use crate::definitions::Lists;
use crate::drive::ending::{Cause, Ending, GRACE};
use crate::drive::run::{Opening, Run};
use crate::options::Options;
use crate::stdio::session::{Framing, NoResponse};

/// The newest session-based revision.
pub(crate) const LATEST_LEGACY: &str = "2025-11-25";

/// Older ones, newest first.
pub(crate) const OLDER: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";

/// A server whose first response took less time than this answers in `server/discover` in this, too, if it ever does.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for a server that has not read lines to read headers.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(10);

/// All that was tried.
#[derive(Debug, Default)]
pub(crate) struct Drive {
    /// The processes, in the order in which they were started. There is at least one.
    pub(crate) runs: Vec<Run>,
    /// What was not tried, and why.
    pub(crate) skipped: Vec<String>,
}

impl Drive {
    /// The runs in which the server answered the request that opens it with a result.
    pub(crate) fn opened(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.opened.is_some())
    }

    /// Whether all processes so far have exited when they should, so that the next need not be killed.
    fn ends_well(&self) -> bool {
        self.runs.iter().all(|run| {
            !matches!(run.ended.cause, Cause::Kill) && run.ended.took < GRACE && run.ended.left.is_empty()
        })
    }

    /// The definitions as the newest session-based revision lists them.
    pub(crate) fn session_based_lists(&self) -> Option<&Lists> {
        self.opened().find(|run| run.opening != Opening::Modern).map(|run| &run.lists)
    }

    /// The definitions as the newest revision lists them.
    pub(crate) fn lists(&self) -> Lists {
        let newest = self.opened().find(|run| run.opening == Opening::Modern && !run.lists.is_empty());
        newest.or_else(|| self.opened().next()).map(|run| run.lists.clone()).unwrap_or_default()
    }

    /// Adds a run: its index.
    pub(crate) fn push(&mut self, mut run: Run) -> usize {
        // Most servers list the same tools in all revisions, and some list many.
        if let Some(same) = self.runs.iter().find(|other| other.lists.tools == run.lists.tools) {
            run.lists.tools = Arc::clone(&same.lists.tools);
        }
        self.runs.push(run);
        self.runs.len() - 1
    }
}

/// Starts a server, again and again, and drives it.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn drive(command: &ServerCommand, options: &Options) -> io::Result<Drive> {
    let mut drive = Drive::default();
    let wait = options.timeout;
    options.step(&format!("`initialize` in {LATEST_LEGACY}"));
    let first =
        legacy::run(command, Opening::Legacy(LATEST_LEGACY), Framing::Lines, wait, Ending::EndOfInput)
            .await?;
    let (opened, answered, silent) = (first.opened.is_some(), first.answered(), first.silence.is_some());
    let reads_nothing = first.silence.as_ref().is_some_and(|silence| silence.unread == Some(silence.sent));
    let floods = first.silence.as_ref().is_some_and(|silence| silence.flood().is_some());
    let exits = first.silence.as_ref().is_some_and(|silence| !silence.alive);
    let hangs = first.failure == Some(NoResponse::Timeout);
    let modern_answered = first
        .exchanges
        .iter()
        .any(|exchange| exchange.method == "server/discover" && exchange.result().is_some());
    let probe = first.exchanges.first().and_then(|exchange| exchange.response.as_ref());
    let probe = probe.map_or(wait, |response| wait.min(PROBE_TIMEOUT.max(response.elapsed * 4)));
    let (flushed, late) = (!first.flushed_at_end(), first.answered_late().is_some());
    drive.push(first);
    if !flushed {
        drive.skipped.push("further runs: responses come only at the end of input".to_owned());
        return Ok(drive);
    }
    if late {
        drive
            .skipped
            .push("further runs: the first response comes only after the time-out of this check".to_owned());
        return Ok(drive);
    }
    if silent && !modern_answered && (floods || reads_nothing) {
        let why = match (floods, exits) {
            (true, _) => "it does not stop writing to stdout",
            (_, true) => "it exits before it answers",
            _ => "it never reads its stdin",
        };
        drive.skipped.push(format!("further runs: {why}"));
        return Ok(drive);
    }
    if silent && !modern_answered {
        let wait = wait.min(HEADERS_TIMEOUT);
        options.step("Content-Length framing");
        let headers =
            legacy::run(command, Opening::Headers(LATEST_LEGACY), Framing::Headers, wait, Ending::EndOfInput)
                .await?;
        let reads_headers = headers.answered();
        drive.push(headers);
        drive.skipped.push(
            if reads_headers {
                "further runs: it reads Content-Length framing only"
            } else {
                "further runs: it never answers"
            }
            .to_owned(),
        );
        return Ok(drive);
    }
    let ending = if drive.ends_well() { Ending::EndOfInput } else { Ending::Kill };
    options.step(&format!("`server/discover` in {MODERN}"));
    let modern = modern::run(command, probe, opened.then_some(wait), ending).await?;
    let (stateless, anything) = (modern.opened.is_some(), answered || modern.answered());
    drive.push(modern);
    // A server may refuse revisions that it does not know, although it should answer with one that it knows.
    if !opened && (stateless || !answered) {
        let why = if anything { "it does not open a session" } else { "it exits before it answers" };
        drive.skipped.push(format!("older revisions: {why}"));
        return Ok(drive);
    }
    if opened && hangs {
        drive.skipped.push(format!("older revisions: a request in {LATEST_LEGACY} is never answered"));
        return Ok(drive);
    }
    for revision in OLDER {
        options.step(&format!("`initialize` in {revision}"));
        // Both ways to end a server are tried.
        let ending = if revision == OLDER[0] { Ending::Terminate } else { Ending::EndOfInput };
        let ending = if drive.ends_well() { ending } else { Ending::Kill };
        drive.push(legacy::run(command, Opening::Older(revision), Framing::Lines, wait, ending).await?);
    }
    Ok(drive)
}
