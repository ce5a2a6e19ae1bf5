//! MDX to Markdown of the same length: imports, exports, tags and comments become blanks; and of Markdown as Obsidian has
//! it, comments and the kinds of callouts.
//!
//! So the Markdown parser never meets them, and what it says about places holds in the file too.

use std::borrow::Cow;
use std::ops::Range;

/// How many steps back and forth there may be for each byte, so that no file takes long.
const STEPS: usize = 8;

/// How deep braces may stand in a tag.
const MOST_BRACES: usize = 32;

/// The same text without what only a program reads.
pub(super) fn blanked(mdx: &str) -> String {
    Scan::of(mdx, true)
}

/// Markdown without comments and kinds of callouts. Some sites have the comments of MDX in `.md` files, as names of
/// headings.
pub(super) fn uncommented(markdown: &str) -> Cow<'_, str> {
    let has_any = ["{/*", "%%", "[!"].iter().any(|mark| markdown.contains(mark));
    if has_any { Scan::of(markdown, false).into() } else { markdown.into() }
}

/// The same text with blanks in place of some parts, line ends aside.
pub(super) fn blank(text: &str, parts: &[Range<usize>]) -> String {
    replace(text, parts, &|_, _| false)
}

/// As [`blank`]; some parts become a link without text, which shows nothing either.
fn replace(text: &str, parts: &[Range<usize>], as_link: &dyn Fn(&str, &Range<usize>) -> bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for part in parts {
        result.push_str(text.get(at..part.start).unwrap_or_default());
        let link = part.len() >= EMPTY_LINK && as_link(text, part);
        if link {
            result.push_str("[](");
            result.extend(std::iter::repeat_n(' ', part.len() - EMPTY_LINK));
            result.push(')');
        }
        for c in text.get(part.clone()).filter(|_| !link).unwrap_or_default().chars() {
            match c {
                '\n' | '\r' => result.push(c),
                _ => result.extend(std::iter::repeat_n(' ', c.len_utf8())),
            }
        }
        at = part.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

/// The bytes of `[]()`.
const EMPTY_LINK: usize = 4;

/// Whether a part of a line begins it, and text comes after it: blanks in its place could make code of that text.
fn begins_text(text: &str, part: &Range<usize>) -> bool {
    const FAR: usize = 64;
    let bytes = text.as_bytes();
    let before = bytes.get(part.start.saturating_sub(FAR)..part.start).unwrap_or_default();
    let before = before.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'>'));
    let begins =
        before.map_or(part.start <= FAR, |at| bytes.get(part.start.saturating_sub(FAR) + at) == Some(&b'\n'));
    let after = bytes.get(part.end..).unwrap_or_default().iter().take(FAR);
    let after = after.copied().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    let within = bytes.get(part.clone()).unwrap_or_default();
    begins && after.is_some_and(|byte| byte != b'\n') && !within.contains(&b'\n')
}

struct Scan<'a> {
    bytes: &'a [u8],
    /// Not comments alone.
    all: bool,
    steps: usize,
    /// In order, apart from each other.
    found: Vec<Range<usize>>,
}

