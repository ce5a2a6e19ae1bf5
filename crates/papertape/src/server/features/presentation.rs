//! How a feature presents itself to clients: title, description, icons and `_meta`; and the scopes that it needs.

/// The methods that all builders of features have alike. What they set is in the fields `definition` and `scopes`.
macro_rules! presentation_methods {
    ($description:literal) => {
        /// Its display name.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.definition.title = Some(title.into());
            self
        }

        #[doc = $description]
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.definition.description = Some(description.into());
            self
        }

        /// An icon.
        #[must_use]
        pub fn icon(mut self, icon: $crate::protocol::Icon) -> Self {
            self.definition.icons.push(icon);
            self
        }

        /// A `_meta` entry, passed on untouched.
        #[must_use]
        pub fn meta(mut self, key: impl Into<String>, value: serde_json::Value) -> Self {
            self.definition.meta.get_or_insert_default().insert(key.into(), value);
            self
        }

        /// The scopes that a principal needs, where the transport authenticates principals (HTTP with authorization); without
        /// them a request is refused with 403.
        ///
        /// On stdio, and on HTTP without authorization, scopes have no effect.
        #[must_use]
        pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
            self.scopes.extend(scopes.into_iter().map(Into::into));
            self
        }
    };
}

pub(crate) use presentation_methods;
