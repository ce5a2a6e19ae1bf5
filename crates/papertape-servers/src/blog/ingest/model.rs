//! The model of the store's vectors, held against the one that is at hand.

use crate::blog::embed::{EmbedError, Embedder, Identity, Purpose};
use crate::blog::store::{Embedding, StoreError};

/// A model that may make vectors for a store.
#[derive(Debug)]
pub(super) struct Model<'a> {
    pub(super) embedder: &'a dyn Embedder,
    /// Which it is, or why it does not say so.
    pub(super) identity: Result<Identity, EmbedError>,
}

impl<'a> Model<'a> {
    /// Asks a model for its name and holds it against that of the vectors that are there.
    pub(super) async fn meet(
        embedder: &'a dyn Embedder,
        known: Option<&Embedding>,
        reembed: bool,
    ) -> Result<Self, StoreError> {
        let identity = embedder.identify().await;
        if let (Ok(identity), Some(known), false) = (&identity, known, reembed)
            && let Some(difference) = difference(known, identity)
        {
            return Err(StoreError::Mismatch(format!(
                "{difference}: vectors of two models cannot be mixed. Index with --reembed to make all of them with \
                 the new model, or go back to the old one"
            )));
        }
        Ok(Self { embedder, identity })
    }
}

/// What tells the model of the store's vectors from another, if anything does.
pub(in crate::blog) fn difference(known: &Embedding, identity: &Identity) -> Option<String> {
    if known.dimension != identity.dimension {
        return Some(format!(
            "the index has vectors of {} numbers by {}, and {} makes vectors of {}",
            known.dimension, known.model, identity.model, identity.dimension
        ));
    }
    if known.model != identity.model {
        return Some(format!("the index has vectors by {}, not by {}", known.model, identity.model));
    }
    (!identity.is_of(known)).then(|| {
        format!(
            "the index has vectors by another {} ({}) than the one that is there now ({})",
            known.model,
            short(&known.digest),
            short(&identity.digest)
        )
    })
}

/// Texts to vectors that are fit to be kept or asked with: as many as texts, each of the model's dimension.
pub(in crate::blog) async fn embed(
    embedder: &dyn Embedder,
    identity: &Identity,
    texts: &[String],
    purpose: Purpose,
) -> Result<Vec<Result<Vec<f32>, String>>, EmbedError> {
    let answers = embedder.embed(texts, purpose).await?;
    if answers.len() != texts.len() {
        let (sent, got) = (texts.len(), answers.len());
        return Err(EmbedError::Lying(format!("{} gave {got} vectors for {sent} texts", identity.model)));
    }
    let dimension = usize::try_from(identity.dimension).unwrap_or(usize::MAX);
    if let Some(other) = answers.iter().flatten().find(|vector| vector.len() != dimension) {
        return Err(EmbedError::Lying(format!(
            "{} gave a vector of {} numbers where it gave {dimension} before",
            identity.model,
            other.len()
        )));
    }
    Ok(answers)
}

/// Enough of a digest to tell it from others.
fn short(digest: &str) -> String {
    digest.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::difference;
    use crate::blog::embed::Identity;
    use crate::blog::store::Embedding;

    fn known() -> Embedding {
        Embedding {
            model: "nomic".to_owned(),
            dimension: 768,
            digest: "0a109f422b47e3a3".to_owned(),
            weight: 0.5,
            calibrated_on: 9,
        }
    }

    fn identity(model: &str, dimension: u32, digest: &str) -> Identity {
        Identity { model: model.to_owned(), dimension, digest: digest.to_owned() }
    }

    #[test]
    fn the_same_model_is_the_same_whatever_its_vectors_are_worth() {
        assert_eq!(difference(&known(), &identity("nomic", 768, "0a109f422b47e3a3")), None);
    }

    #[test]
    fn every_difference_is_named_with_both_sides() {
        for (other, expected) in [
            (identity("minilm", 384, "x"), ["768", "384", "nomic", "minilm"]),
            (identity("nomic", 1024, "0a109f422b47e3a3"), ["768", "1024", "nomic", "nomic"]),
            (identity("minilm", 768, "x"), ["nomic", "minilm", "by", "not"]),
            (identity("nomic", 768, "ffff"), ["nomic", "0a109f422b47", "ffff", "another"]),
        ] {
            let told = difference(&known(), &other).unwrap();
            assert!(expected.iter().all(|word| told.contains(word)), "{told}");
        }
    }
}
