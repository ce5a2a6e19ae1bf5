//! Which scopes imply which others.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ScopeHierarchy {
    implied: BTreeMap<String, Vec<String>>,
}

impl ScopeHierarchy {
    /// Grants the `implied` scopes to every principal that has `scope`.
    pub(super) fn add(&mut self, scope: String, implied: impl IntoIterator<Item = String>) {
        self.implied.entry(scope).or_default().extend(implied);
    }

    /// All scopes that are named, on either side.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.implied.iter().flat_map(|(scope, implied)| {
            std::iter::once(scope.as_str()).chain(implied.iter().map(String::as_str))
        })
    }

    /// The scopes and all that they imply, each once. Cycles are allowed.
    pub(super) fn expand(&self, scopes: impl IntoIterator<Item = String>) -> Vec<String> {
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
    use super::ScopeHierarchy;

    fn owned<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).to_vec()
    }

    #[test]
    fn implied_scopes_are_expanded_transitively_and_once() {
        let mut hierarchy = ScopeHierarchy::default();
        hierarchy.add("admin".to_owned(), owned(["write", "audit"]));
        hierarchy.add("write".to_owned(), owned(["read"]));
        hierarchy.add("read".to_owned(), owned(["write"]));
        assert_eq!(hierarchy.expand(owned(["admin"])), owned(["admin", "write", "read", "audit"]));
        assert_eq!(hierarchy.expand(owned(["read", "x", "x"])), owned(["read", "write", "x"]));
        assert_eq!(hierarchy.expand(owned(["audit"])), owned(["audit"]));
    }
}
