//! Authentication and file modes of an index: another user's index is not used, and no other user can read this one's.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::blog::{beside, index};
use crate::process::{End, run};
use crate::unprivileged::UnprivilegedUser;
use crate::{contains, document, scratch, text};

/// A directory with one text.
fn docs(test: &str) -> PathBuf {
    let folder = scratch(test).join("docs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("bees.md"), "# Bees\n\nThey need flowers.\n").unwrap();
    folder
}

/// `papertape index` with this data directory (`XDG_DATA_HOME`).
fn index_as(data: &Path, folder: &Path, options: &[&str]) -> End {
    run(beside(folder, ["index", "docs"]).args(options).env("XDG_DATA_HOME", data), "")
}

#[test]
fn an_index_of_another_user_is_rebuilt() {
    let folder = docs("sealed_shipped");
    index_as(&folder.with_file_name("theirs"), &folder, &[]).is_clean();
    let end = index(&folder, &["--verify"]);
    assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
    contains(&end.log, &["docs/.papertape is not used", "another user or on another machine", "index.key"]);
    let end = index(&folder, &["--output", "json"]);
    assert_eq!(document(&end)["added"], json!(1), "{end:?}");
    assert_eq!(end.log.lines().count(), 1, "{end:?}");
    contains(
        &end.log,
        &["docs/.papertape is not used, and is rebuilt", "another user or on another machine"],
    );
    let end = index(&folder, &["--verify", "--output", "json"]);
    assert_eq!(document(end.is_clean())["sealed"], json!(true));
    assert_eq!(document(index(&folder, &["--output", "json"]).is_clean())["unchanged"], json!(1));
}

#[test]
fn an_index_of_another_user_elsewhere_is_replaced_only_with_rebuild() {
    let folder = docs("sealed_elsewhere");
    let theirs = folder.with_file_name("theirs");
    index(&folder, &[]).is_clean();
    index_as(&theirs, &folder, &["--out", "shared"]).is_clean();
    let end = index(&folder, &["--out", "shared"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["shared is not used", "--rebuild", "index.key"]);
    index_as(&theirs, &folder, &["--out", "shared", "--verify"]).is_clean();
    index(&folder, &["--out", "shared", "--rebuild"]).is_clean();
    index(&folder, &["--out", "shared", "--verify"]).is_clean();
}

#[test]
fn without_a_stored_key_an_index_is_valid_for_one_process() {
    let folder = docs("sealed_homeless");
    let nowhere = Path::new("/dev/null/data");
    for _ in 0..2 {
        let end = index_as(nowhere, &folder, &["--output", "json"]);
        assert_eq!(document(&end)["added"], json!(1), "{end:?}");
        contains(&end.log, &["cannot be stored", "papertape/index.key", "XDG_DATA_HOME"]);
    }
    let words = ["call", "blog --content docs", "read_chunk", "source=bees.md", "chunk_index=0"];
    let end = run(beside(&folder, words).env("XDG_DATA_HOME", nowhere), "");
    contains(text(&end), &["They need flowers"]);
    assert!(end.status.success(), "{end:?}");
}

// As of a service, or of a user within a container who has the home of another.
#[test]
fn an_inaccessible_home_is_not_used_for_the_key() {
    let anyone = UnprivilegedUser::new();
    let (docs, home) = (anyone.folder().join("docs"), anyone.folder().join("home"));
    for (folder, mode) in [(&docs, 0o777), (&home, 0o000)] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    }
    fs::write(docs.join("bees.md"), "# Bees\n\nThey need flowers.\n").unwrap();
    let end = run(anyone.papertape(&["index", "docs", "--output", "json"]).env("HOME", &home), "");
    assert_eq!(document(&end)["added"], json!(1), "{end:?}");
    contains(&end.log, &["cannot be stored", "papertape/index.key", "XDG_DATA_HOME"]);
}

#[test]
fn an_index_and_its_key_are_for_their_user_alone() {
    let folder = docs("sealed_private");
    let data = folder.with_file_name("data");
    index_as(&data, &folder, &[]).is_clean();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for private in [folder.join(".papertape"), data.join("papertape")] {
        assert_eq!(mode(&private), 0o700, "{}", private.display());
        for entry in fs::read_dir(&private).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
}
