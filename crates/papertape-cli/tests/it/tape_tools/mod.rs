//! `papertape tape`: a module for each subcommand.

mod broken;
mod cat;
mod check;
mod diff;
mod grep;
mod raw;
mod redact;
mod stats;
mod to_har;
mod to_jsonl;

use std::fs;
use std::path::{Path, PathBuf};

use papertape_testing::process::{End, run};

use crate::{papertape, scratch};

/// A session on stdio, with a part that crossed late, a tool that fails, and a request that is not answered.
const STDIO: &str = r#"papertape 1
# papertape 0.1.0, unix time 1790000000
1 * 0.000000 start {"command":["./server"],"pid":4242}
2 > 0.100000 line {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"7"}}}
3 ! 0.150000 line listening⟦1b⟧[0m
4 < 0.200000 line {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"adder","version":"1"}}}
5 > 0.300000 line {"jsonrpc":"2.0","method":"notifications/initialized"}
6 > 0.400000 line {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}
7 < 0.500000 raw {"jsonrpc":"2.0","id":1,"result":
8 < 0.600000 line {"content":[{"type":"text","text":"3"}]}}
9 > 0.700000 line {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":"x"}}}
10 < 0.800000 line {"jsonrpc":"2.0","id":2,"result":{"isError":true,"content":[{"type":"text","text":"a is not a number"}]}}
11 > 0.900000 line {"jsonrpc":"2.0","id":3,"method":"ping"}
12 * 1.000000 exit {"status":0}
13 * 1.000100 end {}
"#;

/// Two exchanges over HTTP.
const HTTP: &str = r#"papertape 1
# papertape 0.1.0, unix time 1790000000
1 * 0.000000 start {"url":"http://127.0.0.1:8080/mcp"}
2 >1 0.001000 head POST /mcp HTTP/1.1⟦0d 0a⟧Host: 127.0.0.1:8080⟦0d 0a⟧Authorization: Bearer abcdef⟦0d 0a⟧Content-Type: application/json
3 >1 0.002000 raw {"jsonrpc":"2.0","id":1,"method":"ping"}
4 >2 0.002500 head GET /mcp HTTP/1.1⟦0d 0a⟧Host: 127.0.0.1:8080
5 <1 0.003000 head HTTP/1.1 200 OK⟦0d 0a⟧Content-Type: text/event-stream
6 <1 0.004000 event {"jsonrpc":"2.0","id":1,"result":{}}
7 <2 0.005000 head HTTP/1.1 405 Method Not Allowed⟦0d 0a⟧Allow: POST
8 * 0.006000 end {}
"#;

/// Writes a tape for one test.
fn tape(test: &str, text: &str) -> PathBuf {
    let path = scratch(test).join("session.tape");
    fs::write(&path, text).unwrap();
    path
}

/// `papertape tape` with some words, and a tape after them.
fn tool(words: &[&str], tape: &Path) -> End {
    let mut command = papertape(["tape"]);
    command.args(words).arg(tape);
    run(&mut command, "")
}

/// The same with the tape on stdin.
fn tool_of(words: &[&str], tape: &str) -> End {
    let mut command = papertape(["tape"]);
    command.args(words).arg("-");
    run(&mut command, tape)
}

#[track_caller]
fn assert_code(end: &End, code: i32) {
    assert_eq!(end.status.code(), Some(code), "{end:?}");
}
