//! `papertape tap --http`: a reverse proxy that changes nothing, and a tape with heads and bodies.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use papertape::wire::tape::{self, Content, Direction, Entry, Record};
use rustix::process::Signal;
use serde_json::Value;

use crate::events::wait_for_text;
use crate::process::{Process, run};
use crate::{contains, papertape, scratch};

/// A tap in front of a server, and its tape.
struct Tap {
    process: Process,
    address: String,
    tape: PathBuf,
}

impl Tap {
    fn start(test: &str, url: &str, options: &[&str]) -> Self {
        let tape = scratch(test).join("http.tape");
        let mut command = papertape(["tap", "--http", "0", "--tape"]);
        let mut process = Process::start(command.arg(&tape).args(options).arg(url));
        process.wait_for_log("is at http://");
        let address = address(process.log_so_far());
        Self { process, address, tape }
    }

    /// Sends a request, and reads the response to its end.
    fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.replace("HOST", &self.address).as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8(response).unwrap()
    }

    /// Stops it; what is on the tape.
    fn records(self) -> Vec<Record<'static>> {
        self.process.signal(Signal::TERM);
        self.process.finish().is_clean();
        records(&self.tape)
    }
}

fn records(tape: &Path) -> Vec<Record<'static>> {
    let entries = tape::read(&fs::read_to_string(tape).unwrap()).unwrap();
    let records = entries.into_iter().filter_map(|entry| match entry {
        Entry::Record(record) => Some(record),
        Entry::Comment(_) => None,
    });
    records.collect()
}

/// The address in `.. is at http://ADDRESS/..`.
fn address(log: &str) -> String {
    let (_, rest) = log.split_once("is at http://").unwrap();
    rest.split(['/', '\n']).next().unwrap().to_owned()
}

/// What a record is, in one line: source, exchange, form and bytes.
fn shown(record: &Record<'_>) -> String {
    let exchange = record.exchange.map(|number| number.to_string()).unwrap_or_default();
    match &record.content {
        Content::Frame(direction, bytes) => {
            format!("{}{exchange} {}", source(*direction), String::from_utf8_lossy(bytes))
        }
        Content::Head(direction, bytes) => {
            format!("{}{exchange} head {}", source(*direction), String::from_utf8_lossy(bytes))
        }
        Content::Event { name, detail } => format!("*{exchange} {name} {detail}"),
        Content::Stderr(_) => panic!("{record:?}"),
    }
}

fn source(direction: Direction) -> char {
    if direction == Direction::ToServer { '>' } else { '<' }
}

/// A server that reads one request per connection, and does what a test wants with it.
fn upstream(respond: impl Fn(String, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                request.push(byte[0]);
            }
            let head = String::from_utf8(request).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            stream.read_exact(&mut body).unwrap();
            respond(head + &String::from_utf8(body).unwrap(), stream);
        }
    });
    format!("http://{address}/mcp")
}

#[test]
fn a_session_over_http_is_on_the_tape_with_all_heads() {
    let mut server = Process::start(&mut papertape(["serve", "text", "--http", "0"]));
    server.wait_for_log("is at http://");
    let url = format!("http://{}/mcp", address(server.log_so_far()));
    let tap = Tap::start("tap_http_session", &url, &[]);
    let tapped = format!("http://{}/mcp", tap.address);
    for revision in ["2025-11-25", "2026-07-28"] {
        let header = "X-Secret: hunter2";
        let mut command =
            papertape(["call", &tapped, "echo", "text=Füße", "--revision", revision, "--header", header]);
        let end = run(&mut command, "");
        assert_eq!((end.status.code(), &end.output[..]), (Some(0), "Füße\n".as_bytes()), "{end:?}");
    }
    let records = tap.records();
    let shown: Vec<String> = records.iter().map(shown).collect();
    let text = shown.join("\n");
    assert_eq!(shown[0], format!("* start {{\"url\":\"{url}\"}}"));
    contains(
        &text,
        &[
            ">1 head POST /mcp HTTP/1.1\r\n",
            "x-secret: hunter2\r\n",
            "<1 head HTTP/1.1 200 OK\r\n",
            "DELETE /mcp",
        ],
    );
    // Each exchange has the two heads, and a body of JSON or of events, whole.
    let calls = records.iter().filter(|record| {
        record.as_frame().is_some_and(|(direction, bytes)| {
            direction == Direction::ToServer
                && serde_json::from_slice::<Value>(bytes)
                    .is_ok_and(|message| message["method"] == "tools/call")
        })
    });
    assert_eq!(calls.count(), 2, "{text}");
    // The client leaves the stream of a session that has no end of its own.
    assert!(!text.contains("no response") && !text.contains("broken off"), "{text}");
    assert_eq!(shown.last().unwrap(), "* end {}");
    server.signal(Signal::TERM);
    server.finish().is_clean();
}

