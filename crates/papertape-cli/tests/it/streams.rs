//! stdin and stdout that are not pipes: row S-79 of docs/behaviour.md.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::json;

use crate::login::terminal;
use crate::process::{End, OPEN, Process, answer, call, ping};
use crate::{papertape, scratch};

const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

#[test]
fn requests_can_be_typed_on_a_terminal() {
    let (mut ours, theirs) = terminal();
    let mut command = papertape(["serve", "text"]);
    command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(&mut command);
    server.wait_for_log("Ctrl-D");
    ours.write_all(ping(1).as_bytes()).unwrap();
    assert_eq!(server.message()["id"], 1);
    ours.write_all(b"hello\n").unwrap();
    assert_eq!(server.message()["error"]["code"], -32700);
    // Ctrl-D
    ours.write_all(b"\x04").unwrap();
    let end = server.wait();
    assert_eq!(end.is_clean().log.lines().count(), 1, "{}", end.log);
}

#[test]
fn a_terminal_can_be_all_three_streams() {
    let (mut ours, theirs) = terminal();
    let mut command = papertape(["serve", "text"]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let server = Process::start_as_it_is(&mut command);
    // With the command go our copies of the program's end.
    drop(command);
    ours.write_all((ping(1) + "\x04").as_bytes()).unwrap();
    let mut screen = Vec::new();
    // A terminal without a program is an error rather than an end.
    let error = ours.read_to_end(&mut screen).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()), "{error}");
    let screen = String::from_utf8(screen).unwrap().replace("\r\n", "\n");
    assert!(screen.contains("papertape: text reads stdin") && screen.contains(PONG), "{screen}");
    assert_eq!(server.wait().status.code(), Some(0));
}

#[test]
fn sigterm_ends_a_server_that_waits_for_a_terminal() {
    let (ours, theirs) = terminal();
    let mut command = papertape(["serve", "text"]);
    command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(&mut command);
    (&ours).write_all(ping(1).as_bytes()).unwrap();
    assert_eq!(server.message()["id"], 1);
    // It waits for the next line, on a thread that nothing can wake.
    server.wait_until_stuck();
    server.signal(Signal::TERM);
    server.wait().is_clean();
    drop(ours);
}

#[test]
fn input_and_output_can_be_files() {
    let folder = scratch("files");
    let requests = OPEN.to_owned() + &ping(1) + &call(2, "echo", &json!({"text": "x".repeat(300_000)}));
    std::fs::write(folder.join("input"), requests).unwrap();
    std::fs::write(folder.join("output"), "before\n").unwrap();
    let mut command = papertape(["serve", "text"]);
    let output = File::options().append(true).open(folder.join("output")).unwrap();
    command.stdin(File::open(folder.join("input")).unwrap()).stdout(output).stderr(Stdio::piped());
    let end = Process::start_as_it_is(&mut command).wait();
    assert_eq!(end.is_clean().log, "");
    let output = std::fs::read(folder.join("output")).unwrap();
    let answers = End { output: output.strip_prefix(b"before\n").unwrap().to_vec(), ..end }.messages();
    assert_eq!(answers.len(), 3);
    assert_eq!(answer(&answers, 2)["result"]["content"][0]["text"].as_str().unwrap().len(), 300_000);
}

#[test]
fn a_named_pipe_with_a_closed_writer_is_read_to_its_end() {
    let path = scratch("fifo").join("input");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // To open one end waits for the other, except in this mode.
    let reader =
        File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().write_all(ping(1).as_bytes()).unwrap();
    rustix::fs::fcntl_setfl(&reader, OFlags::empty()).unwrap();
    let mut command = papertape(["serve", "text"]);
    let end =
        Process::start_as_it_is(command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::piped())).wait();
    assert_eq!(end.is_clean().output, PONG.as_bytes(), "{end:?}");
}

/// Talks to a server over one socket for both directions: much at once, both ways, then a half-close.
fn exchange<S: Read + Write + Send + 'static>(
    ours: S,
    theirs: impl Into<OwnedFd>,
    clone: impl FnOnce(&S) -> S,
    close: impl FnOnce(&S) + Send + 'static,
) {
    let theirs: OwnedFd = theirs.into();
    let mut command = papertape(["serve", "text"]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs).stderr(Stdio::piped());
    let server = Process::start_as_it_is(&mut command);
    drop(command);
    let mut writing = clone(&ours);
    let writer = std::thread::spawn(move || {
        writing.write_all(OPEN.as_bytes()).unwrap();
        for id in 0..100 {
            writing.write_all(call(id, "echo", &json!({"text": "x".repeat(65_536)})).as_bytes()).unwrap();
        }
        close(&writing);
    });
    let (mut ours, mut output) = (ours, Vec::new());
    ours.read_to_end(&mut output).unwrap();
    writer.join().unwrap();
    let end = server.wait();
    assert_eq!(end.is_clean().log, "");
    let answers = End { output, ..end }.messages();
    assert_eq!(answers.len(), 101);
    for id in 0..100 {
        let text = &answer(&answers, id)["result"]["content"][0]["text"];
        assert_eq!(text.as_str().unwrap().len(), 65_536);
    }
}

#[test]
fn one_unix_socket_can_be_input_and_output() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    exchange(ours, theirs, |ours| ours.try_clone().unwrap(), |ours| ours.shutdown(Shutdown::Write).unwrap());
}

#[test]
fn one_tcp_socket_can_be_input_and_output() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    exchange(ours, theirs, |ours| ours.try_clone().unwrap(), |ours| ours.shutdown(Shutdown::Write).unwrap());
}

/// As Node starts its children.
#[test]
fn each_stream_can_be_a_unix_socket_of_its_own() {
    let [mut input, mut output, mut errors] = [(); 3].map(|()| UnixStream::pair().unwrap());
    let mut command = papertape(["serve", "text", "--log-level", "info"]);
    command.stdin(OwnedFd::from(input.1)).stdout(OwnedFd::from(output.1)).stderr(OwnedFd::from(errors.1));
    let mut server = Process::start_as_it_is(&mut command);
    drop(command);
    input.0.write_all((ping(1) + "hello\n").as_bytes()).unwrap();
    drop(input.0);
    let (mut answers, mut log) = (String::new(), String::new());
    output.0.read_to_string(&mut answers).unwrap();
    errors.0.read_to_string(&mut log).unwrap();
    assert!(answers.starts_with(PONG) && answers.lines().count() == 2, "{answers}");
    assert!(log.contains("refused a frame") && log.lines().count() == 1, "{log}");
    assert!(server.input.take().is_none());
    assert_eq!(server.wait().status.code(), Some(0));
}

#[test]
fn sigterm_ends_a_server_whose_socket_is_full() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = papertape(["serve", "text", "--grace", "0.2", "--log-level", "info"]);
    command
        .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(&mut command);
    // With the command go our copies of the server's end, which would keep a write waiting for ever.
    drop(command);
    let big = call(1, "echo", &json!({"text": "x".repeat(4_000_000)}));
    (&ours).write_all((OPEN.to_owned() + &big + "hello\n").as_bytes()).unwrap();
    // The frame after the large response has been read.
    server.wait_for_log("refused a frame");
    server.signal(Signal::TERM);
    let end = server.wait();
    assert_eq!(end.status.code(), Some(1), "{}", end.log);
    // The error may have been sent before the large response, or wait behind it.
    let expected = [1, 2].map(|count| {
        format!("the client has not read its input for 200ms; responses not delivered: {count};")
    });
    assert!(expected.iter().any(|expected| end.log.contains(expected)), "{}", end.log);
    drop(ours);
}
