//! How far a chunk has the wording of a query, and not just its words: a bonus to BM25 for the best chunks, from their texts
//! alone, the same for every store.
//!
//! BM25 does not know where a word stands. Words of a query that stand next to each other as in the query are a quotation, and
//! a title that the query consists of is the name of what is looked for. Both are in the texts that stores give back anyway;
//! so no index has positions, and a long title need not weigh so much in BM25 that it replaces the text.

use std::collections::HashMap;

use super::best_first;
use super::bm25::{Bm25, Word};
use crate::analysis::{Finder, Language, Spot};
use crate::corpus::ChunkId;

/// So many of the best chunks by BM25 are read. Of a hundred, all kinds of queries would gain less than 0.01 in MRR.
const READ: usize = 30;

/// Scores that differ by less than this share are ties: all of them are read, whichever comes first.
const TIE: f32 = 1e-4;

/// What words in the order of the query give at most, as a share of what BM25 could give.
const ORDER: f32 = 0.35;

/// What a title that consists of the query gives at most.
const TITLE: f32 = 0.7;

/// What a text with all words gives at most: the title counts in BM25, and one of its words must not replace the others.
const COVER: f32 = 0.1;

/// So far apart, two words that are neighbours in the query are near each other.
const NEAR: usize = 3;

/// What that counts; next to each other, in the order of the query, counts 1.
const NEAR_SHARE: f32 = 0.5;

/// The weight of a stop word as a neighbour: "to the letter" is more than "letter".
const STOP_WORD: f32 = 0.3;

/// The wording of a query.
#[derive(Debug, Clone)]
pub struct Wording {
    finder: Finder,
    /// The weight of each word.
    weights: Vec<f32>,
    /// The weight of each word and the one before it, as a pair. The first word has none.
    pairs: Vec<f32>,
    most: f32,
}

/// What a text has of it, as shares.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Share {
    /// Of the words of the query, by weight.
    cover: f32,
    /// Of its pairs of neighbours, by weight.
    order: f32,
    /// Of the words of the text: those that are the query's.
    own: f32,
}

impl Wording {
    /// Of the words that occur, in texts of which many are in these languages; nothing if their order is not known.
    #[must_use]
    pub fn new(bm25: &Bm25, languages: &[Language]) -> Option<Self> {
        let words = &bm25.words;
        if words.is_empty() {
            return None;
        }
        let beside = |word: &Word| if word.stop_word { STOP_WORD * word.rarity } else { word.rarity };
        let pairs = words.windows(2).map(|pair| pair.iter().map(beside).sum::<f32>());
        Some(Self {
            finder: Finder::new(words.iter().map(|word| word.forms.clone()).collect(), languages),
            weights: words.iter().map(Word::weight).collect(),
            pairs: [0.0].into_iter().chain(pairs).collect(),
            most: bm25.max_score(),
        })
    }

    /// The chunks of a lexical list that are read.
    #[must_use]
    pub fn candidates(list: &[(ChunkId, f32)]) -> &[(ChunkId, f32)] {
        let last = list.get(READ.saturating_sub(1)).map_or(0.0, |(_, score)| score * (1.0 - TIE));
        let end = list.partition_point(|(_, score)| *score >= last);
        list.get(..end).unwrap_or_default()
    }

    /// What a chunk gets for having the wording of the query.
    #[must_use]
    pub fn bonus(&self, title: &str, headings: &[String], text: &str) -> f32 {
        let (title, text) = (self.share(title), self.share(text));
        let order = headings.iter().map(|heading| self.share(heading).order);
        let order = order.fold(title.order.max(text.order), f32::max);
        // Two pairs of four may be chance; four of four are not.
        self.most * (ORDER * order.powi(3) + TITLE * title.cover * title.own + COVER * text.cover)
    }

    fn share(&self, text: &str) -> Share {
        let mut last: Vec<Option<usize>> = vec![None; self.weights.len()];
        let mut pairs = vec![0.0_f32; self.weights.len()];
        let mut own = 0.0;
        let words = self.finder.find(text, &mut |spot: Spot<'_>| {
            own += 1.0;
            let distance = |other: Option<usize>| {
                let before = last.get(other?).copied().flatten()?;
                Some(spot.at - before).filter(|distance| *distance <= NEAR)
            };
            for word in spot.words() {
                // A pair is known by its second word.
                let close = |distance| if distance == 1 { 1.0 } else { NEAR_SHARE };
                let after = distance(word.checked_sub(1)).map_or(0.0, close);
                let before = distance(Some(word + 1)).map_or(0.0, |_| NEAR_SHARE);
                for (pair, counts) in [(word, after), (word + 1, before)] {
                    if let Some(best) = pairs.get_mut(pair) {
                        *best = best.max(counts);
                    }
                }
            }
            for word in spot.words() {
                if let Some(last) = last.get_mut(word) {
                    *last = Some(spot.at);
                }
            }
        });
        let seen = last.iter().map(|last| if last.is_some() { 1.0 } else { 0.0 });
        Share {
            cover: share(&self.weights, seen),
            order: share(&self.pairs, pairs.iter().copied()),
            own: own / (0..words.max(1)).fold(0.0, |sum, _| sum + 1.0_f32),
        }
    }
}

/// The share of a total weight that counts.
fn share(weights: &[f32], counts: impl Iterator<Item = f32>) -> f32 {
    let total: f32 = weights.iter().sum();
    let counted: f32 = weights.iter().zip(counts).map(|(weight, counts)| weight * counts).sum();
    if total > 0.0 { counted / total } else { 0.0 }
}