#[test]
fn headers_and_bodies_pass_unchanged() {
    let response = "HTTP/1.1 302 Found\r\nlocation: http://elsewhere.example/\r\ncontent-length: 3\r\nkeep-alive: timeout=5\r\n\
                    x-hop: 1\r\nconnection: x-hop, close\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\nhi\n";
    let (sender, requests) = std::sync::mpsc::channel();
    let url = upstream(move |request, mut stream| {
        sender.send(request).unwrap();
        stream.write_all(response.as_bytes()).unwrap();
    });
    let tap = Tap::start("tap_http_headers", &url, &[]);
    let answer = tap.exchange(
        "PUT /other?x=1 HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer abc\r\nConnection: close, X-Private\r\nX-Private: 1\r\n\
         TE: trailers\r\nX-Empty:\r\nContent-Length: 4\r\n\r\n{}\r\n",
    );
    contains(
        &answer,
        &[
            "HTTP/1.1 302 Found\r\n",
            "location: http://elsewhere.example/\r\n",
            "set-cookie: a=1\r\nset-cookie: b=2\r\n",
        ],
    );
    assert!(
        answer.ends_with("\r\n\r\nhi\n") && !answer.contains("x-hop") && !answer.contains("timeout=5"),
        "{answer}"
    );
    let request = requests.recv().unwrap();
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    contains(
        &request,
        &[
            "PUT /other?x=1 HTTP/1.1\r\n",
            &format!("host: {host}\r\n"),
            "authorization: Bearer abc\r\n",
            "x-empty: \r\n",
        ],
    );
    assert!(request.ends_with("\r\n\r\n{}\r\n"), "{request}");
    // Nothing is added, and what concerns the connection is removed.
    for word in ["private", "te:", "connection", "accept", "user-agent", "forwarded", "via"] {
        assert!(!request.contains(word), "{word}: {request}");
    }
    let text = tap.records().iter().map(shown).collect::<Vec<_>>().join("\n");
    contains(
        &text,
        &[
            "authorization: Bearer abc",
            "x-private: 1",
            ">1 {}\r\n",
            "<1 head HTTP/1.1 302 Found",
            "x-hop: 1",
            "<1 hi\n",
        ],
    );
}

#[test]
fn events_pass_at_once() {
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let url = upstream(move |_, mut stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        stream.write_all(format!("{head}data: 1\n\nda").as_bytes()).unwrap();
        let _ = wait.recv();
        stream.write_all(b"ta: 2\n\nid: 3\ndata: 3\n\n").unwrap();
    });
    let tap = Tap::start("tap_http_events", &url, &[]);
    let mut stream = TcpStream::connect(&tap.address).unwrap();
    stream
        .write_all(
            format!("GET /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", tap.address).as_bytes(),
        )
        .unwrap();
    let (mut came, mut buffer) = (Vec::new(), [0; 1024]);
    // The server waits until the first event, and the beginning of the second, have come.
    while String::from_utf8_lossy(&came).matches("da").count() < 2 {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0);
        came.extend_from_slice(&buffer[..count]);
    }
    go_on.send(()).unwrap();
    stream.read_to_end(&mut came).unwrap();
    let bodies: Vec<u8> = tap
        .records()
        .iter()
        .filter(|record| record.exchange == Some(1))
        .filter_map(|record| record.as_frame().map(|(_, bytes)| bytes.to_vec()))
        .flatten()
        .collect();
    assert_eq!(bodies, b"data: 1\n\ndata: 2\n\nid: 3\ndata: 3\n\n");
}

