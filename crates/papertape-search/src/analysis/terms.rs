//! Text to terms: first to tokens (words in lower case, identifiers and their parts, pairs of Chinese characters), then each
//! to its term, stemmed in its language, without accents.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use rust_stemmers::Stemmer;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::script::{is_han, is_unspaced};
use super::{Language, Term};

/// The most characters of a word; the rest of it is left out.
const MOST_CHARACTERS: usize = 64;

/// The most terms in the cache of a thread; then it is cleared.
const MOST_KNOWN: usize = 1 << 16;

/// A piece of text that can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// To be stemmed.
    Word(&'a str),
    /// To be looked up as it is.
    Whole(&'a str),
    /// An identifier as a whole, after its parts.
    Name(&'a str),
    /// A character of Chinese that stands among others: found by a query for it alone, and part of pairs besides.
    Part(&'a str),
}

/// Hands over every token of a text, in order.
pub(super) fn tokens(text: &str, take: &mut impl FnMut(Token<'_>)) {
    let text = normal(text);
    let mut scan = Tokenizer { word: String::new(), take };
    let mut rest: &str = &text;
    while let Some(first) = rest.chars().next() {
        rest = match class(first) {
            Class::Between => skip(rest, first),
            Class::Word => scan.words(rest),
            Class::Dense => scan.pairs(rest),
        };
    }
}

/// Hands over every token of a text with the word that it is from, in bytes of the text.
///
/// The form that is indexed may be longer or shorter than what is written. So the text is taken in pieces that are in that
/// form, or are a word or little more.
pub(super) fn placed_tokens(text: &str, take: &mut impl FnMut(Token<'_>, Range<usize>)) {
    let is_gap =
        |c: char| c.is_whitespace() || (!c.is_ascii() && c != '’' && matches!(class(c), Class::Between));
    let mut start = 0;
    for piece in text.split_inclusive(is_gap) {
        let word = piece.trim_end_matches(is_gap);
        match normal(word) {
            Cow::Borrowed(_) => placed_words(word, start, take),
            Cow::Owned(word_form) => {
                tokens(&word_form, &mut |token| take(token, start..start + word.len()));
            }
        }
        start += piece.len();
    }
}

/// The same for a text in the form that is indexed, from a place on.
fn placed_words(text: &str, start: usize, take: &mut impl FnMut(Token<'_>, Range<usize>)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = start + text.len() - rest.len();
        rest = match class(first) {
            Class::Between => skip(rest, first),
            Class::Word => {
                let (word, after) = rest.split_at_checked(run(rest)).unwrap_or((rest, ""));
                let sign = sign(word.trim_matches(['_', '.']), after).map_or("", |(sign, _)| sign);
                let range = at..at + word.len() + sign.len();
                let take = &mut |token: Token<'_>| take(token, range.clone());
                Tokenizer { word: String::new(), take }.words(rest)
            }
            Class::Dense => {
                let end = rest.find(|c| !is_unspaced(c)).unwrap_or(rest.len());
                let (dense, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                placed_pairs(dense, at, take);
                after
            }
        };
    }
}

fn placed_pairs(text: &str, start: usize, take: &mut impl FnMut(Token<'_>, Range<usize>)) {
    let mut chars = text.char_indices().peekable();
    let mut alone = true;
    while let Some((at, c)) = chars.next() {
        let own = text.get(at..at + c.len_utf8()).unwrap_or_default();
        let next = chars.peek().map(|(at, next)| at + next.len_utf8());
        let range = start + at..start + at + own.len();
        match next {
            None if alone => take(Token::Whole(own), range),
            _ if is_han(c) => take(Token::Part(own), range),
            _ => {}
        }
        if let Some(end) = next {
            take(Token::Whole(text.get(at..end).unwrap_or_default()), start + at..start + end);
        }
        alone = false;
    }
}

/// One form for what looks the same: full-width letters, ligatures, accents apart from their letters.
fn normal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    }
}

enum Class {
    Between,
    Word,
    Dense,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() || c == '_' { Class::Word } else { Class::Between };
    }
    match () {
        () if is_unspaced(c) => Class::Dense,
        () if c.is_alphanumeric() || is_combining_mark(c) => Class::Word,
        () => Class::Between,
    }
}

fn skip(text: &str, c: char) -> &str {
    text.get(c.len_utf8()..).unwrap_or_default()
}

struct Tokenizer<'a, F> {
    /// The current word, in lower case.
    word: String,
    take: &'a mut F,
}

impl<F: FnMut(Token<'_>)> Tokenizer<'_, F> {
    /// A word, with parts if it is an identifier.
    fn words<'t>(&mut self, text: &'t str) -> &'t str {
        if let Some(rest) = self.simple_word(text) {
            return rest;
        }
        let length = run(text);
        let (word, rest) = text.split_at_checked(length).unwrap_or((text, ""));
        let name = word.trim_matches(['_', '.']);
        if let Some((sign, rest)) = sign(name, rest) {
            self.word.clear();
            self.word.push_str(&name.to_ascii_lowercase());
            self.word.push_str(sign);
            (self.take)(Token::Whole(&self.word));
            return rest;
        }
        self.identifier(name);
        possessive(rest).unwrap_or(rest)
    }

    /// The fast path for most words: a few ASCII letters, the first perhaps a capital, then a blank.
    fn simple_word<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let bytes = text.as_bytes();
        let small = bytes.iter().skip(1).take_while(|byte| byte.is_ascii_lowercase()).count();
        let length = small + 1;
        let alone = bytes.get(length).is_none_or(|next| matches!(next, b' ' | b'\n' | b',' | b')'));
        if !bytes.first().is_some_and(u8::is_ascii_alphabetic) || !alone || length > MOST_CHARACTERS {
            return None;
        }
        let (word, rest) = text.split_at_checked(length)?;
        if bytes.first().is_some_and(u8::is_ascii_lowercase) {
            (self.take)(Token::Word(word));
        } else {
            self.word.clear();
            self.word.push_str(word);
            self.word.make_ascii_lowercase();
            (self.take)(Token::Word(&self.word));
        }
        Some(rest)
    }

    fn identifier(&mut self, name: &str) {
        let mut parts = 0;
        let mut rest = name;
        while !rest.is_empty() {
            let (part, after) = rest.split_at_checked(part(rest)).unwrap_or((rest, ""));
            rest = after.trim_start_matches(['_', '.']);
            if parts == 0 && rest.is_empty() {
                break;
            }
            parts += 1;
            self.lower(part);
            (self.take)(Token::Word(&self.word));
        }
        if name.is_empty() {
            return;
        }
        self.lower(name);
        let whole = self.word.as_str();
        (self.take)(if parts > 0 { Token::Name(whole) } else { Token::Word(whole) });
    }

    fn lower(&mut self, word: &str) {
        self.word.clear();
        for c in word.chars().take(MOST_CHARACTERS) {
            match c {
                'ς' => self.word.push('σ'),
                _ if c.is_ascii() => self.word.push(c.to_ascii_lowercase()),
                _ => self.word.extend(c.to_lowercase()),
            }
        }
    }

    /// Every two characters that stand together; one that stands alone.
    fn pairs<'t>(&mut self, text: &'t str) -> &'t str {
        let mut before: Option<(usize, char)> = None;
        let mut alone = true;
        for (at, c) in text.char_indices() {
            if !is_unspaced(c) {
                self.end_pairs(text, before.filter(|_| alone));
                return text.get(at..).unwrap_or_default();
            }
            if let Some((start, first)) = before {
                if alone {
                    self.part(text, start, first);
                }
                alone = false;
                (self.take)(Token::Whole(text.get(start..at + c.len_utf8()).unwrap_or_default()));
                self.part(text, at, c);
            }
            before = Some((at, c));
        }
        self.end_pairs(text, before.filter(|_| alone));
        ""
    }

    fn part(&mut self, text: &str, at: usize, c: char) {
        if is_han(c) {
            (self.take)(Token::Part(text.get(at..at + c.len_utf8()).unwrap_or_default()));
        }
    }

    fn end_pairs(&mut self, text: &str, lone: Option<(usize, char)>) {
        if let Some((start, c)) = lone {
            (self.take)(Token::Whole(text.get(start..start + c.len_utf8()).unwrap_or_default()));
        }
    }
}

