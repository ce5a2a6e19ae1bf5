//! A phrase to its words, and a text to the places where they stand one after the other.

use std::collections::HashMap;

use super::terms::{TermCache, Token, tokens};
use super::{Language, QueryTerm, Term};

/// The most words of a phrase; a longer one is no phrase.
pub(crate) const MOST_WORDS: usize = 48;

/// The most different words of the phrases of a query; the phrases after them are left out.
const MOST_DIFFERENT: usize = 64;

/// Words that stand one after the other, whatever is between them that is not a word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phrase {
    /// As it was written.
    pub text: String,
    /// Its words in their order, each with its terms. An identifier stands as its parts.
    pub words: Vec<QueryTerm>,
    /// The languages that the words are stemmed in.
    pub languages: Vec<Language>,
}

impl Phrase {
    /// The phrase of a text, for texts of which many are in these languages. None if it has no words, or too many.
    #[must_use]
    pub fn of(text: &str, languages: &[Language]) -> Option<Self> {
        let languages = if languages.is_empty() { &[Language::Other] } else { languages };
        let mut words = Vec::new();
        TermCache::with(|terms| {
            tokens(text, &mut |token| {
                if let (Token::Word(word) | Token::Whole(word), true) = (token, words.len() <= MOST_WORDS) {
                    words.push(QueryTerm {
                        forms: terms.forms(token, languages),
                        text: word.to_owned(),
                        count: 1,
                        ..QueryTerm::default()
                    });
                }
            });
        });
        let (text, languages) = (text.to_owned(), languages.to_vec());
        (1..=MOST_WORDS).contains(&words.len()).then_some(Self { text, words, languages })
    }

    /// The same with these terms for its words. Those that are new are of any language.
    pub(crate) fn with_words(&self, words: Vec<QueryTerm>) -> Self {
        let languages = if words == self.words { self.languages.clone() } else { Language::ALL.to_vec() };
        Self { text: self.text.clone(), words, languages }
    }
}

/// Finds phrases in texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct PhraseFinder {
    /// The different words of all phrases, by their terms.
    words: Vec<Vec<Term>>,
    languages: Vec<Language>,
    /// The words that a word of a text is, one bit for each.
    known: HashMap<String, u64>,
}

/// The words of a text: for each the words of phrases that it is, one bit for each.
pub(crate) type Sequence = Vec<u64>;

impl PhraseFinder {
    /// The words of a phrase as a sequence, to be found in others. None if there are too many different words.
    pub(crate) fn add(&mut self, phrase: &Phrase) -> Option<Sequence> {
        let mut sequence = Sequence::new();
        for word in &phrase.words {
            let place = self.words.iter().position(|known| *known == word.forms).unwrap_or_else(|| {
                self.words.push(word.forms.clone());
                self.words.len() - 1
            });
            sequence.push((place < MOST_DIFFERENT).then(|| 1 << place)?);
        }
        for language in &phrase.languages {
            if !self.languages.contains(language) {
                self.languages.push(*language);
            }
        }
        self.known.clear();
        Some(sequence)
    }

    /// The words of a text.
    pub(crate) fn sequence(&mut self, text: &str) -> Sequence {
        let Self { words, languages, known } = self;
        let mut sequence = Sequence::new();
        TermCache::with(|terms| {
            tokens(text, &mut |token| {
                let (Token::Word(word) | Token::Whole(word)) = token else { return };
                if let Some(bits) = known.get(word) {
                    sequence.push(*bits);
                    return;
                }
                let forms = terms.forms(token, languages);
                let is = |of_phrase: &Vec<Term>| forms.iter().any(|form| of_phrase.contains(form));
                let bits = words.iter().take(MOST_DIFFERENT).enumerate();
                let bits = bits.fold(0, |bits, (place, word)| bits | u64::from(is(word)) << place);
                known.insert(word.to_owned(), bits);
                sequence.push(bits);
            });
        });
        sequence
    }
}

