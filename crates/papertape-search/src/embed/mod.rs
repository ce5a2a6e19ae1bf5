//! A text to a vector, if there is a model: in this process, at Ollama, or at an OpenAI-compatible embeddings endpoint.

mod batch_size;
mod choice;
mod circuit_breaker;
mod http;
mod identity;
#[cfg(feature = "local-models")]
mod local;
mod ollama;
mod openai;
mod prefix;
mod service;
mod sketch;
mod validate;

pub use self::choice::{Choice, Options};
pub use self::circuit_breaker::CircuitBreaker;
pub use self::identity::{Embedding, Identity};
#[cfg(feature = "local-models")]
pub use self::local::Local;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// What the methods of an [`Embedder`] return.
pub type EmbedFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, EmbedError>> + Send + 'a>>;

/// Makes vectors of texts.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Which model it is. May send a request to the service.
    fn identify(&self) -> EmbedFuture<'_, Identity>;

    /// A vector of length 1 for each text, in their order; for a text that the model rejects, why.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>>;

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

/// Why there are no vectors now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// Unreachable, too slow, or failing: may work later.
    #[error("{0}")]
    Unavailable(String),
    /// The service rejects the request and will again: an unknown model, a wrong key.
    #[error("{0}")]
    Rejected(String),
    /// This build leaves out what it needs.
    #[error("{0}")]
    Unsupported(String),
    /// An invalid response: the wrong number of vectors, another dimension than before.
    #[error("{0}")]
    InvalidResponse(String),
}

/// A short name for all of these together, which is another one if any of them is.
fn fingerprint(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(32).collect()
}
