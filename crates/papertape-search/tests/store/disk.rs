//! Disks that are full and calls that fail: the old generation stays, nothing is left behind, and nothing claims success.

use std::path::Path;
use std::process::{Command, Stdio};

use papertape_search::store::{Store, StoreError, VectorKey};

use crate::crash::{Victims, before_and_after, begin, block_on, copy, recovers, writer};
use crate::damage::{ask, some_index};
use crate::support::{Folder, Random, fill, open};
use crate::tools::{SmallDisk, Traced, has_own_mounts, traced, wait_for_strace};

/// As strace names them: not every machine has each.
const OPEN: &str = "?open,openat";
const RENAME: &str = "?rename,?renameat,?renameat2";

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_full_disk_changes_nothing() {
    if !has_own_mounts("disk::a_full_disk_changes_nothing") {
        return;
    }
    let folder = Folder::new();
    let path = folder.path().join("disk");
    let disk = SmallDisk::mount(&path);
    let index = disk.0.join("index");
    let store = open(&index);
    fill(&store, &[("a.md", "words that stay")]).await.unwrap();
    let (digest, before) = (store.digest().await.unwrap(), names(&index));
    let text: Vec<String> =
        (0..200).map(|number| format!("paragraph {number} of a longer text, with a few words")).collect();
    let text = text.join("\n\n");
    let mut failures = 0;
    for free in (0..).map(|step| step * 4096) {
        disk.fill_but(free);
        let result = fill(&store, &[("b.md", &text)]).await;
        disk.empty();
        match result {
            Ok(summary) => {
                assert_eq!(summary.files, 2);
                break;
            }
            Err(StoreError::Io { source, .. }) => {
                assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{source}");
                failures += 1;
            }
            Err(error) => panic!("with {free} bytes free: {error:?}"),
        }
        assert_eq!(store.digest().await.unwrap(), digest, "with {free} bytes free");
        assert_eq!(open(&index).verify().await.unwrap().generation, 1);
        assert_eq!(names(&index), before, "with {free} bytes free");
    }
    assert!(failures > 10, "{failures}");
    store.verify().await.unwrap();
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_is_an_error_and_can_be_read() {
    if !has_own_mounts("disk::a_disk_that_cannot_be_written_is_an_error_and_can_be_read") {
        return;
    }
    let folder = Folder::new();
    let path = folder.path().join("disk");
    let disk = SmallDisk::mount(&path);
    let store = open(&disk.0.join("index"));
    let nothing = open(&disk.0.join("nothing"));
    fill(&store, &[("a.md", "words that stay")]).await.unwrap();
    let read_only = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(disk.0).status().unwrap();
    assert!(read_only.success());
    assert!(matches!(store.write().await.err(), Some(StoreError::Io { .. })));
    assert!(matches!(nothing.write().await.err(), Some(StoreError::Io { .. })));
    assert!(matches!(nothing.summary().await.err(), Some(StoreError::Missing { .. })));
    open(&disk.0.join("index")).verify().await.unwrap();
}

/// A writer is killed, the disk is full when the next one comes, and then there is room again.
#[tokio::test]
async fn a_disk_that_is_full_after_a_writer_was_killed_changes_nothing_either() {
    if !has_own_mounts("disk::a_disk_that_is_full_after_a_writer_was_killed_changes_nothing_either") {
        return;
    }
    let folder = Folder::new();
    let (_, after) = before_and_after(&folder).await;
    let path = folder.path().join("disk");
    let disk = SmallDisk::mount(&path);
    let index = disk.0.join("index");
    let kills: usize = std::env::var("PAPERTAPE_KILLS").map_or(12, |kills| kills.parse().unwrap());
    let start = folder.path().join("before");
    let victims = Victims::fast(&start, &index);
    let mut random = Random(5);
    let mut full = 0;
    for number in 0..kills {
        // The first dies before anything is durable, and the disk has no room at all: that cannot succeed.
        let (free, killed) = if number == 0 {
            begin(&start, &index);
            let options = ["-e", "trace=fsync", "-e", "inject=fsync:signal=KILL:when=1"];
            let killed = traced(&mut writer(&index), &options, &folder.path().join("log"));
            assert!(!killed.success, "{killed:?}");
            (0, "at its first fsync".to_owned())
        } else {
            let instant = victims.kill(&mut random);
            (random.below(40) * 4096, format!("after {instant:?}"))
        };
        disk.fill_but(free);
        let what = format!("writer {number} killed {killed}, then {free} bytes free");
        let next = writer(&index).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&next.stderr);
        assert!(!said.contains("panicked"), "{what}: {said}");
        let digest = open(&index).digest().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        if next.status.success() {
            assert_eq!(digest, after, "{what}");
        } else {
            assert!(said.contains("No space left"), "{what}: {said}");
            full += 1;
        }
        disk.empty();
        recovers(&index, after, &what).await;
    }
    assert!(full > 0, "the disk was never full");
}

/// Runs a writer in which the n-th call of a kind fails, in each of its threads.
fn with_failing(call: &str, error: &str, number: u32, folder: &Folder) -> Traced {
    let inject = format!("inject={call}:error={error}:when={number}");
    let options = ["-e", &format!("trace={call}"), "-e", &inject];
    traced(&mut writer(&folder.index()), &options, &folder.path().join("log"))
}

