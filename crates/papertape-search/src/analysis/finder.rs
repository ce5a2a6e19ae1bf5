//! The words of a query to where they stand in a text.

use super::terms::{Number, TermCache, Token, tokens};
use super::{Language, Term};

/// Finds the words of a query in texts, by the rules that made the terms of both.
#[derive(Debug, Clone)]
pub struct Finder {
    /// The forms of each word.
    words: Vec<Vec<Term>>,
    languages: Vec<Language>,
    /// The ASCII characters that a form begins with. A word that begins otherwise need not be stemmed: most words of a text.
    begin: [bool; 128],
}

/// A word of a text that is one of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot<'a> {
    /// Which word of the text it is, from 0.
    pub at: usize,
    /// Which words of the query it is, as pairs of which the second counts; ascending.
    words: &'a [(Number, usize)],
}

impl Spot<'_> {
    /// Which words of the query it is: several if the query has it several times.
    pub fn words(&self) -> impl Iterator<Item = usize> {
        self.words.iter().map(|(_, word)| *word)
    }
}

impl Finder {
    /// For words with these forms, in texts of which many are in these languages.
    #[must_use]
    pub fn new(words: Vec<Vec<Term>>, languages: &[Language]) -> Self {
        let languages = if languages.is_empty() { vec![Language::Other] } else { languages.to_vec() };
        let mut begin = [false; 128];
        for first in words.iter().flatten().filter_map(|form| form.bytes().next()) {
            if let Some(begin) = begin.get_mut(usize::from(first)) {
                *begin = true;
            }
        }
        Self { words, languages, begin }
    }

    /// Hands over every word of a text that is one of the query, in the order of the text; returns how many words it has.
    pub fn find(&self, text: &str, found: &mut impl FnMut(Spot<'_>)) -> usize {
        TermCache::with(|terms| {
            let mut known: Vec<(Number, usize)> = Vec::with_capacity(2 * self.words.len());
            for (forms, word) in self.words.iter().zip(0..) {
                known.extend(forms.iter().map(|form| (terms.number_of(form), word)));
            }
            known.sort_unstable();
            let mut at = 0;
            let mut take = |token: Token<'_>| {
                let (Token::Whole(word) | Token::Word(word) | Token::Name(word)) = token else { return };
                at += 1;
                let first = word.bytes().next().unwrap_or_default();
                if self.begin.get(usize::from(first)) == Some(&false) {
                    return;
                }
                for language in &self.languages {
                    let number = terms.number(token, *language);
                    let start = known.partition_point(|(other, _)| *other < number);
                    let same = known.get(start..).unwrap_or_default();
                    let end = same.partition_point(|(other, _)| *other == number);
                    if let Some(words) = same.get(..end).filter(|words| !words.is_empty()) {
                        found(Spot { at: at - 1, words });
                        return;
                    }
                }
            };
            pieces(text).for_each(|piece| tokens(piece, &mut take));
            at
        })
    }
}

/// Markdown without the targets of its links, which stand between the words that are read.
fn pieces(markdown: &str) -> impl Iterator<Item = &str> {
    let mut pieces = markdown.split("](");
    let first = pieces.next().into_iter();
    first.chain(pieces.map(|piece| {
        let end = piece.find(|c: char| c == ')' || c.is_whitespace()).unwrap_or(piece.len());
        piece.get(end..).unwrap_or_default()
    }))
}

#[cfg(test)]
mod tests {
    use super::Finder;
    use crate::analysis::{Language, query_terms};

    #[track_caller]
    fn stand(query: &str, text: &str, language: Language, wanted: &[(usize, &[usize])]) {
        let terms = query_terms(query, &[language]);
        let mut words: Vec<(usize, Vec<String>)> = terms
            .into_iter()
            .flat_map(|term| term.places.into_iter().map(move |place| (place, term.forms.clone())))
            .collect();
        words.sort_unstable();
        let finder = Finder::new(words.into_iter().map(|(_, forms)| forms).collect(), &[language]);
        let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
        finder.find(text, &mut |spot| found.push((spot.at, spot.words().collect())));
        let wanted: Vec<(usize, Vec<usize>)> =
            wanted.iter().map(|(at, words)| (*at, words.to_vec())).collect();
        assert_eq!(found, wanted, "{query:?} in {text:?}");
    }

    #[test]
    fn words_are_found_in_every_form_and_in_their_places() {
        stand("create channels", "To *create* a [channel](x)", Language::English, &[(1, &[0]), (3, &[1])]);
        stand(
            "the book says",
            "See [the book](the/book.md) says",
            Language::English,
            &[(1, &[0]), (2, &[1]), (3, &[2])],
        );
        stand("the more the better", "The more", Language::English, &[(0, &[0, 2]), (1, &[1])]);
        stand("árboles", "Un arbol y otro árbol", Language::Spanish, &[(1, &[0]), (4, &[0])]);
        stand(
            "foo_bar",
            "a fooBar or foo_bar",
            Language::Other,
            &[(1, &[0]), (2, &[1]), (5, &[0]), (6, &[1]), (7, &[2])],
        );
        stand("部署应用", "使用Docker部署应用", Language::Chinese, &[(2, &[0]), (3, &[1]), (4, &[2])]);
        stand("absent", "a text", Language::English, &[]);
    }

    #[test]
    fn words_are_counted() {
        let finder = Finder::new(vec![vec!["b".to_owned()]], &[]);
        assert_eq!(finder.find("a b, c", &mut |_| ()), 3);
        assert_eq!(Finder::new(Vec::new(), &[]).find("", &mut |_| ()), 0);
    }
}
