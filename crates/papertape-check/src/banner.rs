//! Text that libraries are known to print: read from `banners.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

const FILE: &str = include_str!("../banners.toml");

static BANNERS: LazyLock<Banners> = LazyLock::new(|| {
    // A test shows that the file is valid.
    toml::from_str(FILE).unwrap_or_default()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Banners {
    banner: Vec<Banner>,
}

/// Text that a library prints.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Banner {
    /// What it is: "the banner of dotenv 17".
    pub(crate) name: String,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    members: Vec<String>,
    /// How to turn it off.
    pub(crate) remedy: String,
}

/// The banner that a line belongs to.
pub(crate) fn of_line(line: &str) -> Option<&'static Banner> {
    let line = line.trim();
    let value: Option<Value> = if line.starts_with('{') { serde_json::from_str(line).ok() } else { None };
    BANNERS.banner.iter().find(|banner| match &value {
        Some(value) => {
            !banner.members.is_empty() && banner.members.iter().all(|member| value.get(member).is_some())
        }
        None => banner.patterns.iter().any(|pattern| matches(pattern, line)),
    })
}

/// Whether a pattern matches a whole line.
fn matches(pattern: &str, line: &str) -> bool {
    // After a failure, the last `*` takes one character more.
    let (mut pattern, mut line, mut retry) = (pattern, line, None);
    loop {
        let mut rest = pattern.chars();
        let mut letters = line.chars();
        match (rest.next(), letters.next()) {
            (Some('*'), _) => {
                pattern = rest.as_str();
                retry = Some((pattern, line));
            }
            (None, None) => return true,
            (Some(wanted), Some(letter)) if wanted == letter || wanted == '#' && letter.is_ascii_digit() => {
                (pattern, line) = (rest.as_str(), letters.as_str());
            }
            _ => {
                let Some((after, from)) = retry else { return false };
                let mut skipped = from.chars();
                if skipped.next().is_none() {
                    return false;
                }
                (pattern, line, retry) = (after, skipped.as_str(), Some((after, skipped.as_str())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Banners, FILE, matches, of_line};

    #[test]
    fn the_file_is_valid() {
        let banners: Banners = toml::from_str(FILE).unwrap();
        assert!(banners.banner.iter().all(|banner| banner.patterns.is_empty() != banner.members.is_empty()));
    }

    #[test]
    fn patterns_match_whole_lines() {
        for (pattern, line, expected) in [
            ("", "", true),
            ("*", "anything", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("##:##", "12:34", true),
            ("##:##", "12:3x", false),
            ("*a*b", "xaxaxb", true),
            ("*é", "né", true),
        ] {
            assert_eq!(matches(pattern, line), expected, "{pattern} {line}");
        }
    }

    #[test]
    fn known_banners_are_named() {
        for (line, name) in [
            (
                "[dotenv@17.2.3] injecting env (0) from .env -- tip: write to custom object",
                "the banner of dotenv 17",
            ),
            ("> server@1.0.0 start", "the line that npm prints before a script"),
            ("/app/s.py:3: DeprecationWarning: old", "a warning of Python"),
            ("(node:123) DeprecationWarning: The `punycode` module is deprecated.", "a warning of Node"),
            ("FutureWarning: this is deprecated", "a warning of Python"),
            ("2026-11-20 09:14:02,113 - example - INFO - up", "a log line of Python's logging"),
            ("INFO:__main__:up", "a log line of Python's logging"),
            (r#"{"level":30,"time":1,"pid":7,"hostname":"box","msg":"up"}"#, "a log line of pino"),
            (r#"{"level":"info","message":"up"}"#, "a log line of winston"),
            ("2026-08-23T10:00:00.123456Z  INFO server: up", "a log line of tracing"),
            (
                "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)",
                "a log line of uvicorn",
            ),
        ] {
            assert_eq!(of_line(line).map(|banner| banner.name.as_str()), Some(name), "{line}");
        }
        for line in ["Starting server...", "", "> ", "Error: no such file"] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }
}
