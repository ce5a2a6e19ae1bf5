//! `papertape index`: files left out, indexes of other users, the progress bar.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::blog::beside;
use crate::process::{End, OPEN, Process, call, run};
use crate::{contains, document, scratch, text};

/// A directory with a few files, called `docs`.
fn docs(test: &str) -> PathBuf {
    let folder = scratch(test).join("docs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("fine.md"), "# Fine\n\nabout lanterns\n").unwrap();
    fs::write(folder.join("binary.md"), b"\x7fELF\0\0").unwrap();
    std::os::unix::fs::symlink("fine.md", folder.join("link.md")).unwrap();
    folder
}

fn index(folder: &Path, words: &[&str]) -> End {
    run(beside(folder, ["index"]).args(words), "")
}

#[test]
fn a_warning_is_repeated_on_every_run() {
    let folder = docs("indexing_warnings");
    let first = index(&folder, &["docs"]);
    contains(
        &first.is_clean().log,
        &["warning: binary.md: left out: it is not text", "warning: link.md: left out"],
    );
    for _ in 0..2 {
        let again = index(&folder, &["docs"]);
        assert_eq!(again.is_clean().log, first.log);
        contains(text(&again), &["2 unchanged"]);
    }
    let report = document(index(&folder, &["docs", "--output", "json"]).is_clean());
    assert_eq!((report["warnings"].as_array().unwrap().len(), &report["generation"]), (2, &1.into()));
}

/// Searches until there is a hit.
fn wait_for(server: &mut Process, word: &str) {
    loop {
        server.send(call(1, "search_blog", &json!({ "query": word })));
        let mut answer = server.message();
        while answer["id"] != 1 {
            answer = server.message();
        }
        if answer["result"]["structuredContent"]["hits"][0].is_object() {
            return;
        }
    }
}

#[test]
fn a_watching_server_logs_a_warning_once() {
    let folder = docs("indexing_watched");
    let words = ["serve", "blog", "--content", "docs", "--watch", "--log-level", "info"];
    let mut server = Process::start(&mut beside(&folder, words));
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    // A run begins when the one before it has reported everything.
    for (animal, bytes) in [
        ("otter", &b"# otter\n"[..]),
        ("heron", b"# heron\n"),
        ("lynx", b"# lynx \xff\n"),
        ("crane", b"# crane\n"),
    ] {
        fs::write(folder.join(format!("{animal}.md")), bytes).unwrap();
        wait_for(&mut server, animal);
    }
    let end = server.finish();
    for warning in
        ["binary.md: left out: it is not text", "link.md: left out", "lynx.md: it is not all UTF-8"]
    {
        assert_eq!(end.log.matches(warning).count(), 1, "{warning}: {}", end.log);
    }
}

#[test]
fn a_new_warning_is_reported_among_many() {
    let folder = docs("indexing_many_odd");
    for number in 0..120 {
        fs::write(folder.join(format!("a{number}.md")), b"# heron \xff\n").unwrap();
    }
    let words = ["serve", "blog", "--content", "docs", "--watch", "--log-level", "info"];
    let mut server = Process::start(&mut beside(&folder, words));
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    wait_for(&mut server, "heron");
    for (animal, bytes) in [("zebra", &b"# zebra \xff\n"[..]), ("otter", b"# otter\n")] {
        fs::write(folder.join(format!("{animal}.md")), bytes).unwrap();
        wait_for(&mut server, animal);
    }
    let end = server.finish();
    assert_eq!(end.log.matches("zebra.md: it is not all UTF-8").count(), 1, "{}", end.log);
}

#[test]
fn the_index_of_another_directory_is_not_overwritten() {
    let folder = docs("indexing_other");
    let other = folder.with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("else.md"), "# Else\n\nabout kettles\n").unwrap();
    index(&folder, &["docs", "--out", "i"]).is_clean();
    let refused = index(&folder, &["other", "--out", "i"]);
    assert_eq!((refused.status.code(), text(&refused)), (Some(1), ""), "{refused:?}");
    contains(
        &refused.log,
        &["papertape: ", "of the files it knows (2), this one has none", "--rebuild", "--out"],
    );
    let refused = index(&folder, &["other", "--out", "i", "--output", "json"]);
    assert_eq!(document(&refused)["error"]["kind"], "output");
    contains(text(index(&folder, &["docs", "--out", "i"]).is_clean()), &["2 unchanged"]);
    // An explicit option is obeyed.
    contains(text(index(&folder, &["other", "--out", "i", "--rebuild"]).is_clean()), &["1 added, 2 removed"]);
    contains(text(index(&folder, &["other", "--out", "i"]).is_clean()), &["1 unchanged"]);
}

