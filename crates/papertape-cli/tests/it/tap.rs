//! `papertape tap`: a proxy that changes nothing, and a tape with every byte.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use papertape::wire::tape::{self, Content, Direction, Entry, Record};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::events::{wait_for_exit, wait_for_text};
use crate::process::{End, OPEN, Process, call, ping, run};
use crate::{papertape, scratch, shell};

/// `papertape tap` with a tape, in front of a command.
fn tap(tape: &Path, command: &[&str]) -> Command {
    let mut tap = papertape(["tap", "--tape"]);
    tap.arg(tape).arg("--").args(command);
    tap
}

fn folder_and_tape(test: &str) -> (PathBuf, PathBuf) {
    let folder = scratch(test);
    let tape = folder.join("session.tape");
    (folder, tape)
}

fn records(tape: &Path) -> Vec<Record<'static>> {
    let entries = tape::read(&fs::read_to_string(tape).unwrap()).unwrap();
    let records = entries.into_iter().filter_map(|entry| match entry {
        Entry::Record(record) => Some(record),
        Entry::Comment(_) => None,
    });
    records.collect()
}

/// The bytes of stdin, stdout and stderr.
fn streams(records: &[Record<'_>]) -> [Vec<u8>; 3] {
    let mut streams = [const { Vec::new() }; 3];
    for record in records {
        let (stream, bytes) = match &record.content {
            Content::Frame(Direction::ToServer, bytes) => (0, bytes),
            Content::Frame(Direction::ToClient, bytes) => (1, bytes),
            Content::Stderr(bytes) => (2, bytes),
            _ => continue,
        };
        streams[stream].extend_from_slice(bytes);
    }
    streams
}

fn events(records: &[Record<'_>]) -> Vec<(String, Value)> {
    let event = |record: &Record<'_>| match &record.content {
        Content::Event { name, detail } => Some((name.to_string(), serde_json::from_str(detail).unwrap())),
        _ => None,
    };
    records.iter().filter_map(event).collect()
}

#[track_caller]
fn event(tape: &Path, name: &str) -> Value {
    let events = events(&records(tape));
    let event = events.iter().find(|(other, _)| other == name);
    event.unwrap_or_else(|| panic!("{name}: {events:?}")).1.clone()
}

/// Some MB with everything that a naive proxy breaks.
fn mixed() -> Vec<u8> {
    let mut bytes = b"\xEF\xBB\xBF{}\r\n\n \r\n".to_vec();
    let mut random: u64 = 1;
    for size in [1, 70, 4_095, 4_096, 65_535, 65_536, 65_537, 1_100_000] {
        bytes.extend(format!("{{\"text\":\"{}\"}}\n", "é⟦x\u{202e} ".repeat(size / 10 + 1)).into_bytes());
        bytes.extend(format!("Content-Length: {size}\r\n\r\n").into_bytes());
        bytes.extend((0..size).map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random.to_be_bytes()[0]
        }));
    }
    bytes.extend(b"\nContent-Length: 99999999999999999999\r\n\r\nContent-Length: 100\r\n\r\n{\xE2\x9F");
    bytes
}

