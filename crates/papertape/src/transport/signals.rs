//! SIGTERM and SIGINT to a graceful shutdown.

use std::io;
use std::sync::Mutex;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::thread;
use crate::sync::lock;

/// What is being served in this process. One thread watches for all of it, so that the end of one part of it does not make the
/// next signal the end of the others.
static SERVED: Mutex<Served> = Mutex::new(Served { watching: false, stops: Vec::new() });

struct Served {
    watching: bool,
    stops: Vec<Stop>,
}

struct Stop {
    stop: mpsc::Sender<()>,
    requested: bool,
}

/// The first SIGTERM or SIGINT requests a stop, through `stop`. A second one, or one that arrives when the receivers of all
/// stops are gone, ends the process, as it would without this handler.
///
/// This runs on a thread of its own, because it must work when every other thread is blocked.
pub(super) fn watch_signals(stop: mpsc::Sender<()>) -> io::Result<()> {
    let mut served = lock(&SERVED);
    if !served.watching {
        start()?;
        served.watching = true;
    }
    served.stops.retain(|other| !other.stop.is_closed());
    served.stops.push(Stop { stop, requested: false });
    Ok(())
}

fn start() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut terminate, mut interrupt) = {
        let _entered = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    let watch = async move {
        loop {
            let number = tokio::select! {
                _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
                _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            };
            if !request_stop() {
                std::process::exit(128 + number);
            }
            tracing::info!(signal = number, "shutting down: running requests may finish");
        }
    };
    thread::spawn("signals", move || runtime.block_on(watch)).map(drop)
}

/// Requests the stop of all that is served. False if nothing is, or if that was requested before.
fn request_stop() -> bool {
    let mut served = lock(&SERVED);
    let open = served.stops.iter_mut().filter(|stop| !stop.requested && !stop.stop.is_closed());
    let requests = open.map(|stop| {
        stop.requested = true;
        let _ = stop.stop.try_send(());
    });
    requests.count() > 0
}
