//! A tape as the server of a host.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{conjugated, edit, replay};
use crate::http::Served;
use crate::process::{End, OPEN, Process, answer, call, ping, run};
use crate::{contains, papertape, scratch, text};

/// `papertape` with some words, and the replay of a tape as its server.
fn against_replay(words: &[&str], tape: &Path, options: &[&str]) -> Command {
    let mut command = papertape(words.iter().copied());
    command.arg("--").arg(env!("CARGO_BIN_EXE_papertape")).arg("replay").arg(tape).args(options);
    command
}

const CALL: [&str; 5] = ["call", "conjugate", "verb=eat", "tense=past simple", "person=3sg"];

#[test]
fn a_recorded_server_responds_as_the_server_did() {
    let tape = conjugated("replay_round_trip");
    for options in [&[][..], &["--timing"], &["--delay", "1"]] {
        assert_eq!(
            text(run(&mut against_replay(&CALL, &tape, options), "").is_clean()),
            "ate\n",
            "{options:?}"
        );
    }
    // The recorded server, not the real one.
    edit(&tape, "\"ate\"", "\"eated\"");
    assert_eq!(text(run(&mut against_replay(&CALL, &tape, &[]), "").is_clean()), "eated\n");
}

#[test]
fn what_is_not_on_the_tape_is_named() {
    let tape = conjugated("replay_unknown");
    let end = run(&mut against_replay(&["request", "prompts/get", "name=x"], &tape, &[]), "");
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["the tape has no prompts/get x"]);
    let end = run(&mut replay(&tape, []), call(7, "conjugat", &serde_json::json!({})));
    let messages = end.messages();
    let error = &answer(&messages, 7)["error"];
    assert_eq!(
        error["message"],
        "the tape has no tools/call conjugat; the nearest is tools/call conjugate, request 5"
    );
    assert_eq!(end.log, format!("papertape: {}\n", error["message"].as_str().unwrap()));
}

