//! Files of environment variables: one `KEY=VALUE` per line.

use std::path::Path;

use crate::exit::Failure;

/// The variables of the file of an option, in its order.
pub(crate) fn read(path: &Path, option: &str) -> Result<Vec<(String, String)>, Failure> {
    let wrong = |problem: String| Failure::usage(format!("{option} {}: {problem}", path.display()));
    let text =
        std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read the file: {error}")))?;
    parse(&text).map_err(wrong)
}

/// Comments, `export` and quotes as in a shell. An error has the number of the line, but not the line, which may have a secret.
fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |problem: &str| format!("line {}: {problem}", index + 1);
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("write KEY=VALUE"))?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) || name.contains('\0') {
            return Err(wrong("the name before the = is not one of a variable: write KEY=VALUE"));
        }
        variables.push((name.to_owned(), unquoted(value.trim()).map_err(wrong)?));
    }
    Ok(variables)
}

/// The value without its quotes or its comment. There are no variables in it.
fn unquoted(value: &str) -> Result<String, &'static str> {
    let Some(quote) = value.chars().next().filter(|c| ['"', '\''].contains(c)) else {
        let plain = value.find(" #").map_or(value, |comment| value.get(..comment).unwrap_or(value));
        return Ok(plain.trim_end().to_owned());
    };
    let (mut text, mut chars) = (String::new(), value.chars().skip(1));
    loop {
        match chars.next() {
            None => return Err("the quote is not closed on the same line"),
            Some(c) if c == quote => break,
            // Only double quotes have escapes.
            Some('\\') if quote == '"' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some(c @ ('"' | '\\' | '$' | '`')) => text.push(c),
                Some(c) => text.extend(['\\', c]),
                None => return Err("the quote is not closed on the same line"),
            },
            Some(c) => text.push(c),
        }
    }
    let rest: String = chars.collect();
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(text)
    } else {
        Err("there is text after the closing quote")
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lines_are_variables() {
        let text = "\u{feff}# comment\n\n A = b c  # more\nexport B=\"x \\\"y\\\" \\n#\" # z\nC='a\\n$B'\nD=\nE=a=b#c\r\n";
        let right = [("A", "b c"), ("B", "x \"y\" \n#"), ("C", "a\\n$B"), ("D", ""), ("E", "a=b#c")];
        let right = right.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).as_deref(), Ok(&right[..]));
    }

    #[test]
    fn an_invalid_line_is_named_without_its_value() {
        for (line, problem) in [
            ("secret", "line 2: write KEY=VALUE"),
            ("=secret", "line 2: the name before the ="),
            ("a b=secret", "line 2: the name before the ="),
            ("A=\"secret", "line 2: the quote is not closed"),
            ("A='secret' secret", "line 2: there is text after the closing quote"),
        ] {
            let error = parse(&format!("A=1\n{line}\n")).unwrap_err();
            assert!(error.starts_with(problem) && !error.contains("secret"), "{error}");
        }
    }
}
