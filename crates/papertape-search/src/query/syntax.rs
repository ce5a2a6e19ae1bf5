//! A query as people and models write it, to words, phrases, exclusions and filters. Whatever is not an operator is text.

use std::ops::Range;

use crate::corpus::document::is_day;
use crate::store::Filter;

/// The most phrases, exclusions and filters of a query; further ones are text.
const MOST_OPERATORS: usize = 32;

/// The most bytes of the value of a filter; a longer one is text.
const LONGEST_VALUE: usize = 1_000;

/// The most bytes of a query in which operators are looked for: [`MAX_QUERY_CHARS`](crate::analysis::MAX_QUERY_CHARS) of four
/// bytes. The rest is text.
const MOST_BYTES: usize = 40_000;

/// A query, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedQuery {
    /// What to search for and to embed: the query without exclusions, filters, `AND` and `OR`. Phrases are in it.
    pub text: String,
    /// What a chunk must have word for word.
    pub phrases: Vec<String>,
    /// Words and phrases that a chunk must not have.
    pub excluded: Vec<String>,
    /// Which files count.
    pub filter: Filter,
    /// The filters as they were written.
    pub filters: Vec<String>,
    /// What looks like an operator and is none, and how to write it.
    pub notes: Vec<String>,
}

impl ParsedQuery {
    /// Whether exclusions and filters are all there is.
    #[must_use]
    pub fn is_operators_alone(&self) -> bool {
        let has_operators = !self.excluded.is_empty() || !self.filters.is_empty();
        has_operators && !has_words(&self.text)
    }
}

/// Takes a query apart. Never fails, whatever the query is.
#[must_use]
pub fn parse(query: &str) -> ParsedQuery {
    let mut parser = Parser { query, found: ParsedQuery::default(), kept: 0, after_filter: false };
    let mut at = 0;
    while let Some(start) = parser.word_at(at) {
        at = parser.item(start);
    }
    parser.found.text.push_str(query.get(parser.kept..).unwrap_or_default());
    parser.found
}

struct Parser<'a> {
    query: &'a str,
    found: ParsedQuery,
    /// Up to where the query has been copied or left out.
    kept: usize,
    /// Whether the last item was a filter.
    after_filter: bool,
}

