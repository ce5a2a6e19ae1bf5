//! What Obsidian and other wikis write beside Markdown: the names of pages in `[[ ]]`, block identifiers, highlights.

use std::borrow::Cow;

/// The fewest and the most bytes of a block identifier.
const BLOCK_ID: std::ops::RangeInclusive<usize> = 2..=64;

/// What a reader sees of the target of a wiki link without a text: `Page > Heading` for `Page#Heading`, and nothing of a
/// block's identifier.
pub(super) fn shown(target: &str) -> Cow<'_, str> {
    if !target.contains(['#', '^']) {
        return target.trim().into();
    }
    let parts = target.split('#').map(str::trim).filter(|part| !part.is_empty() && !part.starts_with('^'));
    parts.collect::<Vec<_>>().join(" > ").into()
}

/// The page that a wiki link leads to. In a table, the bar after it has a backslash.
pub(super) fn page(target: &str) -> &str {
    target.strip_suffix('\\').unwrap_or(target).trim()
}

/// Whether what is embedded by `![[ ]]` has words for a name: pages do, pictures and sounds have an ending.
pub(super) fn is_page(target: &str) -> bool {
    let name = page(target).split('#').next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_none_or(|ending| {
        ending.eq_ignore_ascii_case("md")
            || ending.len() > 5
            || !ending.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Where the block identifier begins that a paragraph ends with, and the blank before it.
pub(super) fn block_id(text: &str) -> Option<usize> {
    let text = text.trim_end_matches(' ');
    let id = text.bytes().rev().take(*BLOCK_ID.end() + 1);
    let length = id.take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-').count();
    let before = text.get(..text.len().checked_sub(length)?)?.strip_suffix('^')?;
    let apart = before.is_empty() || before.ends_with(char::is_whitespace);
    (BLOCK_ID.contains(&length) && apart).then(|| before.trim_end_matches(' ').len())
}

/// The text without the marks of `==highlights==`. What compares (`a == b`, `a==b`) stays.
pub(super) fn unmarked(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("==") {
        return text;
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((before, after)) = rest.split_once("==") {
        result.push_str(before);
        let (left, right) = (result.chars().next_back(), after.chars().next());
        let is_edge = |c: char| c.is_whitespace() || (c.is_ascii_punctuation() && c != '=');
        // Where the text begins or ends, something else that is marked may stand.
        let is_mark = match (left, right) {
            (Some('='), _) | (_, Some('=')) => false,
            (Some(left), Some(right)) => is_edge(left) != is_edge(right),
            _ => true,
        };
        if !is_mark {
            result.push_str("==");
        }
        rest = after;
    }
    result.push_str(rest);
    result.into()
}

#[cfg(test)]
mod tests {
    use super::{block_id, is_page, page, shown, unmarked};

    #[test]
    fn targets_are_shown_as_words() {
        for (target, wanted) in [
            ("Page", "Page"),
            ("Page#Heading", "Page > Heading"),
            ("#Heading", "Heading"),
            ("Page#A#B", "Page > A > B"),
            ("Page#^37066d", "Page"),
            ("#^37066d", ""),
        ] {
            assert_eq!(shown(target), wanted, "{target}");
        }
        assert_eq!((page("Page"), page("Page\\")), ("Page", "Page"));
    }

    #[test]
    fn pages_have_names_and_pictures_do_not() {
        for target in ["Page", "a/Page#Heading", "Version 1.20 of it", "Page.md", "v. next"] {
            assert!(is_page(target), "{target}");
        }
        for target in ["a.png", "x/Pasted image 1.jpg#outline", "talk.mp3", "a.PDF#page=3"] {
            assert!(!is_page(target), "{target}");
        }
    }

    #[test]
    fn block_identifiers_stand_apart_at_the_end() {
        for (text, wanted) in [
            ("a paragraph ^37066d", Some("a paragraph")),
            ("a paragraph ^my-id ", Some("a paragraph")),
            ("^37066d", Some("")),
            ("one\n^quote-of-the-day", Some("one\n")),
            ("x ^2", None),
            ("2^10", None),
            ("a ^b_c", None),
            ("a ^", None),
            ("", None),
        ] {
            assert_eq!(block_id(text).and_then(|at| text.get(..at)), wanted, "{text:?}");
        }
        assert_eq!(block_id(&format!("a ^{}", "b".repeat(100))), None);
    }

    #[test]
    fn highlights_lose_their_marks() {
        for (text, wanted) in [
            ("one ==two three== four", "one two three four"),
            ("==all==", "all"),
            ("==", ""),
            ("(==a==), ==b==.", "(a), b."),
            ("a == b, a==b, ===, a===b, ====", "a == b, a==b, ===, a===b, ===="),
        ] {
            assert_eq!(unmarked(text.into()), wanted, "{text:?}");
        }
    }
}
