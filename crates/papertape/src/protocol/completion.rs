//! Completion: what a half-typed argument may go on with.

use serde::{Deserialize, Serialize};

/// Whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    /// A prompt's.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Its name.
        name: String,
    },
    /// A resource template's.
    #[serde(rename = "ref/resource")]
    Resource {
        /// Its address, with the blanks.
        uri: String,
    },
}

/// What an argument may go on with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Completion {
    /// At most 100.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than these.
    #[serde(default)]
    pub has_more: bool,
}
