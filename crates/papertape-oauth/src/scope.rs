//! Scopes (RFC 6749, section 3.3).

/// Whether a text is a scope: visible ASCII without `"` and `\`, so that a challenge can quote it.
#[must_use]
pub fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
}

/// The scopes of a `scope` parameter, which separates them by spaces.
#[must_use]
pub fn split_scopes(scope: &str) -> Vec<String> {
    scope.split_ascii_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::is_scope;

    #[test]
    fn a_scope_needs_no_escape_within_quotes() {
        for valid in ["read", "mcp:tools/call", "https://example.com/scope", "!#$%&'()*+,-./~"] {
            assert!(is_scope(valid), "{valid}");
        }
        for invalid in ["", "two words", "a\"b", "a\\b", "a\r\nb", "é", "\u{7f}", "tab\t"] {
            assert!(!is_scope(invalid), "{invalid:?}");
        }
    }
}