#[test]
fn one_common_file_does_not_identify_a_directory() {
    let folder = docs("indexing_readme");
    let other = folder.with_file_name("other");
    fs::create_dir(&other).unwrap();
    for number in 0..12 {
        fs::write(folder.join(format!("lantern{number}.md")), format!("# Lantern {number}\n")).unwrap();
        fs::write(other.join(format!("kettle{number}.md")), format!("# Kettle {number}\n")).unwrap();
    }
    for folder in [&folder, &other] {
        fs::write(folder.join("README.md"), format!("# {}\n", folder.display())).unwrap();
    }
    index(&folder, &["docs", "--out", "i"]).is_clean();
    let refused = index(&folder, &["other", "--out", "i"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    contains(&refused.log, &["of the files it knows (15), this one has 1.", "--rebuild", "--out"]);
    for query in ["query=kettle", "query=lantern"] {
        let words = ["call", "blog --content other --index i", "search_blog", query];
        let refused = run(&mut beside(&folder, words), "");
        assert_eq!((refused.status.code(), text(&refused)), (Some(1), ""), "{refused:?}");
        contains(&refused.log, &["of another directory", "this one has 1.", "--rebuild", "--index"]);
    }
    contains(text(index(&folder, &["docs", "--out", "i"]).is_clean()), &["15 unchanged"]);
}

#[test]
fn a_moved_directory_keeps_its_index() {
    let folder = docs("indexing_moved");
    index(&folder, &["docs", "--out", "i"]).is_clean();
    let moved = folder.with_file_name("moved");
    fs::rename(&folder, &moved).unwrap();
    contains(text(index(&folder, &["moved", "--out", "i"]).is_clean()), &["2 unchanged"]);
    // Its files may get other names, all of them,
    fs::create_dir(moved.join("deep")).unwrap();
    for name in ["fine.md", "binary.md"] {
        fs::rename(moved.join(name), moved.join("deep").join(name)).unwrap();
    }
    contains(text(index(&folder, &["moved", "--out", "i"]).is_clean()), &["2 added, 2 removed"]);
    // but if all of them are gone, it may be a disk that is not there.
    fs::remove_dir_all(moved.join("deep")).unwrap();
    let refused = index(&folder, &["moved", "--out", "i"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    contains(&refused.log, &["of the files it knows (2), this one has none.", "--rebuild"]);
    contains(text(index(&folder, &["moved", "--out", "i", "--rebuild"]).is_clean()), &["2 removed"]);
    fs::write(moved.join("new.md"), "# New\n").unwrap();
    contains(text(index(&folder, &["moved", "--out", "i"]).is_clean()), &["1 added"]);
}

#[test]
fn an_index_within_its_directory_belongs_to_it() {
    let folder = docs("indexing_within");
    index(&folder, &["docs"]).is_clean();
    for name in ["fine.md", "binary.md"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    fs::write(folder.join("new.md"), "# New\n").unwrap();
    contains(text(index(&folder, &["docs"]).is_clean()), &["1 added, 2 removed"]);
}

/// What a terminal is shown, piece by piece: each line as often as it is drawn.
fn frames(folder: &Path, words: &[&str]) -> Vec<String> {
    let (ours, theirs) = crate::login::terminal();
    let mut command = beside(folder, ["index"]);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(theirs);
    let shown = crate::login::shown(ours, command).replace("\u{1b}[2K", "\r");
    shown.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_first_frame_of_the_progress_bar_is_complete() {
    let folder = scratch("indexing_bar").join("docs");
    fs::create_dir(&folder).unwrap();
    for number in 0..700 {
        fs::write(folder.join(format!("{number}.md")), format!("# {number}\n\ntext\n")).unwrap();
    }
    let shown = frames(&folder, &["docs"]);
    assert!(shown.first().is_some_and(|first| first.ends_with("scanning the directory")), "{shown:?}");
    for line in &shown {
        let counted = line.contains("reading files");
        assert_eq!(counted, line.contains(" of 700"), "{line:?} of {shown:?}");
        assert!(counted || !line.contains(['/', '[']), "{line:?} of {shown:?}");
    }
    assert!(shown.iter().any(|line| line.contains("reading files")), "{shown:?}");
}

#[test]
fn without_a_terminal_there_is_no_progress_bar() {
    let folder = docs("indexing_no_bar");
    let end = index(&folder, &["docs"]);
    assert!(end.is_clean().log.lines().all(|line| line.starts_with("warning: ")), "{end:?}");
    assert!(!end.log.contains(['\r', '\u{1b}']), "{end:?}");
}
