//! The index follows its directory, and queries wait for it within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lexical::{Rivals, not_logged};
use super::vectors::REJECTED_PAUSE;
use super::*;
use crate::corpus::folder::Folder;
use crate::embed::{EmbedError, EmbedFuture, Embedder, Identity, Purpose};
use crate::index;
use crate::store::Chunk;

#[test]
fn warnings_are_logged_once_and_so_is_their_count() {
    let lines = |last: &str, more: usize| -> Vec<String> {
        let lines = (0..99).map(|n| format!("{n}.md is not UTF-8")).chain([last.to_owned()]);
        lines.chain([format!("and {more} more warnings")]).collect()
    };
    let first = lines("a.md is not UTF-8", 180);
    assert_eq!(not_logged(&first, &[]), first);
    assert!(not_logged(&first, &first).is_empty());
    assert!(not_logged(&lines("a.md is not UTF-8", 150), &first).is_empty());
    assert_eq!(
        not_logged(&lines("b.md is not UTF-8", 150), &first),
        ["b.md is not UTF-8", "and 150 more warnings"]
    );
    let few = ["a.md is not UTF-8".to_owned()];
    assert_eq!(not_logged(&few, &[]), few);
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

    fn identify(&self) -> EmbedFuture<'_, Identity> {
        let down = self.calls.fetch_add(1, Ordering::SeqCst) < 3;
        Box::pin(async move {
            match down {
                true => Err(EmbedError::Unavailable("it is down".into())),
                false => Ok(Identity { model: "late".into(), dimension: 2, digest: "d".into() }),
            }
        })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move { Ok(texts.iter().map(|_| Ok(vec![0.6, 0.8])).collect()) })
    }
}

#[tokio::test(start_paused = true)]
async fn vectors_are_made_as_soon_as_the_model_is_there() {
    let scratch = std::env::temp_dir().join(format!("papertape-maintain-{}", std::process::id()));
    let content = scratch.join("content");
    std::fs::create_dir_all(&content).unwrap();
    std::fs::write(content.join("a.md"), "# A\n\nb\n").unwrap();
    let options =
        Options { content: Some(content.clone()), index: Some(scratch.join("index")), ..Options::default() };
    let store = options.embedded().unwrap();
    let searcher = Searcher::new(Arc::new(store), Some(Arc::new(Late::default())));
    let state = watch::Sender::new(IndexState::default());
    // The directory is not watched, so that this ends when all is done.
    follow(&options, &searcher, &state).await;
    let summary = searcher.summary().await.unwrap();
    std::fs::remove_dir_all(&scratch).unwrap();
    assert_eq!((summary.chunks, summary.vectors), (1, 1));
}

/// A model that rejects some texts, and counts how often it gets them.
#[derive(Debug, Default)]
struct Picky {
    requests: AtomicUsize,
}

impl Embedder for Picky {
    fn batch(&self) -> usize {
        8
    }

    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async { Ok(Identity { model: "picky".into(), dimension: 2, digest: "d".into() }) })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        let vector = |text: &String| {
            if text.contains("never") {
                self.requests.fetch_add(1, Ordering::SeqCst);
                return Err("it is too much".to_owned());
            }
            Ok(vec![0.6, 0.8])
        };
        Box::pin(async move { Ok(texts.iter().map(vector).collect()) })
    }
}

