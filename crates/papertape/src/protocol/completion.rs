//! Completion of arguments.

use serde::{Deserialize, Serialize};

/// What the argument belongs to.
///
/// ```no_run
/// use papertape::Client;
/// use papertape::client::ClientError;
/// use papertape::protocol::Reference;
///
/// async fn complete(client: &Client) -> Result<(), ClientError> {
///     let prompt = Reference::Prompt { name: "summarise".to_owned() };
///     let completion = client.complete(prompt, "file", "no", serde_json::Map::new()).await?;
///     println!("{:?}", completion.values);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum Reference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Its name.
        name: String,
    },
    /// A resource template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// Its URI template.
        uri: String,
    },
}

/// Suggested values of an argument.
///
/// ```
/// use papertape::protocol::Completion;
///
/// let mut completion = Completion::default();
/// completion.values = vec!["notes.md".to_owned(), "north.md".to_owned()];
/// completion.total = Some(240);
/// completion.has_more = true;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct Completion {
    /// The values, at most 100.
    pub values: Vec<String>,
    /// How many values there are in total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more values.
    #[serde(default)]
    pub has_more: bool,
}
