//! The ranks of a heading's section among others.

use std::fs;

use super::{Embedder, Identity, Purpose, ranks};
use crate::corpus::folder::Folder;
use crate::embed::EmbedFuture;
use crate::index;
use crate::store::embedded::Embedded;

/// A model to which all texts are alike.
#[derive(Debug)]
struct Constant;

impl Embedder for Constant {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async { Ok(Identity { model: "constant".into(), dimension: 2, digest: "d".into() }) })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move { Ok(vec![Ok(vec![0.6, 0.8]); texts.len()]) })
    }

    fn batch(&self) -> usize {
        8
    }
}

#[tokio::test]
async fn a_rival_that_quotes_the_heading_has_no_bonus_that_the_target_lacks() {
    let scratch = std::env::temp_dir().join(format!("papertape-judgement-{}", std::process::id()));
    let notes = scratch.join("notes");
    fs::create_dir_all(&notes).unwrap();
    let target = "# Garden\n\n## Purple kiwi\n\nThe kiwi was ripe and purple, a kiwi as purple as plums.\n";
    fs::write(notes.join("target.md"), target).unwrap();
    let rival = format!("A bird saw a purple kiwi there. {}\n", "Then it flew to other trees. ".repeat(12));
    fs::write(notes.join("rival.md"), rival).unwrap();
    for number in 0..8 {
        fs::write(notes.join(format!("other{number}.md")), "Pears grow on trees, and so do apples.\n")
            .unwrap();
    }
    let (folder, store) = (
        Folder::open(&notes).unwrap(),
        Embedded::open_with_keys(&scratch.join("index"), &scratch.join("keys")).unwrap(),
    );
    index::run(&folder, &store, None, &|_| {}).await.unwrap();
    let identity = Constant.identify().await.unwrap();
    let found = ranks(&store, &Constant, &identity).await.unwrap();
    assert_eq!(found.iter().map(|ranks| ranks.words).collect::<Vec<_>>(), [Some(1)]);
    fs::remove_dir_all(scratch).unwrap();
}
