//! How a process ends: at the end of its input, at SIGTERM, or only at SIGKILL.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::stdio::processes::Process;
use crate::stdio::session::Session;

/// How long a server has to exit at the end of its input, and at SIGTERM: more than hosts give it.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// How long it has at most, while it is busy: it may clean up, or the machine may give it little time.
const LONGEST_GRACE: Duration = Duration::from_secs(60);

/// So much CPU time in `GRACE` means that it is busy.
const BUSY: Duration = Duration::from_millis(50);

/// How long processes that a server has started have to exit after it.
const REST: Duration = Duration::from_secs(3);

const POLL: Duration = Duration::from_millis(20);

/// What is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The end of input, then SIGTERM, then SIGKILL: what hosts do.
    EndOfInput,
    /// SIGTERM while the input is open, then the end of input, then SIGKILL.
    Terminate,
    /// SIGKILL: it is known that a server ignores the rest.
    Kill,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What was tried first.
    pub(crate) tried: Ending,
    /// What it exited at.
    pub(crate) cause: Cause,
    /// Its exit status.
    pub(crate) status: Option<ExitStatus>,
    /// When it exited, after its start.
    pub(crate) time: Duration,
    /// From the first thing that was tried until it exited.
    pub(crate) took: Duration,
    /// How long it was waited for at most after one thing that was tried.
    pub(crate) grace: Duration,
    /// Processes that were left a while after it had exited. They have been killed since.
    pub(crate) left: Vec<Process>,
    /// How many bytes it had written to stderr before its end was asked for.
    pub(crate) stderr_before: u64,
}

/// What a process exited at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing: it had exited before.
    Itself,
    /// The end of its input.
    EndOfInput,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// Ends a server, and everything that it has started.
pub(crate) async fn end(session: &mut Session, tried: Ending) -> Ended {
    let stderr_before = session.process.stderr().total;
    let began = Instant::now();
    let mut grace = Duration::ZERO;
    let order = match tried {
        Ending::EndOfInput => &[Cause::EndOfInput, Cause::Terminate][..],
        Ending::Terminate => &[Cause::Terminate, Cause::EndOfInput],
        Ending::Kill => &[],
    };
    let mut cause =
        if session.process.exits_within(Duration::ZERO).await.is_some() { Some(Cause::Itself) } else { None };
    for step in order {
        if cause.is_none() {
            if *step == Cause::Terminate {
                session.process.terminate();
            } else {
                session.end_input();
            }
            let waited = Instant::now();
            cause = exits(session).await.then_some(*step);
            grace = grace.max(waited.elapsed());
        }
    }
    let cause = cause.unwrap_or(Cause::Kill);
    if cause == Cause::Kill {
        session.process.kill_leader();
    }
    let (status, time) = session.process.exited().await;
    let took = began.elapsed();
    session.end_input();
    let left = if tried == Ending::Kill { Vec::new() } else { left(session).await };
    session.process.kill().await;
    Ended { tried, cause, status, time, took, grace, left, stderr_before }
}

/// Waits for a server to exit, and longer while it is busy, if it has ever answered with a result.
async fn exits(session: &mut Session) -> bool {
    let answers = session.exchanges.iter().any(|exchange| exchange.result().is_some());
    let limit = Instant::now() + LONGEST_GRACE;
    let mut used = cpu(session);
    loop {
        let deadline = Instant::now() + GRACE;
        // Responses that come now count.
        session.settle(GRACE).await;
        let left = deadline.saturating_duration_since(Instant::now());
        if session.process.exits_within(left).await.is_some() {
            return true;
        }
        let before = std::mem::replace(&mut used, cpu(session));
        let busy = used.saturating_sub(before) >= BUSY;
        if !answers || !busy || Instant::now() >= limit {
            return false;
        }
    }
}

/// The CPU time of a server and of what it has started.
fn cpu(session: &Session) -> Duration {
    session.process.processes().iter().map(|process| process.cpu).sum()
}

/// The processes that do not exit soon after the first one.
async fn left(session: &Session) -> Vec<Process> {
    let deadline = Instant::now() + REST;
    loop {
        let left = session.process.processes();
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        sleep(POLL).await;
    }
}
