//! The authenticated caller of a request.

/// The authenticated caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
