use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{MatchedTerms, PREVIEW_CHARS, Preview};
use crate::analysis::{Language, query_terms};
use crate::rank::bm25::Bm25;
use crate::store::{Chunk, Lines, VectorKey};

fn chunk(text: &str) -> Chunk {
    Chunk {
        source: "a.md".to_owned(),
        index: 0,
        title: String::new(),
        headings: Vec::new(),
        text: text.to_owned(),
        key: VectorKey(0),
        lines: Lines::default(),
    }
}

/// What is shown for a query whose later words are rarer.
fn shown(query: &str, text: &str) -> Preview {
    let languages = [Language::English];
    let terms = query_terms(query, &languages);
    let weights =
        terms.iter().zip(1_u8..).map(|(term, weight)| (term.forms[0].clone(), weight.into())).collect();
    let bm25 = Bm25 { weights, ..Bm25::default() };
    MatchedTerms::new(&terms, &bm25, &languages).preview(&chunk(text))
}

fn without_query(text: &str) -> String {
    MatchedTerms::default().preview(&chunk(text)).text
}

/// So many sentences of six words, 35 characters each with the blank.
fn filler(sentences: usize) -> String {
    "Some words that people looked for. ".repeat(sentences)
}

#[test]
fn the_best_part_is_shown_wherever_it_is() {
    let text = format!("# Tapes\n\n{}The cat replays\n*every* tape. {}", filler(20), filler(20));
    let preview = shown("replaying tapes", &text);
    assert!(preview.text.contains("The cat replays every tape. Some"), "{preview:?}");
    assert!(preview.text.starts_with('…') && preview.text.ends_with('…'), "{preview:?}");
    assert_eq!(preview.words(), ["replays", "tape"]);
    assert_eq!(preview.text.get(preview.matches[1].clone()), Some("tape"));
}

#[test]
fn the_line_with_the_most_of_what_matches_is_known() {
    let text = "\n\n# Tapes\n\nEvery tape is a file.\nThe cat\nreplays *every* tape.\n";
    let chunk = Chunk { lines: Lines { start: 12, end: 16 }, ..chunk(text) };
    let languages = [Language::English];
    let terms = query_terms("replaying tapes", &languages);
    let weights = terms.iter().map(|term| (term.forms[0].clone(), 1.0)).collect();
    let matched = MatchedTerms::new(&terms, &Bm25 { weights, ..Bm25::default() }, &languages);
    assert_eq!(matched.preview(&chunk).line, 16);
    assert_eq!(MatchedTerms::default().preview(&chunk).line, 12);
    let elsewhere = Chunk { lines: Lines::default(), ..chunk };
    assert_eq!(matched.preview(&elsewhere).line, 0);
}

#[test]
fn different_rare_words_count_and_then_the_first_place() {
    let text = format!("cat cat cat cat. {}owl. {}cat owl. {}", filler(9), filler(9), filler(9));
    let preview = shown("cat owl", &text);
    assert_eq!(preview.words(), ["cat", "owl"]);
    let another = shown("cat owl", &format!("{text} A cat and an owl."));
    assert_eq!(preview.text, another.text, "the first of two that are as good");
    // The last word of the query weighs most.
    assert_eq!(shown("cat owl", &format!("cat. {}owl. {}", filler(9), filler(9))).words(), ["owl"]);
}

#[test]
fn a_beginning_that_has_all_of_it_is_shown_from_there() {
    let text = format!("One cat. {}", filler(20));
    assert!(shown("cats", &text).text.starts_with("One cat. Some words"));
    assert!(shown("dogs", &text).text.starts_with("One cat. Some words"));
    assert!(shown("dogs", &text).matches.is_empty());
}

#[test]
fn stop_words_are_marked_only_if_there_is_nothing_else() {
    assert_eq!(shown("the cat", "The cat is the king.").words(), ["cat"]);
    assert_eq!(shown("to be", "To be or not to be.").words(), ["To", "be", "to"]);
}