/// Waits until so many chunks have vectors.
async fn has_vectors(searcher: &Searcher, count: u64) {
    let mut generations = searcher.store().generations();
    while searcher.summary().await.is_ok_and(|summary| summary.vectors < count) {
        generations.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_rejected_text_is_embedded_again_when_it_changes() {
    let scratch = std::env::temp_dir().join(format!("papertape-rejected-{}", std::process::id()));
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
    let searcher = Searcher::new(Arc::new(options.embedded().unwrap()), Some(model.clone()));
    // There must be an index to wait at.
    index::run(&Folder::open(&content).unwrap(), &**searcher.store(), None, &|_| ()).await.unwrap();
    let state = watch::Sender::new(IndexState::default());
    let mut tasks = JoinSet::new();
    tasks.spawn({
        let (options, searcher) = (options.clone(), searcher.clone());
        async move { follow(&options, &searcher, &state).await }
    });
    has_vectors(&searcher, 1).await;
    for (count, name) in [(2, "c.md"), (3, "d.md"), (4, "e.md")] {
        write(name, &format!("# {name}\n\nfine, too\n"));
        has_vectors(&searcher, count).await;
        assert_eq!(model.requests.load(Ordering::SeqCst), 1, "{name}");
    }
    write("b.md", "# B\n\nnever, in other words\n");
    let mut generations = searcher.store().generations();
    let is_other = |chunk: Chunk| chunk.text.contains("other words");
    while !searcher.store().chunk("b.md", 0).await.unwrap().is_some_and(is_other) {
        generations.changed().await.unwrap();
    }
    write("f.md", "# F\n\nfine again\n");
    has_vectors(&searcher, 5).await;
    assert_eq!(model.requests.load(Ordering::SeqCst), 2);
    tasks.shutdown().await;
    std::fs::remove_dir_all(&scratch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_index_that_is_replaced_again_and_again_is_left_longer_each_time() {
    let mut rivals = Rivals::default();
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let pause = rivals.pause();
        pauses.push(pause.as_secs());
        // The other one waits as long.
        tokio::time::advance(2 * pause + Duration::from_secs(1)).await;
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    tokio::time::advance(4 * REJECTED_PAUSE).await;
    assert_eq!(rivals.pause(), Duration::ZERO, "that was long ago");
}

#[tokio::test(start_paused = true)]
async fn a_query_waits_for_the_index_but_not_for_ever() {
    let nowhere = Options { index: Some("/no/such/index".into()), ..Options::default() };
    let (sender, state) = watch::channel(IndexState::default());
    let index = LiveIndex {
        searcher: nowhere.open().unwrap(),
        state,
        queried: Arc::default(),
        freshness_wait: FRESHNESS_WAIT,
        _tasks: Arc::default(),
    };
    let began = Instant::now();
    assert_eq!(index.ready(|_, _| ()).await.unwrap().state, IndexState::Comparing);
    assert!(began.elapsed() >= FIRST_INDEX_WAIT);
    let waiting = tokio::spawn({
        let index = index.clone();
        async move { index.ready(|_, _| ()).await.unwrap().state }
    });
    tokio::task::yield_now().await;
    let failed = IndexState::Failed("there is no directory".into());
    sender.send_replace(failed.clone());
    assert_eq!(waiting.await.unwrap(), failed);
}

#[test]
fn messages_while_the_index_is_made() {
    let missing = StoreError::Missing { place: "x".into() };
    let reading = IndexState::Reading { done: 3, of: 10 };
    assert_eq!(reading.explain(&missing), "the index is being made (3 of 10 files): try again in a moment");
    let comparing = IndexState::Comparing;
    assert_eq!(comparing.explain(&missing), "the index is being made: try again in a moment");
    assert!(IndexState::Ready.explain(&missing).starts_with("there is no index yet"));
    let failed = IndexState::Failed("there is no directory \"x\"".into());
    assert_eq!(failed.explain(&missing), "there is no directory \"x\"");
    let other = StoreError::Unreachable("it is down".into());
    assert_eq!(reading.explain(&other), "the database cannot be reached: it is down");
    assert_eq!(IndexState::Ready.note(), None);
    assert_eq!(reading.note().unwrap(), "the index is being brought up to date (3 of 10 files)");
    assert_eq!(failed.note().unwrap(), "the index may be out of date: there is no directory \"x\"");
}

#[test]
fn queries_wait_for_the_first_run_only() {
    let reading = Progress::Reading { done: 1, of: 2 };
    assert_eq!(IndexState::Comparing.after(&reading, false), Some(IndexState::Reading { done: 1, of: 2 }));
    let failed = IndexState::Failed(String::new());
    assert_eq!(failed.after(&Progress::Scanning, false), Some(IndexState::Comparing));
    for progress in [Progress::Scanning, reading, Progress::Writing, Progress::Judging] {
        assert_eq!(IndexState::Ready.after(&progress, false), None);
    }
}

#[test]
fn an_index_is_not_read_before_its_folder_is_known() {
    let failed = || IndexState::Failed("the directory is gone".into());
    let other = || IndexState::OtherFolder("it is of another directory".into());
    assert_eq!(failed().after(&Progress::Scanning, true), Some(IndexState::Checking));
    // A query need not wait for the same error again.
    assert_eq!(other().after(&Progress::Scanning, true), None);
    let reading = Progress::Reading { done: 0, of: 2 };
    for before in [IndexState::Checking, other()] {
        assert_eq!(before.after(&reading, true), Some(IndexState::Reading { done: 0, of: 2 }));
        assert!(before.objection().is_some());
    }
    assert_eq!(other().after_failure(failed()), other());
    assert_eq!(IndexState::Checking.after_failure(failed()), failed());
    assert_eq!(failed().after_failure(other()), other());
}
