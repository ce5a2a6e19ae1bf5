//! A key file that changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Auth, admitted, invalid};
use crate::{Folder, mode, set_mode};
use papertape_oauth::server::{AuthSetupError, Keys, NewKey};

impl Folder {
    fn file(&self) -> PathBuf {
        self.0.join("keys.toml")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
        set_mode(&self.file(), 0o600);
    }
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
async fn changes_of_the_file_take_effect_after_a_second() {
    let folder = Folder::new("changes");
    let (first, second) = (key("first"), key("second"));
    folder.write(first.entry());
    let auth = Auth::new().keys(Keys::open(folder.file()).unwrap());
    admitted(&auth, first.secret()).await;
    folder.write(&format!("{}{}", first.entry(), second.entry()));
    invalid(&auth, second.secret(), "unknown").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    admitted(&auth, second.secret()).await;
    // A key that is removed is rejected.
    folder.write(second.entry());
    tokio::time::advance(Duration::from_secs(1)).await;
    invalid(&auth, first.secret(), "unknown").await;
    admitted(&auth, second.secret()).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_invalid_file_has_no_valid_key_until_it_is_repaired() {
    let folder = Folder::new("worse");
    let key = key("ci");
    folder.write(key.entry());
    let auth = Auth::new().keys(Keys::open(folder.file()).unwrap());
    let later = || tokio::time::advance(Duration::from_secs(1));
    admitted(&auth, key.secret()).await;
    let ways: [(&str, &dyn Fn()); 5] = [
        ("broken", &|| folder.write(&format!("{}oops", key.entry()))),
        ("gone", &|| fs::remove_file(folder.file()).unwrap()),
        ("readable", &|| set_mode(&folder.file(), 0o644)),
        ("empty", &|| folder.write("")),
        ("another", &|| folder.write(self::key("ci").entry())),
    ];
    for (what, spoil) in ways {
        spoil();
        later().await;
        invalid(&auth, key.secret(), "unknown").await;
        later().await;
        invalid(&auth, key.secret(), "unknown").await;
        folder.write(key.entry());
        later().await;
        assert!(auth.check(&super::bearer(key.secret())).await.is_ok(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_truncates_the_file_revokes_nothing() {
    let folder = Folder::new("editor");
    let key = key("ci");
    folder.write(key.entry());
    let auth = Auth::new().keys(Keys::open(folder.file()).unwrap());
    for moment in ["", "[[key", "gone"] {
        match moment {
            "gone" => fs::remove_file(folder.file()).unwrap(),
            text => folder.write(text),
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let repair = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            folder.write(key.entry());
        };
        tokio::join!(admitted(&auth, key.secret()), repair);
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_idle_hour_concurrent_requests_see_a_revocation() {
    let folder = Folder::new("idle");
    let key = key("ci");
    folder.write(key.entry());
    let auth = Auth::new().keys(Keys::open(folder.file()).unwrap());
    fs::remove_file(folder.file()).unwrap();
    tokio::time::advance(Duration::from_secs(3600)).await;
    let one = || invalid(&auth, key.secret(), "unknown");
    tokio::join!(one(), one(), one(), one());
}

#[test]
fn keys_are_added_atomically() {
    let folder = Folder::new("adding");
    let file = folder.file();
    key("first").add_to(&file).unwrap();
    set_mode(&file, 0o640);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                assert!(format!("{:?}", Keys::open(&file).unwrap()).contains("\"first\""));
            }
        });
        let writers: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|who| (who, &file))
            .map(|(who, file)| {
                scope.spawn(move || (0..20).for_each(|i| key(&format!("{who}{i}")).add_to(file).unwrap()))
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        reader.join().unwrap();
    });
    let names = format!("{:?}", Keys::open(&file).unwrap());
    assert_eq!(names.matches("\", \"").count(), 40, "{names}");
    assert_eq!(mode(&file), 0o640);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left there");
}

#[test]
fn a_key_is_added_to_the_target_of_a_link() {
    let folder = Folder::new("link");
    key("first").add_to(folder.file()).unwrap();
    let link = folder.0.join("link.toml");
    std::os::unix::fs::symlink(folder.file(), &link).unwrap();
    key("second").add_to(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(folder.file()).unwrap().contains("\"second\""));
}

#[test]
fn a_file_that_other_users_can_access_is_rejected_with_the_remedy() {
    let folder = Folder::new("modes");
    folder.write(key("a").entry());
    for bad in [0o644, 0o604, 0o602, 0o620, 0o666, 0o777, 0o601] {
        set_mode(&folder.file(), bad);
        let problem = problem(&folder.file());
        assert!(problem.contains(&format!("chmod 600 {}", folder.file().display())), "{problem}");
        assert!(problem.contains(&format!("{bad:04o}")), "{problem}");
    }
    for good in [0o600, 0o400, 0o640, 0o440] {
        set_mode(&folder.file(), good);
        Keys::open(folder.file()).unwrap();
    }
}

#[test]
fn an_unusable_key_file_is_rejected() {
    let folder = Folder::new("odd");
    assert!(problem(&folder.file()).contains("No such file"));
    assert!(problem(&folder.0).contains("not a regular file"));
    assert!(problem(Path::new("/dev/zero")).contains("not a regular file"));
    folder.write("[[key");
    assert!(problem(&folder.file()).contains("line 1"));
    folder.write(&"#".repeat(1024 * 1024 + 1));
    assert!(problem(&folder.file()).contains("longer"));
    fs::write(folder.file(), b"\xff").unwrap();
    assert!(problem(&folder.file()).contains("UTF-8"));
    folder.write("# none yet\n");
    Keys::open(folder.file()).unwrap();
}
