//! What a process does while it does not answer.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::stdio::processes;
use crate::stdio::session::Session;

/// How long its CPU time is measured.
const SAMPLE: Duration = Duration::from_millis(500);

/// No server writes so much before it answers `initialize`, and goes on at this rate.
const FLOOD: u64 = 1024 * 1024;
const FLOOD_PER_SECOND: u64 = 64 * 1024;

/// The state of a process that does not answer.
#[derive(Debug, Clone)]
pub(crate) struct Silence {
    /// How long it was waited for.
    pub(crate) waited: Duration,
    /// How many bytes it was sent.
    pub(crate) sent: u64,
    /// How many of them it has not read, if that is known.
    pub(crate) unread: Option<u64>,
    /// How much of a CPU it uses, in percent.
    pub(crate) cpu: u64,
    /// Whether it has used any processor time to speak of, in all.
    pub(crate) cpu_time: Duration,
    /// The TCP ports that it listens on.
    pub(crate) ports: Vec<u16>,
    /// Whether it was alive at all.
    pub(crate) alive: bool,
    /// How many bytes it wrote to stdout in `SAMPLE`.
    written: u64,
    /// How many it had written before.
    written_before: u64,
}

impl Silence {
    /// How many bytes it writes to stdout in a second, if it does not stop writing.
    pub(crate) fn flood(&self) -> Option<u64> {
        let per_second = self.written.saturating_mul(1000) / u64::try_from(SAMPLE.as_millis()).unwrap_or(1);
        (self.alive && self.written_before >= FLOOD && per_second >= FLOOD_PER_SECOND).then_some(per_second)
    }
}

/// Looks at a process that has not answered since its start, and was waited for at most so long.
pub(crate) async fn observe(session: &mut Session, wait: Duration) -> Silence {
    let waited = session.process.elapsed().min(wait);
    let written_before = session.process.stdout().total;
    let before: Duration = session.process.processes().iter().map(|process| process.cpu).sum();
    let end = Instant::now() + SAMPLE;
    session.settle(SAMPLE).await;
    sleep_until(end).await;
    let processes = session.process.processes();
    let after: Duration = processes.iter().map(|process| process.cpu).sum();
    let used = after.saturating_sub(before).as_millis().saturating_mul(100) / SAMPLE.as_millis();
    Silence {
        waited,
        sent: session.process.sent(),
        unread: session.process.unread(),
        cpu: u64::try_from(used).unwrap_or(u64::MAX),
        cpu_time: after,
        ports: processes::ports(&processes),
        alive: session.process.exit().is_none(),
        written: session.process.stdout().total.saturating_sub(written_before),
        written_before,
    }
}
