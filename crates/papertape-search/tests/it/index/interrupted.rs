//! Runs that end in the middle: the index is the one before or the one after, and the next run completes it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use papertape_search::corpus::folder::Folder;
use papertape_search::index;
use papertape_search::store::{Store, StoreError};
use tokio::sync::Notify;

use super::models::Numbers;
use super::support::{Fixture, open};

fn many(count: usize) -> Fixture {
    let fixture = Fixture::new();
    for n in 1..=count {
        fixture.write(&format!("note{n}.md"), &format!("# Note {n}\n\nIt is about thing{n}.\n"));
    }
    fixture
}

/// Runs until something was shown for the n-th time, and then no more. False, if it came to its end.
async fn run_until(fixture: &Fixture, model: &Numbers, n: usize) -> bool {
    let (seen, enough) = (std::sync::atomic::AtomicUsize::new(0), Arc::new(Notify::new()));
    let count = |_| {
        if seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1 == n {
            enough.notify_one();
        }
    };
    let folder = fixture.folder();
    loop {
        let report = tokio::select! {
            biased;
            () = enough.notified() => return true,
            report = index::run(&folder, &fixture.store, Some(model), &count) => report,
        };
        match report {
            Ok(_) => return false,
            // What was dropped in the middle of a commit ends a moment later.
            Err(StoreError::Locked { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_dropped_anywhere_never_was_or_was_complete() {
    let fixture = many(700);
    let model = Numbers::new();
    let mut n = 1;
    while run_until(&fixture, &model, n).await {
        match open(&fixture.index()).verify().await {
            Ok(summary) => assert_eq!(summary.files, 700, "half of a pass, after {n}"),
            Err(StoreError::Missing { .. }) => {}
            Err(error) => panic!("after {n}: {error}"),
        }
        n += 1;
        assert!(n < 100, "it comes to no end");
    }
    let summary = fixture.store.summary().await.unwrap();
    assert_eq!(summary.vectors, summary.chunks);
    fixture.store.verify().await.unwrap();
}

#[tokio::test]
async fn vectors_of_rounds_before_an_interruption_are_kept() {
    let fixture = many(2_500);
    let model = Numbers::new();
    let mut n = 10;
    while fixture.store.summary().await.map_or(0, |summary| summary.vectors) == 0 {
        assert!(run_until(&fixture, &model, n).await, "it came to its end before it was stopped");
        n += 2;
    }
    let kept = fixture.store.summary().await.unwrap().vectors;
    assert!(kept > 0 && kept < 2_500, "{kept}");
    let fresh = Numbers::new();
    let summary = fixture.embed(&fresh).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    assert!(fresh.seen() < 2_500, "what was kept is not made again: {}", fresh.seen());
}

const NOTES: &str = "PAPERTAPE_TEST_NOTES";
const INDEX: &str = "PAPERTAPE_TEST_INDEX";

/// What the test below kills: it indexes, and says how far it is.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the parent process reads it")]
async fn indexing_process() {
    let (Ok(notes), Ok(index)) = (std::env::var(NOTES), std::env::var(INDEX)) else { return };
    let folder = Folder::open(notes.as_ref()).unwrap();
    let store = open(index.as_ref());
    let model = Numbers::new();
    index::run(&folder, &store, Some(&model), &|progress| println!("at {progress:?}")).await.unwrap();
}

#[tokio::test]
async fn a_process_that_is_killed_leaves_an_index_that_the_next_one_completes() {
    let fixture = many(700);
    let mut completed = false;
    let mut n = 1;
    while !completed {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "index::interrupted::indexing_process", "--nocapture"])
            .env(NOTES, fixture.notes())
            .env(INDEX, fixture.index())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let steps = lines.map_while(Result::ok).filter(|line| line.contains("at ")).take(n).count();
        child.kill().unwrap();
        child.wait().unwrap();
        completed = steps < n;
        match open(&fixture.index()).verify().await {
            Ok(summary) => assert_eq!(summary.files, 700),
            Err(StoreError::Missing { .. }) => assert!(!completed),
            Err(error) => panic!("killed after {n}: {error}"),
        }
        n += 1;
        assert!(n < 100, "it comes to no end");
    }
    let summary = fixture.store.summary().await.unwrap();
    assert_eq!(summary.vectors, summary.chunks);
    let whole = many(700);
    whole.embed(&Numbers::new()).await;
    assert_eq!(fixture.store.digest().await.unwrap(), whole.store.digest().await.unwrap());
}
