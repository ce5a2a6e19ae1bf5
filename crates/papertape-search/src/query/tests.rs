//! Why vectors were not used, in the note of a search.

use std::fs;

use super::*;
use crate::corpus::folder::Folder;
use crate::embed::{EmbedError, EmbedFuture, Identity, Purpose};
use crate::index;
use crate::store::embedded::Embedded;

/// A model that fails after the first vectors, before it is judged.
#[derive(Debug)]
struct Dying;

impl Embedder for Dying {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async { Ok(Identity { model: "dying".into(), dimension: 2, digest: "d".into() }) })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            match texts {
                [text] if text.contains("lanterns") => Ok(vec![Ok(vec![0.6, 0.8])]),
                _ => Err(EmbedError::Unavailable("it went away".to_owned())),
            }
        })
    }

    fn batch(&self) -> usize {
        1
    }
}

#[tokio::test]
async fn a_model_that_failed_halfway_is_reported_as_failed() {
    let scratch = std::env::temp_dir().join(format!("papertape-halfway-{}", std::process::id()));
    let notes = scratch.join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("a.md"), "# A\n\nabout lanterns\n").unwrap();
    fs::write(notes.join("b.md"), "# B\n\nabout candles\n").unwrap();
    let (folder, store) = (
        Folder::open(&notes).unwrap(),
        Embedded::open_with_keys(&scratch.join("index"), &scratch.join("keys")).unwrap(),
    );
    let report = index::run(&folder, &store, Some(&Dying), &|_| {}).await.unwrap();
    assert_eq!((report.summary.vectors, report.summary.embedding.unwrap().judged_on), (1, 0));
    let searcher = Searcher::new(Arc::new(store), Some(Arc::new(Dying)));
    let note = async || searcher.search("candles", 5, &Filter::default()).await.unwrap().note.unwrap();
    assert_eq!(note().await, "semantic search is off: the vectors of the index are still being made");
    searcher.set_vector_failure(Some("it went away".to_owned()));
    assert_eq!(note().await, "semantic search is off: it went away");
    fs::remove_dir_all(scratch).unwrap();
}