#[test]
fn a_host_may_use_another_framing() {
    let tape = scratch("replay_framing").join("session.tape");
    run(papertape(["serve", "text", "--tape"]).arg(&tape), OPEN.to_owned() + &ping(1)).is_clean();
    let body = ping(5).trim().to_owned();
    let end = run(&mut replay(&tape, []), format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    assert_eq!(
        text(end.is_clean()),
        "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}"
    );
}

/// What a replay with a fault sends for three pings.
fn pinged(test: &str, options: &[&str]) -> End {
    let tape = scratch(test).join("session.tape");
    run(papertape(["serve", "text", "--tape"]).arg(&tape), OPEN.to_owned() + &ping(1)).is_clean();
    run(&mut replay(&tape, options.iter().copied()), ping(1) + &ping(2) + &ping(3))
}

const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

#[test]
fn the_output_can_be_cut() {
    let whole = pinged("replay_whole", &[]);
    let all = text(whole.is_clean());
    assert_eq!(all.lines().next(), Some(PONG));
    for cut in ["0", "20", "37", "50"] {
        let end = pinged(&format!("replay_cut_{cut}"), &["--cut", cut]);
        assert_eq!(text(end.is_clean()), all.get(..cut.parse().unwrap()).unwrap());
    }
    assert_eq!(text(pinged("replay_cut_late", &["--cut", "99999"]).is_clean()), all);
}

#[test]
fn line_ends_can_be_dropped() {
    let end = pinged("replay_newline", &["--drop-newline"]);
    assert_eq!(text(end.is_clean()).matches(r#""result":{}}{"#).count(), 2);
    assert!(!text(&end).contains('\n'));
}

#[test]
fn a_cut_is_seen_by_a_host() {
    let tape = conjugated("replay_cut_host");
    let end = run(&mut against_replay(&CALL, &tape, &["--cut", "3000"]), "");
    assert_eq!(end.status.code(), Some(4), "{end:?}");
}

#[test]
fn a_recorded_server_is_at_a_url() {
    let tape = conjugated("replay_http");
    let served = Served::start(&mut replay(&tape, ["--http", "127.0.0.1:0"]));
    let url = format!("http://{}/mcp", served.address);
    let [call, words @ ..] = CALL;
    for revision in ["2026-07-28", "2025-11-25"] {
        let options = ["--revision", revision, "--timeout", "60"];
        let command = [call, &url].into_iter().chain(words).chain(options);
        let end = run(&mut papertape(command), "");
        if revision == "2026-07-28" {
            assert_eq!(text(end.is_clean()), "ate\n");
        } else {
            contains(&end.log, &["the tape has no initialize"]);
        }
    }
}

#[test]
fn a_tape_of_http_is_a_server_on_stdio() {
    let folder = scratch("replay_of_http");
    let tape = folder.join("session.tape");
    let served = Served::start(&mut papertape(["serve", "grammar", "--http", "127.0.0.1:0"]));
    let url = format!("http://{}/mcp", served.address);
    let mut tap = papertape(["tap", "--http", "127.0.0.1:0", "--tape"]);
    let tap = tap.arg(&tape).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut tap = Process::start_as_it_is(tap);
    tap.wait_for_log("is at http://");
    let recorded = format!("http://{}", tap.log_so_far().rsplit_once("http://").unwrap().1.trim());
    let [call, words @ ..] = CALL;
    for revision in ["2025-11-25", "2026-07-28"] {
        let command = [call, &recorded].into_iter().chain(words).chain(["--revision", revision]);
        assert_eq!(text(run(&mut papertape(command), "").is_clean()), "ate\n");
    }
    tap.signal(Signal::TERM);
    tap.wait();
    edit(&tape, "\"ate\"", "\"eated\"");
    for revision in ["2025-11-25", "2026-07-28"] {
        let words: Vec<&str> = CALL.into_iter().chain(["--revision", revision]).collect();
        assert_eq!(text(run(&mut against_replay(&words, &tape, &[]), "").is_clean()), "eated\n");
    }
}

#[test]
fn a_signal_ends_it() {
    let tape = conjugated("replay_signal");
    let mut process = Process::start(&mut replay(&tape, []));
    process.send(ping(1));
    process.message();
    process.signal(Signal::TERM);
    assert_eq!(process.wait().status.code(), Some(143));
}

#[test]
fn an_incomplete_tape_is_said_to_be_so() {
    let tape = conjugated("replay_incomplete");
    edit(&tape, "5 > ", "5 * - lost {\"frames\":1}\n6 > ");
    let end = run(&mut replay(&tape, []), ping(1));
    assert_eq!(end.is_clean().messages().len(), 1);
    assert_eq!(
        end.log,
        "papertape: warning: the tape is incomplete: a part was lost while it was recorded (`lost`)\n"
    );
}

#[test]
fn a_host_that_has_gone_ends_it() {
    let tape = conjugated("replay_gone");
    let mut process = Process::start(&mut replay(&tape, []));
    drop(process.output.take());
    process.send(ping(1));
    assert_eq!(process.wait().status.code(), Some(0));
}

#[test]
fn what_cannot_be_replayed_is_wrong_usage() {
    let folder = scratch("replay_usage");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    for (tape, words, problem) in [
        (folder.join("none"), &[][..], "No such file"),
        (folder.clone(), &[], "it is a directory; name a tape in it"),
        (file("nothing", ""), &[], "nothing: the tape is empty: a tape begins with a line"),
        (file("half", "paper"), &[], "half: the tape is cut in its first line, or is not a tape"),
        (
            conjugated("replay_usage_tape0"),
            &["--cut", "x"],
            "invalid value 'x' for '--cut <BYTE>': give a number of bytes, such as 100",
        ),
        (file("other", "{}\n"), &[], "line 1: a tape begins with the line \"papertape 1\""),
        (file("empty", "papertape 1\n"), &[], "there is nothing to replay"),
        (file("wrong", "papertape 1\n1 > x\n"), &[], "line 2: "),
        (conjugated("replay_usage_tape"), &["--update"], "--update is for replaying the client of a tape"),
        (
            conjugated("replay_usage_tape2"),
            &["--cut", "3", "text"],
            "--cut is for replaying the server of a tape",
        ),
        (
            conjugated("replay_usage_tape3"),
            &["https://example.com/mcp"],
            "-- papertape bridge https://example.com/mcp",
        ),
        (
            conjugated("replay_usage_tape4"),
            &["text", "--ignore", "a/b"],
            "--ignore: \"a/b\" is not a JSON pointer",
        ),
    ] {
        let end = run(&mut replay(&tape, words.iter().copied()), "");
        assert_eq!(end.status.code(), Some(2), "{words:?} {end:?}");
        contains(&end.log, &[problem]);
    }
}
