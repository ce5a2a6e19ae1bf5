//! The model of the store's vectors against the configured one.

use crate::embed::{EmbedError, Embedder, Embedding, Identity};
use crate::store::StoreError;

/// A model that may make vectors for a store.
#[derive(Debug)]
pub(super) struct Model<'a> {
    pub(super) embedder: &'a dyn Embedder,
    /// Which it is, or why that is not known.
    pub(super) identity: Result<Identity, EmbedError>,
}

impl<'a> Model<'a> {
    /// Compares the model with that of the vectors in the store, if there are any.
    pub(super) async fn check(
        embedder: &'a dyn Embedder,
        known: Option<&Embedding>,
        reembed: bool,
    ) -> Result<Self, StoreError> {
        let identity = embedder.identify().await;
        if let (Ok(identity), Some(known), false) = (&identity, known, reembed)
            && let Some(difference) = identity.difference(known)
        {
            return Err(StoreError::Mismatch(format!(
                "{difference}: vectors of two models cannot be mixed. Index with --reembed to make all of them with \
                 the new model, or go back to the old one"
            )));
        }
        Ok(Self { embedder, identity })
    }
}
