//! What changed in a directory, and only that, is what changes in the index.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use papertape_search::corpus::folder::Folder;
use papertape_search::index::{self, Options, Report};
use papertape_search::store::{Store, StoreError};

use super::support::Fixture;

fn counts(report: &Report) -> (u64, u64, u64, u64) {
    (report.added, report.changed, report.removed, report.unchanged)
}

fn three() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("a.md", "# Apples\n\nThey are red.\n");
    fixture.write("b/bread.md", "# Bread\n\nIt is baked.\n\n## Crust\n\nBrown and crisp.\n");
    fixture.write("c.mdx", "# Coffee\n\nIt is hot.\n");
    fixture
}

#[tokio::test]
async fn a_new_folder_is_read_and_found() {
    let fixture = three();
    let report = fixture.run().await;
    assert_eq!(counts(&report), (3, 0, 0, 0));
    assert_eq!(report.paths, ["a.md", "b/bread.md", "c.mdx"]);
    assert_eq!(report.summary.files, 3);
    assert_eq!(report.warnings, [""; 0]);
    assert_eq!(fixture.sources("crisp crust").await, ["b/bread.md"]);
    assert_eq!(fixture.sources("hot coffee").await, ["c.mdx"]);
}

#[tokio::test]
async fn chunks_know_their_lines() {
    let fixture = three();
    fixture.write("b/bread.md", "---\ntitle: Bread\n---\n\nIt is baked.\n\n## Crust\n\nBrown and crisp.\n");
    fixture.run().await;
    let lines = async || {
        let chunks = fixture.store.chunks("b/bread.md").await.unwrap();
        chunks.iter().map(|chunk| (chunk.lines.start, chunk.lines.end)).collect::<Vec<_>>()
    };
    assert_eq!(lines().await, [(5, 5), (7, 9)]);
    fixture.write(
        "b/bread.md",
        "---\ntitle: Bread\ntags: food\n---\n\nIt is baked.\n\n## Crust\n\nBrown and crisp.\n",
    );
    fixture.run().await;
    assert_eq!(lines().await, [(6, 6), (8, 10)]);
}

#[tokio::test]
async fn only_what_changed_changes() {
    let fixture = three();
    fixture.run().await;
    let before = fixture.store.chunks("b/bread.md").await.unwrap();
    fixture.write("a.md", "# Apricots\n\nThey are orange.\n");
    fixture.write("d.md", "# Dates\n\nThey are sweet.\n");
    fs::remove_file(fixture.notes().join("c.mdx")).unwrap();
    let report = fixture.run().await;
    assert_eq!(counts(&report), (1, 1, 1, 1));
    assert_eq!(report.paths, ["a.md", "c.mdx", "d.md"]);
    assert_eq!(fixture.store.chunks("b/bread.md").await.unwrap(), before);
    assert_eq!(fixture.sources("apples").await, [""; 0]);
    assert_eq!(fixture.sources("coffee").await, [""; 0]);
    assert_eq!(fixture.sources("orange apricots").await, ["a.md"]);
    assert_eq!(fixture.store.digest().await.unwrap(), fixture.clean_digest().await);
}

#[tokio::test]
async fn a_renamed_file_is_found_at_its_new_place_alone() {
    let fixture = three();
    fixture.run().await;
    fs::rename(fixture.notes().join("a.md"), fixture.notes().join("fruit.md")).unwrap();
    let report = fixture.run().await;
    assert_eq!(counts(&report), (1, 0, 1, 2));
    assert_eq!(report.paths, ["a.md", "fruit.md"]);
    assert_eq!(fixture.sources("apples").await, ["fruit.md"]);
}

#[tokio::test]
async fn three_runs_over_the_same_files_are_one_generation() {
    let fixture = three();
    let first = fixture.run().await.summary;
    let digest = fixture.store.digest().await.unwrap();
    for _ in 0..2 {
        let report = fixture.run().await;
        assert_eq!(counts(&report), (0, 0, 0, 3));
        assert_eq!(report.paths, [""; 0]);
        assert_eq!(report.summary, first);
        assert_eq!(fixture.store.digest().await.unwrap(), digest);
    }
}

#[tokio::test]
async fn other_content_of_the_same_size_and_time_is_seen() {
    let fixture = three();
    let path = fixture.notes().join("a.md");
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    fixture.run().await;
    fixture.write("a.md", "# Apples\n\nThey are new.\n");
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let report = fixture.run().await;
    assert_eq!(counts(&report), (0, 1, 0, 2));
    assert_eq!(fixture.sources("new apples").await, ["a.md"]);
    assert_eq!(fixture.sources("red").await, [""; 0]);
}

#[tokio::test]
async fn a_file_that_is_written_right_after_it_was_read_is_read_again() {
    let fixture = three();
    // As fast as it goes, many times: writes of the same size, each right after a run.
    for round in 10..40 {
        fixture.write("a.md", &format!("# Apples\n\nThey are number {round}.\n"));
        fixture.run().await;
        assert_eq!(fixture.sources(&format!("apples number {round}")).await, ["a.md"], "{round}");
        let text = &fixture.store.chunks("a.md").await.unwrap()[0].text;
        assert!(text.contains(&round.to_string()), "{round}: {text}");
    }
}

