//! Every run repeats the warnings about a file until it is fixed.

use std::fs;

use papertape_search::index::{Options, Report};
use papertape_search::store::Filter;

use super::support::Fixture;

/// One file for each kind of warning, and one without.
fn files_with_warnings() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("fine.md", "# Fine\n\nNothing is wrong here.\n");
    fixture.write("head.md", "---\ntitle: [x\n---\nwords about otters\n");
    for (path, bytes) in [
        ("binary.md", &b"words\0and bytes\n"[..]),
        ("latin.md", b"# Espa\xf1a\n"),
        ("utf16.md", b"\xff\xfeh\0i\0x"),
    ] {
        fs::write(fixture.notes().join(path), bytes).unwrap();
    }
    fs::File::create(fixture.notes().join("large.md")).unwrap().set_len(1 << 33).unwrap();
    fixture
}

/// The files that a run warned of.
fn warned(report: &Report) -> Vec<&str> {
    report.warnings.iter().map(|line| line.split(':').next().unwrap_or_default()).collect()
}

#[tokio::test]
async fn runs_repeat_warnings_and_write_nothing() {
    let fixture = files_with_warnings();
    let first = fixture.run().await;
    assert_eq!(warned(&first), ["large.md", "binary.md", "head.md", "latin.md", "utf16.md"]);
    let digest = fixture.store.digest().await.unwrap();
    for _ in 0..2 {
        let again = fixture.run().await;
        assert_eq!(again.warnings, first.warnings);
        assert_eq!((again.unchanged, again.paths.len(), &again.summary), (5, 0, &first.summary));
        assert_eq!(fixture.store.digest().await.unwrap(), digest);
    }
    assert_eq!(digest, fixture.clean_digest().await);
    let full = fixture.run_with(None, Options { full: true, ..Options::default() }).await.unwrap();
    assert_eq!(full.warnings, first.warnings);
    assert_eq!(fixture.store.digest().await.unwrap(), digest);
}

#[tokio::test]
async fn warnings_need_no_write_lock() {
    let fixture = files_with_warnings();
    let first = fixture.run().await;
    let writer = papertape_search::store::Store::write(&fixture.store).await.unwrap();
    assert_eq!(fixture.run().await.warnings, first.warnings);
    drop(writer);
}

#[tokio::test]
async fn a_fixed_file_has_no_warning() {
    let fixture = files_with_warnings();
    fixture.run().await;
    fixture.write("latin.md", "# España\n");
    fixture.write("fine.md", "+++\nbroken\n+++\nnow it is invalid\n");
    fs::remove_file(fixture.notes().join("large.md")).unwrap();
    let report = fixture.run().await;
    assert_eq!(warned(&report), ["binary.md", "fine.md", "head.md", "utf16.md"]);
    assert_eq!((report.changed, report.unchanged), (2, 3));
    assert_eq!(fixture.run().await.warnings, report.warnings);
    assert_eq!(fixture.store.digest().await.unwrap(), fixture.clean_digest().await);
}

#[tokio::test]
async fn warnings_beyond_the_limit_are_counted_once() {
    let fixture = Fixture::new();
    for n in 0..250 {
        std::os::unix::fs::symlink("nowhere", fixture.notes().join(format!("link{n}.md"))).unwrap();
    }
    for n in 0..30 {
        fixture.write(&format!("date{n}.md"), "---\ndate: someday\n---\nwords\n");
    }
    let warnings = fixture.run().await.warnings;
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100], "and 180 more warnings");
}

#[tokio::test]
async fn a_warning_about_a_date_names_the_date_used() {
    let fixture = Fixture::new();
    fixture.write("2024-05-01-hello.md", "---\ndate: someday\n---\nHello, otters.\n");
    fixture.write("hello.md", "---\ndate: someday\n---\nHello, otters.\n");
    // Also for files that are as they were.
    for _ in 0..2 {
        let warnings = fixture.run().await.warnings;
        assert!(warnings[0].contains("the day in its name counts, 2024-05-01"), "{warnings:?}");
        assert!(warnings[1].contains("since and until leave it out"), "{warnings:?}");
        assert_eq!(warnings.len(), 2);
    }
    let since = Filter { since: Some("2024-01-01".to_owned()), ..Filter::default() };
    let found = fixture.lexical().search("otters", 5, &since).await.unwrap().hits;
    assert_eq!(
        found.iter().map(|hit| hit.chunk.source.as_str()).collect::<Vec<_>>(),
        ["2024-05-01-hello.md"]
    );
}
