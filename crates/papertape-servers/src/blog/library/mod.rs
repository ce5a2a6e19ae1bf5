//! A question to hits, whatever is broken.

use std::sync::Arc;

use super::embed::Embedder;
use super::store::{Filter, Hit, Store, StoreError};

/// A store and, perhaps, a model: what answers questions.
#[derive(Debug, Clone)]
pub struct Library {
    store: Arc<dyn Store>,
    embedder: Option<Arc<dyn Embedder>>,
}

/// Which lists the hits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Words alone.
    Lexical,
    /// Words and meaning.
    Hybrid,
}

/// What a question got.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Which lists they come from.
    pub mode: Mode,
    /// Why meaning was left out, if a model is configured and it was.
    pub note: Option<String>,
}

impl Library {
    /// What answers questions.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { store, embedder }
    }

    /// Where its chunks are.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Its model.
    #[must_use]
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// The best chunks for a question. A model that does not answer within a second is left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn search(
        &self,
        _question: &str,
        _top_k: usize,
        _filter: &Filter,
    ) -> Result<Answered, StoreError> {
        Err(StoreError::Other("not yet".to_owned()))
    }
}
