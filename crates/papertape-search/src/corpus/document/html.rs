//! A block of HTML to the text between its tags.

/// Where in a block it is: blocks come line by line.
#[derive(Debug, Default)]
pub(super) struct Stripper {
    place: HtmlState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum HtmlState {
    #[default]
    Text,
    /// Between `<` and `>`, perhaps within quotes.
    Tag(Option<char>),
    Comment,
    /// Within an element that shows nothing of what it holds.
    Hidden(&'static str),
}

impl Stripper {
    /// Adds the text of a line.
    pub(super) fn strip(&mut self, html: &str, text: &mut String) {
        let mut rest = html;
        while !rest.is_empty() {
            rest = match self.place {
                HtmlState::Text => self.leave_text(rest, text),
                HtmlState::Tag(quote) => self.leave_tag(rest, quote),
                HtmlState::Comment => self.leave(rest, "-->"),
                HtmlState::Hidden(end) => self.leave(rest, end),
            };
        }
    }

    fn leave_text<'a>(&mut self, rest: &'a str, text: &mut String) -> &'a str {
        let Some((before, tag)) = rest.split_once('<') else {
            without_entities(rest, text);
            return "";
        };
        without_entities(before, text);
        if !text.is_empty() && !text.ends_with(char::is_whitespace) {
            text.push(' ');
        }
        let named = |name: &str| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        self.place = match () {
            () if tag.starts_with("!--") => HtmlState::Comment,
            () if named("script") => HtmlState::Hidden("</script"),
            () if named("style") => HtmlState::Hidden("</style"),
            () if tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) => {
                HtmlState::Tag(None)
            }
            () => {
                text.push('<');
                HtmlState::Text
            }
        };
        tag
    }

    fn leave_tag<'a>(&mut self, rest: &'a str, quote: Option<char>) -> &'a str {
        let mut inside = quote;
        for (at, c) in rest.char_indices() {
            match (inside, c) {
                (None, '>') => {
                    self.place = HtmlState::Text;
                    return rest.get(at + 1..).unwrap_or_default();
                }
                (None, '"' | '\'') => inside = Some(c),
                (Some(quote), c) if c == quote => inside = None,
                _ => {}
            }
        }
        self.place = HtmlState::Tag(inside);
        ""
    }

    /// Goes to the end of what is hidden.
    fn leave<'a>(&mut self, rest: &'a str, end: &'static str) -> &'a str {
        let Some((_, after)) = rest.split_once(end) else { return "" };
        self.place = if end.starts_with("</") { HtmlState::Tag(None) } else { HtmlState::Text };
        after
    }
}

/// Entities such as `&nbsp;` are not words.
fn without_entities(html: &str, text: &mut String) {
    const LONGEST: usize = 32;
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let name =
            after.bytes().take(LONGEST).take_while(|b| b.is_ascii_alphanumeric() || *b == b'#').count();
        match after.get(name..).and_then(|after| after.strip_prefix(';')) {
            Some(after) if name > 0 => {
                text.push(' ');
                rest = after;
            }
            _ => {
                text.push('&');
                rest = after;
            }
        }
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::Stripper;

    #[track_caller]
    fn gives(html: &str, wanted: &str) {
        let (mut whole, mut by_line) = (String::new(), String::new());
        Stripper::default().strip(html, &mut whole);
        let mut stripper = Stripper::default();
        for line in html.split_inclusive('\n') {
            stripper.strip(line, &mut by_line);
        }
        assert_eq!(whole, by_line, "{html}");
        assert_eq!(whole.split_whitespace().collect::<Vec<_>>().join(" "), wanted, "{html}");
    }

    #[test]
    fn text_between_tags_stays() {
        gives("<p>one<b>two</b></p>", "one two");
        gives("<a href=\"x>y\"\n title='>'>text</a>", "text");
        gives("a < b && c&nbsp;d &amp; e &x", "a < b && c d e &x");
        gives("<!-- a <b>\n c -->d", "d");
        gives("<script>\nlet a = '<b>';\n</script>text<STYLE>p{}\n</style>", "text");
        gives("<unclosed\nfor ever", "");
        gives("<!DOCTYPE html><?php x ?>é<", "é <");
    }
}
