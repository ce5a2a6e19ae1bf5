//! `papertape tape cat`.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::tape_tools::{HTTP, STDIO, assert_code, tape, tool, tool_of};
use crate::{papertape, text};

#[test]
fn a_session_is_readable() {
    let end = tool_of(&["cat"], STDIO);
    end.is_clean();
    let lines: Vec<&str> = text(&end).lines().collect();
    assert_eq!(lines[0], "# papertape 0.1.0, unix time 1790000000");
    assert_eq!(lines[1], r#"·   1  0.000s  start  {"command":["./server"],"pid":4242}"#);
    assert_eq!(lines[3], "·   3  0.150s  stderr  listening⟦1b⟧[0m");
    assert_eq!(lines[5], r#"→   5  0.300s  {"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(lines[7], r#"←   7  0.500s  {"jsonrpc":"2.0","id":1,"result": (no line end)"#);
    assert_eq!(lines.len(), 14);
}

#[test]
fn http_heads_are_a_line_for_each_header() {
    let end = tool_of(&["cat", "--exchange", "1"], HTTP);
    end.is_clean();
    assert_eq!(
        text(&end),
        "→   2 [1]  0.001s  POST /mcp HTTP/1.1
                 Host: 127.0.0.1:8080
                 Authorization: Bearer abcdef
                 Content-Type: application/json
→   3 [1]  0.002s  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}
←   5 [1]  0.003s  HTTP/1.1 200 OK
                 Content-Type: text/event-stream
←   6 [1]  0.004s  {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}
"
    );
}

#[test]
fn messages_of_a_method_are_printed_whole_with_their_responses() {
    let end = tool_of(&["cat", "--only", "tools/*"], STDIO);
    end.is_clean();
    let numbers: Vec<String> = text(&end).lines().map(|line| line.chars().take(5).collect()).collect();
    assert_eq!(numbers, ["→   6", "←   7", "→   9", "←  10"]);
    assert!(
        text(&end).contains(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}}"#)
    );
    let end = tool_of(&["cat", "--only", "ping", "--only", "initialize"], STDIO);
    assert_eq!(text(&end).lines().count(), 3);
}

#[test]
fn one_direction_is_printed() {
    assert_eq!(
        text(&tool_of(&["cat", "--direction", "stderr"], STDIO)),
        "·   3  0.150s  stderr  listening⟦1b⟧[0m\n"
    );
    let end = tool_of(&["cat", "--direction", "to-client"], STDIO);
    assert!(text(&end).lines().all(|line| line.starts_with('←')) && text(&end).lines().count() == 4);
}

#[test]
fn colours_are_for_terminals() {
    let path = tape("tape_cat_colours", STDIO);
    assert!(!tool(&["cat"], &path).output.contains(&0x1b));
    let mut command = papertape(["tape", "cat"]);
    command.arg(&path).env("CLICOLOR_FORCE", "1");
    let end = papertape_testing::process::run(&mut command, "");
    assert!(text(&end).contains("\u{1b}[1m\u{1b}[34m→   2\u{1b}[0m"), "{}", text(&end));
}

#[test]
fn a_growing_tape_is_followed_to_its_end_and_through_rotation() {
    let path = tape("tape_cat_follow", "papertape 1\n1 > 0.000000 line {\"a\":1}\n2 > 0.0000");
    let mut command = papertape(["tape", "cat", "--follow"]);
    let mut child = command.arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "→   1  0.000s  {\"a\":1}");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"01 line {\"b\":2}\n").unwrap();
    assert_eq!(next(), "→   2  0.000s  {\"b\":2}");
    fs::rename(&path, path.with_extension("old")).unwrap();
    file.write_all(b"3 > 0.000002 line {\"c\":3}\n").unwrap();
    fs::write(&path, "papertape 1\n4 > 0.000003 line {\"d\":4}\n").unwrap();
    assert_eq!(next(), "→   3  0.000s  {\"c\":3}");
    assert_eq!(next(), "→   4  0.000s  {\"d\":4}");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"5 * 0.000004 end {}\n").unwrap();
    assert_eq!(next(), "·   5  0.000s  end  {}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_is_no_error() {
    let many: String = (1..20_000).map(|number| format!("{number} > - line {{}}\n")).collect();
    let path = tape("tape_cat_pipe", &format!("papertape 1\n{many}"));
    let mut command = papertape(["tape", "cat"]);
    let mut child = command.arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let end = child.wait_with_output().unwrap();
    assert!(end.status.success() && end.stderr.is_empty(), "{end:?}");
}

#[test]
fn following_needs_a_file() {
    assert_code(&tool_of(&["cat", "--follow"], STDIO), 2);
}

#[test]
fn a_recording_that_has_not_ended_is_named() {
    let end = tool_of(&["cat"], &STDIO.replace("13 * 1.000100 end {}\n", ""));
    assert_code(&end, 0);
    let words = "the tape on stdin has no `end` event: it was cut, or is still being written";
    assert!(end.log.contains(words), "{}", end.log);
    // Clients that record themselves write no events.
    tool_of(&["cat"], "papertape 1\n1 > - line {}\n").is_clean();
}
