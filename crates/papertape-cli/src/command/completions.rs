//! `papertape completions SHELL`: a shell completion script.

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::exit::Failure;
use crate::print;

pub(crate) fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "papertape", &mut script);
    print::out(script)?;
    Ok(())
}
