//! `papertape key`: keys that are shown once, and files of their hashes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use papertape::http::Keys;

use crate::process::{End, run};
use crate::{contains, papertape, scratch, text};

fn key<'a>(arguments: impl IntoIterator<Item = &'a str>) -> End {
    run(&mut papertape(["key"].into_iter().chain(arguments)), "")
}

fn into_file<'a>(file: &'a Path, arguments: &[&'a str]) -> End {
    key(arguments.iter().copied().chain(["--file", file.to_str().unwrap()]))
}

/// It was not made: no key, nothing on stdout, and these words.
#[track_caller]
fn refused(end: &End, code: i32, words: &[&str]) {
    assert_eq!((end.status.code(), text(end)), (Some(code), ""), "{end:?}");
    contains(&end.log, words);
}

#[track_caller]
fn secret(end: &End) -> String {
    end.is_clean();
    let secret = text(end).strip_suffix('\n').unwrap();
    assert!(
        secret.len() == 46 && secret.starts_with("pt_") && !secret.contains(char::is_whitespace),
        "{end:?}"
    );
    assert!(!end.log.contains(secret), "{end:?}");
    secret.to_owned()
}

#[test]
fn the_key_is_on_stdout_and_its_entry_on_stderr() {
    let end = key(["ci", "--scope", "read", "--scope", "notes:write", "--expires", "2999-01-31"]);
    secret(&end);
    contains(
        &end.log,
        &[
            "[[key]]\nname = \"ci\"\nscopes = [\"read\", \"notes:write\"]\nexpires = 2999-01-31T00:00:00Z\nsha256 = \"",
        ],
    );
    // All of it can be appended to a file.
    Keys::parse(&end.log).unwrap();
    assert_ne!(secret(&key(["ci"])), secret(&key(["ci"])));
}

#[test]
fn a_file_is_made_for_its_owner_alone_and_grows() {
    let file = scratch("keys-file").join("keys.toml");
    let end = into_file(&file, &["ci", "--expires", "90d"]);
    let first = secret(&end);
    contains(&end.log, &["added ci to", "keys.toml", "shown only now"]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Whatever an editor left at the end.
    let kept = fs::read_to_string(&file).unwrap();
    fs::write(&file, kept.trim_end()).unwrap();
    let second = secret(&into_file(&file, &["alice@example.com"]));
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept.matches("\n\n[[key]]\n").count(), 2, "{kept}");
    assert!(!kept.contains(&first) && !kept.contains(&second));
    let keys = Keys::open(&file).unwrap();
    contains(&format!("{keys:?}"), &["\"ci\"", "\"alice@example.com\""]);
}

#[test]
fn a_file_that_cannot_be_used_is_left_as_it_is() {
    let folder = scratch("keys-bad");
    let file = folder.join("keys.toml");
    secret(&into_file(&file, &["ci"]));
    let before = fs::read_to_string(&file).unwrap();
    refused(&into_file(&file, &["ci"]), 2, &["key \"ci\": another key has the same name"]);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    refused(&into_file(&file, &["di"]), 2, &["other users can read", "chmod 600"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let odd = folder.join("odd.toml");
    fs::write(&odd, "[[key]]\nname = 7\n").unwrap();
    fs::set_permissions(&odd, Permissions::from_mode(0o600)).unwrap();
    refused(&into_file(&odd, &["di"]), 2, &["odd.toml", "line 2"]);
    refused(&into_file(&folder, &["di"]), 2, &["not a regular file"]);
    refused(&into_file(&folder.join("none/keys.toml"), &["di"]), 1, &["cannot write", "No such file"]);
}

#[test]
fn wrong_options_are_explained() {
    refused(&key(["two words"]), 2, &["a name has 1 to 64 letters"]);
    refused(&key(["ci", "--scope", "a b"]), 2, &["\"a b\" is not a scope"]);
    for odd in ["soon", "2999-13-01", "-1d", ""] {
        refused(&key(["ci", &format!("--expires={odd}")]), 2, &["90d", "2027-01-31"]);
    }
    refused(&key(["ci", "--expires", "2001-01-31"]), 2, &["in the past"]);
    refused(&key(["ci", "--expires", "0s"]), 2, &["in the past"]);
    refused(&key(["ci", "--expires", "100000years"]), 2, &["9999"]);
}

#[test]
fn help_has_options_and_examples() {
    let end = key(["--help"]);
    contains(
        text(end.is_clean()),
        &["--scope <SCOPE>", "--expires <WHEN>", "--file <FILE>", "90d", "Examples:"],
    );
}