#[test]
fn what_no_reader_sees_is_left_out() {
    for (markdown, line) in [
        ("", ""),
        (" \n\t ", ""),
        ("One  two\n\nthree\tfour\n", "One two three four"),
        ("# Title\n\n## Install\nRun it.\n", "Run it."),
        ("#hashtag is no heading", "#hashtag is no heading"),
        ("# Only a heading\n", "# Only a heading"),
        ("# A\n<!--\nThe original\n-->\n翻译 <!-- x --> 在这里 <!-- open -->", "翻译 在这里"),
        ("<!-- all -->", "<!-- all -->"),
        ("See [the *guide*](https://example.org/a?b=c) and `code`.", "See the guide and code."),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", "a | b 1 | 2"),
        ("¿Qué tal? 你好。\u{3000}再见", "¿Qué tal? 你好。 再见"),
    ] {
        assert_eq!(without_query(markdown), line, "{markdown:?}");
    }
}

#[test]
fn a_long_chunk_is_cut_between_words_or_characters() {
    let exactly = "字".repeat(160);
    assert_eq!(without_query(&exactly), exactly);
    assert_eq!(without_query(&format!("{exactly}字")), format!("{exactly}…"));
    // Eight families, each of seven code points, on the edge.
    let family = "👨‍👩‍👧‍👦";
    assert_eq!(family.chars().count(), 7);
    let text = format!("{}{}", "x".repeat(155), family.repeat(8));
    assert_eq!(without_query(&text), format!("{}…", "x".repeat(155)));
    // No blank precedes the dots.
    let text = format!("{} more", "x".repeat(159));
    assert_eq!(without_query(&text), format!("{}…", "x".repeat(159)));
    assert_eq!(
        without_query(&format!("{} {}", "x".repeat(150), "y".repeat(20))),
        format!("{}…", "x".repeat(150))
    );
    // A letter with many accents is cut rather than left out.
    let heap = format!("a{}", "\u{301}".repeat(1_000));
    assert_eq!(without_query(&heap).chars().count(), 161);
}

#[test]
fn a_preview_within_text_without_blanks_begins_at_a_whole_character() {
    let text = format!("{}数据库。{}", "🇪🇸".repeat(200), "字".repeat(300));
    let preview = shown("数据库", &text);
    assert_eq!(preview.words(), ["数据库"]);
    let flags = preview.text.trim_start_matches('…').split_once('数').unwrap().0;
    assert!(flags.starts_with('🇪') && flags.ends_with('🇸'), "{flags}");
}

#[test]
fn a_word_longer_than_a_preview_is_not_marked() {
    let long = "x".repeat(300);
    let preview = shown(&long, &format!("before {long} after"));
    assert!(preview.matches.is_empty());
    assert!(preview.text.starts_with("before"));
}

proptest! {
    #[test]
    fn a_preview_is_one_short_line(text in any::<String>(), query in any::<String>()) {
        let preview = shown(&query, &text);
        prop_assert!(preview.text.chars().count() <= PREVIEW_CHARS + 2);
        prop_assert!(!preview.text.contains(['\n', '\r', '\t']));
    }

    #[test]
    fn matches_are_words_of_the_preview(
        text in "((cat|owl|Ünï|数据库|e\u{301}|👨‍👩‍👧|a_cat|[.!] |\n\n|filler){1,3} ?){0,120}",
        query in "(cat|owl|ünï|数据|é)( (cat|owl|filler)){0,3}",
    ) {
        let preview = shown(&query, &text);
        prop_assert!(preview.text.chars().count() <= PREVIEW_CHARS + 2);
        let mut last = 0;
        for range in &preview.matches {
            prop_assert!(range.start >= last && preview.text.get(range.clone()).is_some_and(|word| !word.is_empty()));
            last = range.end;
        }
        let words = preview.words();
        prop_assert!(words.iter().all(|word| preview.text.contains(word)));
        // What is found in the whole is found in the part that is shown.
        let languages = [Language::English];
        let any = query_terms(&query, &languages).iter().any(|term| {
            !crate::analysis::places(&text, &term.forms, &languages).is_empty()
        });
        prop_assert_eq!(any, !words.is_empty(), "{:?}", preview);
    }
}
