//! The signals that end a command.

use std::future::poll_fn;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

const SIGHUP: u8 = 1;
pub(crate) const SIGINT: u8 = 2;
const SIGQUIT: u8 = 3;
pub(crate) const SIGTERM: u8 = 15;

/// SIGHUP, SIGINT, SIGQUIT and SIGTERM.
pub(crate) struct Signals(Vec<(u8, Signal)>);

impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        let mut kinds = vec![
            (SIGTERM, SignalKind::terminate()),
            (SIGINT, SignalKind::interrupt()),
            (SIGQUIT, SignalKind::quit()),
        ];
        // Under `nohup` the process outlives its terminal. Where SIGHUP kills it by default, the watchdog of the server still stops
        // the server.
        if !is_ignored(SIGHUP) {
            kinds.insert(0, (SIGHUP, SignalKind::hangup()));
        }
        let listen = |(number, kind)| Ok((number, signal(kind)?));
        kinds.into_iter().map(listen).collect::<std::io::Result<_>>().map(Self)
    }

    /// The number of the next signal.
    pub(crate) async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            for (number, signal) in &mut self.0 {
                if signal.poll_recv(cx).is_ready() {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Whether a signal was ignored when this process started. Where this cannot be read, it is taken as ignored.
fn is_ignored(number: u8) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    ignored >> (number - 1) & 1 == 1
}