#[test]
fn an_exchange_without_its_end_has_failed() {
    let url = upstream(|request, mut stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}9\r\ndata: 1\n\n\r\n").as_bytes()).unwrap();
        if !request.contains("/broken") {
            // Until the client has gone.
            drop(stream.read(&mut [0]));
        }
    });
    let tap = Tap::start("tap_http_failed", &url, &[]);
    tap.exchange("GET /broken HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n");
    let mut stream = TcpStream::connect(&tap.address).unwrap();
    stream.write_all(format!("GET /left HTTP/1.1\r\nHost: {}\r\n\r\n", tap.address).as_bytes()).unwrap();
    let (mut came, mut buffer) = (Vec::new(), [0; 1024]);
    while !String::from_utf8_lossy(&came).contains("data: 1") {
        let count = stream.read(&mut buffer).unwrap();
        came.extend_from_slice(&buffer[..count]);
    }
    drop(stream);
    wait_for_text(&tap.tape, "*2 ");
    let text = tap.records().iter().map(shown).collect::<Vec<_>>().join("\n");
    contains(
        &text,
        &[
            "*1 failed {\"error\":\"the response has broken off",
            "*2 failed {\"error\":\"the client has closed",
        ],
    );
}

#[test]
fn an_upstream_that_is_down_is_a_502_with_the_cause() {
    // Nothing listens at a port that was just free.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let tap = Tap::start("tap_http_down", &format!("http://127.0.0.1:{port}/mcp"), &[]);
    let answer = tap.exchange("GET /mcp HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    contains(head, &["HTTP/1.1 502 Bad Gateway\r\n", "content-type: application/json\r\n"]);
    let error: Value = serde_json::from_str(body).unwrap();
    contains(error["error"]["message"].as_str().unwrap(), &["Connection refused", "is the server running"]);
    let text = tap.records().iter().map(shown).collect::<Vec<_>>().join("\n");
    contains(&text, &["*1 failed", "Connection refused"]);
}

#[test]
fn pages_and_names_of_other_machines_are_refused() {
    let url = upstream(|_, mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    });
    let tap = Tap::start(
        "tap_http_guard",
        &url,
        &["--allow-host", "known.example", "--allow-origin", "https://known.example"],
    );
    let status = |host: &str, more: &str| {
        let answer =
            tap.exchange(&format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"));
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("HOST", ""), "200");
    assert_eq!(status("known.example", ""), "200");
    assert_eq!(status("evil.example", ""), "403");
    assert_eq!(status("HOST", "Origin: https://evil.example\r\n"), "403");
    assert_eq!(status("HOST", "Origin: https://known.example\r\n"), "200");
    assert_eq!(tap.records().iter().filter(|record| shown(record).contains("failed")).count(), 2);
}

#[test]
fn what_is_not_at_a_url_is_refused() {
    for (arguments, words) in [
        (&["tap", "--http", "0", "--", "cat"][..], &["--http is for a server at a URL"][..]),
        (&["tap", "--http", "0", "--env", "A=1", "http://localhost/mcp"], &["--env"]),
        (&["tap", "--http", "0", "http://a:b@localhost/mcp"], &["user name or password"]),
        (&["tap", "http://localhost/mcp"], &["add --http PORT"]),
    ] {
        let end = run(&mut papertape(arguments.iter().copied()), "");
        assert_eq!(end.status.code(), Some(2), "{end:?}");
        contains(&end.log, words);
    }
}
