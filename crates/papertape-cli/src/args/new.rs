//! The arguments of `papertape new`.

use std::path::PathBuf;

use clap::ValueHint;

use super::{Output, after_help};

/// Make a server project: a tool, tests in memory and against tapes, host configuration, a Dockerfile.
///
/// The project compiles and passes its tests as it is. papertape is not published yet: the project depends on a clone of it or on a
/// git repository (--papertape). Without that option, the clone is looked for in the current directory and those above it, and
/// beside the project (../papertape).
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct New {
    /// The directory: a new one, or an empty one.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    /// The name of the package and the server [default: that of the directory].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A clone of papertape, or the URL of a git repository with it.
    #[arg(long, value_name = "PATH|URL", value_hint = ValueHint::DirPath)]
    pub(crate) papertape: Option<String>,
    /// The format of stdout.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "  \
  papertape new my-server
  papertape new my-server --name weather --papertape ../papertape";