/// A lexical list with bonuses, best first.
#[must_use]
pub fn with_bonuses(mut list: Vec<(ChunkId, f32)>, bonuses: &HashMap<ChunkId, f32>) -> Vec<(ChunkId, f32)> {
    for (chunk, score) in &mut list {
        *score += bonuses.get(chunk).copied().unwrap_or_default();
    }
    best_first(&mut list);
    list
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{COVER, ORDER, READ, TITLE, Wording, with_bonuses};
    use crate::analysis::{Language, QueryTerm, query_terms};
    use crate::corpus::ChunkId;
    use crate::rank::bm25::Bm25;

    fn wording(query: &str) -> Option<Wording> {
        let terms = query_terms(query, &[Language::English]);
        let frequencies = terms.iter().flat_map(|term| &term.forms).map(|form| (form.as_str(), 10)).collect();
        Wording::new(&Bm25::new(&terms, &frequencies, 1_000, 100.0), &[Language::English])
    }

    /// The bonus as a share of what BM25 could give.
    fn share(query: &str, title: &str, headings: &[&str], text: &str) -> f32 {
        let wording = wording(query).unwrap();
        let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
        wording.bonus(title, &headings, text) / wording.most
    }

    #[track_caller]
    fn about(found: f32, wanted: f32) {
        assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
    }

    #[test]
    fn a_quotation_has_all_of_the_order_and_a_title_that_is_the_query_all_of_the_rest() {
        let query = "send a message over channels";
        about(share(query, "", &[], "You *send* a message over [channels](x.md)."), ORDER + COVER);
        about(share(query, "", &["Send a message over a channel"], "nothing"), 0.6108 * ORDER);
        about(share(query, "Sending a message over channels", &[], ""), ORDER + TITLE);
        about(share(query, "unlike", &["nothing"], "at all"), 0.0);
    }

    #[test]
    fn the_closer_the_words_the_more() {
        let texts = [
            "a red blue green hat",
            "red and blue and green",
            "green, then blue, then red",
            "red and then much later blue and then much later green",
            "red red red",
            "nothing",
        ];
        let shares = texts.map(|text| share("red blue green", "", &[], text));
        assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]), "{shares:?}");
        about(shares[0], ORDER + COVER);
        about(shares[1], 0.125 * ORDER + COVER);
        about(shares[2], 0.125 * ORDER + COVER);
        about(shares[3], COVER);
        about(shares[4], COVER / 3.0);
    }

    #[test]
    fn a_title_counts_by_what_it_has_of_the_query_and_nothing_else() {
        about(share("red", "Red", &[], ""), TITLE);
        about(share("red", "Red, blue", &[], ""), 0.5 * TITLE);
        about(share("red blue", "Red", &[], ""), 0.5 * TITLE);
        about(share("red", "", &["Red"], "red red"), COVER);
    }

    #[test]
    fn words_that_are_repeated_are_neighbours_of_both() {
        about(share("more and more", "", &[], "more and more"), ORDER + COVER);
        assert!(share("more and more", "", &[], "more and") < 0.5 * ORDER + COVER);
        about(share("so so so", "", &[], "so so"), ORDER + COVER);
    }

    #[test]
    fn without_known_words_or_their_places_there_is_no_wording() {
        assert!(wording("").is_none());
        let unplaced = [QueryTerm { forms: vec!["a".to_owned()], count: 1, ..QueryTerm::default() }];
        assert!(Wording::new(&Bm25::new(&unplaced, &[("a", 1)].into(), 9, 9.0), &[]).is_none());
        let absent = query_terms("absent", &[]);
        assert!(Wording::new(&Bm25::new(&absent, &[].into(), 9, 9.0), &[]).is_none());
    }

    #[test]
    fn a_query_as_long_as_it_may_be_is_bounded() {
        let long = "word and another ".repeat(2_000);
        let wording = wording(&long).unwrap();
        assert_eq!(wording.weights.len(), 64);
        let most = wording.most * (ORDER + TITLE + COVER);
        assert!((0.0..=most).contains(&wording.bonus(&long, std::slice::from_ref(&long), &long)));
    }

    #[test]
    fn the_best_are_read_and_all_that_tie_with_the_last_of_them() {
        let list = |scores: &[f32]| -> Vec<_> {
            scores.iter().zip(0..).map(|(score, number)| (ChunkId(number), *score)).collect()
        };
        let mut scores: Vec<f32> = (0..100_u16).map(|number| 200.0 - f32::from(number)).collect();
        assert_eq!(Wording::candidates(&list(&scores)).len(), READ);
        let last = scores[READ - 1];
        scores[READ..READ + 5].fill(last * 0.999_999);
        assert_eq!(Wording::candidates(&list(&scores)).len(), READ + 5);
        assert_eq!(Wording::candidates(&list(&scores[..7])).len(), 7);
        assert!(Wording::candidates(&[]).is_empty());
    }

    #[test]
    fn bonuses_change_the_order_and_ties_go_by_chunk_id() {
        let list = vec![(ChunkId(9), 3.0), (ChunkId(8), 2.0), (ChunkId(7), 1.0), (ChunkId(6), 0.5)];
        let bonuses = HashMap::from([(ChunkId(7), 2.0), (ChunkId(8), 0.5)]);
        let order = [(ChunkId(7), 3.0), (ChunkId(9), 3.0), (ChunkId(8), 2.5), (ChunkId(6), 0.5)];
        assert_eq!(with_bonuses(list, &bonuses), order);
    }
}
