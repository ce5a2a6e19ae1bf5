//! Closed, full and abandoned pipes: rows S-70 to S-75 and S-78 of docs/behaviour.md.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::events::wait_for_exit;
use crate::process::{OPEN, Process, answer, call, ping, run};
use crate::{assert_silent, full_pipe, papertape, scratch, shell};

// S-70
#[test]
fn a_client_that_leaves_before_the_first_response_ends_the_server() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = papertape(["serve", "text"]);
    let command = command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(command);
    server.send(ping(1));
    // Its input stays open: only the write fails.
    let input = server.input.take();
    assert_eq!(server.wait().is_clean().log, "");
    drop(input);
}

// S-70
#[test]
fn a_client_that_leaves_between_responses_ends_the_server() {
    let mut server = Process::start(&mut papertape(["serve", "text"]));
    server.send(ping(1));
    assert_eq!(server.message()["id"], 1);
    drop(server.output.take());
    server.send(ping(2));
    let input = server.input.take();
    assert_eq!(server.wait().is_clean().log, "");
    drop(input);
}

// S-70
#[test]
fn a_client_that_leaves_during_a_response_ends_the_server() {
    let mut server = Process::start(&mut papertape(["serve", "text"]));
    // The response is larger than the pipe.
    server.send(OPEN.to_owned() + &call(1, "echo", &json!({"text": "x".repeat(1_000_000)})));
    assert_eq!(server.message()["id"], "open");
    server.output.as_mut().unwrap().read_exact(&mut [0; 1000]).unwrap();
    drop(server.output.take());
    let input = server.input.take();
    assert_eq!(server.wait().is_clean().log, "");
    drop(input);
}

/// Requests of which each leaves a line in the log.
fn loud_requests(count: usize) -> String {
    (0..count).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"no/such\"}}\n")).collect()
}

