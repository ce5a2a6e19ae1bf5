//! Named threads.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread. The error names the thread and the limit to raise.
pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(run).map_err(|error| {
        let remedy =
            "raise the limit on processes (`ulimit -u`, or the container's PID limit) or the memory limit";
        io::Error::new(error.kind(), format!("cannot start the thread \"{name}\": {error}; {remedy}"))
    })
}
