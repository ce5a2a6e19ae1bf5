//! What was typed.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

/// The Model Context Protocol toolkit whose every byte you can see.
#[derive(Debug, Parser)]
#[command(name = "papertape", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) log: Log,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
}

/// Run a bundled server on stdio, for any MCP host.
///
/// The server reads requests from stdin and answers on stdout, one JSON message per line, or with Content-Length headers
/// if that is how the host begins. It speaks every revision from 2024-11-05 to 2026-07-28; the host chooses.
/// It ends when its input ends.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Serve {
    /// Which server.
    #[arg(value_name = "NAME", value_parser = server_names())]
    pub(crate) server: String,
    /// Record every frame, both ways, into FILE (an old one is kept as FILE.old).
    #[arg(long, value_name = "FILE")]
    pub(crate) tape: Option<PathBuf>,
    /// Seconds that running requests get to finish once the input has ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) grace: f64,
    /// Serve on when the process that started this one has died, as long as the input is open.
    #[arg(long)]
    pub(crate) outlive_parent: bool,
}

const EXAMPLES: &str = "\
Examples:
  papertape serve grammar
  papertape serve grammar --tape session.tape
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | papertape serve text";

/// What goes to stderr.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Log {
    /// How much to log to stderr; goes before RUST_LOG [default: warn].
    #[arg(long, global = true, value_name = "LEVEL", value_enum, help_heading = "Logging")]
    pub(crate) log_level: Option<Level>,
    /// How to write logs.
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value_t = Format::Text, help_heading = "Logging")]
    pub(crate) log_format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// A wrong name is answered with the right ones.
fn server_names() -> impl TypedValueParser<Value = String> {
    let names = papertape_servers::ALL.map(|server| PossibleValue::new(server.name).help(server.about));
    PossibleValuesParser::new(names)
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("give a number of seconds from 0 to 86400".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_arguments_make_sense() {
        <super::Args as clap::CommandFactory>::command().debug_assert();
    }
}
