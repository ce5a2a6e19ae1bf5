//! A text to a vector, if there is a model: in this process, at Ollama, or at a service that speaks OpenAI's words.

mod breaker;
mod check;
mod choice;
mod http;
mod local;
mod ollama;
mod openai;
mod pace;
mod prefix;
mod service;
mod sketch;

pub use self::breaker::Breaker;
pub use self::choice::{Choice, Options};
pub use self::local::Local;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::store::Embedding;

/// What an embedder's functions give.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, EmbedError>> + Send + 'a>>;

/// Makes vectors of texts.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Which model it is. May ask the service.
    fn identify(&self) -> Answer<'_, Identity>;

    /// A vector of length 1 for each text, in their order; for a text that the model will not have, why not.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> Answer<'a, Vec<Result<Vec<f32>, String>>>;

    /// How many texts to give at once, as far as is known now.
    fn batch(&self) -> usize;
}

/// What a text is for: some models want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be found.
    Document,
    /// To find.
    Query,
}

/// Which model it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As its maker calls it.
    pub model: String,
    /// How many numbers a vector has.
    pub dimension: u32,
    /// What tells two models of the same name apart.
    pub digest: String,
}

impl Identity {
    /// Whether a store's vectors are of this model. Not all digests of a model are equal: what a service that tells none is known
    /// by comes out a little different each time. So the store keeps the one it has as long as this is true.
    #[must_use]
    pub fn is_of(&self, stored: &Embedding) -> bool {
        self.model == stored.model
            && self.dimension == stored.dimension
            && sketch::alike(&self.digest, &stored.digest)
    }
}

/// Why there are no vectors now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// Nobody there, too slow, or failing: may be better later.
    #[error("{0}")]
    Unavailable(String),
    /// It says no, and will again: a wrong name, a wrong key.
    #[error("{0}")]
    Refused(String),
    /// What it sends makes no sense: the wrong number of vectors, another dimension than before.
    #[error("{0}")]
    Lying(String),
}

/// A short name for all of these together, which is another one if any of them is.
fn fingerprint(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(32).collect()
}
