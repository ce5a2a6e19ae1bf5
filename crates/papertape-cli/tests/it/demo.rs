//! `papertape demo`: it shows exactly the frames that were sent.

use std::fs;

use papertape::wire::tape::{self, Direction, Entry};

use crate::process::{End, run};
use crate::{contains, papertape, scratch, text};

#[track_caller]
fn check(end: &End) {
    let text = text(end.is_clean());
    assert_eq!(end.log, "");
    // The name of a tape is as long as it is.
    let fits = |line: &str| line.chars().count() <= 100 || line.starts_with('✓');
    assert!(text.lines().all(|line| fits(line) && line.trim_end() == line), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    contains(
        text,
        &[
            "── 2025-11-25 a session: initialize, then requests ──",
            "→   1  ",
            "\"method\":\"initialize\"",
            "→   3  ",
            "\"method\":\"notifications/initialized\"",
            "\"text\":\"ate\"",
            "\"text\":\"comió\"",
            "out of scope",
            "\"isError\":true",
            "\"code\":-32601",
            "── 2026-07-28 stateless: no handshake, each request stands alone ──",
            "\"method\":\"server/discover\"",
            "←  17  ",
            "✓ 17 frames, ",
            "papertape list grammar",
        ],
    );
}

#[test]
fn the_demo_shows_a_session_and_stateless_requests() {
    let end = run(&mut papertape(["demo"]), "");
    check(&end);
    assert!(text(&end).contains("bytes are not shown; --tape FILE records them"), "{end:?}");
}

#[test]
fn the_demo_shows_headers() {
    let end = run(&mut papertape(["demo", "--framing", "content-length"]), "");
    check(&end);
    assert_eq!(text(&end).matches("Content-Length: ").count(), 17);
}

#[test]
fn both_sessions_are_recorded_on_one_tape() {
    let path = scratch("demo_tape").join("demo.tape");
    for _ in 0..2 {
        let end = run(papertape(["demo", "--tape"]).arg(&path), "");
        check(&end);
        contains(text(&end), &[&format!("All of it is recorded on the tape {}.", path.display())]);
    }
    assert!(path.with_extension("tape.old").exists());
    let tape = fs::read_to_string(path).unwrap();
    contains(
        &tape,
        &["# 2025-11-25 a session", "# The client requests a protocol revision, and says who it is.\n1 > "],
    );
    let (mut number, mut time, mut tools) = (0, None, false);
    for entry in tape::read(&tape).unwrap() {
        let Entry::Record(record) = entry else { continue };
        number += 1;
        assert_eq!(record.number, number);
        assert!(record.time >= time, "{tape}");
        time = record.time;
        // On the screen it is shown in part.
        tools |=
            matches!(record.as_frame(), Some((Direction::ToClient, bytes)) if bytes.ends_with(b"}}]}}\n"));
    }
    assert_eq!((number, tools), (17, true), "{tape}");
}

#[test]
fn a_tape_that_cannot_be_written_is_an_error_before_any_output() {
    let end = run(&mut papertape(["demo", "--tape", "/no/such/tape"]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(3), ""), "{end:?}");
    contains(
        &end.log,
        &["papertape: cannot write the tape /no/such/tape: the directory /no/such does not exist"],
    );
}
