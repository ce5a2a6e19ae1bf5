//! The directory of a sentence-transformers model to an embedder in this process.

mod bert;
mod distance;
mod files;
mod math;
mod model;
mod settings;
mod weights;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OnceCell, Semaphore};

use self::model::Model;
use super::{EmbedError, EmbedFuture, Embedder, Identity, Purpose};

/// How many calls are worked on at once: one that indexes and one that embeds a query. Each uses every core.
const AT_ONCE: usize = 2;

/// A model in this process, loaded when it is first needed.
pub struct Local {
    root: PathBuf,
    model: OnceCell<Arc<Model>>,
    places: Arc<Semaphore>,
}

impl Local {
    /// The model in this directory. Nothing is read yet.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), model: OnceCell::new(), places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    async fn model(&self) -> Result<&Arc<Model>, EmbedError> {
        let load = || async {
            let root = self.root.clone();
            let loaded = self.work(move || Model::load(&root)).await?;
            loaded.map(Arc::new).map_err(|why| {
                let name = model::name_of(&self.root);
                EmbedError::Rejected(format!("the model in the directory {name} cannot be used: {why}"))
            })
        };
        self.model.get_or_try_init(load).await
    }

    /// Runs something long on another thread. Its permit is released when it is done, also if the caller is cancelled.
    async fn work<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EmbedError> {
        let failed = || {
            let name = model::name_of(&self.root);
            EmbedError::Rejected(format!(
                "the model in the directory {name} panicked; is it a sentence-transformers model?"
            ))
        };
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| failed())?;
        let work = move || {
            let done = what();
            drop(place);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| failed())
    }
}

impl Embedder for Local {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async { Ok(self.model().await?.identity().clone()) })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            let model = Arc::clone(self.model().await?);
            let texts = texts.to_vec();
            self.work(move || model.embed(&texts, purpose)).await?
        })
    }

    fn batch(&self) -> usize {
        // Enough for many cores to share, and done within a second or two on few.
        32
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("root", &self.root).finish_non_exhaustive()
    }
}
