//! `papertape serve --http` as a process: signals, few file descriptors, memory. Rows G8, G9, G11 of docs/behaviour.md.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::process::Process;
use crate::{papertape, shell};

/// A wait longer than this is a hang, however busy the machine is.
pub(crate) const HANG: Duration = Duration::from_secs(600);

/// A server on a free port.
pub(crate) struct Served {
    process: Process,
    pub(crate) address: SocketAddr,
}

impl Served {
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = Process::start_as_it_is(command);
        process.wait_for_log("http://");
        let (_, url) = process.log_so_far().split_once("http://").unwrap();
        let address = url.split_once("/mcp").unwrap().0.parse().unwrap();
        Self { process, address }
    }

    /// Waits until it has written this to stderr.
    pub(crate) fn wait_for_log(&mut self, words: &str) {
        self.process.wait_for_log(words);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    fn connect(&self) -> TcpStream {
        open(self.address)
    }

    /// A connection from another address.
    fn connect_from(&self, address: [u8; 4]) -> TcpStream {
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&stream, &SocketAddr::from((address, 0))).unwrap();
        connect(&stream, &self.address).unwrap();
        let stream = TcpStream::from(stream);
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream
    }

    fn ask(&self, body: &Value) -> (u16, String) {
        let mut stream = self.connect();
        stream.write_all(&post(body)).unwrap();
        response(&mut stream)
    }

    /// The value of a metric; 0 if it is absent.
    fn metric(&self, name: &str) -> u64 {
        let mut stream = self.connect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let (_, text) = response(&mut stream);
        text.lines().find_map(|line| line.strip_prefix(name)).map_or(0, |value| value.parse().unwrap())
    }

    /// Waits until the process has ended; one that hangs is killed.
    pub(crate) fn end(self) -> ExitStatus {
        let status = self.process.wait().status;
        assert_ne!(status.signal(), Some(9), "it does not end");
        status
    }

    /// Kills it, and returns its log.
    fn kill(self) -> String {
        self.process.signal(Signal::KILL);
        self.process.wait().log
    }

    /// A file about the process in `/proc`.
    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.process.pid().as_raw_nonzero())).unwrap()
    }

    /// A line of `/proc/PID/status`, in kilobytes.
    fn memory(&self, name: &str) -> u64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().unwrap()
    }
}

/// A connection on which a hang is a failed test.
pub(crate) fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream
}

fn serve<'a>(more: impl IntoIterator<Item = &'a str>) -> Command {
    papertape(["serve", "text", "--http", "127.0.0.1:0"].into_iter().chain(more))
}

/// A stateless request (2026-07-28).
pub(crate) fn request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn count(id: u64, text: &str) -> Value {
    request(id, "tools/call", json!({"name": "word_count", "arguments": {"text": text}}))
}

pub(crate) fn post(body: &Value) -> Vec<u8> {
    let method = body["method"].as_str().unwrap();
    let name = body["params"]["name"].as_str().map_or(String::new(), |name| format!("mcp-name: {name}\r\n"));
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: {method}\r\n{name}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A response whose body has a length: its status and its body.
pub(crate) fn response(stream: &mut TcpStream) -> (u16, String) {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "no answer: {head:?}");
    }
    let status = head.get(9..12).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (status, String::from_utf8(body).unwrap())
}

/// What comes until the connection ends.
fn rest(mut stream: TcpStream) -> String {
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest));
    String::from_utf8(rest).unwrap()
}

// G9: 100 running requests, 50 subscriptions, 50 half-sent requests, 50 silent connections: none prevents a clean shutdown.
#[test]
fn a_port_alone_and_localhost_are_loopback() {
    for address in ["0", ":0", "localhost:0"] {
        let served = Served::start(&mut papertape(["serve", "text", "--http", address]));
        assert_eq!(served.address.ip().to_string(), "127.0.0.1", "{address}");
        assert_eq!(served.ask(&count(1, "one two")).0, 200, "{address}");
        served.kill();
    }
}

