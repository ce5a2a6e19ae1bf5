//! `papertape tape`: one file per subcommand.

mod cat;
mod check;
mod diff;
mod grep;
mod output;
mod raw;
mod redact;
mod source;
mod stats;
mod to_har;
mod to_jsonl;

pub(super) use self::source::open_file;
use crate::args::TapeCommand;
use crate::exit::Failure;

pub(crate) fn run(command: TapeCommand) -> Result<(), Failure> {
    match command {
        TapeCommand::Cat(args) => cat::run(&args),
        TapeCommand::Stats(args) => stats::run(&args),
        TapeCommand::Grep(args) => grep::run(&args),
        TapeCommand::Diff(args) => diff::run(&args),
        TapeCommand::Raw(args) => raw::run(&args),
        TapeCommand::Check(args) => check::run(&args),
        TapeCommand::ToHar(args) => to_har::run(&args),
        TapeCommand::ToJsonl(args) => to_jsonl::run(&args),
        TapeCommand::Redact(args) => redact::run(&args),
    }
}
