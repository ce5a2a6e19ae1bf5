//! The preview of a chunk: the one line of its Markdown that a hit shows.

use icu_segmenter::GraphemeClusterSegmenter;

/// Characters of a chunk that are shown.
const SHOWN: usize = 160;

/// The beginning of a chunk on one line, with "…" if there is more. Its own headings are left out: a hit shows them
/// anyway.
pub(super) fn preview(markdown: &str) -> String {
    let said = without_comments(markdown);
    let body = without_headings(&said);
    let body = if body.trim().is_empty() { markdown } else { body };
    let mut words = body.split_whitespace();
    let mut line = String::new();
    // One character more than is shown, to know whether there is more.
    let mut room = SHOWN + 1;
    while room > 0
        && let Some(word) = words.next()
    {
        if !line.is_empty() {
            line.push(' ');
            room -= 1;
        }
        let taken: String = word.chars().take(room).collect();
        room -= taken.chars().count();
        line.push_str(&taken);
    }
    if room > 0 { line } else { format!("{}…", cut(&line).trim_end()) }
}

/// HTML comments are left out: many translations have the original text in them.
fn without_comments(markdown: &str) -> String {
    let (mut said, mut rest) = (String::new(), markdown);
    while let Some((before, hidden)) = rest.split_once("<!--") {
        said.push_str(before);
        rest = hidden.split_once("-->").map_or("", |(_, after)| after);
    }
    said + rest
}

/// What comes after the headings at the beginning.
fn without_headings(markdown: &str) -> &str {
    let mut rest = markdown.trim_start();
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let marks = line.bytes().take_while(|&byte| byte == b'#').count();
        let is_heading = (1..=6).contains(&marks)
            && line.get(marks..).is_some_and(|text| text.is_empty() || text.starts_with([' ', '\t']));
        if !is_heading {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// As many whole grapheme clusters as fit; if a single one is too long, as much of it as fits.
fn cut(line: &str) -> &str {
    let end = line.char_indices().nth(SHOWN).map_or(line.len(), |(at, _)| at);
    let whole = GraphemeClusterSegmenter::new()
        .segment_str(line)
        .take_while(|&at| at <= end)
        .last()
        .filter(|&at| at > 0);
    line.get(..whole.unwrap_or(end)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;

    #[test]
    fn comments_are_not_shown() {
        assert_eq!(preview("# A\n<!--\nThe original\n-->\n翻译 <!-- x --> 在这里 <!-- open"), "翻译 在这里");
        assert_eq!(preview("<!-- all -->"), "<!-- all -->");
    }

    #[test]
    fn a_short_chunk_is_shown_as_it_is_on_one_line() {
        for (markdown, line) in [
            ("", ""),
            (" \n\t ", ""),
            ("One  two\n\nthree\tfour\n", "One two three four"),
            ("# Title\n\n## Install\nRun it.\n", "Run it."),
            ("#hashtag is no heading", "#hashtag is no heading"),
            ("####### seven are none", "####### seven are none"),
            ("# Only a heading\n", "# Only a heading"),
            ("##\nafter an empty one", "after an empty one"),
            ("¿Qué tal? 你好。\u{3000}再见", "¿Qué tal? 你好。 再见"),
        ] {
            assert_eq!(preview(markdown), line, "{markdown:?}");
        }
    }

    #[test]
    fn a_long_chunk_is_cut_between_characters() {
        let exactly = "字".repeat(160);
        assert_eq!(preview(&exactly), exactly);
        assert_eq!(preview(&format!("{exactly}字")), format!("{exactly}…"));
        // Eight families, each of seven code points, on the edge.
        let family = "👨‍👩‍👧‍👦";
        assert_eq!(family.chars().count(), 7);
        let text = format!("{}{}", "x".repeat(155), family.repeat(8));
        assert_eq!(preview(&text), format!("{}…", "x".repeat(155)));
        // No space stands before the dots.
        let text = format!("{} more", "x".repeat(159));
        assert_eq!(preview(&text), format!("{}…", "x".repeat(159)));
        // A letter with many accents is cut rather than left out.
        let heap = format!("a{}", "\u{301}".repeat(1_000));
        assert_eq!(preview(&heap).chars().count(), 161);
    }

    proptest! {
        #[test]
        fn a_preview_is_one_short_line(text in any::<String>()) {
            let line = preview(&text);
            prop_assert!(line.chars().count() <= SHOWN + 1);
            prop_assert!(!line.contains(['\n', '\r', '\t']));
        }
    }
}
