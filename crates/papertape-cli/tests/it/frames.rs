//! `--trace` and `--tape` of clients: every frame that crosses, on stderr and in a file.

use papertape::wire::tape::{self, Direction, Entry};

use crate::process::run;
use crate::{against, contains, papertape, scratch};

#[test]
fn a_trace_has_every_frame_on_a_line() {
    let words = ["call", "text", "echo", "text=ñ", "--revision", "2025-11-25", "--trace"];
    let end = run(&mut papertape(words), "");
    assert_eq!(end.is_clean().output, "ñ\n".as_bytes());
    let lines: Vec<&str> = end.log.lines().collect();
    assert_eq!(lines.len(), 7, "{end:?}");
    for (index, (line, (arrow, content))) in lines
        .iter()
        .zip([
            ("→", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#),
            ("←", r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","#),
            ("→", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            ("→", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
            ("←", r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"#),
            ("→", r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","#),
            ("←", r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"ñ"}],"isError":false}}"#),
        ])
        .enumerate()
    {
        let rest = line.strip_prefix(&format!("{arrow}   {}  ", index + 1)).expect(line);
        let (seconds, frame) = rest.split_once("s  ").expect(line);
        assert!(seconds.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "{line}");
        assert!(frame.starts_with(content), "{line}");
    }
}

#[test]
fn a_trace_shows_bytes_that_are_not_text() {
    let end = run(&mut against(&["list", "--trace"], &["banner"]), "");
    contains(&end.log, &["⟦1b⟧"]);
    assert!(!end.log.contains('\u{1b}'), "{end:?}");
    let words = ["list", "text", "--trace", "--framing", "content-length"];
    contains(
        &run(&mut papertape(words), "").is_clean().log,
        &["s  Content-Length: ", "⟦0d 0a 0d 0a⟧{\"jsonrpc\""],
    );
}

#[test]
fn a_tape_has_what_the_trace_has() {
    let path = scratch("client_tape").join("session.tape");
    let mut command = papertape(["call", "text", "echo", "text=x", "--probe", "60", "--trace", "--tape"]);
    let end = run(command.arg(&path), "");
    let frames: Vec<(u64, Direction, Vec<u8>)> = tape::read(&std::fs::read_to_string(&path).unwrap())
        .unwrap()
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Record(record) => {
                record.as_frame().map(|(direction, bytes)| (record.number, direction, bytes.to_vec()))
            }
            Entry::Comment(_) => None,
        })
        .collect();
    let traced: Vec<(u64, Direction, Vec<u8>)> = end
        .is_clean()
        .log
        .lines()
        .map(|line| {
            let mut parts = line.splitn(2, "s  ");
            let mut head = parts.next().unwrap().split_whitespace();
            let direction =
                if head.next() == Some("→") { Direction::ToServer } else { Direction::ToClient };
            let number = head.next().unwrap().parse().unwrap();
            (number, direction, format!("{}\n", parts.next().unwrap()).into_bytes())
        })
        .collect();
    assert_eq!(frames, traced);
    assert_eq!(frames.len(), 6);
}
