//! Scopes: what somebody may do, as words that tokens carry and challenges name.

use std::collections::BTreeMap;

/// Whether a text can be a scope: visible ASCII without `"` and `\`, so that it can stand in a quoted list of them.
pub(crate) fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
}

/// Which scopes stand for which others too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    implied: BTreeMap<String, Vec<String>>,
}

#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "who has scopes is known on HTTP only"))]
impl Hierarchy {
    /// Whoever has one scope has the others too, and what they imply.
    pub(crate) fn add(&mut self, scope: String, implied: impl IntoIterator<Item = String>) {
        self.implied.entry(scope).or_default().extend(implied);
    }

    /// All scopes that are named on either side.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.implied.iter().flat_map(|(scope, implied)| {
            std::iter::once(scope.as_str()).chain(implied.iter().map(String::as_str))
        })
    }

    /// These scopes and all that they imply, each once. Circles are harmless.
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

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::{Hierarchy, is_scope};

    fn owned<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).to_vec()
    }

    #[test]
    fn implied_scopes_are_found_however_deep_and_once() {
        let mut hierarchy = Hierarchy::default();
        hierarchy.add("admin".to_owned(), owned(["write", "audit"]));
        hierarchy.add("write".to_owned(), owned(["read"]));
        hierarchy.add("read".to_owned(), owned(["write"]));
        assert_eq!(hierarchy.expand(owned(["admin"])), owned(["admin", "write", "read", "audit"]));
        assert_eq!(hierarchy.expand(owned(["read", "x", "x"])), owned(["read", "write", "x"]));
        assert_eq!(hierarchy.expand(owned(["audit"])), owned(["audit"]));
    }

    #[test]
    fn a_scope_is_safe_within_quotes() {
        for good in ["read", "mcp:tools/call", "https://example.com/scope", "!#$%&'()*+,-./~"] {
            assert!(is_scope(good), "{good}");
        }
        for bad in ["", "two words", "a\"b", "a\\b", "a\r\nb", "é", "\u{7f}", "tab\t"] {
            assert!(!is_scope(bad), "{bad:?}");
        }
    }
}