impl Scan<'_> {
    /// The text without what is found in it.
    fn of(text: &str, all: bool) -> String {
        let steps = text.len().saturating_mul(STEPS);
        let mut scan = Scan { bytes: text.as_bytes(), all, steps, found: Vec::new() };
        scan.run();
        replace(text, &scan.found, &begins_text)
    }

    fn run(&mut self) {
        let mut fence = None;
        let mut at = 0;
        while at < self.bytes.len() {
            let end = self.line_end(at);
            let line = self.bytes.get(at..end).unwrap_or_default().trim_ascii_start();
            match (fence, fence_of(line)) {
                (Some((mark, length)), closing) => {
                    if closing.is_some_and(|(same, longer)| same == mark && longer >= length) {
                        fence = None;
                    }
                    at = end;
                }
                (None, Some(opening)) => {
                    fence = Some(opening);
                    at = end;
                }
                (None, None) if self.all && is_statement(self.bytes.get(at..end).unwrap_or_default()) => {
                    let end = self.statement_end(at);
                    self.found.push(at..end);
                    at = end;
                }
                (None, None) => {
                    if let Some(kind) = callout(line) {
                        // As far into the file as the line is, without the blanks before it.
                        let start =
                            end - self.bytes.get(at..end).unwrap_or_default().trim_ascii_start().len();
                        self.found.push(start + kind.start..start + kind.end);
                        at = start + kind.end;
                    }
                    at = self.text(at, end);
                }
            }
        }
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |length| at + length + 1)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn step(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }

    /// A line of text; what begins in it may end in another. Gives where the last of them ends.
    fn text(&mut self, from: usize, line_end: usize) -> usize {
        let (mut at, mut end) = (from, line_end);
        while at < end {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let found = match rest.first() {
                Some(b'\\') => {
                    at += 2;
                    continue;
                }
                Some(b'`') => {
                    at = self.code_end(at);
                    end = self.end_after(at, end);
                    continue;
                }
                Some(b'<') if self.all => self.tag_end(at),
                Some(b'{') if rest.starts_with(b"{/*") => self.comment_end(at),
                Some(b'%') if rest.starts_with(b"%%") => self.remark_end(at, end),
                _ => None,
            };
            if let Some(after) = found {
                self.found.push(at..after);
                at = after;
                end = self.end_after(at, end);
            } else {
                at += 1;
            }
        }
        end
    }

    /// Where the line ends that something ended in: another one, if it went beyond the end of this one.
    fn end_after(&self, at: usize, end: usize) -> usize {
        if at > end { self.line_end(at - 1) } else { end }
    }

    /// Where code between backticks ends; if it does not, where its first backticks end.
    fn code_end(&mut self, start: usize) -> usize {
        let run = |bytes: &[u8], at: usize| bytes.iter().skip(at).take_while(|byte| **byte == b'`').count();
        let ticks = run(self.bytes, start);
        let mut at = start + ticks;
        while let Some(byte) = self.byte(at) {
            if self.step().is_none() || (byte == b'\n' && self.byte(at + 1) == Some(b'\n')) {
                break;
            }
            let here = run(self.bytes, at);
            if here == ticks {
                return at + here;
            }
            at += here.max(1);
        }
        start + ticks
    }

    fn comment_end(&mut self, start: usize) -> Option<usize> {
        let mut at = start + 3;
        loop {
            self.step()?;
            if self.bytes.get(at..)?.starts_with(b"*/}") {
                return Some(at + 3);
            }
            self.byte(at)?;
            at += 1;
        }
    }

    /// Where a comment of Obsidian ends, `%%` to `%%`: on its line, or, if it begins the line, at the end of another.
    fn remark_end(&mut self, start: usize, line_end: usize) -> Option<usize> {
        let before = self.bytes.get(..start)?;
        if before.last().is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let begins =
            before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n');
        let mut at = start + 2;
        loop {
            self.step()?;
            if self.bytes.get(at..)?.starts_with(b"%%") {
                let after =
                    self.bytes.get(at + 2..)?.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
                if at < line_end || after.is_none_or(|byte| *byte == b'\n') {
                    return Some(at + 2);
                }
            }
            if at >= line_end && !begins {
                return None;
            }
            self.byte(at)?;
            at += 1;
        }
    }

    /// Where a tag ends that begins here, if one does.
    fn tag_end(&mut self, start: usize) -> Option<usize> {
        let mut at = start + 1;
        if self.byte(at) == Some(b'/') {
            at += 1;
        }
        if !self.byte(at).is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'>' | b'_' | b'$'))
        {
            return None;
        }
        let mut braces = 0_usize;
        let mut quote = None;
        loop {
            self.step()?;
            let byte = self.byte(at)?;
            at += 1;
            match (quote, byte) {
                (Some(quoted), _) if quoted == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'' | b'`') => quote = Some(byte),
                (None, b'{') if braces >= MOST_BRACES => return None,
                (None, b'{') => braces += 1,
                (None, b'}') => braces = braces.checked_sub(1)?,
                (None, b'>') if braces == 0 => return Some(at),
                (None, b'<') if braces == 0 => return None,
                _ => {}
            }
        }
    }

    /// Where an import or export ends: with its line, unless a bracket is open; at the latest at an empty line.
    fn statement_end(&mut self, start: usize) -> usize {
        let first = self.line_end(start);
        self.brackets_end(start).map_or(first, |end| self.line_end(end.saturating_sub(1)))
    }

    fn brackets_end(&mut self, start: usize) -> Option<usize> {
        let (mut at, mut open, mut quote) = (start, 0_usize, None);
        loop {
            self.step()?;
            let byte = self.byte(at)?;
            at += 1;
            match (quote, byte) {
                (Some(quoted), _) if quoted == byte => quote = None,
                (Some(b'"' | b'\''), b'\n') => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'' | b'`') => quote = Some(byte),
                (None, b'(' | b'[' | b'{') => open += 1,
                (None, b')' | b']' | b'}') => open = open.checked_sub(1)?,
                (None, b'\n') if open == 0 => return Some(at),
                _ => {}
            }
        }
    }
}

fn is_statement(line: &[u8]) -> bool {
    [&b"import"[..], b"export"].iter().any(|word| {
        line.strip_prefix(*word).and_then(|rest| rest.first()).is_some_and(|next| b" {*\"'\t".contains(next))
    })
}

/// Where the kind of a callout stands in the first line of a quotation: `> [!note]- Title`.
fn callout(line: &[u8]) -> Option<Range<usize>> {
    let start = line.iter().position(|byte| !matches!(byte, b'>' | b' ')).filter(|at| *at > 0)?;
    let rest = line.get(start..)?.strip_prefix(b"[!")?;
    let length = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_| ".contains(byte))?;
    let fold = match rest.get(length..)? {
        [b']', b'+' | b'-', ..] => 2,
        [b']', ..] => 1,
        _ => return None,
    };
    (line.starts_with(b">") && length > 0).then(|| start..start + 2 + length + fold)
}

