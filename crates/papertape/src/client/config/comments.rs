//! JSON with comments and trailing commas, as editors write it, to JSON.

/// The text with spaces in place of comments and trailing commas, so that errors name the right place.
pub(super) fn without_comments(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    // The place of a comma after which there was nothing yet.
    let mut comma = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                json.push(' ');
                while chars.next_if(|c| *c != '\n').is_some() {
                    json.push(' ');
                }
            }
            ('/', Some('*')) => {
                json.push_str("  ");
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    json.push(if c == '\n' { c } else { ' ' });
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            ('"', _) => {
                comma = None;
                json.push(c);
                while let Some(c) = chars.next() {
                    json.push(c);
                    match c {
                        '"' => break,
                        '\\' => json.extend(chars.next()),
                        _ => {}
                    }
                }
            }
            (',', _) => {
                comma = Some(json.len());
                json.push(c);
            }
            _ => {
                if let Some(at) = comma.take_if(|_| !c.is_whitespace())
                    && matches!(c, ']' | '}')
                {
                    json.replace_range(at..=at, " ");
                }
                json.push(c);
            }
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, right) in [
            ("{\"a\": 1, // b\n}", "{\"a\": 1      \n}"),
            ("[1, /* é,\n*/ ]", "[1       \n   ]"),
            ("[1, /**/ 2,]", "[1,      2 ]"),
            ("/*/ x */1", "        1"),
            (r#"["//", "/*", "a\"//", ",]", "\\",]"#, r#"["//", "/*", "a\"//", ",]", "\\" ]"#),
            ("1 /* open", "1        "),
            ("1 //", "1   "),
            ("\"open\\", "\"open\\"),
            ("1/2", "1/2"),
        ] {
            assert_eq!(without_comments(text), right);
        }
    }
}
