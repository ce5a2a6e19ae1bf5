//! A file of keys, which changes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{AuthSetupError, Keys, NewKey};
use super::{Auth, admitted, invalid};

/// A folder of one test's own, gone when that is over.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("papertape-keys-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("keys.toml")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
        mode(&self.file(), 0o600);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn key(name: &str) -> NewKey {
    NewKey::generate(name, [], None).unwrap()
}

fn problem(path: &Path) -> String {
    let error = Keys::open(path).unwrap_err();
    assert!(matches!(error, AuthSetupError::File { .. }));
    error.to_string()
}

#[tokio::test(start_paused = true)]
async fn changes_are_seen_within_a_second_and_not_sooner() {
    let folder = Folder::new("changes");
    let (first, second) = (key("first"), key("second"));
    folder.write(first.entry());
    let auth = Auth::new().keys(Keys::open(folder.file()).unwrap());
    admitted(&auth, first.secret()).await;
    folder.write(&format!("{}{}", first.entry(), second.entry()));
    invalid(&auth, second.secret(), "not known").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    admitted(&auth, second.secret()).await;
    // A key that is taken out opens no more.
    folder.write(second.entry());
    tokio::time::advance(Duration::from_secs(1)).await;
    invalid(&auth, first.secret(), "not known").await;
    admitted(&auth, second.secret()).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_for_the_worse_leaves_the_keys_as_they_were() {
    let folder = Folder::new("worse");
    let (old, new) = (key("old"), key("new"));
    folder.write(old.entry());
    let auth = Auth::new().keys(Keys::open(folder.file()).unwrap());
    let later = || tokio::time::advance(Duration::from_secs(1));
    folder.write(&format!("{}oops", new.entry()));
    later().await;
    admitted(&auth, old.secret()).await;
    fs::remove_file(folder.file()).unwrap();
    later().await;
    admitted(&auth, old.secret()).await;
    folder.write(new.entry());
    mode(&folder.file(), 0o644);
    later().await;
    admitted(&auth, old.secret()).await;
    invalid(&auth, new.secret(), "not known").await;
    // Repaired: only the mode has changed.
    mode(&folder.file(), 0o600);
    later().await;
    admitted(&auth, new.secret()).await;
    invalid(&auth, old.secret(), "not known").await;
}

#[test]
fn a_file_that_others_can_read_or_change_is_refused_with_the_way_out() {
    let folder = Folder::new("modes");
    folder.write(key("a").entry());
    for bad in [0o644, 0o604, 0o602, 0o620, 0o666, 0o777, 0o601] {
        mode(&folder.file(), bad);
        let problem = problem(&folder.file());
        assert!(problem.contains(&format!("chmod 600 {}", folder.file().display())), "{problem}");
        assert!(problem.contains(&format!("{bad:04o}")), "{problem}");
    }
    for good in [0o600, 0o400, 0o640, 0o440] {
        mode(&folder.file(), good);
        Keys::open(folder.file()).unwrap();
    }
}

#[test]
fn what_is_no_file_of_keys_is_refused_at_once() {
    let folder = Folder::new("odd");
    assert!(problem(&folder.file()).contains("No such file"));
    assert!(problem(&folder.0).contains("no plain file"));
    assert!(problem(Path::new("/dev/zero")).contains("no plain file"));
    folder.write("[[key");
    assert!(problem(&folder.file()).contains("line 1"));
    folder.write(&"#".repeat(1024 * 1024 + 1));
    assert!(problem(&folder.file()).contains("bigger"));
    fs::write(folder.file(), b"\xff").unwrap();
    assert!(problem(&folder.file()).contains("UTF-8"));
    folder.write("# none yet\n");
    Keys::open(folder.file()).unwrap();
}
