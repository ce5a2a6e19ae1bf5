//! Regular expressions of ECMA-262, the dialect of JSON Schema.

use fancy_regex::{Regex, RegexBuilder};

use crate::error::SchemaError;

/// Steps that a pattern with look-around or a back reference may take on one text; without, patterns take linear time.
const MOST_BACKTRACKS: usize = 100_000;

/// A regular expression.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: String,
    regex: Regex,
}

impl Pattern {
    pub(crate) fn new(source: &str) -> Result<Self, SchemaError> {
        let invalid = |why: String| {
            SchemaError::new(format!("the pattern \"{source}\" is not a regular expression{why}"))
        };
        let translated = jsonschema_regex::to_rust_regex(source).map_err(|()| invalid(String::new()))?;
        let regex = RegexBuilder::new(&translated)
            .backtrack_limit(MOST_BACKTRACKS)
            .build()
            .map_err(|error| invalid(format!(": {error}")))?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// Whether it matches somewhere in a text; false if that takes too many steps.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text).unwrap_or(false)
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}