/// How long the word is that a text begins with. A point between digits is a part of it.
fn run(text: &str) -> usize {
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let within = match class(c) {
            Class::Word => true,
            Class::Dense => false,
            Class::Between => {
                let decimal =
                    before.is_ascii_digit() && chars.peek().is_some_and(|(_, next)| next.is_ascii_digit());
                c == '.' && decimal
            }
        };
        if !within {
            return at;
        }
        before = c;
    }
    text.len()
}

/// How long the first part of an identifier is: `foo` of `foo_bar`, `fooBar` and `FooBar`, `http` of `HTTPServer`.
fn part(name: &str) -> usize {
    let mut before = None;
    let mut chars = name.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if matches!(c, '_' | '.') {
            return at;
        }
        if c.is_uppercase()
            && let Some(before) = before
        {
            let next_is_small = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            if char::is_lowercase(before) || (char::is_uppercase(before) && next_is_small) {
                return at;
            }
        }
        before = Some(c);
    }
    name.len()
}

/// What makes another name of a letter: `C++`, `C#`.
fn sign<'t>(name: &str, rest: &'t str) -> Option<(&'static str, &'t str)> {
    if name.len() != 1 || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    ["++", "#"].into_iter().find_map(|sign| {
        let after = rest.strip_prefix(sign)?;
        after.chars().next().is_none_or(|c| matches!(class(c), Class::Between)).then_some((sign, after))
    })
}

/// What comes after an English `'s`.
fn possessive(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix(['\'', '’'])?.strip_prefix(['s', 'S'])?;
    after.chars().next().is_none_or(|c| matches!(class(c), Class::Between)).then_some(after)
}

thread_local! {
    static TERMS: RefCell<TermCache> = RefCell::default();
}