#[test]
fn every_byte_passes_and_is_on_the_tape() {
    let (_, tape) = folder_and_tape("tap_bytes");
    let input = mixed();
    let end = run(&mut tap(&tape, &["sh", "-c", "tee /dev/stderr"]), input.clone());
    assert_eq!(end.status.code(), Some(0));
    assert!(end.output == input, "{} bytes went in, {} came out", input.len(), end.output.len());
    for (stream, recorded) in ["stdin", "stdout", "stderr"].iter().zip(streams(&records(&tape))) {
        assert!(recorded == input, "{stream}: {} bytes, {} on the tape", input.len(), recorded.len());
    }
    assert_eq!(tape.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_session_is_on_the_tape_frame_by_frame() {
    let (folder, tape) = folder_and_tape("tap_session");
    let binary = env!("CARGO_BIN_EXE_papertape");
    let mut command = papertape(["tap", "--env", "SECRET=hunter2", "--cwd"]);
    command.arg(&folder).arg("--tape").arg(&tape).args([
        "--",
        binary,
        "serve",
        "text",
        "--log-level",
        "info",
    ]);
    let mut server = Process::start(&mut command);
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    server.send(call(1, "echo", &json!({"text": "Füße"})));
    assert_eq!(server.message()["id"], 1);
    assert_eq!(server.finish().status.code(), Some(0));
    let records = records(&tape);
    let times: Vec<_> = records.iter().map(|record| record.time.unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let methods: Vec<String> = records
        .iter()
        .filter_map(Record::as_frame)
        .map(|(direction, bytes)| {
            let message: Value = serde_json::from_slice(bytes).unwrap();
            format!("{direction:?} {} {}", message["method"], message["id"])
        })
        .collect();
    let expected = [
        "ToServer \"initialize\" \"open\"",
        "ToClient null \"open\"",
        "ToServer \"notifications/initialized\" null",
        "ToServer \"tools/call\" 1",
        "ToClient null 1",
    ];
    // The second message of the client may be written before the first response.
    assert_eq!(methods.len(), expected.len(), "{methods:?}");
    assert!(expected.iter().all(|method| methods.iter().any(|other| other == method)), "{methods:?}");
    let start = event(&tape, "start");
    assert_eq!(start["command"], json!([binary, "serve", "text", "--log-level", "info"]));
    assert_eq!(start["cwd"], folder.to_str().unwrap());
    assert!(start["pid"].is_u64());
    assert_eq!(event(&tape, "exit"), json!({"status": 0}));
    let names: Vec<String> = events(&records).into_iter().map(|(name, _)| name).collect();
    assert_eq!((names.first().unwrap().as_str(), names.last().unwrap().as_str()), ("start", "end"));
    assert!(!fs::read_to_string(&tape).unwrap().contains("hunter2"));
}

#[test]
fn the_exit_code_is_that_of_the_server() {
    let (_, tape) = folder_and_tape("tap_codes");
    let code = |script: &str| run(&mut tap(&tape, &["sh", "-c", script]), "").status.code();
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("exit 42"), Some(42));
    assert_eq!(event(&tape, "exit"), json!({"status": 42}));
    assert_eq!(code("kill -KILL $$"), Some(128 + 9));
    assert_eq!(event(&tape, "exit"), json!({"signal": "SIGKILL"}));
}

#[test]
fn signals_are_forwarded() {
    for (signal, name, code) in
        [(Signal::TERM, "SIGTERM", 15), (Signal::INT, "SIGINT", 2), (Signal::HUP, "SIGHUP", 1)]
    {
        let (_, tape) = folder_and_tape(&format!("tap_signal_{code}"));
        let script = format!("trap 'echo last; exit {code}' {code}; sleep 600 & echo 1; wait");
        let mut server = Process::start(&mut tap(&tape, &["sh", "-c", &script]));
        assert_eq!(server.message(), 1);
        server.signal(signal);
        let input = server.input.take();
        let end = server.wait();
        drop(input);
        assert_eq!((end.status.code(), &end.output[..]), (Some(code), &b"last\n"[..]), "{end:?}");
        assert_eq!(event(&tape, "signal"), json!({"name": name}));
    }
}

#[test]
fn a_host_that_closes_stdout_ends_the_server_as_it_would_without_a_tap() {
    let (_, tape) = folder_and_tape("tap_closed");
    let mut server = Process::start(&mut tap(&tape, &["yes"]));
    let mut some = [0; 100];
    server.output.as_mut().unwrap().read_exact(&mut some).unwrap();
    drop(server.output.take());
    let input = server.input.take();
    let end = server.wait();
    drop(input);
    assert_eq!(end.status.code(), Some(128 + 13), "{end:?}");
    assert_eq!(event(&tape, "closed"), json!({"of": "server"}));
    assert_eq!(event(&tape, "exit"), json!({"signal": "SIGPIPE"}));
}

#[test]
fn a_server_that_closes_stdin_closes_it_for_the_host() {
    let (_, tape) = folder_and_tape("tap_input_closed");
    let mut server = Process::start(&mut tap(&tape, &["sh", "-c", "exec <&-; echo 1; sleep 600 & wait"]));
    assert_eq!(server.message(), 1);
    let mut input = server.input.take().unwrap();
    // The pipes hold some of it, and then there is an error.
    let flood = std::iter::repeat_with(|| std::io::Write::write_all(&mut input, &[b'\n'; 4096]));
    assert!(flood.take(1000).any(|written| written.is_err()));
    server.signal(Signal::TERM);
    server.wait();
    assert_eq!(event(&tape, "closed"), json!({"of": "client"}));
}

#[test]
fn a_server_may_close_stdout_and_live() {
    let (_, tape) = folder_and_tape("tap_output_closed");
    let mut server = Process::start(&mut tap(&tape, &["sh", "-c", "echo 1; exec >&-; read line; exit 3"]));
    assert_eq!(server.message(), 1);
    assert_eq!(server.output.as_mut().unwrap().read(&mut [0]).unwrap(), 0);
    server.send("go on\n");
    assert_eq!(server.wait().status.code(), Some(3));
    assert_eq!(streams(&records(&tape))[0], b"go on\n");
}

#[test]
fn nothing_is_left_running() {
    let (_, tape) = folder_and_tape("tap_left");
    let end = run(&mut tap(&tape, &["sh", "-c", "sleep 600 & echo $!; exit 5"]), "");
    assert_eq!(end.status.code(), Some(5));
    assert!(!is_running(pid(&end)), "{end:?}");
}

/// A process that has left the group of its server is not the server's any more, even if it holds its stdout.
#[test]
fn a_process_in_another_session_is_not_waited_for() {
    let (_, tape) = folder_and_tape("tap_session_left");
    let script = "setsid sleep 600 & echo $!; exit 5";
    let mut server = Process::start(&mut tap(&tape, &["sh", "-c", script]));
    let left = server.message().as_i64().unwrap().try_into().unwrap();
    let left = Pid::from_raw(left).unwrap();
    let input = server.input.take();
    // The process has our stderr only by way of the tap.
    let end = server.wait();
    drop(input);
    assert_eq!(end.status.code(), Some(5), "{end:?}");
    let _ = kill_process(left, Signal::KILL);
}

#[test]
fn a_tap_that_is_killed_leaves_a_readable_tape_and_no_server() {
    let (_, tape) = folder_and_tape("tap_killed");
    // It ignores the end of its stdin.
    let script = "echo $$; while :; do cat; sleep 1; done";
    let mut server = Process::start(&mut tap(&tape, &["sh", "-c", script]));
    let id = i32::try_from(server.message().as_i64().unwrap()).unwrap();
    server.send(ping(1));
    assert_eq!(server.message()["id"], 1);
    server.send("{\"half\":");
    // The half line is there when its rest is late.
    wait_for_text(&tape, "raw {\"half\":");
    server.signal(Signal::KILL);
    let input = server.input.take();
    server.wait();
    drop(input);
    wait_for_exit(Pid::from_raw(id).unwrap());
    let records = records(&tape);
    assert_eq!(streams(&records)[0], (ping(1) + "{\"half\":").as_bytes());
    assert!(!events(&records).iter().any(|(name, _)| name == "end"));
}

#[test]
fn a_full_disk_does_not_stop_the_traffic() {
    let input = "{}\n".repeat(300_000);
    let end = run(&mut tap(Path::new("/dev/full"), &["cat"]), input.clone());
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    assert!(end.output == input.as_bytes());
    assert!(end.log.contains("cannot write the tape /dev/full"), "{end:?}");
}

#[test]
fn a_limit_of_the_size_of_files_does_not_stop_the_traffic() {
    let (_, tape) = folder_and_tape("tap_file_size");
    let input = "{}\n".repeat(300_000);
    let end = run(&mut shell("ulimit -f 100; exec \"$@\"", &tap(&tape, &["cat"])), input.clone());
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    assert!(end.output == input.as_bytes());
    // The tape is cut after a whole line.
    let text = fs::read_to_string(&tape).unwrap();
    assert!(text.ends_with('\n'));
    assert!(!records(&tape).is_empty());
}

/// There is room for `lost` events, and not for the frames after them.
#[test]
fn a_full_disk_is_logged_once() {
    let (_, tape) = folder_and_tape("tap_full_once");
    let script = "for count in 1 2 3; do
        printf '%9000s\\n' x
        until [ $(grep -c '^[0-9]* [*] [0-9.]* lost' \"$1\") -ge $count ]; do sleep 0.05; done
    done";
    let server = ["sh", "-c", script, "sh", tape.to_str().unwrap()];
    let end = run(&mut shell("ulimit -f 8; exec \"$@\"", &tap(&tape, &server)), "");
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    assert_eq!(end.log.matches("cannot write the tape").count(), 1, "{}", end.log);
    assert_eq!(end.log.matches("can be written again").count(), 1, "{}", end.log);
    let records = records(&tape);
    assert_eq!(events(&records).iter().filter(|(name, _)| name == "lost").count(), 3);
    assert!(records.is_sorted_by_key(|record| record.time), "{records:?}");
}

#[test]
fn a_tape_is_rotated_at_its_size() {
    let (folder, tape) = folder_and_tape("tap_rotated");
    let mut command = papertape(["tap", "--max-size", "1MB", "--tape"]);
    command.arg(&tape).args(["--", "cat"]);
    let input = ping(1).repeat(14_000);
    let end = run(&mut command, input.clone());
    assert_eq!(end.status.code(), Some(0));
    let old = folder.join("session.tape.old");
    assert!(old.metadata().unwrap().len() <= 1_000_000 && tape.metadata().unwrap().len() <= 1_000_000);
    let all = [records(&old), records(&tape)].concat();
    let [sent, received, _] = streams(&all);
    assert!(sent == input.as_bytes() && received == input.as_bytes(), "{} {}", sent.len(), received.len());
    assert!(all.iter().zip(1..).all(|(record, number)| record.number == number));
    assert_eq!(event(&tape, "continued"), json!({"file": "session.tape.old"}));
    assert_eq!(tape.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn without_a_name_the_tape_is_among_the_users_data() {
    let folder = scratch("tap_default");
    let mut command = papertape(["tap", "--", "cat"]);
    let end = run(command.env("XDG_DATA_HOME", &folder), "{}\n");
    assert_eq!(end.status.code(), Some(0));
    let tapes = folder.join("papertape/tapes");
    assert_eq!(tapes.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let tape = fs::read_dir(tapes).unwrap().next().unwrap().unwrap().path();
    assert!(tape.file_name().unwrap().to_str().unwrap().starts_with("cat-"), "{tape:?}");
    assert_eq!(end.log, format!("papertape: recording to {}\n", tape.display()));
    assert_eq!(streams(&records(&tape))[1], b"{}\n");
}

#[test]
fn what_cannot_be_recorded_or_started_is_an_error() {
    let (folder, tape) = folder_and_tape("tap_errors");
    let fails = |command: &mut Command, code: i32, words: &[&str]| {
        let end = run(command, "");
        assert_eq!((end.status.code(), &end.output[..]), (Some(code), &b""[..]), "{end:?}");
        crate::contains(&end.log, words);
    };
    fails(
        &mut tap(&tape, &["no-such-program"]),
        3,
        &["starting the server", "no-such-program", "is it installed"],
    );
    assert!(event(&tape, "failed")["error"].as_str().unwrap().contains("no-such-program"));
    let missing = folder.join("no/such/session.tape");
    fails(
        &mut tap(&missing, &["cat"]),
        3,
        &["cannot write the tape", "no/such/session.tape", "the directory", "mkdir -p"],
    );
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    fails(&mut tap(&fifo, &["cat"]), 3, &["it is a FIFO", "regular file"]);
    fails(&mut papertape(["tap", "https://tools.example/mcp"]), 2, &["is at a URL"]);
    fails(&mut papertape(["tap", "--max-size", "10", "--", "cat"]), 2, &["1 MB"]);
    fails(&mut papertape(["tap", "--max-size", "10 parsecs", "--", "cat"]), 2, &["100MB"]);
}

/// The id that a server has written.
fn pid(end: &End) -> Pid {
    Pid::from_raw(std::str::from_utf8(&end.output).unwrap().trim().parse().unwrap()).unwrap()
}

/// Whether a process runs. A zombie does not.
fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}
