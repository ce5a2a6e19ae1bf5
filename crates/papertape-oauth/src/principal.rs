//! The authenticated caller of a request, and its scopes (RFC 6749, section 3.3).

#[cfg(feature = "server")]
use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use serde_json::{Map, Value};

/// The authenticated caller of a request.
///
/// ```
/// use papertape_oauth::Principal;
/// let alice = Principal::new("alice").scope("notes:write").claim("tenant", 7);
/// assert_eq!(alice.claims()["tenant"], 7);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Principal {
    /// Unique identifier: the name of an API key, or the issuer and the subject of an access token, separated by a space; or
    /// what the application names its users by. What belongs to a principal (sessions, tasks, limits) belongs to this name.
    pub name: String,
    /// Granted scopes, including those that they imply.
    pub scopes: Vec<String>,
    claims: Map<String, Value>,
    expires: Option<SystemTime>,
}

impl Principal {
    /// A principal without scopes.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The caller of a request without credentials, where these are optional: it has no name and no scopes.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Whether it has no name.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.name.is_empty()
    }

    /// Adds a scope.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// Adds scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds a claim: what else is known of the principal, for handlers. `{:?}` shows the names of claims only.
    #[must_use]
    pub fn claim(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.claims.insert(name.into(), value.into());
        self
    }

    /// Adds claims.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// The claims: those of the access token, or those that the application has set. API keys have none.
    #[must_use]
    pub fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// When the authorization ends: streams of the principal are closed then. For principals that the application
    /// authenticates; keys and tokens have an expiry of their own.
    #[must_use]
    pub fn expires(mut self, time: SystemTime) -> Self {
        self.expires = Some(time);
        self
    }

    #[cfg(feature = "server")]
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.expires
    }

    /// Whether all of the required scopes are granted.
    #[must_use]
    pub fn has_scopes<S: AsRef<str>>(&self, required: &[S]) -> bool {
        required.iter().all(|scope| self.scopes.iter().any(|granted| granted == scope.as_ref()))
    }
}

/// Claims may be personal or secret, so that only their names are shown.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims: Vec<&String> = self.claims.keys().collect();
        f.debug_struct("Principal")
            .field("name", &self.name)
            .field("scopes", &self.scopes)
            .field("claims", &claims)
            .finish_non_exhaustive()
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
    use super::{Principal, is_scope};

    #[test]
    fn debug_shows_no_values_of_claims() {
        let alice = Principal::new("alice").scope("read").claim("email", "alice@example.com");
        let shown = format!("{alice:?}");
        assert!(shown.contains("email") && !shown.contains("example.com"), "{shown}");
    }

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
