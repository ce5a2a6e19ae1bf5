//! A process and everything that it has started in its process group, until the last of them has exited.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

/// How often to check whether a process group is gone: the kernel sends no event for that.
const POLL: Duration = Duration::from_millis(5);

/// A process and its group. Dropping it kills what is left of them.
pub(super) struct ProcessGroup {
    process: Child,
    /// `None` once no process of the group is left.
    id: Option<Pid>,
}

impl ProcessGroup {
    /// The group that `process` leads.
    pub(super) fn new(process: Child) -> Self {
        let id = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { process, id }
    }

    pub(super) fn id(&self) -> Option<Pid> {
        self.id
    }

    /// Waits for the leading process to exit.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Waits for the leading process to exit now that its stdin is closed; then SIGTERM, then SIGKILL, each after `grace`.
    pub(super) async fn terminate_leader(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        for signal in [Signal::TERM, Signal::KILL] {
            if let Ok(status) = timeout(grace, self.process.wait()).await {
                return status;
            }
            self.signal(signal);
        }
        self.process.wait().await
    }

    /// Ends what the leading process has left running: SIGTERM, then SIGKILL after `grace`.
    pub(super) async fn terminate_rest(&mut self, grace: Duration) {
        for signal in [Signal::TERM, Signal::KILL] {
            self.signal(signal);
            let deadline = Instant::now() + grace;
            while self.id.is_some_and(is_alive) && Instant::now() < deadline {
                sleep(POLL).await;
            }
            if !self.id.is_some_and(is_alive) {
                self.id = None;
                return;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // The group may be gone already.
            let _ = kill_process_group(id, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Whether a process of the group is running. Zombies do not count: the children of a server that has exited are reaped by
/// the init process, which may take its time.
fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let group = group.as_raw_nonzero().to_string();
    processes.flatten().any(|process| {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { return false };
        // The name, which may contain anything, ends with the last bracket; then state, parent and group follow.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        let (state, own) = (fields.next(), fields.nth(1));
        own == Some(&group) && !matches!(state, Some("Z" | "X"))
    })
}
