//! What nobody waits for is done, once and in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::blog::embed::{Answer, Embedder, Identity, Purpose};
use crate::blog::store::Chunk;

#[test]
fn only_the_first_run_makes_anybody_wait() {
    let reading = Progress::Reading { done: 1, of: 2 };
    assert_eq!(after(&Work::Beginning, &reading, false), Some(Work::Reading { done: 1, of: 2 }));
    assert_eq!(after(&Work::Failed(String::new()), &Progress::Scanning, false), Some(Work::Beginning));
    for progress in [Progress::Scanning, reading, Progress::Writing, Progress::Calibrating] {
        assert_eq!(after(&Work::Done, &progress, false), None);
    }
}

#[test]
fn nothing_is_read_from_an_index_before_it_is_known_whose_it_is() {
    let failed = || Work::Failed("the folder is gone".into());
    let refused = || Work::Refused("it is of another folder".into());
    assert_eq!(after(&failed(), &Progress::Scanning, true), Some(Work::Checking));
    // Whoever asks meanwhile need not wait for the same refusal.
    assert_eq!(after(&refused(), &Progress::Scanning, true), None);
    let reading = Progress::Reading { done: 0, of: 2 };
    for before in [Work::Checking, refused()] {
        assert_eq!(after(&before, &reading, true), Some(Work::Reading { done: 0, of: 2 }));
        assert!(before.objection().is_some());
    }
    assert_eq!(troubled(&refused(), failed()), refused());
    assert_eq!(troubled(&Work::Checking, failed()), failed());
    assert_eq!(troubled(&failed(), refused()), refused());
}

#[test]
fn what_was_said_is_not_said_again_and_neither_is_how_much_more_there_is() {
    let lines = |odd: &str, more: usize| -> Vec<String> {
        let lines = (0..99).map(|n| format!("{n}.md is odd")).chain([odd.to_owned()]);
        lines.chain([format!("and {more} more warnings")]).collect()
    };
    let first = lines("a.md is odd", 180);
    assert_eq!(news(&first, &[]), first);
    assert!(news(&first, &first).is_empty());
    assert!(news(&lines("a.md is odd", 150), &first).is_empty());
    assert_eq!(news(&lines("b.md is odd", 150), &first), ["b.md is odd", "and 150 more warnings"]);
    let few = ["a.md is odd".to_owned()];
    assert_eq!(news(&few, &[]), few);
}

/// A model that is down for the first calls.
#[derive(Debug, Default)]
struct Late {
    calls: AtomicUsize,
}

impl Embedder for Late {
    fn batch(&self) -> usize {
        8
    }

    fn identify(&self) -> Answer<'_, Identity> {
        let down = self.calls.fetch_add(1, Ordering::SeqCst) < 3;
        Box::pin(async move {
            match down {
                true => Err(EmbedError::Unavailable("it is down".into())),
                false => Ok(Identity { model: "late".into(), dimension: 2, digest: "d".into() }),
            }
        })
    }

    fn embed<'a>(&'a self, texts: &'a [String], _: Purpose) -> Answer<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move { Ok(texts.iter().map(|_| Ok(vec![0.6, 0.8])).collect()) })
    }
}

#[tokio::test(start_paused = true)]
async fn vectors_are_made_as_soon_as_the_model_is_there() {
    let scratch = std::env::temp_dir().join(format!("papertape-upkeep-{}", std::process::id()));
    let content = scratch.join("content");
    std::fs::create_dir_all(&content).unwrap();
    std::fs::write(content.join("a.md"), "# A\n\nb\n").unwrap();
    let options =
        Options { content: Some(content.clone()), index: Some(scratch.join("index")), ..Options::default() };
    let store = options.embedded().unwrap();
    let library = Library::new(Arc::new(store), Some(Arc::new(Late::default())));
    let work = watch::Sender::new(Work::default());
    // Nobody watches the folder, so that it ends when all is done.
    index(&content, &options, &library, &work).await;
    let summary = library.summary().await.unwrap();
    std::fs::remove_dir_all(&scratch).unwrap();
    assert_eq!((summary.chunks, summary.vectors), (1, 1));
}

/// A model that will not have some texts, and counts how often it is offered them.
#[derive(Debug, Default)]
struct Picky {
    offered: AtomicUsize,
}

impl Embedder for Picky {
    fn batch(&self) -> usize {
        8
    }

    fn identify(&self) -> Answer<'_, Identity> {
        Box::pin(async { Ok(Identity { model: "picky".into(), dimension: 2, digest: "d".into() }) })
    }

    fn embed<'a>(&'a self, texts: &'a [String], _: Purpose) -> Answer<'a, Vec<Result<Vec<f32>, String>>> {
        let answer = |text: &String| {
            if text.contains("never") {
                self.offered.fetch_add(1, Ordering::SeqCst);
                return Err("it is too much".to_owned());
            }
            Ok(vec![0.6, 0.8])
        };
        Box::pin(async move { Ok(texts.iter().map(answer).collect()) })
    }
}

/// Waits until so many chunks have vectors.
async fn has_vectors(library: &Library, count: u64) {
    let mut generations = library.store().generations();
    while library.summary().await.is_ok_and(|summary| summary.vectors < count) {
        generations.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_text_that_was_refused_is_offered_again_when_it_is_another_one() {
    let scratch = std::env::temp_dir().join(format!("papertape-refused-{}", std::process::id()));
    let content = scratch.join("content");
    std::fs::create_dir_all(&content).unwrap();
    let write = |name: &str, text: &str| std::fs::write(content.join(name), text).unwrap();
    write("a.md", "# A\n\nfine\n");
    write("b.md", "# B\n\nnever\n");
    let options = Options {
        content: Some(content.clone()),
        index: Some(scratch.join("index")),
        watch: true,
        ..Options::default()
    };
    let model = Arc::new(Picky::default());
    let library = Library::new(Arc::new(options.embedded().unwrap()), Some(model.clone()));
    // There must be an index to wait at.
    ingest::run(&Folder::open(&content).unwrap(), &**library.store(), None, &|_| ()).await.unwrap();
    let work = watch::Sender::new(Work::default());
    let mut tasks = JoinSet::new();
    tasks.spawn({
        let (content, options, library) = (content.clone(), options.clone(), library.clone());
        async move { index(&content, &options, &library, &work).await }
    });
    has_vectors(&library, 1).await;
    for (count, name) in [(2, "c.md"), (3, "d.md"), (4, "e.md")] {
        write(name, &format!("# {name}\n\nfine, too\n"));
        has_vectors(&library, count).await;
        assert_eq!(model.offered.load(Ordering::SeqCst), 1, "{name}");
    }
    write("b.md", "# B\n\nnever, in other words\n");
    let mut generations = library.store().generations();
    let is_other = |chunk: Chunk| chunk.text.contains("other words");
    while !library.store().chunk("b.md", 0).await.unwrap().is_some_and(is_other) {
        generations.changed().await.unwrap();
    }
    write("f.md", "# F\n\nfine again\n");
    has_vectors(&library, 5).await;
    assert_eq!(model.offered.load(Ordering::SeqCst), 2);
    tasks.shutdown().await;
    std::fs::remove_dir_all(&scratch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_is_replaced_again_and_again_gives_way() {
    let mut rivals = Rivals::default();
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let pause = rivals.pause();
        pauses.push(pause.as_secs());
        // The other one waits as long.
        tokio::time::advance(2 * pause + Duration::from_secs(1)).await;
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    tokio::time::advance(4 * HOPELESS_PAUSE).await;
    assert_eq!(rivals.pause(), Duration::ZERO, "that was long ago");
}