#[tokio::test]
async fn a_new_stamp_alone_is_not_a_change() {
    let fixture = three();
    fixture.run().await;
    let generation = fixture.generation().await;
    let file = File::options().write(true).open(fixture.notes().join("a.md")).unwrap();
    file.set_modified(SystemTime::now()).unwrap();
    let report = fixture.run().await;
    assert_eq!(counts(&report), (0, 0, 0, 3));
    assert_eq!(fixture.generation().await, generation);
}

#[tokio::test]
async fn a_folder_without_files_is_an_index_without_files() {
    let fixture = Fixture::new();
    let report = fixture.run().await;
    assert_eq!(counts(&report), (0, 0, 0, 0));
    assert_eq!(fixture.store.summary().await.unwrap().files, 0);
    assert_eq!(fixture.sources("anything").await, [""; 0]);
    assert_eq!(fixture.run().await.summary.generation, report.summary.generation);
}

#[tokio::test]
async fn a_full_run_cuts_every_file_anew_and_changes_nothing() {
    let fixture = three();
    fixture.run().await;
    let digest = fixture.store.digest().await.unwrap();
    let report = fixture.run_with(None, Options { full: true, ..Options::default() }).await.unwrap();
    assert_eq!(counts(&report), (0, 0, 0, 3));
    assert_eq!(fixture.store.digest().await.unwrap(), digest);
}

#[tokio::test]
async fn a_file_that_cannot_be_had_costs_itself_and_a_warning() {
    let fixture = three();
    fixture.run().await;
    // It is too large now.
    File::options().write(true).open(fixture.notes().join("a.md")).unwrap().set_len(1 << 33).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.notes().join("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    fs::write(fixture.notes().join("binary.md"), b"\0\xff\xfe\x00words\0\n").unwrap();
    let report = fixture.run().await;
    assert_eq!((report.removed, report.unchanged), (1, 2));
    assert!(report.warnings.iter().any(|warning| warning.contains("a.md")), "{:?}", report.warnings);
    assert!(report.warnings.iter().any(|warning| warning.contains("pipe.md")), "{:?}", report.warnings);
    assert_eq!(fixture.sources("apples").await, [""; 0]);
    assert_eq!(fixture.sources("coffee").await, ["c.mdx"]);
}

#[tokio::test]
async fn a_writer_locks_out_others() {
    let fixture = three();
    fixture.run().await;
    let writer = fixture.store.write().await.unwrap();
    assert_eq!(fixture.run().await.unchanged, 3, "nothing to write, no error");
    fixture.write("d.md", "# Dates\n");
    let refused = fixture.run_with(None, Options::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(writer);
    assert_eq!(fixture.run().await.added, 1);
}

#[tokio::test]
async fn two_thousand_files_are_indexed_and_one_of_them_changes() {
    let fixture = Fixture::new();
    for n in 0..2_000 {
        let text = format!(
            "---\ntags: [t{}]\n---\n# Note {n}\n\nIt is about thing{n}.\n\n## More\n\nAnd so on.\n",
            n % 7
        );
        fixture.write(&format!("d{}/note{n}.md", n % 13), &text);
    }
    let report = fixture.run().await;
    assert_eq!(counts(&report), (2_000, 0, 0, 0));
    fixture.write("d0/note13.md", "# Note 13\n\nIt is about somethingelse.\n");
    let report = fixture.run().await;
    assert_eq!(counts(&report), (0, 1, 0, 1_999));
    assert_eq!(report.paths, ["d0/note13.md"]);
    assert_eq!(fixture.sources("somethingelse").await, ["d0/note13.md"]);
    assert_eq!(fixture.sources("thing13").await, [""; 0]);
    assert_eq!(fixture.store.digest().await.unwrap(), fixture.clean_digest().await);
}

#[tokio::test]
async fn what_is_in_a_folder_that_cannot_be_read_is_found_as_it_was() {
    let fixture = three();
    let long = format!("{}deep.md", format!("{}/", "d".repeat(200)).repeat(10));
    fixture.write(&long, "# Deep\n\nA well.\n");
    fixture.run().await;
    // Moved to where its name is so long that the system does not look into the last directories.
    let far = format!("{}notes", format!("{}/", "f".repeat(200)).repeat(11));
    let place = fixture.index().with_file_name("far").join(far);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(fixture.notes(), &place).unwrap();
    fs::remove_file(place.join("a.md")).unwrap();
    let folder = Folder::open(&place).unwrap();
    let report = index::run(&folder, &fixture.store, None, &|_| {}).await.unwrap();
    assert_eq!(counts(&report), (0, 0, 1, 3));
    assert_eq!(fixture.sources("well").await, [long.as_str()]);
    let [warning] = report.warnings.as_slice() else { panic!("{:?}", report.warnings) };
    assert!(
        warning.ends_with(
            "it cannot be read (file name too long); what was found there before is found as it was"
        ),
        "{warning}"
    );
    assert!(warning.starts_with("ddd"), "{warning}");
    // It is back, and so is its end.
    fs::rename(&place, fixture.notes()).unwrap();
    fs::remove_file(fixture.notes().join(&long)).unwrap();
    assert_eq!(counts(&fixture.run().await), (0, 0, 1, 2));
}
