//! A chunk to its terms.

use std::collections::BTreeMap;

use super::terms::{Number, TermCache, Token, tokens};
use super::{Language, Term, weights};

/// The terms of a chunk and their frequencies: a term of the title or of a heading counts several times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bag {
    frequencies: BTreeMap<Term, u32>,
}

impl Bag {
    /// Adds a term that counts `weight` times.
    pub fn add(&mut self, term: Term, weight: u32) {
        let count = self.frequencies.entry(term).or_default();
        *count = count.saturating_add(weight);
    }

    /// The frequency of a term.
    #[must_use]
    pub fn count(&self, term: &str) -> u32 {
        self.frequencies.get(term).copied().unwrap_or_default()
    }

    /// Every term and its frequency, in the order of the terms.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.frequencies.iter().map(|(term, count)| (term.as_str(), *count))
    }

    /// Adds all of another bag.
    pub fn add_all(&mut self, other: Self) {
        for (term, count) in other.frequencies {
            self.add(term, count);
        }
    }

    /// The length of the chunk: the sum of all frequencies.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.frequencies.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// The terms of a chunk: of its text, its headings (outermost first), its title and its path.
#[must_use]
pub fn bag(path: &str, title: &str, headings: &[String], plain: &str, language: Language) -> Bag {
    TermCache::with(|terms| {
        let mut said: Vec<(Number, u32)> = Vec::with_capacity(plain.len() / 4);
        let mut say = |texts: &[&str], weight: &dyn Fn(usize) -> u32| {
            let (start, mut words) = (said.len(), 0);
            for text in texts {
                tokens(text, &mut |token| {
                    words += usize::from(!matches!(token, Token::Part(_)));
                    said.push((terms.number(token, language), 0));
                });
            }
            let weight = weight(words);
            let new = said.get_mut(start..).unwrap_or_default();
            new.iter_mut().for_each(|(_, counts)| *counts = weight);
        };
        let (own, above) = headings.split_last().map_or(("", &[][..]), |(own, above)| (own.as_str(), above));
        let above: Vec<&str> = above.iter().map(String::as_str).collect();
        say(&[path.rsplit_once('.').map_or(path, |(stem, _)| stem)], &|_| weights::PATH);
        say(&[title], &|words| weights::each(weights::TITLE, words));
        say(&above, &|words| weights::each(weights::HEADINGS, words));
        say(&[own], &|words| weights::each(weights::OWN_HEADING, words));
        say(&[plain], &|_| weights::BODY);
        said.sort_unstable_by_key(|(number, _)| *number);
        let frequencies = said.chunk_by(|one, other| one.0 == other.0).filter_map(|same| {
            let (number, _) = same.first()?;
            let count = same.iter().fold(0_u32, |sum, (_, weight)| sum.saturating_add(*weight));
            Some((terms.term(*number)?.to_owned(), count))
        });
        Bag { frequencies: frequencies.collect() }
    })
}

/// What the front matter says of a file beside its text: words that weigh like those of the text.
#[must_use]
pub fn about_bag(about: &str, language: Language) -> Bag {
    bag("", "", &[], about, language)
}

/// The terms of the other titles of a file, each of which weighs like the title.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AliasBags {
    /// Of the first ones, for every chunk: so many that the copies stay small, however many chunks there are.
    pub everywhere: Bag,
    /// Of the rest, for the first chunk.
    pub first_only: Bag,
}

impl AliasBags {
    /// Those of these titles, in the order of the file.
    #[must_use]
    pub fn new(aliases: &[String], language: Language) -> Self {
        let mut bags = Self::default();
        for alias in aliases {
            let alias = bag("", alias, &[], "", language);
            let terms = bags.everywhere.frequencies.len() + alias.frequencies.len();
            let of = if terms <= MOST_ALIAS_TERMS { &mut bags.everywhere } else { &mut bags.first_only };
            of.add_all(alias);
        }
        bags
    }
}

/// The most terms of other titles that are copied into every chunk of a file.
const MOST_ALIAS_TERMS: usize = 32;
