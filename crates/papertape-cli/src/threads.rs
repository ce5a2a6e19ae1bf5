//! The threads that a command needs, tried before anything begins.

use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

use anyhow::Context;
use tokio::runtime::{self, Runtime};

/// What is told when there can be no more threads.
pub(crate) const NO_THREAD: &str = "cannot start a thread: raise the limit of processes (`ulimit -u`, or the container's limit of PIDs) or of memory";

/// A runtime with so many threads, and room for others: of the wire, of signals, for blocking work, and `more`.
pub(crate) fn runtime(workers: usize, more: usize) -> anyhow::Result<Runtime> {
    const OTHERS: usize = 5;
    check(workers + OTHERS + more)?;
    runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// How many threads work at the same time.
pub(crate) fn parallel() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Whether so many threads can be started. tokio and rayon panic, or wait for ever, where one cannot.
fn check(count: usize) -> anyhow::Result<()> {
    let gate = Mutex::new(());
    let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
    scope(|scope| {
        // They are all there at once before the first of them ends.
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count).try_for_each(|_| Builder::new().spawn_scoped(scope, wait).map(drop))
    })
    .context(NO_THREAD)
}
