//! What changed in a folder, and only that, is what changes in the index.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use papertape_servers::blog::folder::Folder;
use papertape_servers::blog::ingest::{self, Options, Report};
use papertape_servers::blog::store::{Store, StoreError};

use crate::support::Desk;

fn counts(report: &Report) -> (u64, u64, u64, u64) {
    (report.added, report.changed, report.removed, report.unchanged)
}

fn three() -> Desk {
    let desk = Desk::new();
    desk.write("a.md", "# Apples\n\nThey are red.\n");
    desk.write("b/bread.md", "# Bread\n\nIt is baked.\n\n## Crust\n\nBrown and crisp.\n");
    desk.write("c.mdx", "# Coffee\n\nIt is hot.\n");
    desk
}

#[tokio::test]
async fn a_new_folder_is_read_and_found() {
    let desk = three();
    let report = desk.run().await;
    assert_eq!(counts(&report), (3, 0, 0, 0));
    assert_eq!(report.paths, ["a.md", "b/bread.md", "c.mdx"]);
    assert_eq!(report.summary.files, 3);
    assert_eq!(report.warnings, [""; 0]);
    assert_eq!(desk.sources("crisp crust").await, ["b/bread.md"]);
    assert_eq!(desk.sources("hot coffee").await, ["c.mdx"]);
}

#[tokio::test]
async fn only_what_changed_changes() {
    let desk = three();
    desk.run().await;
    let before = desk.store.chunks("b/bread.md").await.unwrap();
    desk.write("a.md", "# Apricots\n\nThey are orange.\n");
    desk.write("d.md", "# Dates\n\nThey are sweet.\n");
    fs::remove_file(desk.notes().join("c.mdx")).unwrap();
    let report = desk.run().await;
    assert_eq!(counts(&report), (1, 1, 1, 1));
    assert_eq!(report.paths, ["a.md", "c.mdx", "d.md"]);
    assert_eq!(desk.store.chunks("b/bread.md").await.unwrap(), before);
    assert_eq!(desk.sources("apples").await, [""; 0]);
    assert_eq!(desk.sources("coffee").await, [""; 0]);
    assert_eq!(desk.sources("orange apricots").await, ["a.md"]);
    assert_eq!(desk.store.digest().await.unwrap(), desk.clean_digest().await);
}

#[tokio::test]
async fn a_renamed_file_is_found_at_its_new_place_alone() {
    let desk = three();
    desk.run().await;
    fs::rename(desk.notes().join("a.md"), desk.notes().join("fruit.md")).unwrap();
    let report = desk.run().await;
    assert_eq!(counts(&report), (1, 0, 1, 2));
    assert_eq!(report.paths, ["a.md", "fruit.md"]);
    assert_eq!(desk.sources("apples").await, ["fruit.md"]);
}

#[tokio::test]
async fn three_runs_over_the_same_files_are_one_generation() {
    let desk = three();
    let first = desk.run().await.summary;
    let digest = desk.store.digest().await.unwrap();
    for _ in 0..2 {
        let report = desk.run().await;
        assert_eq!(counts(&report), (0, 0, 0, 3));
        assert_eq!(report.paths, [""; 0]);
        assert_eq!(report.summary, first);
        assert_eq!(desk.store.digest().await.unwrap(), digest);
    }
}

#[tokio::test]
async fn other_content_of_the_same_size_and_time_is_seen() {
    let desk = three();
    let path = desk.notes().join("a.md");
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    desk.run().await;
    desk.write("a.md", "# Apples\n\nThey are new.\n");
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let report = desk.run().await;
    assert_eq!(counts(&report), (0, 1, 0, 2));
    assert_eq!(desk.sources("new apples").await, ["a.md"]);
    assert_eq!(desk.sources("red").await, [""; 0]);
}

#[tokio::test]
async fn a_file_that_is_written_right_after_it_was_read_is_read_again() {
    let desk = three();
    // As fast as it goes, many times: writes of the same size, each right after a run.
    for round in 10..40 {
        desk.write("a.md", &format!("# Apples\n\nThey are number {round}.\n"));
        desk.run().await;
        assert_eq!(desk.sources(&format!("apples number {round}")).await, ["a.md"], "{round}");
        let text = &desk.store.chunks("a.md").await.unwrap()[0].text;
        assert!(text.contains(&round.to_string()), "{round}: {text}");
    }
}

#[tokio::test]
async fn a_file_that_only_looks_different_is_no_news() {
    let desk = three();
    desk.run().await;
    let generation = desk.generation().await;
    let file = File::options().write(true).open(desk.notes().join("a.md")).unwrap();
    file.set_modified(SystemTime::now()).unwrap();
    let report = desk.run().await;
    assert_eq!(counts(&report), (0, 0, 0, 3));
    assert_eq!(desk.generation().await, generation);
}

