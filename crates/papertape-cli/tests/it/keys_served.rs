//! `papertape serve SERVER --http --auth`: requests with a key are served, others are refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{Process, run};
use crate::{contains, papertape, scratch, text};

fn new_key(file: &Path, name: &str) -> String {
    let end = run(&mut papertape(["key", name, "--file", file.to_str().unwrap()]), "");
    text(end.is_clean()).trim_end().to_owned()
}

/// The response to `tools/list`, with a key if that is not empty.
fn ask(address: &str, key: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#);
    let authorization =
        if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{authorization}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn keys_are_added_and_revoked_while_the_server_runs() {
    let folder = scratch("keys-served");
    let file = folder.join("keys.toml");
    let key = new_key(&file, "ci");
    let place = folder.join("log");
    let mut command =
        papertape(["serve", "grammar", "--http", "127.0.0.1:0", "--auth", file.to_str().unwrap()]);
    let log = std::fs::File::create(&place).unwrap();
    let server = Process::start_as_it_is(command.stdin(std::process::Stdio::null()).stderr(log));
    let address = wait_for(|| {
        let said = std::fs::read_to_string(&place).unwrap();
        let (_, rest) = said.split_once("http://")?;
        rest.split_once("/mcp").map(|(address, _)| address.to_owned())
    });
    let refused = ask(&address, "");
    contains(&refused, &["HTTP/1.1 401 ", "Bearer realm=\"mcp\""]);
    contains(&ask(&address, &key), &["HTTP/1.1 200 ", "\"conjugate\""]);
    // Another one is added, and then the first is revoked.
    let second = new_key(&file, "second");
    wait_for(|| ask(&address, &second).contains("HTTP/1.1 200 ").then_some(()));
    let kept = std::fs::read_to_string(&file).unwrap();
    let (_, only_second) = kept.rsplit_once("[[key]]").unwrap();
    // Atomically: a reader sees the old file or the new one. The copy is as private as the file.
    let beside = folder.join("beside.toml");
    std::fs::copy(&file, &beside).unwrap();
    std::fs::write(&beside, format!("[[key]]{only_second}")).unwrap();
    std::fs::rename(&beside, &file).unwrap();
    wait_for(|| ask(&address, &key).contains("HTTP/1.1 401 ").then_some(()));
    contains(&ask(&address, &second), &["HTTP/1.1 200 "]);
    server.signal(Signal::TERM);
    server.wait().is_clean();
    let said = std::fs::read_to_string(&place).unwrap();
    assert!(!said.contains(&key) && !said.contains(&second), "{said}");
}

/// Polls until there is a result; the deadline is for failure only.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(600);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never comes");
        std::thread::yield_now();
    }
}

#[test]
fn a_file_of_keys_that_cannot_be_used_stops_the_start() {
    let folder = scratch("keys-unserved");
    let file = folder.join("keys.toml");
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for (file, words) in [(file, "chmod 600"), (folder.join("none.toml"), "No such file")] {
        let arguments = ["serve", "grammar", "--http", "127.0.0.1:0", "--auth", file.to_str().unwrap()];
        let end = run(&mut papertape(arguments), "");
        assert_eq!(end.status.code(), Some(3), "{end:?}");
        contains(&end.log, &[words, ".toml"]);
    }
}
