//! What is odd about a file is told by every run for as long as it is.

use std::fs;

use papertape_servers::blog::ingest::{Options, Report};
use papertape_servers::blog::store::Filter;

use crate::support::Desk;

/// One file of each kind that is odd, and one that is not.
fn odd() -> Desk {
    let desk = Desk::new();
    desk.write("fine.md", "# Fine\n\nNothing is odd here.\n");
    desk.write("head.md", "---\ntitle: [x\n---\nwords about otters\n");
    for (path, bytes) in [
        ("binary.md", &b"words\0and bytes\n"[..]),
        ("latin.md", b"# Espa\xf1a\n"),
        ("utf16.md", b"\xff\xfeh\0i\0x"),
    ] {
        fs::write(desk.notes().join(path), bytes).unwrap();
    }
    fs::File::create(desk.notes().join("large.md")).unwrap().set_len(1 << 33).unwrap();
    desk
}

/// The files that a run warned of.
fn warned(report: &Report) -> Vec<&str> {
    report.warnings.iter().map(|line| line.split(':').next().unwrap_or_default()).collect()
}

#[tokio::test]
async fn every_run_tells_what_is_odd_and_writes_nothing() {
    let desk = odd();
    let first = desk.run().await;
    assert_eq!(warned(&first), ["large.md", "binary.md", "head.md", "latin.md", "utf16.md"]);
    let digest = desk.store.digest().await.unwrap();
    for _ in 0..2 {
        let again = desk.run().await;
        assert_eq!(again.warnings, first.warnings);
        assert_eq!((again.unchanged, again.paths.len(), &again.summary), (5, 0, &first.summary));
        assert_eq!(desk.store.digest().await.unwrap(), digest);
    }
    assert_eq!(digest, desk.clean_digest().await);
    let full = desk.run_with(None, Options { full: true, ..Options::default() }).await.unwrap();
    assert_eq!(full.warnings, first.warnings);
    assert_eq!(desk.store.digest().await.unwrap(), digest);
}

#[tokio::test]
async fn nobody_needs_the_pen_to_tell_what_is_odd() {
    let desk = odd();
    let first = desk.run().await;
    let writer = papertape_servers::blog::store::Store::write(&desk.store).await.unwrap();
    assert_eq!(desk.run().await.warnings, first.warnings);
    drop(writer);
}

#[tokio::test]
async fn what_is_mended_is_not_told_any_more() {
    let desk = odd();
    desk.run().await;
    desk.write("latin.md", "# España\n");
    desk.write("fine.md", "+++\nbroken\n+++\nnow it is odd\n");
    fs::remove_file(desk.notes().join("large.md")).unwrap();
    let report = desk.run().await;
    assert_eq!(warned(&report), ["binary.md", "fine.md", "head.md", "utf16.md"]);
    assert_eq!((report.changed, report.unchanged), (2, 3));
    assert_eq!(desk.run().await.warnings, report.warnings);
    assert_eq!(desk.store.digest().await.unwrap(), desk.clean_digest().await);
}

#[tokio::test]
async fn what_is_not_told_one_by_one_is_counted_once() {
    let desk = Desk::new();
    for n in 0..250 {
        std::os::unix::fs::symlink("nowhere", desk.notes().join(format!("link{n}.md"))).unwrap();
    }
    for n in 0..30 {
        desk.write(&format!("date{n}.md"), "---\ndate: someday\n---\nwords\n");
    }
    let warnings = desk.run().await.warnings;
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100], "and 180 more warnings");
}

#[tokio::test]
async fn a_warning_of_a_date_says_which_day_counts() {
    let desk = Desk::new();
    desk.write("2024-05-01-hello.md", "---\ndate: someday\n---\nHello, otters.\n");
    desk.write("hello.md", "---\ndate: someday\n---\nHello, otters.\n");
    // Also for files that are as they were.
    for _ in 0..2 {
        let warnings = desk.run().await.warnings;
        assert!(warnings[0].contains("the day in its name counts, 2024-05-01"), "{warnings:?}");
        assert!(warnings[1].contains("since and until leave it out"), "{warnings:?}");
        assert_eq!(warnings.len(), 2);
    }
    let since = Filter { since: Some("2024-01-01".to_owned()), ..Filter::default() };
    let found = desk.words().search("otters", 5, &since).await.unwrap().hits;
    assert_eq!(
        found.iter().map(|hit| hit.chunk.source.as_str()).collect::<Vec<_>>(),
        ["2024-05-01-hello.md"]
    );
}
