//! How the process ends: one documented code for each kind of end, one place where errors are printed.

use std::io::Write;
use std::process::ExitCode;

/// Could not connect or start.
const NOT_STARTED: u8 = 3;

/// The exit code for what a command came to; an error goes to stderr first.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be listening on stderr; that is no reason to fail otherwise.
            drop(writeln!(std::io::stderr(), "papertape: {error:#}"));
            ExitCode::from(NOT_STARTED)
        }
    }
}
