//! Which model makes vectors, and whether it is the one that made those of an index.

use super::{EmbedError, Embedder, Purpose, sketch};

/// Which model it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The model's name.
    pub model: String,
    /// The length of its vectors.
    pub dimension: u32,
    /// Distinguishes two models of the same name.
    pub digest: String,
}

/// The model that made the vectors of an index, and whether searches use them.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// The model's name.
    pub model: String,
    /// The length of its vectors.
    pub dimension: u32,
    /// Distinguishes two models of the same name.
    pub digest: String,
    /// Whether the model knows the language of the texts. If not, search is lexical.
    pub knows_language: bool,
    /// The number of chunks when that was judged; 0 before.
    pub judged_on: u64,
}

impl Identity {
    /// Whether an index's vectors are of this model. The digest of a service that reports none is derived from a vector,
    /// which varies a little from call to call, so that digests are compared by similarity and the index keeps its own.
    #[must_use]
    pub fn is_of(&self, stored: &Embedding) -> bool {
        self.model == stored.model
            && self.dimension == stored.dimension
            && sketch::alike(&self.digest, &stored.digest)
    }

    /// How this model differs from the one that made an index's vectors, if it does.
    pub(crate) fn difference(&self, stored: &Embedding) -> Option<String> {
        if stored.dimension != self.dimension {
            return Some(format!(
                "the index has vectors of {} numbers by {}, and {} makes vectors of {}",
                stored.dimension, stored.model, self.model, self.dimension
            ));
        }
        if stored.model != self.model {
            return Some(format!("the index has vectors by {}, not by {}", stored.model, self.model));
        }
        (!self.is_of(stored)).then(|| {
            format!(
                "the index has vectors by another {} ({}) than the one that is there now ({})",
                stored.model,
                short(&stored.digest),
                short(&self.digest)
            )
        })
    }

    /// Embeds texts, and checks that there are as many vectors as texts, each of this model's dimension.
    pub(crate) async fn embed(
        &self,
        embedder: &dyn Embedder,
        texts: &[String],
        purpose: Purpose,
    ) -> Result<Vec<Result<Vec<f32>, String>>, EmbedError> {
        let vectors = embedder.embed(texts, purpose).await?;
        if vectors.len() != texts.len() {
            let (sent, got) = (texts.len(), vectors.len());
            return Err(EmbedError::InvalidResponse(format!(
                "{} gave {got} vectors for {sent} texts",
                self.model
            )));
        }
        let dimension = usize::try_from(self.dimension).unwrap_or(usize::MAX);
        if let Some(other) = vectors.iter().flatten().find(|vector| vector.len() != dimension) {
            return Err(EmbedError::InvalidResponse(format!(
                "{} gave a vector of {} numbers where it gave {dimension} before",
                self.model,
                other.len()
            )));
        }
        Ok(vectors)
    }
}

/// Enough of a digest to distinguish it from others.
fn short(digest: &str) -> String {
    digest.chars().take(40).collect()
}
