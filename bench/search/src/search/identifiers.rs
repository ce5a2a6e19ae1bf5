//! A directory's code to queries: identifiers and messages of errors that stand in few places.

use std::collections::{BTreeSet, HashSet};

use super::chunks::{Chunks, Query};
use super::sample::sample;

/// Of this many files, or of this many chunks, at most.
const FILES: usize = 1;
const CHUNKS: usize = 3;

/// The most characters of a query.
const LONGEST: usize = 100;

/// At most `most` identifiers and messages.
pub(crate) fn identifiers(chunks: &Chunks, most: usize, seed: u64) -> Vec<Query> {
    let wholes: Vec<String> = chunks.all.iter().map(super::chunks::Chunk::whole).collect();
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    for chunk in &chunks.all {
        asked.extend(
            inline_code(&chunk.text)
                .map(|code| code.trim_end_matches("()"))
                .filter(|code| is_identifier(code)),
        );
        asked.extend(chunk.plain.lines().map(str::trim).filter(|line| is_error(line)));
    }
    let mut queries = Vec::new();
    for ask in sample(asked.into_iter().collect(), usize::MAX, seed, |ask| ask) {
        if queries.len() >= most {
            break;
        }
        let having = wholes.iter().enumerate().filter(|(_, whole)| has(whole, ask));
        let relevant: HashSet<usize> = having.map(|(number, _)| number).collect();
        let files: HashSet<&str> = relevant
            .iter()
            .filter_map(|number| chunks.all.get(*number))
            .map(|chunk| chunk.path.as_str())
            .collect();
        if !relevant.is_empty() && (files.len() <= FILES || relevant.len() <= CHUNKS) {
            queries.push(Query { ask: ask.to_owned(), relevant, ..Query::default() });
        }
    }
    queries
}

/// What stands between single backticks in the lines of Markdown.
fn inline_code(markdown: &str) -> impl Iterator<Item = &str> {
    markdown.lines().filter(|line| !line.contains("``")).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// `snake_case`, `camelCase`, `a::b`, `a.b`, `--option`, `ERROR_NAME`.
fn is_identifier(code: &str) -> bool {
    let name = code.strip_prefix("--").unwrap_or(code);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let mut inner = code.chars().zip(code.chars().skip(1)).zip(code.chars().skip(2));
    let has_joint = inner.any(|((before, c), after)| {
        let alphanumeric = before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric();
        (matches!(c, '_' | '.') && alphanumeric)
            || (before == ':' && c == ':' && after.is_ascii_alphabetic())
            || (before.is_ascii_lowercase() && c.is_ascii_uppercase())
    });
    (5..=60).contains(&code.len())
        && name.chars().all(is_name)
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && (has_joint || name.len() < code.len())
}

/// A line such as `error[E0502]: cannot borrow` or `TypeError: x is not a function`.
fn is_error(line: &str) -> bool {
    let Some((name, message)) = line.split_once(": ") else { return false };
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    (name == "error" || (name.ends_with("Error") || name.ends_with("Exception")))
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
        && message.split_whitespace().count() >= 2
        && line.len() <= LONGEST
}

/// Whether a text has it, and not as a part of a longer name.
fn has(text: &str, ask: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(ask).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + ask.len()..).unwrap_or_default();
        !before.ends_with(|c| is_part(c) || c == '-') && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::{has, identifiers, inline_code, is_error, is_identifier};
    use crate::search::chunks::Chunks;

    #[test]
    fn names_of_code_are_told_from_words() {
        for name in
            ["snake_case", "camelCase", "std::fs::read", "--dry-run", "ERR_NAME", "os.path", "Vec::new"]
        {
            assert!(is_identifier(name), "{name}");
        }
        for word in
            ["word", "two words", "a/b.md", "well-known", "-rf", "e.g.", "Title", "a.b", "$HOME", ":name:"]
        {
            assert!(!is_identifier(word), "{word}");
        }
        assert!(is_error("error[E0502]: cannot borrow `a` as mutable"));
        assert!(is_error("TypeError: x is not a function"));
        assert!(!is_error("An error: no name of one") && !is_error("error: short"));
        assert_eq!(inline_code("a `b` c `d`\n```\n`e`").collect::<Vec<_>>(), ["b", "d", "e"]);
        assert!(has("the --dry-run option", "--dry-run") && !has("--dry-runs", "--dry-run"));
    }

    #[test]
    fn what_stands_everywhere_is_not_asked_for() {
        let mut files =
            vec![("a.md".to_owned(), "# A\n\nCall `first_name()` of `common_name`.\n".to_owned())];
        files.extend((0..4).map(|n| (format!("{n}.md"), format!("# N{n}\n\nSee `common_name`.\n"))));
        let queries = identifiers(&Chunks::read(&files), 10, 1);
        assert_eq!(queries.iter().map(|query| query.ask.as_str()).collect::<Vec<_>>(), ["first_name"]);
        assert_eq!(queries[0].relevant.len(), 1);
    }
}
