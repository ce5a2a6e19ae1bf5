//! A query to its terms, and which of them are stop words: those weigh little beside other words, however rare they are.
//! See `rank::bm25`.

use std::collections::HashMap;

use super::terms::{Number, TermCache, Token, tokens};
use super::{Language, Term};

/// The most characters of a query.
pub const MAX_QUERY_CHARS: usize = 10_000;

/// The most bytes of a query that are read.
const MOST_BYTES: usize = 4 * MAX_QUERY_CHARS;

/// The most different words that are read. Those that occur in the corpus are searched for: see `rank::bm25`.
const MOST_WORDS: usize = 2_000;

/// So many of the first words have a place in the query; what is longer is no phrase that stands anywhere.
const MOST_PLACES: usize = 64;

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryTerm {
    /// Its terms: a stem for each language that many of the texts are in, each once. They share their document frequency:
    /// a stem that only a few stray files have weighs no more than the others.
    pub forms: Vec<Term>,
    /// As it was written.
    pub text: String,
    /// How often it was written.
    pub count: u32,
    /// Where it stands among the words of the query, from 0. None for a word whose neighbours do not matter.
    pub places: Vec<usize>,
    /// Whether it is a stop word, such as "the", however rare it is in the corpus.
    pub stop_word: bool,
    /// Whether it is an identifier of several words, which are terms, too.
    pub is_name: bool,
}

impl QueryTerm {
    /// The same with its stems in all languages, to search for it if none of its forms occurs in the corpus: one recipe
    /// in Spanish among a thousand pages in English is found.
    #[must_use]
    pub fn in_all_languages(&self) -> Self {
        let forms = TermCache::with(|terms| terms.forms(Token::Name(&self.text), &Language::ALL));
        Self { forms, ..self.clone() }
    }
}

/// The terms of a query, for texts of which many are in these languages.
#[must_use]
pub fn query_terms(text: &str, languages: &[Language]) -> Vec<QueryTerm> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut found: Vec<QueryTerm> = Vec::new();
    let mut known: HashMap<Vec<Number>, usize> = HashMap::new();
    let mut place = 0..MOST_PLACES;
    TermCache::with(|terms| {
        tokens(text.get(..end).unwrap_or_default(), &mut |token| {
            let (Token::Whole(word) | Token::Word(word) | Token::Name(word)) = token else { return };
            let stems = terms.numbers(token, languages);
            let place = place.next();
            if let Some(known) = known.get(&stems).and_then(|number| found.get_mut(*number)) {
                known.count = known.count.saturating_add(1);
                known.places.extend(place);
            } else if found.len() < MOST_WORDS {
                let (forms, stop_word) = (terms.forms(token, languages), is_stop_word(word, languages));
                let is_name = matches!(token, Token::Name(_));
                known.insert(stems, found.len());
                let (text, places) = (word.to_owned(), place.into_iter().collect());
                found.push(QueryTerm { forms, text, count: 1, places, stop_word, is_name });
            }
        });
    });
    found
}

const ENGLISH: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or",
    "our", "should", "so", "than", "that", "the", "their", "then", "there", "these", "this", "those", "to",
    "was", "we", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

const SPANISH: &[&str] = &[
    "a", "al", "como", "con", "cual", "cuando", "cuándo", "cómo", "cuál", "de", "del", "donde", "dónde",
    "el", "en", "es", "esta", "este", "esto", "está", "la", "las", "le", "lo", "los", "me", "mi", "mis",
    "más", "no", "o", "para", "pero", "por", "que", "qué", "quién", "se", "si", "sin", "sobre", "son", "su",
    "sus", "tu", "un", "una", "y", "ya",
];

const FRENCH: &[&str] = &[
    "a", "au", "aux", "avec", "ce", "cette", "comment", "dans", "de", "des", "du", "en", "est", "et", "il",
    "je", "la", "le", "les", "mon", "ne", "nous", "ou", "où", "par", "pas", "plus", "pour", "quand", "que",
    "quel", "quelle", "qui", "quoi", "sa", "se", "ses", "son", "sont", "sur", "un", "une", "vous", "à",
];

const GERMAN: &[&str] = &[
    "als", "am", "an", "auf", "aus", "bei", "das", "dem", "den", "der", "des", "die", "ein", "eine", "einem",
    "einen", "einer", "es", "für", "ich", "im", "in", "ist", "kann", "man", "mein", "mit", "nach", "nicht",
    "oder", "sich", "sie", "sind", "und", "um", "von", "wann", "warum", "was", "welche", "wenn", "wer",
    "wie", "wir", "wo", "zu", "zum", "zur", "über",
];

const PORTUGUESE: &[&str] = &[
    "a", "ao", "as", "com", "como", "da", "das", "de", "do", "dos", "e", "em", "esta", "este", "eu", "isso",
    "mais", "me", "meu", "minha", "na", "no", "não", "nos", "o", "onde", "os", "ou", "para", "pela", "pelo",
    "por", "qual", "quando", "que", "quem", "se", "sem", "seu", "sua", "são", "um", "uma", "é",
];

const ITALIAN: &[&str] = &[
    "a", "al", "alla", "che", "chi", "come", "con", "da", "dal", "dei", "del", "della", "di", "dove", "e",
    "gli", "ho", "i", "il", "in", "io", "la", "le", "lo", "ma", "mi", "mio", "nel", "nella", "non", "o",
    "per", "perché", "più", "quale", "quando", "quello", "questo", "se", "si", "sono", "su", "un", "una",
    "è",
];

/// Pairs of characters. Those across a word boundary are here if many queries have them.
const CHINESE: &[&str] = &[
    "如何", "何在", "何使", "何用", "何将", "何为", "何从", "何对", "何通", "为什", "為什", "是什", "怎样",
    "怎樣", "哪些", "哪里", "哪個", "哪个", "我的", "我们", "你的", "可以", "是否", "能否", "一个", "一個",
    "这个", "這個", "那个", "那個", "没有", "沒有", "有没", "有哪", "请问", "請問", "多少",
];

/// Whether the character occurs only in words such as "what" and "how" (什么, 怎么).
fn is_interrogative(c: char) -> bool {
    matches!(c, '么' | '麼')
}

/// Whether a word, in lower case, is a stop word in any of these languages.
pub(super) fn is_stop_word(word: &str, languages: &[Language]) -> bool {
    languages.iter().any(|language| {
        let list = match language {
            Language::Spanish => SPANISH,
            Language::French => FRENCH,
            Language::German => GERMAN,
            Language::Portuguese => PORTUGUESE,
            Language::Italian => ITALIAN,
            Language::English | Language::Other => ENGLISH,
            Language::Chinese => return CHINESE.contains(&word) || word.chars().any(is_interrogative),
            _ => &[],
        };
        list.contains(&word)
    })
}
