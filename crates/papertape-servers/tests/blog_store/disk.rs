//! Disks that are full and calls that fail: the old generation stays, nothing is left behind, and nothing claims success.

use std::path::Path;
use std::process::{Command, Stdio};

use papertape_servers::blog::store::{Store, StoreError};

use crate::crash::{before_and_after, copy, recovers, writer};
use crate::support::{Folder, fill, open};

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A small disk of its own; none if this process may not have one.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(path)
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0).status().unwrap();
    }
}

#[tokio::test]
async fn a_full_disk_changes_nothing() {
    let folder = Folder::new();
    let path = folder.path().join("disk");
    let Some(disk) = SmallDisk::mount(&path) else { return };
    let index = disk.0.join("index");
    let store = open(&index);
    fill(&store, &[("a.md", "words that stay")]).await.unwrap();
    let (digest, before) = (store.digest().await.unwrap(), names(&index));
    let text: Vec<String> =
        (0..200).map(|number| format!("paragraph {number} of a longer text, with a few words")).collect();
    let text = text.join("\n\n");
    let mut failures = 0;
    for free in (0..).map(|step| step * 4096) {
        let filler = disk.0.join("filler");
        let mut room = 1024 * 1024;
        while std::fs::write(&filler, vec![1; room]).is_err() {
            room -= 4096;
        }
        std::fs::write(&filler, vec![1; room.saturating_sub(free)]).unwrap();
        let result = fill(&store, &[("b.md", &text)]).await;
        std::fs::remove_file(&filler).unwrap();
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
    let folder = Folder::new();
    let path = folder.path().join("disk");
    let Some(disk) = SmallDisk::mount(&path) else { return };
    let store = open(&disk.0.join("index"));
    let nothing = open(&disk.0.join("nothing"));
    fill(&store, &[("a.md", "words that stay")]).await.unwrap();
    let read_only = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0).status().unwrap();
    assert!(read_only.success());
    assert!(matches!(store.write().await.err(), Some(StoreError::Io { .. })));
    assert!(matches!(nothing.write().await.err(), Some(StoreError::Io { .. })));
    assert!(matches!(nothing.summary().await.err(), Some(StoreError::Missing { .. })));
    open(&disk.0.join("index")).verify().await.unwrap();
}

/// Runs a writer in which the n-th call of a kind fails. Whether the writer said that it had succeeded, if it ran at all.
fn with_failing(call: &str, error: &str, number: u32, index: &Path) -> Option<bool> {
    let plain = writer(index);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:error={error}:when={number}"), "--"]);
    command.arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().ok().map(|status| status.success())
}

/// Each thread of the writer has its own count of calls, so that a number stands for several places.
async fn survives(call: &str, error: &str, most: u32) {
    let folder = Folder::new();
    let (_, after) = before_and_after(&folder).await;
    let index = folder.index();
    let mut failed = 0;
    for number in 1..=most {
        std::fs::remove_dir_all(&index).unwrap_or_default();
        copy(&folder.path().join("before"), &index);
        let Some(success) = with_failing(call, error, number, &index) else { return };
        let what = format!("{call} number {number}");
        let digest = recovers(&index, after, &what).await;
        if success {
            assert_eq!(digest, after, "{what}");
        } else {
            failed += 1;
        }
    }
    assert!(failed > 0, "no {call} failed");
}

#[tokio::test]
async fn no_success_is_claimed_after_a_failed_fsync() {
    survives("fsync", "EIO", 14).await;
}

#[tokio::test]
async fn a_failed_rename_leaves_the_old_generation() {
    survives("rename", "EIO", 6).await;
}

#[tokio::test]
async fn a_failed_write_leaves_the_old_generation() {
    survives("write", "ENOSPC", 24).await;
}