// S-71
#[test]
fn a_server_without_stderr_serves() {
    let command = papertape(["serve", "text", "--log-level", "trace"]);
    let end = run(&mut shell(r#"exec "$@" 2>&-"#, &command), loud_requests(5_000));
    assert_eq!(end.is_clean().messages().len(), 5_000);
}

// S-71
#[test]
fn a_server_serves_while_its_stderr_is_not_read() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (unread, full) = full_pipe();
    for stderr in [writer, full] {
        let mut command = papertape(["serve", "text", "--log-level", "trace"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut server = Process::start_as_it_is(&mut command);
        let mut input = server.input.take().unwrap();
        let writer = std::thread::spawn(move || input.write_all(loud_requests(5_000).as_bytes()).unwrap());
        let end = server.wait();
        writer.join().unwrap();
        assert_eq!(end.is_clean().messages().len(), 5_000);
    }
    drop(unread);
}

// S-71
#[test]
fn a_bad_log_filter_does_not_fail_with_closed_stderr() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = papertape(["serve", "text"]);
    command.env("RUST_LOG", "a=b=c").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(writer);
    let end = Process::start_as_it_is(&mut command).wait();
    assert_eq!(end.status.code(), Some(0), "{end:?}");
}

// S-72
#[test]
fn a_server_without_input_ends_at_once() {
    let command = papertape(["serve", "text"]);
    for script in
        [r#"exec "$@" </dev/null"#, r#"exec "$@" <&-"#, r#"exec "$@" <&- >&-"#, r#"exec "$@" <&- >&- 2>&-"#]
    {
        let end = run(&mut shell(script, &command), "");
        assert_silent(&end);
    }
}

#[test]
fn a_server_without_output_reads_its_input_to_the_end() {
    let command = papertape(["serve", "text"]);
    let end = run(&mut shell(r#"exec "$@" >&-"#, &command), ping(1));
    assert_silent(&end);
}

/// A line of a shell script's output, which is the process's id.
fn read_pid(parent: &mut Process) -> rustix::process::Pid {
    let mut line = String::new();
    std::io::BufRead::read_line(parent.output.as_mut().unwrap(), &mut line).unwrap();
    rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// Sends a request to a server. It looks up its parent before it reads one.
fn converse(parent: &mut Process) {
    parent.send(ping(1));
    assert_eq!(parent.message()["id"], 1);
}

// S-74
#[test]
fn a_server_ends_when_its_parent_is_killed() {
    let folder = scratch("parent_killed");
    // The shell holds the only writing end of the server's input.
    let script =
        r#"mkfifo input; "$@" <input & exec 3>input; echo $!; read -r line; echo "$line" >&3; read -r never"#;
    let mut command = shell(script, &papertape(["serve", "text"]));
    let mut parent = Process::start(command.current_dir(folder));
    let server = read_pid(&mut parent);
    parent.send(ping(1));
    assert_eq!(parent.message()["id"], 1);
    parent.signal(Signal::KILL);
    wait_for_exit(server);
    assert_eq!(parent.wait().output, b"");
}

// S-74
#[test]
fn a_server_ends_when_its_parent_is_killed_and_stdin_stays_open() {
    // This test holds the writing end of the input, and the shell has only passed the reading end on.
    let script = r#"exec 3<&0; "$@" <&3 & echo $!; wait"#;
    let mut parent = Process::start(&mut shell(script, &papertape(["serve", "text"])));
    let server = read_pid(&mut parent);
    converse(&mut parent);
    parent.signal(Signal::KILL);
    let input = parent.input.take();
    wait_for_exit(server);
    drop(input);
    assert_eq!(parent.wait().output, b"");
}

#[test]
fn a_server_outlives_its_parent_if_configured() {
    let script = r#"exec 3<&0; "$@" <&3 & echo $!; wait"#;
    let start = |options: &[&str]| {
        let server = papertape(["serve", "text"].iter().chain(options).copied());
        let mut parent = Process::start(&mut shell(script, &server));
        let server = read_pid(&mut parent);
        converse(&mut parent);
        (parent, server)
    };
    let (mut parent, server) = start(&["--outlive-parent"]);
    // Both would look for their parents equally often, and this one began later: when it has ended, the other has looked.
    let (mut other_parent, other_server) = start(&[]);
    parent.signal(Signal::KILL);
    other_parent.signal(Signal::KILL);
    let other_input = other_parent.input.take();
    wait_for_exit(other_server);
    drop(other_input);
    parent.send(ping(2));
    assert_eq!(parent.message()["id"], 2);
    drop(parent.input.take());
    wait_for_exit(server);
}

// S-75
#[test]
fn every_request_gets_a_response_when_the_input_ends() {
    // The input ends long before the responses have been read.
    let mut server = Process::start(&mut papertape(["serve", "text"]));
    server.send(OPEN);
    for id in 0..10 {
        server.send(call(id, "echo", &json!({"text": "x".repeat(5_000)})));
    }
    let slow = call(10, "word_count", &json!({"text": "我喜欢学习英语 ".repeat(10_000)}));
    let mut input = server.input.take().unwrap();
    std::thread::spawn(move || input.write_all(slow.as_bytes()).unwrap()).join().unwrap();
    let end = server.wait();
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 12);
    assert_eq!(answer(&answers, 10)["result"]["content"][0]["text"], "40000");
}

// S-78
#[test]
fn sigterm_ends_a_server_whose_output_is_full() {
    let (unread, full) = full_pipe();
    let mut command = papertape(["serve", "text", "--grace", "0.2", "--log-level", "info"]);
    command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(&mut command);
    server.send(loud_requests(1));
    server.wait_for_log("refused");
    server.signal(Signal::TERM);
    let input = server.input.take();
    let end = server.wait();
    drop((input, unread));
    // Decision 12: a dropped response sets the exit code.
    assert_eq!(end.status.code(), Some(1), "{}", end.log);
    let expected = "the client has not read its input for 200ms; responses not delivered: 1;";
    assert!(end.log.contains(expected), "{}", end.log);
}

// Decision 12: a grace period of an hour, and a second signal.
#[test]
fn a_second_sigterm_ends_a_server_whose_output_is_full_at_once() {
    let (unread, full) = full_pipe();
    let mut command = papertape(["serve", "text", "--grace", "3600", "--log-level", "info"]);
    command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(&mut command);
    server.send(loud_requests(1));
    server.wait_for_log("refused");
    server.signal(Signal::TERM);
    server.wait_for_log("shutting down");
    server.signal(Signal::TERM);
    let input = server.input.take();
    assert_eq!(server.wait().status.code(), Some(143));
    drop((input, unread));
}

#[test]
fn a_full_disk_under_stdout_ends_the_server() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = papertape(["serve", "text", "--log-level", "info"]);
    command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped());
    let mut server = Process::start_as_it_is(&mut command);
    // A file is written behind the server's back, so that only the second response meets the error of the first.
    server.send(loud_requests(1));
    server.wait_for_log("refused");
    server.send(loud_requests(1));
    let input = server.input.take();
    let end = server.wait();
    assert_eq!(end.status.code(), Some(1), "{}", end.log);
    assert!(end.log.contains("No space left on device") && end.log.contains("not delivered"), "{}", end.log);
    drop(input);
}
