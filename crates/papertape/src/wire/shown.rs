//! Which characters of a peer's text are displayed as they are, and which are escaped.
//!
//! Escaped are control characters, which a terminal would interpret, bidirectional controls, which reorder others, and
//! invisible characters (tag characters, zero-width characters, variation selectors, fillers): a text that looks
//! harmless could carry another one past its reader. The exception is an emoji of several characters, whose joiners and
//! selectors are shown where they can do nothing but join or select.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';

/// A set of characters: its ranges, in their order.
type Ranges = Vec<(char, char)>;

static IGNORABLE: LazyLock<Ranges> = LazyLock::new(|| with_property("Default_Ignorable_Code_Point"));
static PICTOGRAPHS: LazyLock<Ranges> = LazyLock::new(|| with_property("Extended_Pictographic"));

/// The characters that have a property of Unicode. The tables are those of regular expressions.
fn with_property(name: &str) -> Ranges {
    match regex_syntax::parse(&format!(r"\p{{{name}}}")).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.iter().map(|range| (range.start(), range.end())).collect()
        }
        // The tests show that it does not happen. If it did, nothing but ASCII would be shown.
        _ => vec![('\u{80}', char::MAX)],
    }
}

fn contains(ranges: &Ranges, c: char) -> bool {
    let order = |(first, last): &(char, char)| match () {
        () if *last < c => Ordering::Less,
        () if *first > c => Ordering::Greater,
        () => Ordering::Equal,
    };
    ranges.binary_search_by(order).is_ok()
}

/// The characters of a text, each with whether it is shown as it is.
pub fn characters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut characters = text.chars().peekable();
    let mut before = Before::Other;
    std::iter::from_fn(move || {
        let c = characters.next()?;
        let next = characters.peek().copied();
        let shown = match c {
            '\u{fe0e}' | '\u{fe0f}' => match before {
                Before::Pictograph => true,
                Before::Key => next == Some(KEYCAP),
                Before::Styled | Before::Other => false,
            },
            ZERO_WIDTH_JOINER => {
                matches!(before, Before::Pictograph | Before::Styled) && next.is_some_and(is_pictograph)
            }
            c => is_visible(c),
        };
        before = match c {
            '0'..='9' | '#' | '*' => Before::Key,
            '\u{fe0e}' | '\u{fe0f}' if shown => Before::Styled,
            // The colour of a skin.
            '\u{1f3fb}'..='\u{1f3ff}' if before == Before::Pictograph => Before::Styled,
            c if is_pictograph(c) => Before::Pictograph,
            _ => Before::Other,
        };
        Some((c, shown))
    })
}

/// What stands before a character.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// An emoji, or a part of one.
    Pictograph,
    /// The same, with a selector or the colour of a skin.
    Styled,
    /// What a keycap may be of.
    Key,
    Other,
}

fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && contains(&PICTOGRAPHS, c)
}

/// Whether a character by itself can be seen, stays where it is and does nothing.
fn is_visible(c: char) -> bool {
    match c {
        ' '..='~' => true,
        // Separators of lines and paragraphs, and marks around annotations.
        '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' => false,
        c => !c.is_control() && !contains(&IGNORABLE, c),
    }
}

/// The same JSON with `\u` escapes for the characters that are not displayed. Line ends and
/// tabs between values stay.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let is_space = |c: char| matches!(c, '\n' | '\r' | '\t');
    if characters(text).all(|(c, shown)| shown || is_space(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for (c, shown) in characters(text) {
        if shown || is_space(c) {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

/// Text between tags of XML. What XML does not allow is hexadecimal as on a [tape](super::tape), and so is what is not shown.
#[must_use]
pub fn xml_text(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for (c, is_shown) in characters(text) {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '"' => xml += "&quot;",
            '\n' => xml.push('\n'),
            // The last two are not characters in XML, although Unicode may encode them.
            c if is_shown && !matches!(c, '\u{fffe}' | '\u{ffff}') => xml.push(c),
            c => {
                let mut utf8 = [0; 4];
                let bytes = c.encode_utf8(&mut utf8).bytes().map(|byte| format!("{byte:02x}"));
                // Writing to a `String` cannot fail.
                let _ = write!(xml, "⟦{}⟧", bytes.collect::<Vec<_>>().join(" "));
            }
        }
    }
    xml
}

/// The value of an attribute of XML, in which a plain line end would become a space.
#[must_use]
pub fn xml_attribute(text: &str) -> String {
    xml_text(text).replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use serde_json::Value;

    use super::{characters, json, xml_text};

    fn hidden(text: &str) -> Vec<char> {
        characters(text).filter(|(_, shown)| !shown).map(|(c, _)| c).collect()
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for c in [
            '\0',
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{80}',
            '\u{9b}',
            '\u{9f}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            assert_eq!(hidden(&format!("a{c}b")), [c], "{c:?}");
        }
    }

    #[test]
    fn ordinary_text_is_not_escaped() {
        for text in [
            "plain text, 100 % ~",
            "Füße, e\u{301}, ñandú, Ελληνικά, Русский, العربية, עברית, हिन्दी, 日本語, 한국어, ไทย",
            "😀 👍🏽 ❤️ ☎︎ ↩︎ 1️⃣ #️⃣ 🇪🇸 👨‍👩‍👧 🏃🏽‍♀️ 🏳️‍🌈 ❤️‍🔥 ©️ ™",
            "→ ⟦ ⟧ „“ … \u{a0} \u{fffd}",
        ] {
            assert_eq!(hidden(text), Vec::<char>::new(), "{text}");
        }
    }

    #[test]
    fn an_emoji_hides_nothing() {
        for (text, right) in [
            ("😀\u{fe0f}\u{fe0f}", 1),
            ("😀\u{fe0f}\u{fe0e}\u{fe01}", 2),
            ("😀\u{200d}a", 1),
            ("😀\u{200d}\u{200d}😀", 2),
            ("a\u{200d}😀", 1),
            ("1\u{fe0f}2", 1),
            ("😀\u{e0100}\u{e0101}", 2),
            ("🏴\u{e0067}\u{e0062}\u{e007f}", 3),
            ("🏽\u{fe0f}", 1),
        ] {
            assert_eq!(hidden(text).len(), right, "{}", text.escape_unicode());
        }
    }

    #[test]
    fn json_with_escapes_is_the_same_json() {
        assert_eq!(json("{\n\t\"a\": \"é\"\r\n}"), "{\n\t\"a\": \"é\"\r\n}");
        assert_eq!(
            json("[\"\u{7f}\u{9b}\u{202e}\u{e0041}\u{61c}👍🏽\"]"),
            "[\"\\u007f\\u009b\\u202e\\udb40\\udc41\\u061c👍🏽\"]"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_legal_in_xml(text in any::<String>()) {
            let xml = xml_text(&text);
            let legal = |c: char| matches!(c, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
            prop_assert!(xml.chars().all(legal));
            prop_assert!(!xml.contains(['<', '>', '"']));
        }

        #[test]
        fn any_string_comes_back(text in any::<String>()) {
            let escaped = json(&serde_json::to_string(&text).unwrap()).into_owned();
            prop_assert!(characters(&escaped).all(|(_, shown)| shown));
            prop_assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), Value::String(text));
        }
    }
}