#[tokio::test]
async fn a_folder_without_files_is_an_index_without_files() {
    let desk = Desk::new();
    let report = desk.run().await;
    assert_eq!(counts(&report), (0, 0, 0, 0));
    assert_eq!(desk.store.summary().await.unwrap().files, 0);
    assert_eq!(desk.sources("anything").await, [""; 0]);
    assert_eq!(desk.run().await.summary.generation, report.summary.generation);
}

#[tokio::test]
async fn a_full_run_cuts_every_file_anew_and_changes_nothing() {
    let desk = three();
    desk.run().await;
    let digest = desk.store.digest().await.unwrap();
    let report = desk.run_with(None, Options { full: true, ..Options::default() }).await.unwrap();
    assert_eq!(counts(&report), (0, 0, 0, 3));
    assert_eq!(desk.store.digest().await.unwrap(), digest);
}

#[tokio::test]
async fn a_file_that_cannot_be_had_costs_itself_and_a_warning() {
    let desk = three();
    desk.run().await;
    // It is too large now.
    File::options().write(true).open(desk.notes().join("a.md")).unwrap().set_len(1 << 33).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        desk.notes().join("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    fs::write(desk.notes().join("binary.md"), b"\0\xff\xfe\x00words\0\n").unwrap();
    let report = desk.run().await;
    assert_eq!((report.removed, report.unchanged), (1, 2));
    assert!(report.warnings.iter().any(|warning| warning.contains("a.md")), "{:?}", report.warnings);
    assert!(report.warnings.iter().any(|warning| warning.contains("pipe.md")), "{:?}", report.warnings);
    assert_eq!(desk.sources("apples").await, [""; 0]);
    assert_eq!(desk.sources("coffee").await, ["c.mdx"]);
}

#[tokio::test]
async fn somebody_who_writes_keeps_others_from_it() {
    let desk = three();
    desk.run().await;
    let writer = desk.store.write().await.unwrap();
    assert_eq!(desk.run().await.unchanged, 3, "nothing to write is no matter");
    desk.write("d.md", "# Dates\n");
    let refused = desk.run_with(None, Options::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(writer);
    assert_eq!(desk.run().await.added, 1);
}

#[tokio::test]
async fn two_thousand_files_are_indexed_and_one_of_them_changes() {
    let desk = Desk::new();
    for n in 0..2_000 {
        let text = format!(
            "---\ntags: [t{}]\n---\n# Note {n}\n\nIt is about thing{n}.\n\n## More\n\nAnd so on.\n",
            n % 7
        );
        desk.write(&format!("d{}/note{n}.md", n % 13), &text);
    }
    let report = desk.run().await;
    assert_eq!(counts(&report), (2_000, 0, 0, 0));
    desk.write("d0/note13.md", "# Note 13\n\nIt is about somethingelse.\n");
    let report = desk.run().await;
    assert_eq!(counts(&report), (0, 1, 0, 1_999));
    assert_eq!(report.paths, ["d0/note13.md"]);
    assert_eq!(desk.sources("somethingelse").await, ["d0/note13.md"]);
    assert_eq!(desk.sources("thing13").await, [""; 0]);
    assert_eq!(desk.store.digest().await.unwrap(), desk.clean_digest().await);
}

#[tokio::test]
async fn what_is_in_a_folder_that_cannot_be_read_is_found_as_it_was() {
    let desk = three();
    let long = format!("{}deep.md", format!("{}/", "d".repeat(200)).repeat(10));
    desk.write(&long, "# Deep\n\nA well.\n");
    desk.run().await;
    // Moved to where its name is so long that the system does not look into the last folders, whoever asks.
    let far = format!("{}notes", format!("{}/", "f".repeat(200)).repeat(11));
    let place = desk.index().with_file_name("far").join(far);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(desk.notes(), &place).unwrap();
    fs::remove_file(place.join("a.md")).unwrap();
    let folder = Folder::open(&place).unwrap();
    let report = ingest::run(&folder, &desk.store, None, &|_| {}).await.unwrap();
    assert_eq!(counts(&report), (0, 0, 1, 3));
    assert_eq!(desk.sources("well").await, [long.as_str()]);
    let [warning] = report.warnings.as_slice() else { panic!("{:?}", report.warnings) };
    assert!(
        warning.ends_with(
            "it cannot be read (file name too long); what was found there before is found as it was"
        ),
        "{warning}"
    );
    assert!(warning.starts_with("ddd"), "{warning}");
    // It is back, and so is its end.
    fs::rename(&place, desk.notes()).unwrap();
    fs::remove_file(desk.notes().join(&long)).unwrap();
    assert_eq!(counts(&desk.run().await), (0, 0, 1, 2));
}
