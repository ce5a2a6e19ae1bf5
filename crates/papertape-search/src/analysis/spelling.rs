//! A word that stands nowhere to the word that was meant: the one with the fewest changes that does stand somewhere.
//!
//! A dictionary has stems, and a wrong letter may change what the stemmer cuts off. So two kinds of candidates are
//! compared: the stems of all words that are one change away, and the stems of the dictionary that are near that of the
//! word.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::query::is_stop_word;
use super::script::is_unspaced;
use super::terms::{TermCache, Token, folded, tokens};
use super::{Language, QueryTerm, Term};

/// Words with fewer or more letters are not corrected.
const LETTERS: RangeInclusive<usize> = 4..=24;

/// More letters than a word has that is compared.
const WIDTH: usize = 40;

/// From so many letters on, two changes are tried.
const LONG: usize = 8;

/// The most words of a query that are corrected.
const MOST_CORRECTED: usize = 4;

/// So many unknown words may be misspelt. More than that, unless they are the lesser part of a query, are words of another
/// language.
const FEW: usize = 2;

/// A word of a query that no text has, and what is searched for in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The word, in lower case.
    pub word: String,
    /// The term.
    pub term: Term,
    /// A word with this term, or the term itself.
    pub spelling: String,
}

/// The places of the terms that are to be corrected, of those that no text has in any language.
pub(crate) fn correctable(terms: &[QueryTerm], unknown: &[usize]) -> Vec<usize> {
    let is_name = |place: &&usize| terms.get(**place).is_some_and(|term| !term.is_name);
    let unknown: Vec<usize> = unknown.iter().filter(is_name).copied().collect();
    let content = terms.iter().filter(|term| !term.stop_word && !term.is_name).count();
    if unknown.len() > FEW && unknown.len() * 2 > content {
        return Vec::new();
    }
    unknown.into_iter().take(MOST_CORRECTED).collect()
}

/// A misspelt word, to be compared with the terms of a dictionary.
#[derive(Debug)]
pub(crate) struct Misspelling {
    word: QueryTerm,
    languages: Vec<Language>,
    /// The word and its stems, each once.
    targets: Vec<Vec<char>>,
    first: char,
    /// How many changes are tried.
    most: usize,
    /// The stems of the words that are one change away, and those words.
    variants: BTreeMap<Term, String>,
}

impl Misspelling {
    /// A word of a query, for texts of which many are in these languages. None if it is one that is not corrected: a
    /// number, an identifier with digits, a short word, one of a script without spaces.
    pub(crate) fn of(term: &QueryTerm, languages: &[Language]) -> Option<Self> {
        let languages = if languages.is_empty() { &[Language::Other] } else { languages };
        let word = folded(&term.text).into_owned();
        let letters: Vec<char> = word.chars().collect();
        let are_letters = letters.iter().all(|c| c.is_alphabetic() && !is_unspaced(*c));
        if term.stop_word || term.is_name || !are_letters || !LETTERS.contains(&letters.len()) {
            return None;
        }
        let mut targets = vec![letters.clone()];
        let mut variants = BTreeMap::new();
        TermCache::with(|terms| {
            for language in languages {
                let stem = terms.spell(&term.text, *language).chars().collect();
                if !targets.contains(&stem) {
                    targets.push(stem);
                }
            }
            each_variant(&letters, |variant| {
                for language in languages {
                    let stem = terms.spell(variant, *language);
                    // Of the words with a stem, the likeliest is the stem itself, then the first.
                    let is_stem = stem == variant;
                    let spelling = variants.entry(stem).or_insert_with(|| variant.to_owned());
                    if is_stem {
                        variant.clone_into(spelling);
                    }
                }
            });
        });
        Some(Self {
            word: term.clone(),
            languages: languages.to_vec(),
            targets,
            first: letters.first().copied()?,
            most: changes(letters.len()),
            variants,
        })
    }

