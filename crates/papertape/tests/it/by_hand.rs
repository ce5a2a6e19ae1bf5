//! docs/mcp-by-hand.md: its program is the example `by_hand`, and its tapes are what that program does on real pipes.
//!
//! `UPDATE=1 cargo test` rewrites the responses in the page; read the difference before you commit it.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use papertape::client::ClientOptions;
use papertape::protocol::{Content, Revision};
use papertape::stdio::{self, ServerCommand};
use papertape::wire::tape::{self, Direction, Record};
use serde_json::json;

use crate::process::Process;
use crate::stdio_process::example;

fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp-by-hand.md")
}

/// The page in pieces: a text outside of code blocks, then a block with its language, and so on. Concatenated, they are the
/// page.
fn pieces(page: &str) -> Vec<(Option<&str>, String)> {
    let mut pieces = vec![(None, String::new())];
    let mut language = None;
    for line in page.split_inclusive('\n') {
        let fence = line.strip_prefix("```").map(str::trim_end);
        match (language, fence) {
            (None, Some(opened)) => {
                pieces.last_mut().unwrap().1.push_str(line);
                language = Some(opened);
                pieces.push((language, String::new()));
                continue;
            }
            (Some(_), Some(_)) => {
                language = None;
                pieces.push((None, String::new()));
            }
            _ => {}
        }
        pieces.last_mut().unwrap().1.push_str(line);
    }
    assert_eq!(language, None, "a code block does not end");
    pieces
}

/// Sends what a tape sends, and writes down what comes back: after each frame as many responses as the tape has, and after
/// the last one all that is left. Returns the tape and what the program logged.
fn play(written: &str) -> (String, String) {
    let mut server = Process::start(&mut example("by_hand"));
    let mut played = String::new();
    let mut number = 0;
    let mut record = |direction, bytes: &[u8]| {
        number += 1;
        Record::frame(number, direction, None, bytes).write(&mut played);
    };
    for entry in tape::read(&format!("{}\n{written}", tape::HEADER)).unwrap() {
        let Some((direction, bytes)) = entry.as_frame() else { panic!("not a frame: {entry:?}") };
        if direction == Direction::ToServer {
            server.send(bytes);
            record(Direction::ToServer, bytes);
        } else {
            let mut line = Vec::new();
            server.output.as_mut().unwrap().read_until(b'\n', &mut line).unwrap();
            record(Direction::ToClient, &line);
        }
    }
    let end = server.finish();
    end.is_clean();
    for line in end.output.split_inclusive(|&byte| byte == b'\n') {
        record(Direction::ToClient, line);
    }
    (played, end.log)
}

#[test]
fn the_tapes_in_the_page_are_what_the_program_does() {
    let page = fs::read_to_string(page_path()).unwrap();
    let (mut now, mut log, mut tapes, mut logs) = (String::new(), String::new(), 0, 0);
    for (language, text) in pieces(&page) {
        match language {
            Some("tape") => {
                let (played, logged) = play(&text);
                now.push_str(&played);
                log = logged;
                tapes += 1;
            }
            // What the program wrote to stderr during the tape before.
            Some("stderr") => {
                now.push_str(&log);
                logs += 1;
            }
            _ => now.push_str(&text),
        }
    }
    assert!(tapes >= 8 && logs >= 1, "only {tapes} tapes and {logs} logs were found");
    if now != page && std::env::var_os("UPDATE").is_some() {
        fs::write(page_path(), now).unwrap();
        return;
    }
    for (written, now) in page.lines().zip(now.lines()) {
        assert_eq!(written, now, "(UPDATE=1 rewrites)");
    }
    assert_eq!(page.len(), now.len(), "(UPDATE=1 rewrites)");
}

#[test]
fn the_code_in_the_page_is_the_program() {
    let page = fs::read_to_string(page_path()).unwrap();
    let blocks = pieces(&page).into_iter().filter(|(language, _)| *language == Some("rust"));
    let code: Vec<String> = blocks.map(|(_, code)| code).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/by_hand.rs");
    assert_eq!(
        code.join("\n"),
        fs::read_to_string(file).unwrap(),
        "the blocks in order, a blank line between"
    );
    assert!(!code.concat().contains("papertape"), "it is about doing without");
}

#[tokio::test]
async fn our_client_calls_the_program_in_both_its_revisions() {
    let path = example("by_hand").get_program().to_owned();
    let stateless = (Revision::V2026_07_28, ClientOptions::new());
    let session_based = (Revision::V2025_11_25, ClientOptions::new().revision(Revision::V2025_11_25));
    for (revision, options) in [stateless, session_based] {
        let client = stdio::connect_with(ServerCommand::new(&path), options).await.unwrap();
        assert_eq!(client.revision(), revision);
        assert_eq!(client.server().name, "by-hand");
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!((tools[0].item.name.as_str(), &tools[0].problems[..]), ("past_tense", &[][..]));
        let result = client.call("past_tense", json!({"verb": "go"})).await.unwrap();
        assert_eq!((result.content, result.is_error), (vec![Content::text("went")], false));
        let result = client.call("past_tense", json!({"verb": "jump"})).await.unwrap();
        assert!(result.is_error);
        client.close().await;
    }
}
