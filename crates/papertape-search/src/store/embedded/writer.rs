//! The store's [`Writer`](crate::store::Writer): its work runs on the blocking pool.

use std::sync::{Arc, Mutex};

use super::Embedded;
use super::write::Changes;
use crate::store::{Embedding, Entry, FileRecord, StoreError, StoreFuture, Summary, VectorKey, Writer};
use crate::sync::lock;

/// Pending changes and their store.
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
                let mut changes = lock(&changes);
                changes.as_mut().map_or_else(|| Err(over()), change)
            })
            .await
    }
}

fn over() -> StoreError {
    StoreError::Other("this writer has come to its end".to_owned())
}

impl Writer for Writing {
    fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> StoreFuture<'_, ()> {
        Box::pin(self.change(move |changes| changes.put(file, &chunks)))
    }

    fn touch(&mut self, file: FileRecord) -> StoreFuture<'_, ()> {
        Box::pin(self.change(move |changes| {
            changes.touch(file);
            Ok(())
        }))
    }

    fn remove<'a>(&'a mut self, path: &'a str) -> StoreFuture<'a, ()> {
        let path = path.to_owned();
        Box::pin(self.change(move |changes| changes.remove(&path)))
    }

    fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> StoreFuture<'_, ()> {
        Box::pin(self.change(move |changes| changes.attach(vectors)))
    }

    fn set_embedding(&mut self, embedding: Option<Embedding>) -> StoreFuture<'_, ()> {
        Box::pin(self.change(move |changes| changes.set_embedding(embedding)))
    }

    fn commit(self: Box<Self>) -> StoreFuture<'static, Summary> {
        Box::pin(async move {
            let changes = Arc::clone(&self.changes);
            self.store
                .blocking(move |_| {
                    let changes = lock(&changes).take();
                    changes.map_or_else(|| Err(over()), Changes::commit)
                })
                .await
        })
    }
}
