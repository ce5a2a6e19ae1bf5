//! Why meaning is left out, as those who ask are told.

use std::fs;

use super::*;
use crate::blog::embed::{Answer, EmbedError, Identity, Purpose};
use crate::blog::folder::Folder;
use crate::blog::ingest;
use crate::blog::store::embedded::Embedded;

/// A model that dies after the first vectors, before anybody knows what they are worth.
#[derive(Debug)]
struct Dying;

impl Embedder for Dying {
    fn identify(&self) -> Answer<'_, Identity> {
        Box::pin(async { Ok(Identity { model: "dying".into(), dimension: 2, digest: "d".into() }) })
    }

    fn embed<'a>(&'a self, texts: &'a [String], _: Purpose) -> Answer<'a, Vec<Result<Vec<f32>, String>>> {
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
async fn a_model_that_failed_halfway_is_not_said_to_be_at_work() {
    let scratch = std::env::temp_dir().join(format!("papertape-halfway-{}", std::process::id()));
    let notes = scratch.join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("a.md"), "# A\n\nabout lanterns\n").unwrap();
    fs::write(notes.join("b.md"), "# B\n\nabout candles\n").unwrap();
    let (folder, store) = (
        Folder::open(&notes).unwrap(),
        Embedded::open_with_keys(&scratch.join("index"), &scratch.join("keys")).unwrap(),
    );
    let report = ingest::run(&folder, &store, Some(&Dying), &|_| {}).await.unwrap();
    assert_eq!((report.summary.vectors, report.summary.embedding.unwrap().calibrated_on), (1, 0));
    let library = Library::new(Arc::new(store), Some(Arc::new(Dying)));
    let note = async || library.search("candles", 5, &Filter::default()).await.unwrap().note.unwrap();
    assert_eq!(note().await, "semantic search is off: the vectors of the index are still being made");
    library.set_trouble(Some("it went away".to_owned()));
    assert_eq!(note().await, "semantic search is off: it went away");
    fs::remove_dir_all(scratch).unwrap();
}
