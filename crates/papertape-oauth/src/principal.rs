//! The authenticated caller of a request, and its scopes (RFC 6749, section 3.3).

#[cfg(feature = "server")]
use std::collections::BTreeMap;

/// The authenticated caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Principal {
    /// Unique identifier: the name of an API key, or the issuer and the subject of an access token, separated by a space.
    pub name: String,
    /// Granted scopes, including those that they imply.
    pub scopes: Vec<String>,
}

impl Principal {
    /// A principal without scopes.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scopes: Vec::new() }
    }

    /// Adds scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Whether all of the required scopes are granted.
    #[must_use]
    pub fn has_scopes(&self, required: &[String]) -> bool {
        required.iter().all(|scope| self.scopes.contains(scope))
    }
}

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

/// Which scopes imply which others.
#[cfg(feature = "server")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScopeHierarchy {
    implied: BTreeMap<String, Vec<String>>,
}

#[cfg(feature = "server")]
impl ScopeHierarchy {
    /// Grants the `implied` scopes to every principal that has `scope`.
    pub(crate) fn add(&mut self, scope: String, implied: impl IntoIterator<Item = String>) {
        self.implied.entry(scope).or_default().extend(implied);
    }

    /// All scopes that are named, on either side.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.implied.iter().flat_map(|(scope, implied)| {
            std::iter::once(scope.as_str()).chain(implied.iter().map(String::as_str))
        })
    }

    /// The scopes and all that they imply, each once. Cycles are allowed.
    pub(crate) fn expand(&self, scopes: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut next: Vec<String> = scopes.into_iter().collect();
        next.reverse();
        while let Some(scope) = next.pop() {
            if !all.contains(&scope) {
                next.extend(self.implied.get(&scope).into_iter().flatten().rev().cloned());
                all.push(scope);
            }
        }
        all
    }
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

    #[cfg(feature = "server")]
    fn owned<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).to_vec()
    }

    #[test]
    #[cfg(feature = "server")]
    fn implied_scopes_are_expanded_transitively_and_once() {
        let mut hierarchy = super::ScopeHierarchy::default();
        hierarchy.add("admin".to_owned(), owned(["write", "audit"]));
        hierarchy.add("write".to_owned(), owned(["read"]));
        hierarchy.add("read".to_owned(), owned(["write"]));
        assert_eq!(hierarchy.expand(owned(["admin"])), owned(["admin", "write", "read", "audit"]));
        assert_eq!(hierarchy.expand(owned(["read", "x", "x"])), owned(["read", "write", "x"]));
        assert_eq!(hierarchy.expand(owned(["audit"])), owned(["audit"]));
    }
}
