//! Threads of our own.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread, or says what stands in the way and what helps.
pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(run).map_err(|error| {
        let way_out =
            "raise the limit of processes (`ulimit -u`, or the container's limit of PIDs) or of memory";
        io::Error::new(error.kind(), format!("cannot start the thread \"{name}\": {error}: {way_out}"))
    })
}