/// What fails in writers: of a kind of call those that are about the index, or so many of them.
async fn survives(call: &str, error: &str) {
    let folder = Folder::new();
    let (_, after) = before_and_after(&folder).await;
    let index = folder.index();
    let start = folder.path().join("before");
    begin(&start, &index);
    let options = ["-y", "-e", &format!("trace={call}")];
    let whole = traced(&mut writer(&index), &options, &folder.path().join("log"));
    assert!(whole.success, "{}", whole.stderr);
    let mut numbers = Vec::from_iter(whole.numbers(&index));
    let most = std::env::var("PAPERTAPE_FAULTS").map_or(10, |most| most.parse().unwrap());
    let mut random = Random(numbers.len() as u64);
    while numbers.len() > most {
        numbers.remove(random.below(numbers.len()));
    }
    let mut failed = 0;
    for number in numbers {
        begin(&start, &index);
        let run = with_failing(call, error, number, &folder);
        let what = format!("{call} number {number}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{what}");
        let digest = recovers(&index, after, &what).await;
        if run.success {
            assert_eq!(digest, after, "{what}");
        } else if run.injected() > 0 {
            failed += 1;
        }
    }
    assert!(failed > 0, "no {call} failed");
}

#[tokio::test]
async fn no_success_is_claimed_after_a_failed_fsync() {
    survives("fsync", "EIO").await;
}

#[tokio::test]
async fn a_failed_rename_leaves_the_old_generation() {
    survives(RENAME, "EIO").await;
}

#[tokio::test]
async fn a_failed_write_leaves_the_old_generation() {
    survives("write", "ENOSPC").await;
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_leaves_the_old_generation() {
    survives(OPEN, "EIO").await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_leaves_the_old_generation() {
    survives("read,pread64", "EIO").await;
}

/// What says to this binary that it is to ask, and where the index is.
const ASKED: &str = "PAPERTAPE_STORE_ASKED";

/// A test like any other, except in a process whose calls fail: searches until it succeeds.
#[test]
#[expect(clippy::print_stdout, reason = "the parent process reads it")]
fn asker() {
    let Ok(folder) = std::env::var(ASKED) else { return };
    wait_for_strace();
    let store = open(Path::new(&folder));
    block_on(async {
        for _ in 0..20 {
            match ask(&store).await {
                Ok(results) => {
                    println!("says {:?}", VectorKey::of(&format!("{results:?}")));
                    std::process::exit(0);
                }
                Err(error) => println!("fails {error:?}"),
            }
        }
    });
    std::process::exit(1);
}

/// Every call about the index fails once, when it is first searched: that is reported, and the next result is right.
#[tokio::test]
async fn a_search_that_cannot_read_says_so_and_the_next_one_is_right() {
    let folder = Folder::new();
    let (index, log) = (folder.index(), folder.path().join("log"));
    let expected = ask(&some_index(&index).await).await.unwrap();
    let expected = format!("says {:?}", VectorKey::of(&format!("{expected:?}")));
    let mut asker = Command::new(std::env::current_exe().unwrap());
    asker.args(["--exact", "disk::asker", "--nocapture"]).env(ASKED, &index);
    for call in [OPEN, "read", "pread64", "statx"] {
        let trace = format!("trace={call}");
        let whole = traced(&mut asker, &["-y", "-e", &trace], &log);
        assert_eq!(whole.stdout, [expected.as_str()]);
        let mut failed = 0;
        for number in whole.numbers(&index) {
            let inject = format!("inject={call}:error=EIO:when={number}");
            let run = traced(&mut asker, &["-e", &trace, "-e", &inject], &log);
            let what = format!("{call} number {number}: {:?} {}", run.stdout, run.stderr);
            assert!(run.success && run.stderr.is_empty(), "{what}");
            let (last, failures) = run.stdout.split_last().unwrap();
            assert_eq!(*last, expected, "{what}");
            for failure in failures {
                let clear = failure.starts_with("fails Io {") && failure.contains("Input/output error");
                assert!(clear, "{what}");
            }
            failed += failures.len();
        }
        assert!(failed > 0, "no {call} failed");
    }
}

/// As on some network disks. Without a lock there is no writing: two writers would remove each other's files.
#[tokio::test]
async fn without_locks_writing_fails() {
    let folder = Folder::new();
    let (before, _) = before_and_after(&folder).await;
    let index = folder.index();
    copy(&folder.path().join("before"), &index);
    for error in ["ENOLCK", "ENOSYS", "EOPNOTSUPP"] {
        let inject = format!("inject=flock:error={error}");
        let options = ["-e", "trace=flock", "-e", &inject];
        let run = traced(&mut writer(&index), &options, &folder.path().join("log"));
        assert!(!run.success && run.injected() > 0, "{run:?}");
        assert!(run.stderr.contains("without locks"), "{error}: {}", run.stderr);
        assert!(run.stderr.contains("local disk"), "{error}: {}", run.stderr);
        let store = open(&index);
        store.verify().await.unwrap();
        assert_eq!(store.digest().await.unwrap(), before);
    }
}