    /// The stems of the words that are one change away: candidates, if they stand somewhere.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &Term> {
        self.variants.keys()
    }

    /// The letter that the other candidates begin with.
    pub(crate) fn first(&self) -> char {
        self.first
    }

    /// How many letters the other candidates have.
    pub(crate) fn lengths(&self) -> RangeInclusive<usize> {
        let lengths = || self.targets.iter().map(Vec::len);
        let (least, most) = (lengths().min().unwrap_or_default(), lengths().max().unwrap_or_default());
        least.saturating_sub(self.most)..=most + self.most
    }

    /// Whether a term of the dictionary is near enough.
    pub(crate) fn is_near(&self, term: &str) -> bool {
        self.lengths().contains(&term.chars().count()) && self.distance(term).is_some()
    }

    fn distance(&self, term: &str) -> Option<usize> {
        if self.variants.contains_key(term) {
            return Some(1);
        }
        let mut letters = ['\0'; WIDTH];
        let count = letters.iter_mut().zip(term.chars()).map(|(letter, c)| *letter = c).count();
        let letters = letters.get(..count)?;
        // A short stem of a long word is near too much.
        let near = self.targets.iter().filter_map(|target| distance(target, letters, changes(target.len())));
        near.min().map(|distance| distance.max(1))
    }

    /// Whether the word has the letters of a term, or of a word with this term, in another order.
    fn is_swap(&self, term: &str) -> bool {
        let sorted = |letters: &mut dyn Iterator<Item = char>| {
            let mut letters: Vec<char> = letters.collect();
            letters.sort_unstable();
            letters
        };
        let term = self.variants.get(term).map_or(term, String::as_str);
        let letters = sorted(&mut term.chars());
        self.targets.iter().any(|target| sorted(&mut target.iter().copied()) == letters)
    }

    /// The likeliest of these candidates, which stand in so many chunks: with the fewest changes, then with the same first
    /// letter, then with swapped letters alone, then in most chunks.
    pub(crate) fn best(&self, candidates: &BTreeMap<Term, u64>) -> Option<(Correction, QueryTerm)> {
        let ranked = candidates.iter().filter(|(_, chunks)| **chunks > 0).filter_map(|(term, chunks)| {
            let has_other_first = !term.starts_with(self.first);
            Some((self.distance(term)?, has_other_first, !self.is_swap(term), Reverse(*chunks), term))
        });
        let (.., term) = ranked.min()?;
        let spelling = self.variants.get(term).unwrap_or(term).clone();
        let mut forms = TermCache::with(|terms| terms.forms(Token::Word(&spelling), &self.languages));
        if !forms.contains(term) {
            forms.push(term.clone());
        }
        let found = QueryTerm {
            forms,
            text: spelling.clone(),
            stop_word: is_stop_word(&spelling, &self.languages),
            ..self.word.clone()
        };
        Some((Correction { word: self.word.text.clone(), term: term.clone(), spelling }, found))
    }
}

/// How many changes are tried of so many letters.
fn changes(letters: usize) -> usize {
    if letters < LONG { 1 } else { 2 }
}

/// The word of a text that a correction stands for and that is most like the misspelt one, if it has one.
pub(crate) fn spelled_in(text: &str, correction: &Correction, languages: &[Language]) -> Option<String> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let wrong: Vec<char> = correction.word.chars().collect();
    let mut best: Option<(usize, String)> = None;
    TermCache::with(|terms| {
        tokens(text, &mut |token| {
            let Token::Word(word) = token else { return };
            let is = |terms: &mut TermCache| terms.forms(token, languages).contains(&correction.term);
            // Most words begin otherwise than their own stem.
            let first = correction.term.chars().next();
            if folded(word).chars().next() != first || !is(terms) {
                return;
            }
            let letters: Vec<char> = word.chars().collect();
            let changes = distance(&wrong, &letters, wrong.len()).unwrap_or(usize::MAX);
            if best.as_ref().is_none_or(|(least, _)| changes < *least) {
                best = Some((changes, word.to_owned()));
            }
        });
    });
    best.map(|(_, word)| word)
}

