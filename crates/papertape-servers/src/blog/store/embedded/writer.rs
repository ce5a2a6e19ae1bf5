//! The writer that others see: its work is done on threads that may block.

use std::sync::{Arc, Mutex, PoisonError};

use super::Embedded;
use super::write::Changes;
use crate::blog::store::{Answer, Embedding, Entry, FileRecord, StoreError, Summary, VectorKey, Writer};

/// Changes, and where they are made.
pub(super) struct Writing {
    store: Embedded,
    changes: Arc<Mutex<Option<Changes>>>,
}

impl Writing {
    pub(super) fn new(store: Embedded, changes: Changes) -> Self {
        Self { store, changes: Arc::new(Mutex::new(Some(changes))) }
    }

    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Changes) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let changes = Arc::clone(&self.changes);
        self.store
            .blocking(move |_| {
                let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                changes.as_mut().map_or_else(|| Err(over()), change)
            })
            .await
    }
}

fn over() -> StoreError {
    StoreError::Other("this writer has come to its end".to_owned())
}

impl Writer for Writing {
    fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| changes.put(file, &chunks)))
    }

    fn touch(&mut self, file: FileRecord) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| {
            changes.touch(file);
            Ok(())
        }))
    }

    fn remove<'a>(&'a mut self, path: &'a str) -> Answer<'a, ()> {
        let path = path.to_owned();
        Box::pin(self.change(move |changes| changes.remove(&path)))
    }

    fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| changes.attach(vectors)))
    }

    fn set_embedding(&mut self, embedding: Option<Embedding>) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| changes.set_embedding(embedding)))
    }

    fn commit(self: Box<Self>) -> Answer<'static, Summary> {
        Box::pin(async move {
            let changes = Arc::clone(&self.changes);
            self.store
                .blocking(move |_| {
                    let changes = changes.lock().unwrap_or_else(PoisonError::into_inner).take();
                    changes.map_or_else(|| Err(over()), Changes::commit)
                })
                .await
        })
    }
}
