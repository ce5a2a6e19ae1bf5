//! As the host of a server.

mod answers;
mod carried;
mod driver;
mod json;
mod junit;
mod report;
mod text;
mod update;

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use tokio::time::timeout;

use driver::{Driver, Output, Stop};
pub use driver::{HostOptions, Step};
pub use report::{Failure, Replayed, Report, Verdict};
pub use text::{DiffLine, lines};
pub use update::{Updated, update};

use crate::script::Script;

/// How long what a server wrote before its end may take to arrive.
const DRAIN: Duration = Duration::from_millis(300);

/// Starts a server and replays the client of a script on it. The server's stderr is that of this process.
///
/// # Panics
/// Outside of a tokio runtime.
pub async fn replay(
    command: &ServerCommand,
    script: &Script,
    options: &HostOptions,
    on_step: &mut (dyn FnMut(&Step<'_>) + Send),
) -> Report {
    let (server, input, output) = match command.start() {
        Ok(started) => started,
        Err(error) => {
            let mut driver = Driver::new(script, options, tokio::io::sink(), on_step);
            driver.fail(format!("the server cannot be started: {error}"));
            return driver.finish();
        }
    };
    let mut driver = Driver::new(script, options, input, on_step);
    let mut output = Output::new(output);
    let stopped = driver.run(&mut output).await;
    driver.close();
    // A response that has been given up must not come after all.
    let listens = !matches!(stopped, Err(Stop::Failed(_)));
    let rest = async {
        driver.rest(&mut output, listens).await;
        pending::<Infallible>().await
    };
    let status = tokio::select! {
        status = server.end() => status,
        // What it writes until its end must not fail, and may be wrong.
        never = rest => match never {},
    };
    // Nothing writes to it any more, unless it has left the process group of the server.
    drop(timeout(DRAIN, driver.rest(&mut output, listens)).await);
    match stopped {
        Ok(()) => {}
        Err(Stop::Failed(cause)) => driver.fail(cause),
        Err(Stop::Closed) => {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            let before = driver.oldest_open().map(|open| format!(" before it responded to {open}"));
            driver.fail(format!("the stdout of the server ended{} ({status})", before.unwrap_or_default()));
        }
    }
    driver.finish()
}
