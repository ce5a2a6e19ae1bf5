//! Queries to the same with a mistake in one word, for the same chunks.

use papertape_search::analysis;

use super::chunks::Query;
use super::prose::words;
use super::sample::sample;
use super::textbook::Textbook;
use crate::random::Random;

/// Shorter words may be meant as they are.
const SHORTEST: usize = 5;

/// How often another mistake is made, if a word stands in the texts with this one.
const TRIES: usize = 8;

/// At most `most` of the queries, each with one mistake that makes a word no text has.
pub(crate) fn misspelt(queries: &[Query], textbook: &Textbook, most: usize, seed: u64) -> Vec<Query> {
    let queries = queries.iter().filter(|query| words(&query.ask).len() >= 2).collect();
    let misspelt = sample(queries, usize::MAX, seed, |query| &query.ask).into_iter().filter_map(|query| {
        let mut random = Random::of_text(seed, &query.ask);
        let mut tries = (0..TRIES).filter_map(|_| mistake(&query.ask, &mut random));
        let (ask, _) = tries.find(|(_, word)| {
            let terms = analysis::query_terms(word, &analysis::Language::ALL);
            !terms.is_empty() && !textbook.has_any(&terms)
        })?;
        Some(Query { ask, ..query.clone() })
    });
    misspelt.take(most).collect()
}

/// The text with one edit in one word, and that word.
fn mistake(text: &str, random: &mut Random) -> Option<(String, String)> {
    let is_long = |word: &&str| {
        word.chars().count() >= SHORTEST
            && word.chars().all(|c| c.is_alphabetic() && c.is_lowercase() || c.is_uppercase())
    };
    let words = words(text).into_iter().filter(|word| text.get(word.clone()).as_ref().is_some_and(is_long));
    let words: Vec<_> = words.collect();
    let word = words.get(random.below(words.len()))?;
    let (before, after) = (text.get(..word.start)?, text.get(word.end..)?);
    let mut letters: Vec<char> = text.get(word.clone())?.chars().collect();
    let place = random.below(letters.len());
    let letter = char::from(b'a' + u8::try_from(random.below(26)).unwrap_or_default());
    match random.below(4) {
        0 if place + 1 < letters.len() => letters.swap(place, place + 1),
        1 => drop(letters.remove(place)),
        2 => letters.insert(place, letter),
        _ => *letters.get_mut(place)? = letter,
    }
    let word: String = letters.into_iter().collect();
    Some((format!("{before}{word}{after}"), word))
}

#[cfg(test)]
mod tests {
    use super::{misspelt, mistake};
    use crate::random::Random;
    use crate::search::chunks::{Chunks, Query};
    use crate::search::textbook::Textbook;

    #[test]
    fn a_mistake_is_one_edit_in_a_long_word() {
        for seed in 0..200 {
            let (text, word) = mistake("use the settings", &mut Random::new(seed)).unwrap();
            assert_eq!(text, format!("use the {word}"));
            assert!((7..=9).contains(&word.len()), "{word}");
        }
        assert_eq!(mistake("a few", &mut Random::new(1)), None);
        assert_eq!(mistake("資源配額 資源配額", &mut Random::new(1)), None);
    }

    #[test]
    fn what_stands_in_a_text_is_no_mistake() {
        let chunks = Chunks::read(&[("a.md".to_owned(), "# Trial\n\nThe trail of this trial.\n".to_owned())]);
        let textbook = Textbook::of(&chunks);
        let query = Query { ask: "the trial".to_owned(), ..Query::default() };
        for seed in 0..100 {
            let misspelt = misspelt(std::slice::from_ref(&query), &textbook, 1, seed);
            assert!(misspelt.iter().all(|query| !["the trial", "the trail"].contains(&query.ask.as_str())));
        }
    }
}
