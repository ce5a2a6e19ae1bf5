//! `papertape replay`: tapes that were recorded here, as servers and as clients.

mod as_client;
mod as_server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{End, run};
use crate::{against, papertape, scratch};

/// A tape of a call of the grammar server.
fn conjugated(test: &str) -> PathBuf {
    let tape = scratch(test).join("session.tape");
    let words = ["call", "grammar", "conjugate", "verb=eat", "tense=past simple", "person=3sg", "--tape"];
    run(papertape(words).arg(&tape), "").is_clean();
    tape
}

/// A tape of a call of the tool `fault`, which has none.
fn without_fault(test: &str) -> PathBuf {
    let tape = scratch(test).join("session.tape");
    let path = tape.to_str().unwrap();
    run(
        &mut against(
            &["call", "fault", "--revision", "2025-11-25", "--tape", path],
            &["--legacy", "well-behaved"],
        ),
        "",
    )
    .is_clean();
    tape
}

/// `papertape replay TAPE` with what follows.
fn replay<'a>(tape: &'a Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = papertape(["replay"]);
    command.arg(tape).args(words);
    command
}

fn replayed<'a>(tape: &'a Path, words: impl IntoIterator<Item = &'a str>) -> End {
    run(&mut replay(tape, words), "")
}

/// Changes a tape as an editor would.
fn edit(tape: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(tape).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(tape, text.replace(from, to)).unwrap();
}
