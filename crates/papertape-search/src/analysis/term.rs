//! A word to its term: stemmed in its language, without accents.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rust_stemmers::Stemmer;
use unicode_normalization::char::decompose_canonical;

use super::Language;
use super::token::Token;

/// The most terms in the cache of a thread; then it is cleared.
const MOST_KNOWN: usize = 1 << 16;

thread_local! {
    static TERMS: RefCell<Terms> = RefCell::default();
}

/// Words seen before, so that each is stemmed once: most words of a text are the same few thousand.
#[derive(Default)]
pub(super) struct Terms {
    languages: [Known; Language::ALL.len()],
    numbers: HashMap<Rc<str>, Number>,
    terms: Vec<Rc<str>>,
}

/// A language's words.
#[derive(Default)]
struct Known {
    stemmer: Option<Stemmer>,
    words: HashMap<Box<str>, Number>,
}

/// A term's number, the same until [`Terms::with`] is left.
pub(super) type Number = u32;

impl Terms {
    /// Lends the terms of this thread.
    pub(super) fn with<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        TERMS.with_borrow_mut(|terms| {
            let words: usize = terms.languages.iter().map(|known| known.words.len()).sum();
            if terms.terms.len() + words > MOST_KNOWN {
                *terms = Self::default();
            }
            work(terms)
        })
    }

    /// The term of a token, in a language.
    pub(super) fn number(&mut self, token: Token<'_>, language: Language) -> Number {
        let word = match token {
            Token::Whole(word) | Token::Part(word) => return self.number_of(word),
            Token::Word(word) => word,
        };
        if let Some(number) = self.known(language).and_then(|known| known.words.get(word)) {
            return *number;
        }
        // Without its accents, as a query may have it.
        let plain = folded(word);
        let term = if language.has_english_words() && plain.is_ascii() && !plain.is_empty() {
            self.stem(&plain, Language::English)
        } else {
            self.stem(word, language)
        };
        let number = self.number_of(&term);
        if let Some(known) = self.known(language) {
            known.words.insert(word.into(), number);
        }
        number
    }

    /// The term of a number.
    pub(super) fn term(&self, number: Number) -> Option<&str> {
        self.terms.get(usize::try_from(number).ok()?).map(AsRef::as_ref)
    }

    fn known(&mut self, language: Language) -> Option<&mut Known> {
        self.languages.get_mut(language as usize)
    }

    fn number_of(&mut self, term: &str) -> Number {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = Number::try_from(self.terms.len()).unwrap_or(Number::MAX);
        let term: Rc<str> = term.into();
        self.terms.push(Rc::clone(&term));
        self.numbers.insert(term, number);
        number
    }

    /// Never empty, unless the word is.
    fn stem(&mut self, word: &str, language: Language) -> String {
        let stemmer = self.known(language).and_then(|known| {
            if known.stemmer.is_none() {
                known.stemmer = language.algorithm().map(Stemmer::create);
            }
            known.stemmer.as_ref()
        });
        let stemmed = match stemmer {
            Some(stemmer) => folded(&stemmer.stem(&with_accent(word, language))).into_owned(),
            None => folded(word).into_owned(),
        };
        if stemmed.is_empty() { word.to_owned() } else { stemmed }
    }
}

/// Stemmers know some endings with their accent only, and people type them without.
fn with_accent(word: &str, language: Language) -> Cow<'_, str> {
    let endings: &[(&str, &str)] = match language {
        Language::Spanish => &[("cion", "ción"), ("sion", "sión")],
        Language::Portuguese => &[("cao", "ção"), ("coes", "ções")],
        _ => return Cow::Borrowed(word),
    };
    let found = endings.iter().find_map(|(plain, accented)| Some((word.strip_suffix(plain)?, accented)));
    found.map_or(Cow::Borrowed(word), |(start, ending)| Cow::Owned(format!("{start}{ending}")))
}

/// Folds accents and ligatures: letters that are not accented in their own language go to what others type for them.
fn folded(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut result = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ß' => result.push_str("ss"),
            'æ' => result.push_str("ae"),
            'œ' => result.push_str("oe"),
            'ø' => result.push('o'),
            'ł' => result.push('l'),
            'đ' | 'ð' => result.push('d'),
            'þ' => result.push_str("th"),
            'ı' => result.push('i'),
            _ => decompose_canonical(c, |part| {
                if !is_accent(part) {
                    result.push(part);
                }
            }),
        }
    }
    Cow::Owned(result)
}

/// Accents of Latin, Greek and Cyrillic letters, vowel signs of Hebrew and Arabic. Marks of other scripts are kept.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}
