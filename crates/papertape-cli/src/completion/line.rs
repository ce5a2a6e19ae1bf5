//! The words of a command line that is not finished, as a POSIX shell splits it.

/// A command line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnfinishedLine {
    /// The words before the current one, without quotes.
    pub(crate) words: Vec<String>,
    /// The current word up to the cursor, without quotes; empty after a space.
    pub(crate) current: String,
    /// Where the current word begins, in bytes.
    pub(crate) start: usize,
    /// What is open at the cursor.
    pub(crate) quote: Quote,
}

/// The quotes that a position is within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    None,
    Single,
    Double,
}

impl UnfinishedLine {
    pub(crate) fn parse(text: &str) -> Self {
        let mut line = Self { words: Vec::new(), current: String::new(), start: 0, quote: Quote::None };
        let mut within_word = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if line.quote == Quote::None && c.is_ascii_whitespace() {
                if std::mem::take(&mut within_word) {
                    line.words.push(std::mem::take(&mut line.current));
                }
                continue;
            }
            if !std::mem::replace(&mut within_word, true) {
                line.start = at;
            }
            match (line.quote, c) {
                (Quote::None, '\'') => line.quote = Quote::Single,
                (Quote::None, '"') => line.quote = Quote::Double,
                (Quote::Single, '\'') | (Quote::Double, '"') => line.quote = Quote::None,
                (Quote::None, '\\') => line.current.extend(chars.next().map(|(_, c)| c)),
                (Quote::Double, '\\') => match chars.next_if(|(_, c)| matches!(c, '$' | '`' | '"' | '\\')) {
                    Some((_, c)) => line.current.push(c),
                    None => line.current.push('\\'),
                },
                (_, c) => line.current.push(c),
            }
        }
        if !within_word {
            line.start = text.len();
        }
        line
    }
}

/// A text as it is typed within these quotes.
pub(crate) fn quoted(text: &str, quote: Quote) -> String {
    match quote {
        Quote::Single => text.replace('\'', r"'\''"),
        Quote::Double => escaped(text, |c| matches!(c, '$' | '`' | '"' | '\\')),
        // `!` is for the history of shells.
        Quote::None => escaped(text, |c| c.is_ascii_whitespace() || "'\"\\$`*?[]{}()<>|&;#!~".contains(c)),
    }
}

fn escaped(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_special(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{Quote, UnfinishedLine, quoted};

    #[test]
    fn the_current_word_is_where_the_cursor_is() {
        for (text, words, current, start, quote) in [
            ("", vec![], "", 0, Quote::None),
            ("call", vec![], "call", 0, Quote::None),
            ("call ", vec!["call"], "", 5, Quote::None),
            ("  call x=a\\ b", vec!["call"], "x=a b", 7, Quote::None),
            ("call x='a \"b", vec!["call"], "x=a \"b", 5, Quote::Single),
            ("call 'x=a' y=\"a\\\"\\n", vec!["call", "x=a"], "y=a\"\\n", 11, Quote::Double),
            ("é '' ü", vec!["é", ""], "ü", 6, Quote::None),
            ("a\\", vec![], "a", 0, Quote::None),
            ("a\tb\n", vec!["a", "b"], "", 4, Quote::None),
        ] {
            let line = UnfinishedLine::parse(text);
            let right = UnfinishedLine {
                words: words.into_iter().map(str::to_owned).collect(),
                current: current.to_owned(),
                start,
                quote,
            };
            assert_eq!(line, right, "{text:?}");
        }
    }

    #[test]
    fn a_quoted_text_is_one_word_again() {
        for text in ["past simple", "it's", "$(x) `y` \"z\" \\", "a;b|c&d", "*?[x]{y}~#!", "é<>"] {
            for (quote, before, after) in
                [(Quote::None, "", ""), (Quote::Single, "'", "'"), (Quote::Double, "\"", "\"")]
            {
                let typed = format!("{before}{}{after}", quoted(text, quote));
                assert_eq!(shell_words::split(&typed).unwrap(), [text], "{typed}");
                assert_eq!(UnfinishedLine::parse(&typed).current, text, "{typed}");
            }
        }
    }
}
