//! Real directories and their events.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn scratch(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("papertape-watcher-{test}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

#[tokio::test]
async fn changes_are_seen_also_after_the_folder_was_replaced() {
    let base = scratch("replaced");
    let root = base.join("notes");
    tokio::time::timeout(Duration::from_secs(60), replaced(&base, &root)).await.unwrap();
    fs::remove_dir_all(&base).unwrap();
}

async fn replaced(base: &Path, root: &Path) {
    fs::create_dir(root).unwrap();
    let mut watcher = Watcher::new(root.to_owned(), root.join(".papertape")).await;
    fs::create_dir_all(root.join("deep/er")).unwrap();
    watcher.changed().await;
    fs::write(root.join("deep/er/a.md"), "one").unwrap();
    watcher.changed().await;
    fs::rename(root, base.join("old")).unwrap();
    fs::create_dir(root).unwrap();
    watcher.changed().await;
    fs::write(root.join("b.md"), "two").unwrap();
    watcher.changed().await;
    // Its number may be that of the one before.
    fs::remove_dir_all(root).unwrap();
    fs::create_dir(root).unwrap();
    watcher.changed().await;
    fs::write(root.join("c.md"), "three").unwrap();
    watcher.changed().await;
    fs::remove_dir_all(root).unwrap();
    watcher.changed().await;
    fs::create_dir(root).unwrap();
    watcher.changed().await;
}

/// Whether this process watches the directory, as the system says.
#[cfg(target_os = "linux")]
fn is_watched(folder: &Path) -> bool {
    let number = format!(" ino:{:x} ", fs::metadata(folder).unwrap().ino());
    let open = fs::read_dir("/proc/self/fdinfo").unwrap().filter_map(Result::ok);
    // Others in this process close what they have open.
    let mut said = open.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
    said.any(|said| said.lines().any(|line| line.starts_with("inotify ") && line.contains(&number)))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn only_indexed_folders_are_watched() {
    let base = scratch("entered");
    let root = base.join("notes");
    fs::create_dir(&root).unwrap();
    for folder in ["sub/deep", "node_modules/a/b", ".hidden", "drafts/old", "../elsewhere/in"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join(".gitignore"), "drafts/\n").unwrap();
    symlink("../elsewhere", root.join("link")).unwrap();
    let mut watcher = Watcher::new(root.clone(), root.join(".papertape")).await;
    for folder in ["", "sub", "sub/deep"] {
        assert!(is_watched(&root.join(folder)), "{folder}");
    }
    for folder in ["node_modules", "node_modules/a/b", ".hidden", "drafts", "link", "link/in"] {
        assert!(!is_watched(&root.join(folder)), "{folder}");
    }
    let more = async {
        fs::create_dir_all(root.join("new/er")).unwrap();
        while !is_watched(&root.join("new/er")) {
            watcher.changed().await;
        }
        fs::rename(root.join("new"), root.join("newer")).unwrap();
        watcher.changed().await;
        while !is_watched(&root.join("newer/er")) {
            watcher.changed().await;
        }
        fs::write(root.join("newer/er/a.md"), "seen under its new name").unwrap();
        watcher.changed().await;
        fs::write(root.join(".gitignore"), "sub/\n").unwrap();
        while !is_watched(&root.join("drafts/old")) || is_watched(&root.join("sub")) {
            watcher.changed().await;
        }
        assert!(!is_watched(&root.join("node_modules")));
    };
    tokio::time::timeout(Duration::from_secs(60), more).await.unwrap();
    fs::remove_dir_all(&base).unwrap();
}

/// As the system fails when the limit of watches is reached.
fn full(paths: &mut dyn PathsMut, folder: &Path) -> notify::Result<()> {
    match folder.ends_with("one-too-many") {
        true => Err(notify::Error::new(ErrorKind::MaxFilesWatch)),
        false => paths.add(folder, RecursiveMode::NonRecursive),
    }
}

#[tokio::test(start_paused = true)]
async fn without_room_for_a_watch_the_folder_is_scanned() {
    let root = scratch("full");
    let mut watcher = Watcher::with(root.clone(), root.join(".papertape"), full).await;
    assert!(watcher.source.is_some());
    fs::create_dir(root.join("one-too-many")).unwrap();
    while watcher.source.is_some() {
        watcher.changed().await;
    }
    // Nothing changes, and it is scanned all the same.
    let began = Instant::now();
    watcher.changed().await;
    assert!(began.elapsed() >= POLL && watcher.source.is_none());
    fs::remove_dir_all(&root).unwrap();
}
