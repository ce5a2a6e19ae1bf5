//! Threads for work that no question waits for. Those of questions stay free: a search does not stand in line behind a
//! thousand files, or behind a disk that is slow to settle.

use std::sync::LazyLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new().thread_name(|number| format!("background-{number}")).build().ok()
});

/// Does work on those threads; on this one, if there are none to be had.
pub(super) fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match &*THREADS {
        Some(threads) => threads.install(work),
        None => work(),
    }
}
