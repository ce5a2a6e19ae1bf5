//! The phrases and exclusions of a query: those that are applied, those that are not, and what a note says of them.

use crate::analysis::{Language, MOST_PHRASE_WORDS, Phrase};
use crate::store::Filter;

/// The most words of all phrases and exclusions of a query: each is looked up in the whole index.
const MOST_WORDS: usize = 64;

/// How many characters of a phrase a note shows.
const SHOWN: usize = 80;

/// Reads the phrases of one query.
pub(super) struct PhraseReader<'a> {
    languages: &'a [Language],
    /// How many words the next phrases may have.
    left: usize,
}

impl<'a> PhraseReader<'a> {
    /// Of a query for texts of which many are in these languages.
    pub(super) fn new(languages: &'a [Language]) -> Self {
        Self { languages, left: MOST_WORDS }
    }

    /// The phrases of these texts; and the texts that are ignored, because they have too many words.
    pub(super) fn read<'b>(&mut self, texts: &'b [String]) -> (Vec<Phrase>, Vec<&'b str>) {
        let (mut phrases, mut ignored) = (Vec::new(), Vec::new());
        for text in texts {
            let phrase = Phrase::of(text, self.languages);
            match phrase.and_then(|phrase| Some((self.left.checked_sub(phrase.words.len())?, phrase))) {
                Some((left, phrase)) => {
                    self.left = left;
                    phrases.push(phrase);
                }
                None => ignored.push(text.as_str()),
            }
        }
        (phrases, ignored)
    }
}

/// That these phrases, or exclusions, are not applied. None if there are none.
pub(super) fn ignored(texts: &[&str], excluded: bool) -> Option<String> {
    let what = if excluded { "texts with it are not left out" } else { "its words are searched for" };
    let texts = (!texts.is_empty()).then(|| quoted(texts.iter().copied()))?;
    Some(format!(
        "{texts} is too long, so {what}: a phrase has at most {MOST_PHRASE_WORDS} words, and those of a query have {MOST_WORDS} together"
    ))
}

/// Which texts are left out. None if all count.
pub(super) fn left_out(excluded: &[Phrase]) -> Option<String> {
    (!excluded.is_empty()).then(|| format!("texts with {} are left out", names(excluded)))
}

/// That no text has these phrases, where only the files that pass the filter are searched.
pub(super) fn no_phrase(phrases: &[Phrase], filter: &Filter) -> String {
    let which = if *filter == Filter::default() { "no text" } else { "no text that passes the filters" };
    format!("{which} has exactly {}", names(phrases))
}

fn names(phrases: &[Phrase]) -> String {
    quoted(phrases.iter().map(|phrase| phrase.text.as_str()))
}

/// Parts of a query, for a note: `"a", "b"`, on one line and not too long.
fn quoted<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let shown = |text: &str| {
        let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let line = line.collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(SHOWN).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        format!("\"{short}{more}\"")
    };
    texts.map(shown).collect::<Vec<_>>().join(", ")
}