#[test]
fn sigterm_finishes_requests_and_closes_streams() {
    let mut server = Served::start(&mut serve(["--grace", "600", "--log-level", "info", "--metrics"]));
    let listen = request(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let open = |bytes: &[u8]| {
        let mut stream = server.connect();
        stream.write_all(bytes).unwrap();
        stream
    };
    let listening: Vec<_> = (0..50).map(|_| open(&post(&listen))).collect();
    let half: Vec<_> = (0..50).map(|_| open(b"POST /mcp HTTP/1.1\r\nhost: local")).collect();
    let silent: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for mut stream in &listening {
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    let text = "我喜欢学习英语 ".repeat(500);
    let mut calls: Vec<_> = (0..100).map(|id| open(&post(&count(id, &text)))).collect();
    // All have been read, and run or are done.
    while server.metric("papertape_requests_running ")
        + server.metric("papertape_request_seconds_count{method=\"tools/call\"} ")
        < 100
    {}
    server.process.signal(Signal::TERM);
    server.process.wait_for_log("shutting down");
    for (id, stream) in calls.iter_mut().enumerate() {
        let (status, body) = response(stream);
        assert!(status == 200 && body.contains("\"2000\""), "{id} {status} {body}");
    }
    for stream in listening {
        let rest = rest(stream);
        assert!(
            rest.contains("\"id\":1") && rest.contains("\"result\"") && rest.ends_with("0\r\n\r\n"),
            "{rest}"
        );
    }
    let status = server.end();
    assert_eq!(status.code(), Some(0));
    drop((half, silent));
}

#[test]
fn a_second_sigterm_ends_the_process_at_once() {
    let mut server = Served::start(&mut serve(["--grace", "600", "--log-level", "info"]));
    let text = "我喜欢学习英语 ".repeat(100_000);
    let mut stream = server.connect();
    stream.write_all(&post(&count(1, &text))).unwrap();
    // Another one shows that the first has been read.
    assert_eq!(server.ask(&count(2, "a b")).0, 200);
    server.process.signal(Signal::TERM);
    server.process.wait_for_log("shutting down");
    server.process.signal(Signal::TERM);
    server.end();
}

/// When a line of the log was written, in microseconds of its day.
fn written(line: &str) -> u64 {
    let time = line.get(11..26).unwrap().split([':', '.']).map(|digits| digits.parse::<u64>().unwrap());
    time.zip([3_600_000_000, 60_000_000, 1_000_000, 1]).map(|(count, unit)| count * unit).sum()
}

// G11: without free file descriptors the server waits, and does not spin.
#[test]
fn few_file_descriptors_are_enough_for_served_clients() {
    const DAY: u64 = 86_400_000_000;
    let server = Served::start(&mut serve([]));
    // The limit of connections was computed with more.
    assert_eq!(server.ask(&count(1, "one two three")).0, 200);
    let few = Rlimit { current: Some(40), maximum: Some(40) };
    prlimit(Some(server.process.pid()), Resource::Nofile, few).unwrap();
    let mut hoard: Vec<_> = (0..100).map(|_| server.connect()).collect();
    // Half of them have to make room for the others, each after a pause, and learn it by the end of their connections.
    for stream in hoard.iter_mut().take(50) {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    drop(hoard);
    assert_eq!(server.ask(&count(1, "one two three")).0, 200);
    let log = server.kill();
    let failures: Vec<&str> = log.lines().filter(|line| line.contains("cannot accept connections")).collect();
    assert!(failures.len() > 1, "{failures:?}");
    for pair in failures.windows(2) {
        let pause = (written(pair[1]) + DAY - written(pair[0])) % DAY;
        // It says 10 ms and more; the clock may be set meanwhile.
        assert!(pause >= 5_000, "after {pause} microseconds it tried again: {pair:?}");
    }
}

// A server that starts with few descriptors does not run out of them: idle connections make room for new ones.
#[test]
fn a_server_with_few_file_descriptors_accepts_no_more_than_it_has() {
    let server = Served::start(&mut shell("ulimit -n 40; exec \"$@\"", &serve([])));
    let mut hoard: Vec<_> = (0..100).map(|_| server.connect()).collect();
    for stream in hoard.iter_mut().take(50) {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    for _ in 0..20 {
        assert_eq!(server.ask(&count(1, "one two three")).0, 200);
    }
    drop(hoard);
    let log = server.kill();
    assert!(!log.contains("cannot accept connections"), "{log}");
}

// The usual soft limit is far below what the system allows.
#[test]
fn the_limit_on_open_files_is_raised() {
    let server = Served::start(&mut shell("ulimit -S -n 64; exec \"$@\"", &serve([])));
    let limits = server.proc("limits");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut limits = line.split_whitespace();
    let (soft, hard) = (limits.next().unwrap(), limits.next().unwrap());
    assert!(soft == hard && soft != "64", "{line}");
}

// One client opens more streams than there are descriptors: it gets an error, and other clients are served.
#[test]
fn streams_of_one_client_leave_room_for_others() {
    let server = Served::start(&mut shell("ulimit -n 128; exec \"$@\"", &serve([])));
    let listen = request(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut streams = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..200 {
        let mut stream = server.connect();
        stream.write_all(&post(&listen)).unwrap();
        statuses.push(response(&mut stream).0);
        streams.push(stream);
    }
    let open = statuses.iter().take_while(|status| **status == 200).count();
    assert!((20..100).contains(&open), "{statuses:?}");
    assert!(statuses.iter().skip(open).all(|status| *status == 503), "{statuses:?}");
    for _ in 0..50 {
        let mut other = server.connect_from([127, 0, 0, 2]);
        other.write_all(&post(&count(1, "one two three"))).unwrap();
        assert_eq!(response(&mut other).0, 200);
    }
    let mut other = server.connect_from([127, 0, 0, 2]);
    other.write_all(&post(&listen)).unwrap();
    assert_eq!(response(&mut other).0, 200);
    // A client with room again is served again.
    drop(streams);
    let mut status = 503;
    while status == 503 {
        status = server.ask(&count(1, "one two three")).0;
    }
    assert_eq!(status, 200);
}

// What is only announced takes no memory: 500 clients that announce 4 MiB each and send 3 bytes.
#[test]
fn announced_bodies_take_no_memory() {
    let server = Served::start(&mut serve([]));
    let before = server.memory("VmPeak");
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: 4000000\r\n\r\n";
    let mut clients: Vec<_> = (0..500).map(|_| server.connect()).collect();
    for part in [head, "{", " ", " "] {
        for client in &mut clients {
            client.set_nodelay(true).unwrap();
            client.write_all(part.as_bytes()).unwrap();
        }
        // It has most likely read that once it has responded to this.
        assert_eq!(server.ask(&count(1, "one two three")).0, 200);
    }
    let grown = server.memory("VmPeak") - before;
    assert!(grown < 1024 * 1024, "{grown} KiB of addresses were taken");
}

// G8, R-03: bodies that are small and would be large.
#[test]
fn many_large_bodies_at_once_do_not_fill_the_memory() {
    let server = Served::start(&mut serve([]));
    let mut body = count(1, "x");
    body["params"]["arguments"]["text"] = json!(vec![json!({"": 0}); 400_000]);
    let bytes = post(&body);
    assert!(bytes.len() < 4 * 1024 * 1024 && bytes.len() > 2 * 1024 * 1024, "{}", bytes.len());
    let address = server.address;
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let bytes = &bytes;
        let senders: Vec<_> = (0..30)
            .map(|_| {
                scope.spawn(move || {
                    let mut stream = open(address);
                    // A client may be rejected before it has sent everything.
                    drop(stream.write_all(bytes));
                    response(&mut stream).0
                })
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    let peak = server.memory("VmHWM");
    assert!(peak < 512 * 1024, "{peak} KiB at most");
    assert_eq!(server.ask(&count(1, "one two three")).0, 200);
}

// G4: a session whose client vanishes leaves little behind.
#[test]
fn abandoned_sessions_take_no_memory() {
    let server = Served::start(&mut serve([]));
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    .to_string();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n";
    let bytes = format!("{head}content-length: {}\r\n\r\n{open}", open.len());
    let churn = |times: usize| {
        for _ in 0..times {
            let mut stream = server.connect();
            stream.write_all(bytes.as_bytes()).unwrap();
            assert_eq!(response(&mut stream).0, 200);
        }
    };
    churn(500);
    let before = server.memory("VmRSS");
    churn(3_000);
    let grown = server.memory("VmRSS").saturating_sub(before);
    assert!(grown < 10 * 1024, "{grown} KiB more");
}
