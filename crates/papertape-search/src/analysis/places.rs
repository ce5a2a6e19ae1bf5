//! Where the terms of a query are in a text.

use std::collections::HashMap;
use std::ops::Range;

use super::terms::{TermCache, Token, placed_tokens};
use super::{Language, Term};

/// A word of a text that has one of the terms that were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which of the terms.
    pub(crate) term: usize,
    /// The word, in bytes of the text: all of it where the term is a part of it.
    pub(crate) range: Range<usize>,
}

/// Every word of a text in one of these languages that has one of the terms, in the order of the text.
pub(crate) fn places(text: &str, terms: &[Term], languages: &[Language]) -> Vec<Place> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut places: Vec<Place> = Vec::new();
    TermCache::with(|cache| {
        let wanted: HashMap<_, usize> = terms
            .iter()
            .zip(0..)
            .map(|(term, number)| (cache.number(Token::Whole(term), Language::Other), number))
            .collect();
        placed_tokens(text, &mut |token, range| {
            for language in languages {
                let Some(term) = wanted.get(&cache.number(token, *language)) else { continue };
                let place = Place { term: *term, range: range.clone() };
                let known = places.iter().rev().take_while(|known| known.range == place.range);
                if known.clone().all(|known| known.term != place.term) {
                    places.push(place);
                }
            }
        });
    });
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::places;
    use crate::analysis::{Language, query_terms};

    #[track_caller]
    fn marks(text: &str, query: &str, wanted: &[&str]) {
        let languages = [Language::English, Language::Spanish, Language::Chinese];
        let terms: Vec<_> = query_terms(query, &languages).into_iter().flat_map(|term| term.forms).collect();
        let found = places(text, &terms, &languages);
        let mut words: Vec<&str> = found.iter().filter_map(|place| text.get(place.range.clone())).collect();
        words.dedup();
        assert_eq!(words, wanted, "{query:?} in {text:?}");
    }

    #[test]
    fn words_are_found_in_any_form() {
        marks(
            "Replays of a tape, replayed: tapes!",
            "replaying TAPE",
            &["Replays", "tape", "replayed", "tapes"],
        );
        marks("Los códigos de salida", "codigo", &["códigos"]);
        marks("Rust’s C++ and (C) __init__", "rust c++ init", &["Rust", "C++", "__init__"]);
        marks("call papertape_search::fooBar now", "search bar", &["papertape_search", "fooBar"]);
        marks("nothing", "else", &[]);
        marks("", "a", &[]);
    }

    #[test]
    fn pairs_of_characters_are_found_where_they_stand() {
        marks("这个数据库，很好", "数据库", &["数据", "据库"]);
        marks("水と猫", "猫", &["猫"]);
        marks("使用Docker部署", "docker", &["Docker"]);
    }

    #[test]
    fn text_in_another_form_is_found_as_a_whole_word() {
        marks(
            "ＡＢＣ … ﬁne “e\u{301}te\u{301}” ｶﾞ",
            "abc fine été ガ",
            &["ＡＢＣ", "ﬁne", "e\u{301}te\u{301}", "ｶﾞ"],
        );
        marks("说明，数据库：好", "数据", &["数据"]);
    }

    proptest! {
        #[test]
        fn every_place_is_a_part_of_the_text(text in any::<String>(), query in any::<String>()) {
            let languages = [Language::English, Language::Other];
            let terms: Vec<_> =
                query_terms(&format!("{query} {text}"), &languages).into_iter().flat_map(|term| term.forms).collect();
            let mut last = 0;
            for place in places(&text, &terms, &languages) {
                prop_assert!(text.get(place.range.clone()).is_some_and(|word| !word.is_empty()));
                prop_assert!(place.term < terms.len() && place.range.start >= last);
                last = place.range.start;
            }
        }
    }
}
