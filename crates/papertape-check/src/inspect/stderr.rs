//! The line of stderr that names an error, and the environment variable that is missing.

/// Words that a line about an error has.
const ERRORS: [&str; 14] = [
    "error",
    "exception",
    "fatal",
    "panicked",
    "not set",
    "required",
    "missing",
    "cannot",
    "could not",
    "failed",
    "invalid",
    "not found",
    "undefined",
    "unable to",
];

/// Words about a variable that is missing.
const MISSING: [&str; 12] = [
    "not set",
    "required",
    "missing",
    "must be set",
    "undefined",
    "keyerror",
    "not found",
    "not defined",
    "not provided",
    "please set",
    "is unset",
    "environment variable",
];

/// The line that names the error, where there is one; otherwise the last.
pub(crate) fn error_line(lines: &[String]) -> Option<&str> {
    // npm ends with the name of a file that says no more.
    let is_told = |line: &&str| !line.trim().is_empty() && !line.contains("A complete log of this run");
    let lines: Vec<&str> = lines.iter().map(String::as_str).filter(is_told).collect();
    // The name of an exception at the beginning of a line: Python has it last, Node before the stack.
    let exception = lines.iter().rev().find(|line| {
        let name = line.split(':').next().unwrap_or_default();
        let last = name.rsplit(['.', ' ']).next().unwrap_or_default();
        line.contains(": ")
            && (last.ends_with("Error") || last.ends_with("Exception"))
            && !line.starts_with([' ', '\t'])
    });
    let about_error = || {
        lines.iter().rev().find(|line| {
            let lower = line.to_lowercase();
            !lower.trim_start().starts_with("at ") && ERRORS.iter().any(|word| lower.contains(word))
        })
    };
    exception.or_else(about_error).or(lines.last()).map(|line| line.trim())
}

/// The environment variable that a line says is missing: it looks like one, and is not set here.
pub(crate) fn missing_variable(lines: &[String], is_set: impl Fn(&str) -> bool) -> Option<&str> {
    lines.iter().rev().take(50).find_map(|line| {
        let lower = line.to_lowercase();
        if !MISSING.iter().any(|word| lower.contains(word)) {
            return None;
        }
        let words = line.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        words.into_iter().find(|word| looks_like_variable(word) && !is_set(word))
    })
}

fn looks_like_variable(word: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let known = ["TOKEN", "APIKEY"].contains(&word);
    known
        || (word.len() >= 4
            && word.contains('_')
            && word.starts_with(|letter: char| letter.is_ascii_uppercase())
            && word.chars().all(allowed)
            && !word.starts_with("ERR_"))
}

#[cfg(test)]
mod tests {
    use super::{error_line, missing_variable};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_line_that_names_the_error_is_found() {
        for (text, expected) in [
            (
                "Traceback (most recent call last):\n  File \"s.py\", line 1, in f\n    x[1]\nKeyError: 'url'\n",
                "KeyError: 'url'",
            ),
            (
                "node:internal/modules:1\n  throw err;\n  ^\n\nError: Cannot find module 'x'\n    at f (a.js:1)\n    at g {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v22.1.0\n",
                "Error: Cannot find module 'x'",
            ),
            ("example 1.0\nError: API_KEY is not set\n", "Error: API_KEY is not set"),
            (
                "thread 'main' panicked at src/main.rs:1:\nnone\nnote: run with RUST_BACKTRACE=1\n",
                "thread 'main' panicked at src/main.rs:1:",
            ),
            ("starting\nstopping\n\n", "stopping"),
        ] {
            assert_eq!(error_line(&lines(text)), Some(expected), "{text}");
        }
        assert_eq!(error_line(&[]), None);
    }

    #[test]
    fn the_missing_variable_is_found() {
        let is_set = |name: &str| name == "HOME_DIR";
        for (text, expected) in [
            ("Error: EXAMPLE_API_KEY is not set", Some("EXAMPLE_API_KEY")),
            ("KeyError: 'GITHUB_TOKEN'", Some("GITHUB_TOKEN")),
            ("HOME_DIR: file not found", None),
            ("code: 'ERR_MODULE_NOT_FOUND' not found", None),
            ("all is well with MY_VALUE", None),
        ] {
            assert_eq!(missing_variable(&lines(text), is_set), expected, "{text}");
        }
    }
}
