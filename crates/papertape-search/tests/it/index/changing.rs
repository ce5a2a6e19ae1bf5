//! Files that change while they are read, and runs that meet.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use papertape_search::index;
use papertape_search::store::StoreError;

use super::support::{Fixture, open, write};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_come_grow_and_go_during_runs_leave_no_trace_behind() {
    let fixture = Fixture::new();
    for n in 0..200 {
        fixture.write(&format!("calm{n}.md"), &format!("# Calm {n}\n\nNothing happens here.\n"));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let unrest = std::thread::spawn({
        let (stop, notes) = (Arc::clone(&stop), fixture.notes());
        move || {
            let mut n = 0_u64;
            while !stop.load(Ordering::SeqCst) {
                n += 1;
                let path = format!("wild{}.md", n % 20);
                match n % 3 {
                    0 => drop(fs::remove_file(notes.join(&path))),
                    1 => write(&notes, &path, &format!("# Wild {n}\n\n{}", "It grows. ".repeat(500))),
                    _ => write(&notes, &path, "# Wild\n"),
                }
            }
        }
    });
    for _ in 0..15 {
        let report = fixture.run().await;
        assert_eq!(report.warnings, [""; 0]);
    }
    stop.store(true, Ordering::SeqCst);
    unrest.join().unwrap();
    fixture.run().await;
    assert_eq!(fixture.store.digest().await.unwrap(), fixture.clean_digest().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_at_once_are_as_one() {
    let fixture = Fixture::new();
    for n in 0..300 {
        fixture.write(&format!("note{n}.md"), &format!("# Note {n}\n\nText.\n"));
    }
    // Another process would have a store of its own.
    let other = open(&fixture.index());
    let folder = fixture.folder();
    for round in 0..5 {
        fixture.write(&format!("note{round}.md"), "# Another\n");
        let (one, two) = tokio::join!(
            index::run(&folder, &fixture.store, None, &|_| {}),
            index::run(&folder, &other, None, &|_| {})
        );
        assert!(one.is_ok() || two.is_ok(), "{one:?} {two:?}");
        for outcome in [one, two] {
            if let Err(error) = outcome {
                assert!(matches!(error, StoreError::Locked { .. }), "{error}");
            }
        }
    }
    fixture.run().await;
    assert_eq!(fixture.store.digest().await.unwrap(), fixture.clean_digest().await);
}
