//! Threads for work that no query waits for, so that a search does not queue behind a thousand files or a slow disk.

use std::sync::LazyLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new().thread_name(|number| format!("background-{number}")).build().ok()
});

/// Runs work on those threads, or on this one if they could not be started.
pub(crate) fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match &*THREADS {
        Some(threads) => threads.install(work),
        None => work(),
    }
}
