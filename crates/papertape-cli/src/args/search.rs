//! The arguments of `papertape search`.

use std::path::PathBuf;

use clap::ValueHint;
use papertape_search as blog;

use super::index::Search as Engine;
use super::{Output, after_help_with};

/// Search a directory of Markdown.
///
/// Prints the best passages: the file with the line to go to, the headings above the passage, and the part of it that matches.
/// The ranking is that of `papertape serve blog`, and so is the index, which is brought up to date first; `papertape index
/// --help` says where it is.
///
/// Words are found in any form, with or without accents; with --embed, texts that mean the same are found, too.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = after_help_with(EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct Search {
    /// The directory of Markdown.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// What to look for. Quote a word that begins with a hyphen together with another one, or write -- before the words.
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// Search this directory, too; may be repeated. `papertape index DIR DIR` and `papertape serve blog` have the same index.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    content: Vec<PathBuf>,
    /// How many passages to print, at most.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) top_k: u8,
    /// Only in files whose path within DIR begins so, such as guides/. Of several directories, paths begin with the name of
    /// their directory.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) path: Option<String>,
    /// Only in files with this tag, or one below it: "project" finds "project/alpha".
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Only in files of this day or later, by the date in their front matter or name.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub(crate) since: Option<String>,
    /// Only in files of this day or earlier.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub(crate) until: Option<String>,
    /// Open passage N [default: the first one] in $VISUAL or $EDITOR, at its line; without those, in the program that the
    /// system has for the file.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) open: Option<u8>,
    /// The directory of the index [default: .papertape within DIR].
    #[arg(long, alias = "out", value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "store")]
    pub(crate) index: Option<PathBuf>,
    #[command(flatten)]
    engine: Engine,
    /// Text for people, or one JSON document for programs (errors too).
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

impl Search {
    /// The words as one query.
    pub(crate) fn query(&self) -> String {
        self.words.join(" ")
    }

    /// The directories, in their order.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        std::iter::once(&self.folder).chain(&self.content).cloned().collect()
    }

    pub(crate) fn options(&self) -> blog::Options {
        let (content, further) = (Some(self.folder.clone()), self.content.clone());
        blog::Options { content, further, index: self.index.clone(), ..self.engine.clone().options() }
    }
}

fn day(text: &str) -> Result<String, &'static str> {
    if blog::corpus::document::is_day(text) {
        Ok(text.to_owned())
    } else {
        Err("write a day of the calendar as YYYY-MM-DD, from 1000-01-01 on")
    }
}

const EXAMPLES: &str = "  \
  papertape search notes how do I rotate backups
  papertape search notes otters --tag animals --since 2024-01-01
  papertape search notes backups --open
  papertape search notes backups --output json | jq -r '.hits[].path'";

const CODES: &str = "  \
  0  something was found
  1  nothing was found; or the index cannot be read or made
  2  wrong usage; also a directory that is not there
  3  the database cannot be reached
  129, 130, 131, 143  interrupted by SIGHUP, Ctrl-C, SIGQUIT or SIGTERM";
