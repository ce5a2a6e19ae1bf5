//! A word to what it is looked up by: stemmed in its language, without accents.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::Stemmer;

use super::fold::folded;
use super::token::Token;
use super::{Language, Term};

/// The most words a thread remembers; then it begins anew.
const MOST_KNOWN: usize = 1 << 15;

thread_local! {
    static TERMS: RefCell<Terms> = RefCell::default();
}

/// Words seen before, so that each is stemmed once: most words of a text are the same few thousand.
#[derive(Default)]
pub(super) struct Terms {
    /// By language and word.
    known: HashMap<(Language, bool), HashMap<Box<str>, Number>>,
    numbers: HashMap<Term, Number>,
    terms: Vec<Term>,
    stemmers: HashMap<Language, Option<Stemmer>>,
}

/// A term's number, the same until [`Terms::with`] is left.
pub(super) type Number = u32;

impl Terms {
    /// Lends the terms of this thread.
    pub(super) fn with<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        TERMS.with_borrow_mut(|terms| {
            if terms.terms.len() > MOST_KNOWN {
                *terms = Self::default();
            }
            work(terms)
        })
    }

    /// What a token is looked up by, in a language.
    pub(super) fn number(&mut self, token: Token<'_>, language: Language) -> Number {
        let (word, stemmed) = match token {
            Token::Word(word) => (word, true),
            Token::Whole(word) => (word, false),
        };
        let known = self.known.entry((language, stemmed)).or_default();
        if let Some(number) = known.get(word) {
            return *number;
        }
        let term = match stemmed {
            true => {
                let own = language.has_own_letters() && word.is_ascii();
                let language = if own { Language::English } else { language };
                let stemmer = self
                    .stemmers
                    .entry(language)
                    .or_insert_with(|| language.algorithm().map(Stemmer::create));
                stem(word, language, stemmer.as_ref())
            }
            false => word.to_owned(),
        };
        let next = Number::try_from(self.terms.len()).unwrap_or(Number::MAX);
        let number = *self.numbers.entry(term).or_insert_with_key(|term| {
            self.terms.push(term.clone());
            next
        });
        known.insert(word.into(), number);
        number
    }

    /// The term of a number.
    pub(super) fn term(&self, number: Number) -> Option<&Term> {
        self.terms.get(usize::try_from(number).ok()?)
    }
}

fn stem(word: &str, language: Language, stemmer: Option<&Stemmer>) -> Term {
    let Some(stemmer) = stemmer else { return folded(word).into_owned() };
    let accented = with_accent(word, language);
    folded(&stemmer.stem(&accented)).into_owned()
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
