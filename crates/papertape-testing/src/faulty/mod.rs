//! An MCP server on stdio that misbehaves in one named way: `faulty [OPTIONS] MODE [ARGUMENTS]`; `--help` lists the modes.
//!
//! It is independent of the client under test, so it uses no code of papertape.
//! Except for its fault it is a correct small server of stateless and session-based revisions (`server`).
//! Faults in calls are those of the tool `fault`; `echo` shows that the session is still usable.
//! It also checks the client (`judge`): if the client ever violated the protocol, for example with a response to an invalid
//! message, it exits with code 9 at the end, with the reason on stderr.
//!
//! Rows such as C-17 are those of docs/behaviour.md. Nothing here waits for time to pass unless the fault is slowness.

mod bytes;
mod exits;
mod judge;
mod lists;
mod message;
mod opening;
mod responses;
mod server;
mod server_requests;
mod subscriptions;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use self::server::Server;

/// One way to misbehave.
struct Mode {
    /// The rows of docs/behaviour.md that it reproduces.
    rows: &'static str,
    /// Its name and its arguments.
    usage: &'static str,
    /// What it does.
    about: &'static str,
    /// Serves until the end of input, or until the fault ends it.
    run: fn(&mut Server) -> io::Result<()>,
}

impl Mode {
    const fn new(
        rows: &'static str,
        usage: &'static str,
        about: &'static str,
        run: fn(&mut Server) -> io::Result<()>,
    ) -> Self {
        Self { rows, usage, about, run }
    }

    fn name(&self) -> &'static str {
        self.usage.split(' ').next().unwrap_or_default()
    }
}

/// The exit code if the client violated the protocol.
const CLIENT_AT_FAULT: u8 = 9;

const GROUPS: [(&str, &[Mode]); 7] = [
    ("Opening", opening::MODES),
    ("Starting, living, ending", exits::MODES),
    ("Bytes", bytes::MODES),
    ("Responses to the tool `fault`", responses::MODES),
    ("Lists", lists::MODES),
    ("Requests to the client", server_requests::MODES),
    ("Subscriptions", subscriptions::MODES),
];

const HELP: &str = "\
faulty [OPTIONS] MODE [ARGUMENTS]: an MCP server on stdio that misbehaves in one way.

In every mode there are the tools
  fault          does what the mode is named after
  echo           returns its `text`
  slow           gets its response when `release` is called
  hang           never gets a response
  was_heard      the methods received so far
  was_cancelled  the ids of cancelled requests
  was_answered   the responses to this server's own requests
  was_odd        protocol violations of the client; if there are any, the exit code is 9 at the end of input

Options:
  --legacy       session-based revisions only: no `server/discover`
  --modern       2026-07-28 only: no `initialize`
  --pids FILE    appends its process id to a file at the start, and those of its children, one a line
";

fn help(out: &mut impl Write) -> io::Result<()> {
    out.write_all(HELP.as_bytes())?;
    for (title, modes) in GROUPS {
        writeln!(out, "\n{title}:")?;
        for mode in modes {
            writeln!(out, "  {:44} {:10} {}", mode.usage, mode.rows, mode.about)?;
        }
    }
    Ok(())
}

/// Runs the server with the arguments of this process.
///
/// # Errors
/// If its streams fail.
pub fn main() -> io::Result<ExitCode> {
    let mut server = Server::start()?;
    let name = server.mode.clone();
    let Some(mode) = GROUPS.iter().flat_map(|(_, modes)| *modes).find(|mode| mode.name() == name) else {
        if name == "--help" {
            return help(&mut io::stdout()).map(|()| ExitCode::SUCCESS);
        }
        help(&mut io::stderr())?;
        writeln!(io::stderr(), "\nthere is no mode {name:?}")?;
        return Ok(ExitCode::from(2));
    };
    match (mode.run)(&mut server) {
        // The client has gone.
        Err(error) if [ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof].contains(&error.kind()) => {}
        ended => ended?,
    }
    if server.judge.odd.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(io::stderr(), "protocol violations of the client:\n{}", server.judge.odd.join("\n"))?;
    Ok(ExitCode::from(CLIENT_AT_FAULT))
}