impl<'a> Parser<'a> {
    fn rest(&self, at: usize) -> &'a str {
        self.query.get(at..).unwrap_or_default()
    }

    /// Where the next word begins. Parentheses before a word do not belong to it.
    fn word_at(&self, at: usize) -> Option<usize> {
        let rest = self.rest(at);
        let blank = |c: char| c.is_whitespace() || c == '(';
        let start = at + rest.len() - rest.trim_start_matches(blank).len();
        (start < self.query.len().min(MOST_BYTES)).then_some(start)
    }

    /// An operator, or a word. Returns where it ends.
    fn item(&mut self, start: usize) -> usize {
        let rest = self.rest(start);
        let end = start + word(rest).len();
        if is_full(&self.found) {
            return end;
        }
        if let Some(end) = self.joined(start, end) {
            return end;
        }
        self.after_filter = false;
        if let Some((quoted, length)) = quoted(rest) {
            if has_words(quoted) {
                self.found.phrases.push(quoted.to_owned());
            }
            return start + length;
        }
        let negation = negation(rest);
        let operand = start + negation;
        if negation > 0
            && let Some(end) = self.excluded(operand)
        {
            return self.leave_out(start..end);
        }
        match self.filter(operand, negation > 0) {
            Some(end) => {
                self.after_filter = true;
                self.leave_out(start..end)
            }
            None => end,
        }
    }

    /// `AND` and `OR` between two words: any word is enough for a hit, and more of them are better, so that they change nothing.
    fn joined(&mut self, start: usize, end: usize) -> Option<usize> {
        let joint = self.query.get(start..end).filter(|word| matches!(*word, "AND" | "OR"))?;
        let next = self.word_at(end)?;
        if self.query.get(..start).is_none_or(|before| before.trim().is_empty()) {
            return None;
        }
        if joint == "OR" && self.after_filter && filter_at(self.rest(next)).is_some() {
            self.note("OR does not combine filters: a file has to pass all of them".to_owned());
        }
        Some(self.leave_out(start..end))
    }

    /// A word or a phrase after `-` or `NOT`.
    fn excluded(&mut self, at: usize) -> Option<usize> {
        let rest = self.rest(at);
        if let Some((quoted, length)) = quoted(rest) {
            if has_words(quoted) {
                self.found.excluded.push(quoted.to_owned());
            }
            return has_words(quoted).then_some(at + length);
        }
        if filter_at(rest).is_some() {
            return None;
        }
        let word = word(rest);
        let bare = word.trim_end_matches([',', ';', '.', '!', '?', ')']);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\'' | '’' | '+' | '#');
        if !bare.chars().all(is_word) || !bare.starts_with(char::is_alphabetic) {
            return None;
        }
        self.found.excluded.push(bare.to_owned());
        Some(at + word.len())
    }

    /// A filter. One whose value cannot be read is text.
    fn filter(&mut self, at: usize, negated: bool) -> Option<usize> {
        let rest = self.rest(at);
        let (key, value, length) = filter_at(rest)?;
        let written = rest.get(..length).unwrap_or_default();
        let terms = if negated { &mut self.found.filter.none_of } else { &mut self.found.filter.all_of };
        match key {
            "path" => terms.paths.push(value.to_owned()),
            "tag" => terms.tags.push(value.to_owned()),
            "title" => terms.titles.push(value.to_owned()),
            _ => match days(value).filter(|_| !negated) {
                Some(days) => self.dated(key, days),
                None => {
                    self.note(not_a_date(key, written, negated));
                    return None;
                }
            },
        }
        let sign = if negated { "-" } else { "" };
        self.found.filters.push(format!("{sign}{written}"));
        Some(at + length)
    }

    fn dated(&mut self, key: &str, (first, last): (String, String)) {
        let (since, until) = match key {
            "since" => (Some(first), None),
            "until" => (None, Some(last)),
            "after" => (Some(next_day(&last)), None),
            "before" => (None, Some(previous_day(&first))),
            _ => (Some(first), Some(last)),
        };
        let dates = Filter { since, until, ..Filter::default() };
        self.found.filter = self.found.filter.and(&dates);
    }

    fn note(&mut self, note: String) {
        if !self.found.notes.contains(&note) {
            self.found.notes.push(note);
        }
    }

    /// Leaves a part out of the text, with the spaces after it. Returns its end.
    fn leave_out(&mut self, part: Range<usize>) -> usize {
        self.found.text.push_str(self.query.get(self.kept..part.start).unwrap_or_default());
        let rest = self.rest(part.end);
        self.kept = part.end + rest.len() - rest.trim_start().len();
        part.end
    }
}

fn is_full(found: &ParsedQuery) -> bool {
    found.phrases.len() + found.excluded.len() + found.filters.len() + found.notes.len() >= MOST_OPERATORS
}

