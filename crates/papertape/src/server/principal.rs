//! Who asks.

/// Who asks, as far as the transport could find out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Principal {
    /// Tells them from all others: the name of a key, or an issuer and a subject with a space between them.
    pub name: String,
    /// What they may do: what their key or token says, and all that this implies.
    pub scopes: Vec<String>,
}

impl Principal {
    /// Somebody of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scopes: Vec::new() }
    }

    /// The same with these scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Whether they may do all that these scopes stand for.
    #[must_use]
    pub fn has_scopes(&self, wanted: &[String]) -> bool {
        wanted.iter().all(|scope| self.scopes.contains(scope))
    }
}