/// Every word that is one change away: two letters swapped, one more, another one, or one left out.
fn each_variant(letters: &[char], mut take: impl FnMut(&str)) {
    let alphabet: Vec<char> = match letters {
        _ if letters.iter().all(char::is_ascii) => ('a'..='z').collect(),
        _ if letters.iter().all(|c| ('а'..='ё').contains(c)) => ('а'..='ё').collect(),
        _ if letters.iter().all(|c| ('α'..='ω').contains(c)) => ('α'..='ω').collect(),
        _ => Vec::new(),
    };
    let mut variant = String::with_capacity(4 * letters.len() + 4);
    let mut give = |before: &[char], middle: &[char], after: &[char]| {
        variant.clear();
        variant.extend(before.iter().chain(middle).chain(after));
        take(&variant);
    };
    let places = || (0..=letters.len()).filter_map(|at| letters.split_at_checked(at));
    for (before, after) in places() {
        if let [first, second, rest @ ..] = after
            && first != second
        {
            give(before, &[*second, *first], rest);
        }
    }
    for (before, after) in places() {
        alphabet.iter().for_each(|letter| give(before, &[*letter], after));
    }
    for (before, after) in places() {
        if let [first, rest @ ..] = after {
            let others = alphabet.iter().filter(|letter| *letter != first);
            others.for_each(|letter| give(before, &[*letter], rest));
        }
    }
    for (before, after) in places() {
        if let [_, rest @ ..] = after {
            give(before, &[], rest);
        }
    }
}

