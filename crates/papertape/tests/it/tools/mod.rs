//! Tools: lists and their pages, changes at run time, schemas, and everything that can go wrong in a handler.

mod changes;
mod listing;
mod panics;
mod results;
mod schemas;
mod slow;

use std::time::Duration;

use papertape::server::{Limits, Tools};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peer::{MODERN, Peer, call, request, run, words};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn nothing(_: Nothing, _: Cx) -> Result<(), ToolError> {
    Ok(())
}

/// The one response to one line.
async fn ask(peer: &mut Peer, line: &str) -> Value {
    let mut answers = peer.line(line).await;
    assert_eq!(answers.len(), 1, "{line}: {answers:?}");
    answers.remove(0)
}

/// What is listed, page by page; every page's cursor is followed.
async fn pages(peer: &mut Peer, revision: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let answer = ask(peer, &request(revision, "1", "tools/list", params)).await;
        let names = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
        pages.push(names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect());
        match answer["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return pages,
        }
    }
}

/// A server with tools `t0`, `t1`, ...
fn numbered(count: usize, page: usize) -> (Server, Tools) {
    let mut server = Server::new("numbered", "1").limits(Limits { page, ..Limits::default() });
    for number in 0..count {
        server = server.tool(format!("t{number}"), nothing);
    }
    let tools = server.tools();
    (server, tools)
}

/// What calling `tool` with no arguments leads to in each revision.
///
/// `expected` is the answer in a word; the whole answer must contain one text and lack another.
fn check_call(server: impl Fn() -> Server, tool: &str, expected: &str, contains: &str, lacks: &str) {
    for revision in REVISIONS {
        run(async {
            let mut peer = Peer::open(server(), revision).await;
            let sent = peer.send(call(revision, "7", tool, &json!({})) + "\n").await;
            let answer = [sent, peer.within(Duration::from_millis(50)).await].concat();
            assert_eq!(words(&answer), expected, "{revision}: {tool}");
            let text = String::from_utf8(answer).unwrap();
            assert!(text.contains(contains), "{revision}: {tool}: {text}");
            assert!(lacks.is_empty() || !text.contains(lacks), "{revision}: {tool}: {text}");
            // The server lives on, and so does the tool.
            let again = [
                peer.send(call(revision, "8", tool, &json!({})) + "\n").await,
                peer.within(Duration::from_millis(50)).await,
            ]
            .concat();
            assert_eq!(words(&again), expected.replace('7', "8"), "{revision}: {tool}, again");
            let sentinel = request(revision, "9", "tools/list", json!({}));
            assert_eq!(words(&peer.send(sentinel + "\n").await), "R(9)", "{revision}: {tool}");
            assert_eq!(words(&peer.end().await), "");
        });
    }
}
