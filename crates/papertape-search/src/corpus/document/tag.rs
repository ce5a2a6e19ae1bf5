//! Tags in a text, as Obsidian has them: `#tag`, `#project/alpha`.

/// The most bytes of a tag.
const LONGEST: usize = 128;

/// Calls `each` for every tag in a text, which comes after `before` in the file.
pub(super) fn each_tag<'a>(text: &'a str, before: Option<char>, each: &mut dyn FnMut(&'a str)) {
    let mut last = before;
    let mut rest = text;
    while let Some((skipped, after)) = rest.split_once('#') {
        let previous = skipped.chars().next_back().or(last);
        last = Some('#');
        rest = after;
        if !previous.is_none_or(begins_tag) {
            continue;
        }
        let length = after.find(|c: char| !is_of_tag(c)).unwrap_or(after.len());
        let Some((tag, left)) = after.split_at_checked(length) else { continue };
        let tag = tag.trim_end_matches('/');
        if length > 0 {
            last = tag.chars().next_back();
            rest = left;
        }
        if tag.len() <= LONGEST
            && tag.chars().any(|c| !c.is_numeric() && !matches!(c, '-' | '_' | '/'))
            && !is_colour(tag)
        {
            each(tag);
        }
    }
}

/// What may stand before a tag: also marks, such as those of emphasis. Not what stands before the fragment of an address.
fn begins_tag(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_' | '~' | '=' | '(' | '[' | '|' | '>' | '"' | ',')
}

fn is_of_tag(c: char) -> bool {
    let is_mark = !c.is_ascii() && !c.is_whitespace() && !c.is_control();
    let is_punctuation = matches!(c, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{fffd}');
    c.is_alphanumeric() || matches!(c, '-' | '_' | '/') || (is_mark && !is_punctuation)
}

/// `#fff`, `#1e90ff`: three, six or eight hexadecimal digits, not all of them letters of a word.
fn is_colour(tag: &str) -> bool {
    let first = tag.bytes().next().unwrap_or_default();
    matches!(tag.len(), 3 | 6 | 8)
        && tag.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (tag.bytes().any(|byte| byte.is_ascii_digit()) || tag.bytes().all(|byte| byte == first))
}

#[cfg(test)]
mod tests {
    use super::each_tag;

    #[track_caller]
    fn gives(text: &str, wanted: &[&str]) {
        let mut found = Vec::new();
        each_tag(text, None, &mut |tag| found.push(tag));
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn tags_begin_with_a_hash_after_a_blank() {
        gives("#one two #three-3/Four_5, (#six)", &["one", "three-3/Four_5", "six"]);
        gives("#año, #日本語。#not #कार्य #😀", &["año", "日本語", "कार्य", "😀"]);
        gives("#y1984 #nested/tag/ #a#b ##c", &["y1984", "nested/tag", "a"]);
    }

    #[test]
    fn numbers_colours_and_fragments_are_none() {
        gives("#1 #2024 #2024/05 #- # #", &[]);
        gives("#fff #FFF #1e90ff #00000080 #a1b", &[]);
        gives("#face #facade #abc #decade1", &["face", "facade", "abc", "decade1"]);
        gives("a#b page.html#part C# &#38; \\#no", &[]);
        gives(&format!("#{}", "a".repeat(200)), &[]);
    }

    #[test]
    fn what_stands_before_the_text_counts() {
        for (before, wanted) in [(None, 1), (Some(' '), 1), (Some('*'), 1), (Some('\\'), 0), (Some('x'), 0)] {
            let mut found = 0;
            each_tag("#tag", before, &mut |_| found += 1);
            assert_eq!(found, wanted, "{before:?}");
        }
    }
}