/// The edit distance of Damerau and Levenshtein, where a swap is not changed again, if it is at most `most`. Only the cells
/// that can be as near are computed.
fn distance(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most || other.len() >= WIDTH {
        return None;
    }
    let far = [WIDTH * 2; WIDTH];
    let mut before_last = far;
    let mut last = far;
    last.iter_mut().zip(0..=most).for_each(|(cell, column)| *cell = column);
    let cell = |row: &[usize; WIDTH], column: usize| row.get(column).copied().unwrap_or(WIDTH * 2);
    let mut previous = None;
    for (row, a) in one.iter().enumerate() {
        let mut current = far;
        let mut least = WIDTH * 2;
        if let Some(first) = current.first_mut().filter(|_| row < most) {
            (*first, least) = (row + 1, row + 1);
        }
        let from = row.saturating_sub(most);
        let mut before = from.checked_sub(1).and_then(|before| other.get(before));
        for (column, b) in other.iter().enumerate().take(row + most + 1).skip(from) {
            let replaced = cell(&last, column) + usize::from(a != b);
            let mut best = replaced.min(cell(&last, column + 1) + 1).min(cell(&current, column) + 1);
            if previous == Some(b) && before == Some(a) {
                best = best.min(cell(&before_last, column.saturating_sub(1)) + 1);
            }
            least = least.min(best);
            if let Some(cell) = current.get_mut(column + 1) {
                *cell = best;
            }
            before = Some(b);
        }
        if least > most {
            return None;
        }
        before_last = std::mem::replace(&mut last, current);
        previous = Some(a);
    }
    Some(cell(&last, other.len())).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{Misspelling, correctable, distance, each_variant, spelled_in};
    use crate::analysis::{Language, QueryTerm, query_terms};

    const LANGUAGES: [Language; 2] = [Language::English, Language::Spanish];

    fn letters(word: &str) -> Vec<char> {
        word.chars().collect()
    }

    /// What a word is corrected to, in a dictionary of these words' stems.
    fn corrected(word: &str, dictionary: &[(&str, u64)]) -> Option<String> {
        let term = query_terms(word, &LANGUAGES).into_iter().next()?;
        let wrong = Misspelling::of(&term, &LANGUAGES)?;
        let mut candidates = BTreeMap::new();
        for (word, chunks) in dictionary {
            for form in query_terms(word, &LANGUAGES).into_iter().flat_map(|term| term.forms) {
                let is_scanned = form.starts_with(wrong.first()) && wrong.is_near(&form);
                if is_scanned || wrong.variants().any(|variant| *variant == form) {
                    candidates.insert(form, *chunks);
                }
            }
        }
        wrong.best(&candidates).map(|(correction, _)| correction.spelling)
    }

    #[test]
    fn words_are_corrected_to_the_nearest() {
        for (word, dictionary, meant) in [
            ("recieve", &[("receive", 3), ("relieve", 9), ("deceive", 9)][..], Some("receive")),
            ("managment", &[("management", 1), ("manager", 5)], Some("management")),
            ("kubernetse", &[("kubernetes", 1)], Some("kubernetes")),
            ("xreceive", &[("receive", 1)], Some("receive")),
            ("bakup", &[("backup", 1), ("makeup", 7)], Some("backup")),
            ("bakups", &[("backup", 1)], Some("backups")),
            ("conection", &[("connection", 1)], Some("connection")),
            ("definately", &[("definitely", 1)], Some("definitely")),
            ("authetnicatoin", &[("authentication", 1)], Some("authentication")),
            ("rusty", &[("dusty", 9), ("rusts", 1)], Some("rust")),
            ("instalasion", &[("instalación", 1)], Some("instalacion")),
            ("cat", &[("car", 9)], None),
            ("cats", &[("dogs", 9)], None),
            ("lanterns", &[("later", 9), ("lateral", 9)], None),
            ("house2", &[("house3", 9)], None),
            ("12345", &[("12346", 9)], None),
            ("数据库的", &[("数据库地", 9)], None),
            ("which", &[("witch", 9)], None),
            ("recieve", &[("receive", 0)], None),
        ] {
            let found = corrected(word, dictionary);
            assert_eq!(found.as_deref(), meant, "{word}");
        }
    }

    #[test]
    fn many_unknown_words_are_of_another_language() {
        let words = |count: usize| -> Vec<QueryTerm> {
            (0..count).map(|_| QueryTerm { count: 1, ..QueryTerm::default() }).collect()
        };
        assert_eq!(correctable(&words(2), &[0, 1]), [0, 1]);
        assert_eq!(correctable(&words(3), &[0, 1, 2]), [0; 0]);
        assert_eq!(correctable(&words(6), &[0, 2, 4]), [0, 2, 4]);
        assert_eq!(correctable(&words(99), &(0..20).collect::<Vec<_>>()), [0, 1, 2, 3]);
    }

    #[test]
    fn a_correction_is_spelled_as_in_a_text() {
        let term = query_terms("recieve", &LANGUAGES).remove(0);
        let wrong = Misspelling::of(&term, &LANGUAGES).unwrap();
        let (correction, _) = wrong.best(&[("receiv".to_owned(), 1)].into()).unwrap();
        let spelled = |text: &str| spelled_in(text, &correction, &LANGUAGES);
        assert_eq!(spelled("It RECEIVED, and receives it.").as_deref(), Some("received"));
        assert_eq!(spelled("Nothing of it."), None);
    }

    #[test]
    fn a_swap_is_one_change() {
        for (one, other, changes) in [
            ("recieve", "receive", Some(1)),
            ("abcd", "badc", Some(2)),
            ("", "ab", Some(2)),
            ("kitten", "sitting", None),
            ("same", "same", Some(0)),
        ] {
            assert_eq!(distance(&letters(one), &letters(other), 2), changes, "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn the_distance_is_that_of_every_cell(one in "[abc]{0,9}", other in "[abc]{0,9}", most in 0_usize..4) {
            let whole = strsim::osa_distance(&one, &other);
            let near = distance(&letters(&one), &letters(&other), most);
            prop_assert_eq!(near, Some(whole).filter(|whole| *whole <= most));
        }

        #[test]
        fn variants_are_one_change_away(word in "[a-zа-я]{0,12}|[a-z]{1,12}") {
            let mut count = 0;
            each_variant(&letters(&word), |variant| {
                count += 1;
                assert_eq!(distance(&letters(&word), &letters(variant), 1), Some(1), "{word} {variant}");
            });
            prop_assert!(count <= 70 * (word.chars().count() + 1));
        }

        #[test]
        fn no_word_breaks_it(word in "\\PC{0,80}") {
            for term in query_terms(&word, &LANGUAGES) {
                if let Some(wrong) = Misspelling::of(&term, &LANGUAGES) {
                    prop_assert!(wrong.variants().count() < 10_000 && wrong.lengths().end() < &40);
                }
            }
        }
    }
}
