//! The tokio runtime of a command, and a check that its threads can be started.

use std::sync::Mutex;
use std::thread::{Builder, scope};

use anyhow::Context;
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

use crate::sync::lock;

/// The error when no more threads can be started.
pub(crate) const NO_THREAD: &str = "cannot start a thread: raise the limit of processes (`ulimit -u`, or the container's PID limit) or of memory";

/// A runtime with `workers` worker threads, after checking that `more` threads can be started besides those for stdio, signals
/// and blocking work.
pub(crate) fn build(workers: usize, more: usize) -> anyhow::Result<Runtime> {
    const OTHERS: usize = 5;
    check(workers + OTHERS + more)?;
    RuntimeBuilder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// A runtime on this thread alone, after checking that the threads for stdio and blocking work can be started.
pub(crate) fn on_this_thread() -> anyhow::Result<Runtime> {
    const OTHERS: usize = 5;
    check(OTHERS)?;
    RuntimeBuilder::new_current_thread().enable_all().build().context("cannot start the runtime")
}

/// How many threads can run in parallel.
pub(crate) fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Checks that this many threads can be started. tokio and rayon panic or hang when one cannot.
pub(crate) fn check(count: usize) -> anyhow::Result<()> {
    let gate = Mutex::new(());
    let wait = || drop(lock(&gate));
    scope(|scope| {
        // All of them exist at once before the first one ends.
        let _closed = lock(&gate);
        (0..count).try_for_each(|_| Builder::new().spawn_scoped(scope, wait).map(drop))
    })
    .context(NO_THREAD)
}