/// Whether the words of a phrase stand in a text one after the other.
pub(crate) fn stands_in(phrase: &[u64], text: &[u64]) -> bool {
    let is = |window: &[u64]| window.iter().zip(phrase).all(|(word, wanted)| word & wanted != 0);
    !phrase.is_empty() && text.windows(phrase.len()).any(is)
}

/// Whether the words of a phrase stand in a text in their order, with at most so many others between two of them.
pub(crate) fn stands_near(phrase: &[u64], text: &[u64], between: usize) -> bool {
    let Some((first, rest)) = phrase.split_first() else { return false };
    let starts = text.iter().enumerate().filter(|(_, word)| **word & first != 0);
    starts.map(|(start, _)| start + 1).any(|start| {
        let mut at = start;
        rest.iter().all(|wanted| {
            let ahead = text.get(at..).unwrap_or_default().iter().take(between + 1);
            let found = ahead.take_while(|word| **word & wanted == 0).count();
            at += found + 1;
            found <= between && at <= text.len()
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert, proptest};

    use super::{Phrase, PhraseFinder, stands_in, stands_near};
    use crate::analysis::Language;

    #[track_caller]
    fn check(phrase: &str, text: &str, stands: bool) {
        let mut finder = PhraseFinder::default();
        let phrase = Phrase::of(phrase, &[Language::English, Language::Spanish]).unwrap();
        let wanted = finder.add(&phrase).unwrap();
        assert_eq!(stands_in(&wanted, &finder.sequence(text)), stands, "{:?} {text}", phrase.text);
    }

    #[test]
    fn case_punctuation_and_forms_do_not_matter() {
        check("rotate the backups", "First, ROTATE the *backup*!", true);
        check("rotate the backups", "rotate backups", false);
        check("rotate the backups", "the backups rotate", false);
        check("canción nueva", "las canciones\nnuevas", true);
        check("数据库", "使用数据库", true);
        check("a", "b a", true);
    }

    #[test]
    fn identifiers_are_their_parts() {
        check("call foo_bar now", "to call `foo_bar` now", true);
        check("foo bar", "call fooBar now", true);
        check("bar now", "call foo_bar now", true);
        check("v1.88.0 of", "in v1.88.0 of it", true);
        check("foo_bar", "foobar", false);
    }

    #[test]
    fn a_phrase_has_words_and_not_too_many() {
        assert_eq!(Phrase::of("...", &[]), None);
        assert_eq!(Phrase::of(&"word ".repeat(1_000), &[]), None);
        assert_eq!(Phrase::of("to be or not to be", &[]).unwrap().words.len(), 6);
    }

    #[test]
    fn words_in_between_may_be_passed_over() {
        let mut finder = PhraseFinder::default();
        let wanted = finder.add(&Phrase::of("a b c", &[Language::Other]).unwrap()).unwrap();
        for (text, between, near) in [
            ("a b c", 0, true),
            ("a x b y c", 1, true),
            ("a x b y y c", 1, false),
            ("a x x b a b c", 1, true),
            ("a b", 9, false),
            ("", 9, false),
        ] {
            assert_eq!(stands_near(&wanted, &finder.sequence(text), between), near, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_stands_in_a_text_stands_near(
            phrase in prop::collection::vec(1_u64..4, 1..4),
            text in prop::collection::vec(0_u64..4, 0..20),
            between in 0_usize..4,
        ) {
            prop_assert!(!stands_in(&phrase, &text) || stands_near(&phrase, &text, between));
        }

        #[test]
        fn a_text_has_its_own_parts(before in any::<String>(), phrase in any::<String>(), after in any::<String>()) {
            let mut finder = PhraseFinder::default();
            let Some(read) = Phrase::of(&phrase, &[Language::English]) else { return Ok(()) };
            let Some(wanted) = finder.add(&read) else { return Ok(()) };
            let text = format!("{before} {phrase} {after}");
            prop_assert!(stands_in(&wanted, &finder.sequence(&text)));
        }
    }
}
