//! SIGTERM and SIGINT to a graceful shutdown.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::thread;

/// The first SIGTERM or SIGINT requests a stop, through `stop`. A second one, or one that arrives when the receiver of `stop`
/// is gone, ends the process, as it would without this handler.
///
/// This runs on a thread of its own, because it must work when every other thread is blocked.
pub(super) fn watch_signals(stop: mpsc::Sender<()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut terminate, mut interrupt) = {
        let _entered = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    let watch = async move {
        let mut stopping = false;
        loop {
            let number = tokio::select! {
                _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
                _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            };
            if stopping || stop.is_closed() {
                std::process::exit(128 + number);
            }
            tracing::info!(signal = number, "shutting down: running requests may finish");
            stopping = true;
            let _ = stop.try_send(());
        }
    };
    thread::spawn("signals", move || runtime.block_on(watch)).map(drop)
}
