//! Text that is not shown in logs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A token, password or key: `{:?}` does not show it.
///
/// ```
/// use papertape_oauth::client::Secret;
///
/// let secret = Secret::new("hunter2");
/// assert!(!format!("{secret:?}").contains("hunter2"));
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text. The caller keeps it out of logs and errors.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