/// What comes before the next space.
fn word(text: &str) -> &str {
    text.split(char::is_whitespace).next().unwrap_or_default()
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// What stands in quotes at the beginning of a text, and how long it is with them. A quote that is not closed is text.
fn quoted(text: &str) -> Option<(&str, usize)> {
    let curly: &[char] = &['“', '”', '„', '‟', '«', '»'];
    let open = text.chars().next()?;
    let rest = text.strip_prefix(open)?;
    let length = match open {
        '"' => rest.find('"')?,
        _ if curly.contains(&open) => rest.find(curly)?,
        _ => return None,
    };
    let close = rest.get(length..)?.chars().next()?;
    Some((rest.get(..length)?, open.len_utf8() + length + close.len_utf8()))
}

/// How long the `-` or `NOT` is that a text begins with, if it excludes what follows.
fn negation(text: &str) -> usize {
    if let Some(rest) = text.strip_prefix('-') {
        // A letter alone is an option of a program: `grep -r`.
        let mut chars = rest.chars();
        let first = chars.next().filter(|c| c.is_alphabetic());
        let is_word =
            first.is_some_and(|first| !first.is_ascii() || chars.next().is_some_and(char::is_alphanumeric));
        return usize::from(is_word || quoted(rest).is_some());
    }
    let Some(rest) = text.strip_prefix("NOT").filter(|rest| rest.starts_with(char::is_whitespace)) else {
        return 0;
    };
    let operand = rest.trim_start();
    // `NOT NULL` and `404 NOT FOUND` are text; so is `is NOT a`.
    let word = word(operand);
    let is_shouted = !word.chars().any(|c| c.is_alphabetic() && !c.is_uppercase());
    let is_short = word.chars().filter(|c| c.is_alphabetic()).take(4).count() < 3 && word.is_ascii();
    if quoted(operand).is_none() && (is_shouted || is_short) { 0 } else { text.len() - operand.len() }
}

/// The filter that a text begins with: its key, its value, and how long both are.
fn filter_at(text: &str) -> Option<(&'static str, &str, usize)> {
    const KEYS: [&str; 8] = ["path", "tag", "title", "date", "since", "until", "after", "before"];
    let (key, rest) = KEYS.iter().find_map(|key| Some((*key, text.strip_prefix(key)?.strip_prefix(':')?)))?;
    let before = text.len() - rest.len();
    let (value, length) = match quoted(rest) {
        Some((value, length)) => (value.trim(), length),
        None => {
            let value = word(rest).trim_end_matches([',', ';']);
            let value = if value.contains('(') { value } else { value.trim_end_matches(')') };
            (value, value.len())
        }
    };
    // `path::Path` and `path://` are text.
    let is_value = has_words(value) && value.len() <= LONGEST_VALUE && !value.starts_with([':', '"']);
    (is_value && !value.starts_with("//")).then_some((key, value, before + length))
}

fn not_a_date(key: &str, written: &str, negated: bool) -> String {
    if negated {
        return format!(
            "\"-{written}\" is searched for as words: dates are not excluded; write before: and after:"
        );
    }
    format!(
        "\"{written}\" is searched for as words: write a date as {key}:2024-05-31, {key}:2024-05 or {key}:2024"
    )
}

/// The first and the last day of a year, a month or a day.
fn days(value: &str) -> Option<(String, String)> {
    let last = |month: &str| {
        ["31", "30", "29", "28"].iter().map(|day| format!("{month}-{day}")).find(|day| is_day(day))
    };
    let (first, last) = match value.len() {
        4 => (format!("{value}-01-01"), format!("{value}-12-31")),
        7 => (format!("{value}-01"), last(value)?),
        _ => (value.to_owned(), value.to_owned()),
    };
    (is_day(&first) && is_day(&last)).then_some((first, last))
}

/// The day after one. No day comes after the last one that can be written.
fn next_day(day: &str) -> String {
    neighbour(day, 1)
}

fn previous_day(day: &str) -> String {
    neighbour(day, -1)
}

fn neighbour(day: &str, by: i32) -> String {
    let part =
        |range: Range<usize>| day.get(range).and_then(|part| part.parse::<i32>().ok()).unwrap_or_default();
    let (year, month, number) = (part(0..4), part(5..7), part(8..10));
    let written = |year: i32, month: i32, day: i32| format!("{year:04}-{month:02}-{day:02}");
    let candidates = if by > 0 {
        vec![written(year, month, number + 1), written(year, month + 1, 1), written(year + 1, 1, 1)]
    } else {
        let before = |year: i32, month: i32| [31, 30, 29, 28].map(|last| written(year, month, last));
        let mut all = vec![written(year, month, number - 1)];
        all.extend(before(year, month - 1));
        all.extend(before(year - 1, 12));
        all
    };
    candidates.into_iter().find(|candidate| is_day(candidate)).unwrap_or_else(|| day.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{MOST_OPERATORS, ParsedQuery, parse};
    use crate::store::{FileTerms, Filter};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn text_is_text() {
        for query in [
            "",
            " how do I rotate  the backups? ",
            "--flag foo-bar a - b grep -r -C 5 -10 tar -Dx=y -I/usr find . -",
            "std::path::Path path::Path path: tag: x title:: path://x unknown:value http://a/b",
            "say \"hello",
            "a 24\" screen, name=\"value\" it's ‘so’",
            "users.email: NOT NULL constraint failed",
            "404 NOT FOUND",
            "this is NOT a test NOT",
            "AND",
            "OR else",
            "either OR",
            "and or not And Or Not",
            "Title:upper Path:upper",
            "\"\" \"...\" “”",
            "-\"...\"",
        ] {
            assert_eq!(parse(query), ParsedQuery { text: query.to_owned(), ..ParsedQuery::default() });
        }
    }

    #[test]
    fn phrases_stay_in_the_text() {
        for (query, phrases) in [
            ("the \"exact phrase\" of it", &["exact phrase"][..]),
            ("“curly ones” and „German“ or «French»", &["curly ones", "German", "French"]),
            ("(\"in parentheses\")", &["in parentheses"]),
            ("\"rm -rf tag:x\"", &["rm -rf tag:x"]),
            ("\"one\" \"open", &["one"]),
        ] {
            let found = parse(query);
            assert_eq!((found.text.as_str(), found.phrases), (query, texts(phrases)));
            assert_eq!((found.excluded, found.filters, found.notes), (vec![], vec![], vec![]), "{query}");
        }
    }

    #[test]
    fn exclusions_are_left_out_of_the_text() {
        for (query, text, excluded) in [
            ("rust -java web", "rust web", &["java"][..]),
            ("-java rust", "rust", &["java"]),
            ("rust NOT java", "rust ", &["java"]),
            ("rust AND NOT java, web", "rust web", &["java"]),
            ("rust -\"visual basic\" -node.js.", "rust ", &["visual basic", "node.js"]),
            ("rust NOT “visual basic”", "rust ", &["visual basic"]),
            ("(cats OR dogs) -猫 -ñandú", "(cats dogs) ", &["猫", "ñandú"]),
            ("-foo-bar", "", &["foo-bar"]),
        ] {
            let found = parse(query);
            assert_eq!((found.text.as_str(), found.excluded), (text, texts(excluded)), "{query}");
        }
        assert!(parse("-java NOT visual").is_operators_alone() && parse("tag:rust").is_operators_alone());
        assert!(!parse("rust -java").is_operators_alone() && !parse(" ").is_operators_alone());
    }

    #[test]
    fn filters_are_left_out_of_the_text() {
        let found = parse("path:guides/ how -path:Old to (tag:rust) NOT tag:\"a b\" title:Intro -title:x go");
        assert_eq!(found.text, "how to () go");
        let all_of =
            FileTerms { paths: texts(&["guides/"]), tags: texts(&["rust"]), titles: texts(&["Intro"]) };
        let none_of = FileTerms { paths: texts(&["Old"]), tags: texts(&["a b"]), titles: texts(&["x"]) };
        assert_eq!(found.filter, Filter { all_of, none_of, ..Filter::default() });
        let filters = ["path:guides/", "-path:Old", "tag:rust", "-tag:\"a b\"", "title:Intro", "-title:x"];
        assert_eq!(found.filters, texts(&filters));
        assert_eq!(parse("tag:#rust, x").filter.all_of.tags, ["#rust"]);
    }

    #[test]
    fn dates_are_days_months_or_years() {
        for (query, since, until) in [
            ("x since:2024-05-31", "2024-05-31", ""),
            ("x since:2024-05", "2024-05-01", ""),
            ("x until:2024-02", "", "2024-02-29"),
            ("x until:2023", "", "2023-12-31"),
            ("x after:2024-02-28", "2024-02-29", ""),
            ("x after:2023-12", "2024-01-01", ""),
            ("x after:2023", "2024-01-01", ""),
            ("x before:2024-03-01", "", "2024-02-29"),
            ("x before:2024-01-01", "", "2023-12-31"),
            ("x before:2024-05", "", "2024-04-30"),
            ("x date:2024", "2024-01-01", "2024-12-31"),
            ("x date:2023-02", "2023-02-01", "2023-02-28"),
            ("x date:2024-05-01", "2024-05-01", "2024-05-01"),
            ("x date:\"2024-05-01\"", "2024-05-01", "2024-05-01"),
            ("x since:2024-01 since:2023 until:2025 before:2024-06-02", "2024-01-01", "2024-06-01"),
        ] {
            let found = parse(query);
            let date = |date: &str| (!date.is_empty()).then(|| date.to_owned());
            let dates = Filter { since: date(since), until: date(until), ..Filter::default() };
            assert_eq!((found.text.as_str(), found.filter), ("x ", dates), "{query}");
            assert_eq!(found.notes, [""; 0]);
        }
    }

    #[test]
    fn a_date_that_cannot_be_read_is_text_with_a_note() {
        for (query, note) in [
            (
                "x since:yesterday",
                "\"since:yesterday\" is searched for as words: write a date as since:2024-05-31, since:2024-05 or since:2024",
            ),
            (
                "x date:2024-02-30",
                "\"date:2024-02-30\" is searched for as words: write a date as date:2024-05-31, date:2024-05 or date:2024",
            ),
            (
                "x -date:2024",
                "\"-date:2024\" is searched for as words: dates are not excluded; write before: and after:",
            ),
        ] {
            let found = parse(query);
            assert_eq!((found.text.as_str(), found.notes), (query, texts(&[note])));
            assert_eq!(found.filter, Filter::default());
        }
    }

    #[test]
    fn or_between_filters_is_explained() {
        let found = parse("bees tag:a OR tag:b");
        assert_eq!((found.text.as_str(), found.notes.len()), ("bees ", 1));
        assert!(found.notes.iter().all(|note| note.contains("has to pass all")), "{:?}", found.notes);
        assert_eq!(parse("tag:a bees OR wasps").notes, [""; 0]);
    }

    #[test]
    fn operators_are_bounded() {
        let many = parse(&"-java tag:x \"a b\" since:no ".repeat(1_000));
        let all = many.excluded.len() + many.filters.len() + many.phrases.len() + many.notes.len();
        assert_eq!(all, MOST_OPERATORS);
        let far = format!("{} -java", "x".repeat(50_000));
        assert_eq!(parse(&far).excluded, [""; 0]);
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(query in any::<String>()) {
            let found = parse(&query);
            prop_assert!(found.text.len() <= query.len());
        }

        #[test]
        fn nor_does_anything_like_an_operator(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "-", "\"", "“", "”", "(", ")", " ", "NOT", "AND", "OR", "path:", "tag:#", "since:", "date:",
                    "2024-02", "2024-13", "word", "é", "猫", ",", "::", "\u{3000}",
                ]),
                0..30,
            ),
        ) {
            let query = parts.concat();
            let found = parse(&query);
            prop_assert!(found.text.len() <= query.len());
            prop_assert!(found.phrases.iter().chain(&found.excluded).all(|text| !text.is_empty()));
        }

        #[test]
        fn text_without_operators_is_unchanged(
            query in "([ \t(]{0,2}[a-zé猫0-9]{1,4}[-,.?!;#':]?[a-z]{0,4}[-,.?!;#':)]{0,2} ){0,9}",
        ) {
            proptest::prop_assume!(!["path:", "tag:", "title:", "date:"].iter().any(|key| query.contains(key)));
            prop_assert_eq!(parse(&query), ParsedQuery { text: query, ..ParsedQuery::default() });
        }
    }
}
