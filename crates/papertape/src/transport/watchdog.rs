//! A process beside a server that ends the server's group when its client has gone without a word: killed, or crashed.
//!
//! A parent-death signal would reach the server alone, and not what it has started; and it can only be set by code that runs
//! between fork and exec, which is `unsafe`, or by a program of ours, which a library does not have. A shell is everywhere.

use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

/// Waits for the end of its input, which is that of the client; nothing is ever written to it. The server has seen the end
/// of its own input in the same moment and gets a second to end by itself, then SIGTERM and another second.
const SCRIPT: &str = r#"trap '' HUP INT QUIT TERM
cd /
read -r end
for signal in TERM KILL; do
    sleep 1
    kill -s "$signal" -- "-$1" || exit 0
done"#;

/// A shell that watches over a server's process group.
pub(super) struct Watchdog(Child);

impl Watchdog {
    /// Watches over a group. None if there is no shell.
    pub(super) fn over(group: Pid) -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "papertape-watchdog"])
            .arg(group.as_raw_nonzero().to_string())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What a terminal sends to the client's group is not for it.
            .process_group(0)
            .kill_on_drop(true);
        command
            .spawn()
            .inspect_err(|error| tracing::debug!(%error, "nothing ends the server if this process is killed"))
            .map(Self)
            .ok()
    }

    /// Nothing of the group is left.
    pub(super) async fn dismiss(mut self) {
        drop(self.0.kill().await);
    }
}
