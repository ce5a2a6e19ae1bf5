//! `papertape complete SHELL`: the candidates for a command line, as the completion script of the shell reads them.

use std::ffi::OsString;

use crate::args::{Complete, CompletedShell};
use crate::completion::candidates::Candidate;
use crate::completion::line::{Quote, UnfinishedLine, quoted};
use crate::completion::words::candidates;
use crate::exit::Failure;
use crate::print;

pub(crate) fn run(args: Complete) -> Result<(), Failure> {
    let lines = match args.shell {
        CompletedShell::Bash => for_bash(&args.words),
        shell => for_words(args.words, shell),
    };
    let mut text = lines.unwrap_or_default().join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Ok(print::out(text)?)
}

/// bash gives the line, and inserts a candidate as it is in place of the last part of the word.
fn for_bash(given: &[OsString]) -> Option<Vec<String>> {
    let [line, rest, replaced] = given else { return None };
    let line = UnfinishedLine::parse(line.to_str()?);
    let UnfinishedLine { words, current, quote, .. } = line;
    let index = words.len();
    let more = UnfinishedLine::parse(rest.to_str()?);
    let all = words.into_iter().chain([current.clone()]).chain(more.words).chain([more.current]);
    let kept = current.strip_suffix(&unquoted(replaced.to_str()?, quote))?.to_owned();
    let as_typed = |candidate: Candidate| {
        let word = candidate.word.strip_prefix(&kept)?;
        // bash closes an open quote by itself.
        let space = if quote == Quote::None && !Candidate::continues(word) { " " } else { "" };
        Some(quoted(word, quote) + space)
    };
    Some(candidates(all.map(OsString::from).collect(), index).into_iter().filter_map(as_typed).collect())
}

/// What a part of a word means that begins within these quotes.
fn unquoted(part: &str, quote: Quote) -> String {
    match quote {
        Quote::Single => part.to_owned(),
        Quote::Double => UnfinishedLine::parse(&format!("\"{part}")).current,
        Quote::None => UnfinishedLine::parse(part).current,
    }
}

/// zsh and fish give the words, and quote a candidate themselves.
fn for_words(mut words: Vec<OsString>, shell: CompletedShell) -> Option<Vec<String>> {
    if words.is_empty() {
        return None;
    }
    let index: usize = words.remove(0).to_str()?.parse().ok()?;
    if index == words.len() {
        words.push(OsString::new());
    }
    // As it is typed, with its quotes.
    let current = words.get_mut(index)?;
    *current = current.to_str().map(|raw| UnfinishedLine::parse(raw).current)?.into();
    let line = |candidate: Candidate| {
        let Candidate { word, about } = candidate;
        let sign = match shell {
            CompletedShell::Zsh if Candidate::continues(&word) => "+",
            CompletedShell::Zsh => "-",
            _ => "",
        };
        format!("{sign}{word}\t{about}")
    };
    Some(candidates(words, index).into_iter().map(line).collect())
}
