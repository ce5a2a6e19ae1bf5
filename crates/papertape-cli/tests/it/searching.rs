//! `papertape search`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::blog::beside;
use crate::process::{End, run};
use crate::{contains, document, install, scratch, text};

const OTTERS: &str = "---\ntitle: Otters\ndate: 2024-05-01\ntags: [animals]\n---\n\
    They sleep on their backs.\n\n## Food\n\nAn otter eats *crabs* and [fish](https://example.org/fish).\n";
const BACKUPS: &str = "# Backups\n\nRotate the backups every night.\n\n## Restore\n\nA backup that was never restored is none.\n";

/// A directory called `docs` with two notes.
fn notes(test: &str) -> PathBuf {
    let folder = scratch(test).join("docs");
    fs::create_dir_all(folder.join("rivers")).unwrap();
    fs::write(folder.join("rivers/otters.md"), OTTERS).unwrap();
    fs::write(folder.join("backups.md"), BACKUPS).unwrap();
    folder
}

fn search(folder: &Path, words: &[&str]) -> End {
    run(&mut command(folder, words), "")
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = beside(folder, ["search", "docs"]);
    command.args(words).env_remove("VISUAL").env_remove("EDITOR");
    command
}

fn hits(found: &Value) -> &Vec<Value> {
    found["hits"].as_array().unwrap()
}

