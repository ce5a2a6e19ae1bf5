//! What was typed and cannot be meant, to words, or to JSON for a program that asked for it.

use std::ffi::OsString;

use clap::Parser;

use super::Args;
use crate::exit::Failure;

impl Args {
    /// What was typed. What is wrong with it is told as text, and the process ends, unless a program wants to read it.
    pub(crate) fn typed() -> Result<Self, Failure> {
        Self::try_parse().map_err(|error| {
            if !error.use_stderr() || !wants_json(std::env::args_os().skip(1)) {
                error.exit();
            }
            in_json(&error)
        })
    }
}

/// Whether JSON was asked for, as far as one can tell where the rest makes no sense. What stands after `--` is for others.
fn wants_json(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    let in_two = words.windows(2).any(|two| two == ["--output", "json"]);
    in_two || words.iter().any(|word| word == "--output=json")
}

/// The sentence, and what stands below it on a terminal.
fn in_json(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let text = text.strip_suffix("For more information, try '--help'.").unwrap_or(text);
    let (sentence, hint) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    Failure::Mistyped { message, hint: hint.trim().to_owned() }
}
