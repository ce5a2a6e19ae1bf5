//! Command-line errors, as text or, for programs, as JSON.

use std::ffi::OsString;

use clap::Parser;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Args;
use super::serve::BundledServer;
use crate::exit::Failure;

impl Args {
    /// Parses the command line. An error is printed as text and ends the process, unless `--output json` is given.
    pub(crate) fn from_command_line() -> Result<Self, Failure> {
        Self::try_parse().map_err(|error| {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            let error = with_hints(error, &words);
            if !error.use_stderr() || !wants_json(words) {
                error.exit();
            }
            as_failure(&error)
        })
    }
}

/// Adds what clap cannot know: the names of the servers, and which server an option belongs to.
fn with_hints(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let mut words = words.iter().filter_map(|word| word.to_str()).skip_while(|word| *word != "serve");
    let (serve, server) = (words.next(), words.next().unwrap_or_default());
    let names = BundledServer::names();
    let hint = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidSubcommand, _) if serve.is_some() => format!("the servers: {}", names.join(", ")),
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option)))
            if names.iter().any(|name| name == server) && BundledServer::is_blog_option(option) =>
        {
            format!("{option} is an option of `papertape serve blog`, and this is the server {server}")
        }
        // Where the option exists, it is accepted everywhere.
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) if option == "--otlp" => {
            "this papertape was built without OpenTelemetry: build it with the feature `otel`, or `full` \
             (`cargo install --path crates/papertape-cli --features otel`)"
                .to_owned()
        }
        _ => return error,
    };
    // In place of clap's own, which are how to pass the word as a value, and an option with a similar name.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    error
}

/// Whether `--output json` is given, as far as an invalid command line shows. The arguments after `--` are for
/// the server that is started.
fn wants_json(words: Vec<OsString>) -> bool {
    let words: Vec<OsString> = words.into_iter().take_while(|word| word != "--").collect();
    let in_two = words.windows(2).any(|two| two == ["--output", "json"]);
    in_two || words.iter().any(|word| word == "--output=json")
}

/// The error in one sentence, with the hints and the usage that stand below it on a terminal.
fn as_failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let text = text.strip_suffix("For more information, try '--help'.").unwrap_or(text);
    let (sentence, hint) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    Failure::ParseError { message, hint: hint.trim().to_owned() }
}