/// The mark of a fence and how often it stands there.
fn fence_of(line: &[u8]) -> Option<(u8, usize)> {
    let mark = *line.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = line.iter().take_while(|byte| **byte == mark).count();
    (length >= 3).then_some((mark, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, proptest};

    use super::{blanked, uncommented};

    #[track_caller]
    fn gives(mdx: &str, wanted: &str) {
        let read = blanked(mdx);
        assert_eq!(read.len(), mdx.len(), "{mdx}");
        assert_eq!(read.split_whitespace().collect::<Vec<_>>().join(" "), wanted, "{mdx}");
    }

    #[test]
    fn what_programs_read_is_blank() {
        gives("import A from 'a'\nexport const b = {\n\n  c: 1,\n}\n\nText", "Text");
        gives("<Tabs items={['a', \">\"]} on={() => 1}>\n\nOne *two*\n\n</Tabs>", "One *two*");
        gives("One <B c=\"d\"/> two<br/>three <></> four", "One two three four");
        gives("One {/* two\nthree */} four {five}", "One four {five}");
        gives("Español<Ñ/> y <a>日本</a>", "Español<Ñ/> y 日本");
    }

    #[test]
    fn in_markdown_only_comments_are_blank() {
        let markdown = "# Usage {/*usage*/}\n<b>import</b> `{/*a*/}` {b}\nimport c\n```\n{/*d*/}\n```\n";
        assert_eq!(uncommented(markdown), markdown.replace("{/*usage*/}", "           "));
        assert!(matches!(uncommented("# a {#b}"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn comments_and_callouts_of_obsidian_are_blank() {
        for (text, wanted) in [
            ("One %%two%% three %% four %%.", "One three ."),
            ("One\n\n%%\ntwo\n\n`%%`\n%%\nthree", "One three"),
            ("%% one\ntwo %%  \nthree", "three"),
            ("100%% of 50%% is %% open", "100%% of 50%% is %% open"),
            ("a %%i in\nb %%j", "a %%i in b %%j"),
            ("`%%a%%`\n```\n%%b%%\n```\n", "`%%a%%` ``` %%b%% ```"),
            ("> [!note] A *title*\n> text", "> []( ) A *title* > text"),
            ("> > [!faq]- Folded\n>> [!my-kind|left]+", "> > []( ) Folded >>"),
            ("> [!]one\n> [!](a) [!NOTE]\n[!note] b", "> [!]one > [!](a) [!NOTE] [!note] b"),
            ("> [!a]b\n> [!NOTE]\n> c", "> []()b > > c"),
            ("%%a%% b\n{/*a*/} c\n{/*a*/}\n%%a%%", "[]( ) b []( ) c"),
        ] {
            let read = uncommented(text);
            assert_eq!(read.len(), text.len());
            assert_eq!(read.split_whitespace().collect::<Vec<_>>().join(" "), wanted, "{text}");
        }
    }

    #[test]
    fn code_stays() {
        gives("`<A>` ``<B> ` <C>`` \\<D>", "`<A>` ``<B> ` <C>`` \\<D>");
        gives("```jsx\nimport A\n<A/>\n```\n<A/>", "```jsx import A <A/> ```");
        gives("~~~~\n```\n<A/>\n~~~~\n<A/>", "~~~~ ``` <A/> ~~~~");
    }

    #[test]
    fn what_has_no_end_stays() {
        gives("a < b, c <d e, <f", "a < b, c <d e, <f");
        gives("`a <B/>", "`a");
        gives("{/* a", "{/* a");
        gives("imported goods\nexporting", "imported goods exporting");
        gives("export const a = {\n\nText", "Text");
    }

    #[test]
    fn no_text_takes_long() {
        for piece in [
            "<a>",
            "``a``",
            "<a ",
            "<a {",
            "`",
            "``` ` ",
            "{/*",
            "<a '",
            "export {\n",
            "import (\n\n",
            "<a {'<a {",
            "%% a\n",
            "\n%%\n%",
            "> [!a",
            "> ",
        ] {
            let text = piece.repeat(1 << 16);
            assert_eq!(blanked(&text).len(), text.len());
            assert_eq!(uncommented(&text).len(), text.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn places_stay_the_same(text in "(<[aé]?|[>{}/*`'\" \n\\\\]|%%|\\[!a\\]|import |export |é|日|a){0,60}") {
            let read = blanked(&text);
            assert_eq!(read.len(), text.len());
            for (at, c) in text.char_indices() {
                let there = read.get(at..).and_then(|rest| rest.chars().next());
                assert!(there == Some(c) || there.is_some_and(|there| " []()".contains(there)), "{text:?}");
            }
        }
    }
}
