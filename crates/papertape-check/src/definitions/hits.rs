//! The places of one problem, which become one finding.

use papertape::wire::error::shortened;
use papertape::wire::shown;
use serde_json::Value;

use super::entry::{Entry, Kind};
use crate::code::Code;
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::hosts;

/// How many entries a finding names.
const MOST_NAMES: usize = 20;
/// How many places it quotes.
const MOST_QUOTES: usize = 5;

/// A place at which a problem was found.
struct Hit<'a> {
    entry: Entry<'a>,
    pointer: String,
    quote: Quote<'a>,
}

/// What is quoted of a place.
enum Quote<'a> {
    Nothing,
    Value(&'a Value),
    Text(String),
}

/// The places of one problem.
#[derive(Default)]
pub(crate) struct Hits<'a>(Vec<Hit<'a>>);

impl<'a> Hits<'a> {
    /// An entry as a whole.
    pub(crate) fn entry(&mut self, entry: Entry<'a>) {
        self.push(entry, String::new(), Some(entry.value));
    }

    /// A place in an entry, as a JSON pointer, and its value.
    pub(crate) fn push(&mut self, entry: Entry<'a>, pointer: String, value: Option<&'a Value>) {
        let quote = value.map_or(Quote::Nothing, Quote::Value);
        self.0.push(Hit { entry, pointer, quote });
    }

    /// A place in an entry that is described by a text.
    pub(crate) fn explain(&mut self, entry: Entry<'a>, pointer: String, text: String) {
        self.0.push(Hit { entry, pointer, quote: Quote::Text(text) });
    }

    /// One finding about all of them; nothing if there are none.
    pub(crate) fn finding(&self, code: Code, cause: &str, remedy: &str) -> Option<Finding> {
        let first = self.0.first()?;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for hit in &self.0 {
            // The places of an entry follow each other.
            if entries.last().is_none_or(|last| (last.kind, last.at) != (hit.entry.kind, hit.entry.at)) {
                entries.push(hit.entry);
            }
        }
        let subject = match entries.len() {
            1 => format!("{} {}", first.entry.kind.noun(), first.entry.shown()),
            number => format!("{number} {}", plural(&entries)),
        };
        let message = match entries.len() {
            1 => format!("{cause}: the {subject}"),
            number => format!("{cause}: the {} {}", plural(&entries), names(&entries, number)),
        };
        let mut finding =
            Finding::new(code, message).subject(subject).remedy(remedy).affects(hosts::affected(code.name()));
        for hit in self.0.iter().take(MOST_QUOTES) {
            finding = finding.evidence(hit.quote());
        }
        if let Some(more) = self.0.len().checked_sub(MOST_QUOTES).filter(|more| *more > 0) {
            finding = finding.evidence(Evidence::fact(format!("and {more} more")));
        }
        Some(finding)
    }
}

impl Hit<'_> {
    fn quote(&self) -> Evidence {
        let mut quote = format!("{} {}", self.entry.kind.noun(), self.entry.shown());
        if !self.pointer.is_empty() {
            quote += &format!(" at {}", shown::json(shortened(&self.pointer)));
        }
        match &self.quote {
            Quote::Nothing => {}
            Quote::Value(value) => quote += &format!(": {}", shown::json(shortened(&value.to_string()))),
            Quote::Text(text) => quote += &format!(": {}", shown::json(text)),
        }
        Evidence::fact(quote)
    }
}

fn plural(entries: &[Entry<'_>]) -> String {
    let mut kinds: Vec<Kind> = entries.iter().map(|entry| entry.kind).collect();
    kinds.dedup();
    let nouns: Vec<String> = kinds.iter().map(|kind| format!("{}s", kind.noun())).collect();
    nouns.join(" and ")
}

fn names(entries: &[Entry<'_>], number: usize) -> String {
    let names: Vec<String> = entries.iter().take(MOST_NAMES).map(|entry| entry.shown()).collect();
    match (number.saturating_sub(MOST_NAMES), names.split_last()) {
        (0, Some((last, others))) => format!("{} and {last}", others.join(", ")),
        (more, _) => format!("{} and {more} more", names.join(", ")),
    }
}
