//! A tape against a server.

use std::fs;
use std::path::Path;
use std::thread;

use rustix::process::Signal;
use serde_json::json;

use super::{conjugated, edit, replay, replayed, without_fault};
use crate::process::{End, Process};
use crate::{contains, document, faulty, text};

/// A replay against a mode of `faulty`; its name is not compared.
fn faulted(tape: &Path, options: &[&str], mode: &[&str]) -> End {
    let program = faulty();
    let words = ["--ignore", "/result/serverInfo/name"].into_iter().chain(options.iter().copied());
    replayed(tape, words.chain(["--", &program, "--legacy"]).chain(mode.iter().copied()))
}

#[test]
fn the_same_server_responds_the_same() {
    let tape = conjugated("replay_same");
    let end = replayed(&tape, ["grammar"]);
    assert_eq!(text(end.is_clean()), "3 requests: 3 the same\n");
    assert_eq!(end.log, "");
    let document = document(&replayed(&tape, ["grammar", "--output", "json"]));
    assert_eq!((&document["same"], &document["failure"]), (&json!(true), &json!(null)));
    assert_eq!(document["requests"][2]["name"], "conjugate");
    let end = replayed(&tape, ["grammar", "--output", "junit"]);
    contains(text(&end), &["tests=\"3\" failures=\"0\"", "<testcase name=\"5 tools/call conjugate\""]);
}

const DIFFERENCES: &str = "\
request 1, initialize: the response differs
  /result/capabilities/logging: missing
    - {}

request 4, tools/list: the response differs
  /result/tools/0 (old): missing
    - {\"name\":\"old\"}
  /result/tools/1/description (echo)
    - \"The tool ecco.\"
    + \"The tool echo.\"

request 6, tools/call fault: the response differs
  /result/content/0/text
    - one
    - two
    + \"this mode has no fault in a call\"

3 requests: 3 different
";

#[test]
fn differences_are_shown_where_they_are() {
    let tape = without_fault("replay_different");
    edit(&tape, r#""capabilities":{"tools":{}}"#, r#""capabilities":{"logging":{},"tools":{}}"#);
    edit(
        &tape,
        r#""tools":[{"name":"echo","description":"The tool echo.""#,
        r#""tools":[{"name":"old"},{"name":"echo","description":"The tool ecco.""#,
    );
    edit(&tape, r#""text":"\"this mode has no fault in a call\"""#, r#""text":"one\ntwo""#);
    let end = faulted(&tape, &[], &["well-behaved"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    assert_eq!(text(&end), DIFFERENCES);
    let some = [
        "--ignore",
        "/result/capabilities/logging",
        "--ignore",
        "/result/tools",
        "--ignore",
        "/result/content/*/text",
    ];
    let end = faulted(&tape, &some, &["well-behaved"]);
    assert_eq!(text(end.is_clean()), "3 requests: 3 the same\n");
    let end = faulted(&tape, &["--output", "junit"], &["well-behaved"]);
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(
        text(&end),
        &[
            "tests=\"3\" failures=\"3\"",
            "<failure message=\"the response differs at /result/content/0/text\" type=\"different\">",
            "  - one\n  - two\n  + &quot;this mode",
        ],
    );
}

#[test]
fn a_tape_is_updated_and_all_else_on_it_stays() {
    let tape = conjugated("replay_update");
    let whole = fs::read_to_string(&tape).unwrap();
    edit(&tape, "\"ate\"", "\"eated\"");
    edit(&tape, "5 > ", "# What was said.\n\n5 > ");
    let end = replayed(&tape, ["grammar", "--update"]);
    contains(text(end.is_clean()), &["    - \"eated\"", "session.tape: 1 response updated\n"]);
    let updated = fs::read_to_string(&tape).unwrap();
    assert_eq!(updated, whole.replace("5 > ", "# What was said.\n\n5 > "));
    assert_eq!(text(replayed(&tape, ["grammar"]).is_clean()), "3 requests: 3 the same\n");
    assert_eq!(fs::read_dir(tape.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_server_that_cannot_be_opened_is_exit_code_3() {
    let tape = without_fault("replay_not_started");
    for (words, cause) in [
        (&["--", "no-such-program"][..], "the server cannot be started: no-such-program: "),
        (&["--", "sh", "-c", "exit 7"], "before it responded to initialize (request 1) (exit status: 7)"),
        (
            &["--timeout", "0.1", "--", "sh", "-c", "cat > /dev/null"],
            "no response to initialize (request 1) within 0.1 s",
        ),
    ] {
        let end = replayed(&tape, words.iter().copied());
        assert_eq!(end.status.code(), Some(3), "{end:?}");
        contains(&end.log, &[cause]);
    }
    let end = replayed(&tape, ["--output", "json", "--", "no-such-program"]);
    let document = document(&end);
    assert_eq!((end.status.code(), &document["failure"]["at_start"]), (Some(3), &json!(true)));
}

#[test]
fn a_server_that_fails_later_is_exit_code_4() {
    let tape = without_fault("replay_broken");
    let cases = [
        (
            &[][..],
            &["exits-in-call", "3", "the disk is full"][..],
            "before it responded to tools/call fault (request 6) (exit status: 3)",
        ),
        (&[], &["closes-output"], "the stdout of the server ended before it responded to tools/call fault"),
        (&[], &["garbage", "2"], "violation: the frame is not JSON: "),
        (&[], &["cut-off"], "violation: its stdout ends within a message: {\"jsonrpc\""),
        (&[], &["twice"], "violation: a second response to one request: "),
        (&["--timeout", "10"], &["wrong-id"], "violation: a response to no request: "),
        (
            &["--timeout", "10"],
            &["late"],
            "no response to tools/call fault (request 6) within 10 s (--timeout)",
        ),
    ];
    // Some wait for their timeout.
    thread::scope(|scope| {
        for (options, mode, words) in cases {
            let tape = &tape;
            scope.spawn(move || {
                let end = faulted(tape, options, mode);
                assert_eq!(end.status.code(), Some(4), "{end:?}");
                contains(&format!("{}{}", text(&end), end.log), &[words]);
            });
        }
    });
}

#[test]
fn a_server_may_write_its_messages_as_it_likes() {
    let tape = without_fault("replay_bytes");
    for mode in
        [&["dribble", "0"][..], &["crlf"], &["bom"], &["batched"], &["header-answers"], &["ignores-end"]]
    {
        assert_eq!(text(faulted(&tape, &[], mode).is_clean()), "3 requests: 3 the same\n", "{mode:?}");
    }
}

#[test]
fn a_signal_ends_the_server_too() {
    let tape = conjugated("replay_client_signal");
    let server = "echo started >&2; exec sleep 3600";
    let mut process = Process::start(&mut replay(&tape, ["--", "sh", "-c", server]));
    process.wait_for_log("started");
    process.signal(Signal::INT);
    // The server has the same stderr, which is read to its end.
    assert_eq!(process.wait().status.code(), Some(130));
}
