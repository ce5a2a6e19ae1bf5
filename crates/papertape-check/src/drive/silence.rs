//! What a process does while it does not answer.

use std::time::Duration;

use crate::stdio::processes;
use crate::stdio::session::Session;

/// How long its CPU time is measured.
const SAMPLE: Duration = Duration::from_millis(500);

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
}

/// Looks at a process that has not answered.
pub(crate) async fn observe(session: &mut Session, waited: Duration) -> Silence {
    let before: Duration = session.process.processes().iter().map(|process| process.cpu).sum();
    session.settle(SAMPLE).await;
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
    }
}
