//! What was indexed, to what is said at the end: also where there is nothing to search, or not yet by meaning.

use std::time::Duration;

use papertape_servers::blog::folder::ENDINGS;
use papertape_servers::blog::ingest::Report;

use crate::print::indexed::{self, Places};
use crate::print::text::grouped;
use crate::print::{Look, style};

/// What is said of an index without vectors to somebody who may not know of models.
const WORDS: &str = "searched by words; with --embed also by meaning";

/// The same to somebody who has given a model.
const WORDS_FOR_NOW: &str =
    "searched by words alone until the model answers: index again then, or serve it, to make the vectors";

/// The summary for a person; `has_model` says whether one was given.
pub(super) fn in_words(
    report: &Report,
    time: Duration,
    places: Places<'_>,
    has_model: bool,
    look: Look,
) -> String {
    if report.summary.files == 0 {
        return nothing(report, places, look);
    }
    let text = indexed::in_words(report, time, places, look);
    match report.summary.embedding {
        None if has_model => text.replacen(WORDS, WORDS_FOR_NOW, 1),
        _ => text,
    }
}

/// Whoever has no Markdown needs to know what that is, and not how to search it.
fn nothing(report: &Report, places: Places<'_>, look: Look) -> String {
    let folder = look.paint(style::SUBJECT, &places.folder.display().to_string());
    let removed = match usize::try_from(report.removed).unwrap_or(usize::MAX) {
        0 => String::new(),
        removed => format!("  {} removed\n", grouped(removed)),
    };
    let [one, other, last] = ENDINGS;
    format!(
        "{folder}: nothing to index\n{removed}  what counts are files that end in .{one}, .{other} or .{last}, unless they \
         are hidden or a .gitignore takes them out\n"
    )
}
