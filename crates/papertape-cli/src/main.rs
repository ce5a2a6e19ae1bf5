//! `papertape`: runs, calls, records, checks and bridges MCP servers.

mod args;
mod command;
mod exit;
mod log;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    log::start(&args.log);
    let result = match args.command {
        args::Command::Serve(serve) => command::serve::run(serve),
    };
    log::flush();
    exit::code(result)
}