#[test]
fn passages_are_printed_with_their_place_and_what_matches() {
    let folder = notes("search_text");
    let end = search(&folder, &["what", "do", "otters", "eat"]);
    let found = text(end.is_clean());
    assert!(
        found.starts_with(
            "1  docs/rivers/otters.md:10  Otters > Food\n   An otter eats crabs and fish.\n\n2  docs/rivers/otters.md:6  Otters\n"
        ),
        "{found}"
    );
    assert!(!found.contains('\u{1b}') && end.log.is_empty(), "{end:?}");
    assert!(folder.join(".papertape").is_dir());
    let end = run(command(&folder, &["otter", "eats", "-n", "1"]).env("CLICOLOR_FORCE", "1"), "");
    contains(
        text(end.is_clean()),
        &["An \u{1b}[1m\u{1b}[31motter\u{1b}[0m \u{1b}[1m\u{1b}[31meats\u{1b}[0m crabs"],
    );
    let end = run(
        command(&folder, &["otter", "eats", "-n", "1"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"),
        "",
    );
    assert!(!text(end.is_clean()).contains('\u{1b}'), "{end:?}");
}

#[test]
fn the_ranking_is_that_of_the_server() {
    let folder = notes("search_same");
    let query = "backups of otters";
    let ours = document(search(&folder, &[query, "--output", "json"]).is_clean());
    let call = ["call", "blog --content docs", "search_blog", &format!("query={query}"), "top_k=10"];
    let theirs: Value = serde_json::from_str(text(run(&mut beside(&folder, call), "").is_clean())).unwrap();
    assert!(hits(&ours).len() >= 3, "{ours}");
    assert_eq!((&ours["mode"], hits(&ours).len()), (&theirs["mode"], hits(&theirs).len()));
    for (ours, theirs) in hits(&ours).iter().zip(hits(&theirs)) {
        for member in [
            "source",
            "chunk_index",
            "score",
            "preview",
            "matches",
            "title",
            "headings",
            "start_line",
            "end_line",
            "tokens",
        ] {
            assert_eq!(ours[member], theirs[member], "{member}");
        }
    }
}

#[test]
fn what_changes_is_found() {
    let folder = notes("search_changes");
    assert_eq!(search(&folder, &["lanterns"]).status.code(), Some(1));
    fs::write(folder.join("new.md"), "# New\n\nabout lanterns\n").unwrap();
    contains(text(search(&folder, &["lanterns"]).is_clean()), &["docs/new.md:3  New\n   about lanterns\n"]);
}

#[test]
fn finding_nothing_is_said_and_exits_with_1() {
    let folder = notes("search_nothing");
    let end = search(&folder, &["zeppelin"]);
    assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
    contains(&end.log, &["papertape: no text has any of these words"]);
    let end = search(&folder, &["zeppelin", "--output", "json"]);
    assert_eq!(end.status.code(), Some(1));
    let found = document(&end);
    assert_eq!((&found["hits"], found["notes"].as_array().unwrap().len()), (&json!([]), 1));
    let end = search(&folder, &["otter", "--tag", "plants"]);
    assert_eq!(end.status.code(), Some(1));
    contains(&end.log, &["there are hits, but not in files that pass the filters"]);
}

#[test]
fn files_are_chosen_by_path_tag_and_day() {
    let folder = notes("search_filters");
    let words = "otters backups";
    for (options, found) in [
        (vec!["--path", "rivers/"], Some("rivers/otters.md")),
        (vec!["--path", "./back"], Some("backups.md")),
        (vec!["--tag", "Animals"], Some("rivers/otters.md")),
        (vec!["--since", "2024-05-01", "--until", "2024-05-01"], Some("rivers/otters.md")),
        (vec!["--since", "2024-05-02"], None),
    ] {
        let end = search(&folder, &[&[words, "--output", "json"], options.as_slice()].concat());
        let document = document(&end);
        let sources: Vec<_> = hits(&document).iter().map(|hit| hit["source"].as_str().unwrap()).collect();
        assert_eq!(sources.is_empty(), found.is_none(), "{options:?}: {end:?}");
        assert!(sources.iter().all(|source| Some(*source) == found), "{options:?}: {sources:?}");
    }
}

#[test]
fn words_that_begin_with_a_hyphen_follow_two_hyphens_or_are_quoted() {
    let folder = notes("search_hyphen");
    for words in [["--", "otter", "-crabs"].as_slice(), &["otter -crabs"]] {
        let found = text(search(&folder, words).is_clean()).to_owned();
        assert!(
            found.contains("rivers/otters.md:6") && !found.contains("otters.md:10"),
            "{words:?}: {found}"
        );
    }
    let end = search(&folder, &["otter", "-crabs"]);
    assert_eq!(end.status.code(), Some(2));
    contains(&end.log, &["use '-- -c'"]);
}

#[test]
fn a_passage_is_opened_in_the_editor() {
    let folder = notes("search_open");
    let bin = folder.with_file_name("bin");
    fs::create_dir_all(&bin).unwrap();
    let opened = folder.with_file_name("opened");
    install(&bin.join("vim"), format!("#!/bin/sh\necho \"$@\" > '{}'\n", opened.display()));
    install(&bin.join("broken"), "#!/bin/sh\nexit 3\n".to_owned());
    let with = |variable: &str, editor: &str, options: &[&str]| {
        run(command(&folder, options).env(variable, bin.join(editor)), "")
    };
    with("VISUAL", "vim", &["otter", "eats", "--open"]).is_clean();
    assert_eq!(fs::read_to_string(&opened).unwrap(), "+10 docs/rivers/otters.md\n");
    // A word after it is not its number.
    fs::remove_file(&opened).unwrap();
    with("VISUAL", "vim", &["--open", "otter", "eats"]).is_clean();
    assert_eq!(fs::read_to_string(&opened).unwrap(), "+10 docs/rivers/otters.md\n");
    with("EDITOR", "vim", &["backup", "--open=2"]).is_clean();
    let second = fs::read_to_string(&opened).unwrap();
    assert!(second.starts_with('+') && second.ends_with(" docs/backups.md\n"), "{second}");
    let end = with("EDITOR", "vim", &["crabs", "--open=9"]);
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(&end.log, &["--open=9: the last passage is 1"]);
    let end = with("EDITOR", "broken", &["crabs", "--open"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["broken: exit status: 3"]);
}

#[test]
fn several_directories_are_searched_together() {
    let folder = notes("search_several");
    let blog = folder.with_file_name("blog");
    fs::create_dir_all(&blog).unwrap();
    fs::write(blog.join("hello.md"), "# Hello\n\nOtters say hello.\n").unwrap();
    let end = search(&folder, &["otters", "--content", "blog", "--output", "json"]);
    let found = document(end.is_clean());
    let places: Vec<_> = hits(&found).iter().map(|hit| (&hit["path"], &hit["source"])).collect();
    assert!(places.contains(&(&json!("blog/hello.md"), &json!("blog/hello.md"))), "{found}");
    let otters = json!("docs/rivers/otters.md");
    assert!(places.contains(&(&otters, &otters)), "{found}");
    // From within one of them, a path is what opens the file, and a source what it is called in the index.
    let mut here = crate::papertape(["search", ".", "otters", "--content", "../blog", "--output", "json"]);
    let found = document(run(here.current_dir(&folder), "").is_clean());
    let places: Vec<_> = hits(&found).iter().map(|hit| (&hit["path"], &hit["source"])).collect();
    assert!(places.contains(&(&json!("../blog/hello.md"), &json!("blog/hello.md"))), "{found}");
    assert!(places.contains(&(&json!("rivers/otters.md"), &otters)), "{found}");
}

#[test]
fn wrong_usage_is_reported() {
    let folder = notes("search_usage");
    for (words, said) in [
        (["otters", "--since", "yesterday"].as_slice(), "YYYY-MM-DD"),
        (&["otters", "--since", "2024-05-02", "--until", "2024-05-01"], "swap them"),
        (&["otters", "-n", "0"], "0 is not in 1..=100"),
        (&["otters", "--open=x"], "--open"),
        (&["otters", "--embed", "./nowhere"], "--embed: "),
        (&["otters", "--content", "nowhere"], "nowhere: No such file"),
        (&["otters", "--content", "docs/rivers"], "docs/rivers"),
        (&[], "<WORD>"),
    ] {
        let end = search(&folder, words);
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{words:?}: {end:?}");
        contains(&end.log, &[said]);
    }
    let end = run(&mut beside(&folder, ["search", "nowhere", "x", "--output", "json"]), "");
    assert_eq!((end.status.code(), &document(&end)["error"]["kind"]), (Some(2), &json!("usage")));
}

#[test]
fn an_index_of_another_directory_is_left_alone() {
    let folder = notes("search_elsewhere");
    search(&folder, &["otters", "--index", "elsewhere"]).is_clean();
    assert!(!folder.join(".papertape").exists());
    // An index of another directory is neither searched nor replaced.
    let other = folder.with_file_name("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("x.md"), "# Otters\n\nof another place\n").unwrap();
    let end = run(&mut beside(&folder, ["search", "other", "otters", "--index", "elsewhere"]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
    contains(&end.log, &["another directory"]);
}