/// Words seen before, so that each is stemmed once: most words of a text are the same few thousand.
#[derive(Default)]
pub(super) struct TermCache {
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

/// A term's number, the same until [`TermCache::with`] is left.
pub(super) type Number = u32;

impl TermCache {
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
            Token::Name(word) if word.contains(['_', '.']) => return self.number_of(word),
            Token::Word(word) | Token::Name(word) => word,
        };
        if let Some(number) = self.known(language).and_then(|known| known.words.get(word)) {
            return *number;
        }
        let term = self.spell(word, language);
        let number = self.number_of(&term);
        if let Some(known) = self.known(language) {
            known.words.insert(word.into(), number);
        }
        number
    }

    /// The term of a word, which is not kept.
    pub(super) fn spell(&mut self, word: &str, language: Language) -> Term {
        // Without its accents, as a query may have it.
        let plain = folded(word);
        if language.has_english_words() && plain.is_ascii() && !plain.is_empty() {
            self.stem(&plain, Language::English)
        } else {
            self.stem(word, language)
        }
    }

    /// The terms of a token in each of these languages, each once.
    pub(super) fn numbers(&mut self, token: Token<'_>, languages: &[Language]) -> Vec<Number> {
        let mut numbers: Vec<Number> =
            languages.iter().map(|language| self.number(token, *language)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The same, spelled out.
    pub(super) fn forms(&mut self, token: Token<'_>, languages: &[Language]) -> Vec<Term> {
        let numbers = self.numbers(token, languages);
        numbers.iter().filter_map(|number| self.term(*number)).map(str::to_owned).collect()
    }

    /// The term of a number.
    pub(super) fn term(&self, number: Number) -> Option<&str> {
        self.terms.get(usize::try_from(number).ok()?).map(AsRef::as_ref)
    }

    fn known(&mut self, language: Language) -> Option<&mut Known> {
        self.languages.get_mut(language as usize)
    }

    /// The number of a term itself.
    pub(super) fn number_of(&mut self, term: &str) -> Number {
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
pub(super) fn folded(word: &str) -> Cow<'_, str> {
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

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    #[track_caller]
    fn gives(text: &str, wanted: &[&str]) {
        let mut found = Vec::new();
        tokens(text, &mut |token| match token {
            Token::Word(word) | Token::Whole(word) | Token::Name(word) => found.push(word.to_owned()),
            Token::Part(_) => {}
        });
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn a_character_among_others_is_found_alone() {
        let mut parts = String::new();
        tokens("我家的猫，水 カナ 猫のひげ 한국어", &mut |token| {
            if let Token::Part(part) = token {
                parts.push_str(part);
            }
        });
        // What stands alone is a word already; only characters that are words can be query terms.
        assert_eq!(parts, "我家的猫猫");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        gives("The quick (brown) fox—jumps!", &["the", "quick", "brown", "fox", "jumps"]);
        gives("ÁRBOL niño e\u{301}te\u{301} ＡＢＣ ﬁn", &["árbol", "niño", "été", "abc", "fin"]);
        gives("", &[]);
        gives(" _ . __ ", &[]);
        gives("ΟΔΟΣ οδος", &["οδοσ", "οδοσ"]);
        gives("नमस्ते दुनिया", &["नमस्ते", "दुनिया"]);
    }

    #[test]
    fn possessives_and_elisions_are_taken_apart() {
        gives("Rust's cats’ l'école don't", &["rust", "cats", "l", "école", "don", "t"]);
        gives("it's's 'sun", &["it", "s", "sun"]);
    }

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        gives("foo_bar", &["foo", "bar", "foo_bar"]);
        gives("_foo__", &["foo"]);
        gives("fooBar", &["foo", "bar", "foobar"]);
        gives("HTTPServer2Go", &["http", "server2go", "httpserver2go"]);
        gives("XMLHttpRequest", &["xml", "http", "request", "xmlhttprequest"]);
        gives("std::vec::Vec", &["std", "vec", "vec"]);
        gives("SHOUTING Word", &["shouting", "word"]);
        gives("C++ and C# or c+ a", &["c++", "and", "c#", "or", "c", "a"]);
    }

    #[test]
    fn numbers_stay_together() {
        gives(
            "v1.88.0, 3.14. 2024-01-31 x86_64",
            &["v1", "88", "0", "v1.88.0", "3", "14", "3.14", "2024", "01", "31", "x86", "64", "x86_64"],
        );
        gives("1.a .5 7.", &["1", "a", "5", "7"]);
    }

    #[test]
    fn chinese_japanese_and_korean_go_by_pairs() {
        gives("使用Docker部署", &["使用", "docker", "部署"]);
        gives("数据库，库", &["数据", "据库", "库"]);
        gives("カタカナ ｶﾞ", &["カタ", "タカ", "カナ", "ガ"]);
        gives("한국어 책", &["한국", "국어", "책"]);
    }

    #[test]
    fn long_words_are_cut() {
        gives(&"ñ".repeat(1_000_000), &["ñ".repeat(64).as_str()]);
    }
}
