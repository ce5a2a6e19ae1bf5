//! `papertape completions SHELL`: a shell completion script.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Args, Completions};
use crate::exit::Failure;
use crate::print;

pub(crate) fn run(args: &Completions) -> Result<(), Failure> {
    let script = match args.shell {
        Shell::Bash => include_str!("completions/papertape.bash").into(),
        Shell::Zsh => include_str!("completions/papertape.zsh").into(),
        Shell::Fish => include_str!("completions/papertape.fish").into(),
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "papertape", &mut script);
            script
        }
    };
    print::out(script)?;
    Ok(())
}
