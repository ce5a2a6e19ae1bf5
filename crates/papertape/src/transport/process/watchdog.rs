//! A helper process that ends a server's process group when its client was killed or has crashed.
//!
//! A parent-death signal would reach the server alone, and not its child processes; and it can only be set by code that
//! runs between fork and exec, which is `unsafe`, or by a helper program, which a library does not have. A shell is
//! available everywhere.

use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

/// Waits for the end of its stdin, which is held open by the client and never written to. The server has seen the end
/// of its own stdin at the same moment and gets a second to exit, then SIGTERM and another second.
const SCRIPT: &str = r#"trap '' HUP INT QUIT TERM
cd /
read -r end
for signal in TERM KILL; do
    sleep 1
    kill -s "$signal" -- "-$1" || exit 0
done"#;

/// A shell that outlives the client for as long as the server's process group does.
pub(super) struct Watchdog(Child);

impl Watchdog {
    /// Watches a process group. `None` if there is no shell.
    pub(super) fn start(group: Pid) -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "papertape-watchdog"])
            .arg(group.as_raw_nonzero().to_string())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Signals that a terminal sends to the client's group must not reach it.
            .process_group(0)
            .kill_on_drop(true);
        command
            .spawn()
            .inspect_err(|error| {
                tracing::debug!(%error, "no watchdog: the server may be left running if this process is killed");
            })
            .map(Self)
            .ok()
    }

    /// Ends the watchdog, because no process of the group is left.
    pub(super) async fn stop(mut self) {
        drop(self.0.kill().await);
    }
}
