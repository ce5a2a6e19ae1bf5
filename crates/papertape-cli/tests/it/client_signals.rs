//! Signals to a client command: the server is stopped first.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{End, Process};
use crate::{faulty, papertape, shell};

/// `papertape` with a server that is a shell's script.
fn with_script(words: &[&str], script: &str) -> Command {
    let mut command = papertape(words.iter().copied());
    command.args(["--trace", "--", "sh", "-c", script]);
    command
}

/// With a server that sends its process id before it becomes another program.
fn announced(words: &[&str], script: &str) -> Command {
    let command = with_script(words, &format!("echo it is $$; {script}"));
    // Whatever is ignored here, such as SIGHUP under `nohup`.
    shell("exec env --default-signal=HUP,INT,QUIT,TERM \"$@\"", &command)
}

/// Waits until the server that announced itself has ended.
/// One that was killed may need a moment, and its new parent may not have reaped it yet.
#[track_caller]
fn assert_server_ended(end: &End) {
    let id = end.log.split("it is ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let id: u32 = id.and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{end:?}"));
    let began = Instant::now();
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        if status.is_empty() || status.contains("State:\tZ") || status.contains("State:\tX") {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{status}\n{end:?}");
        std::thread::yield_now();
    }
}

/// `papertape`, once it has written a text to stderr.
fn started(command: &mut Command, said: &str) -> Process {
    let mut process = Process::start(command);
    process.wait_for_log(said);
    process
}

/// Ends `papertape` once it has written a text to stderr; no process of the server may be left.
fn interrupt(words: &[&str], script: &str, said: &str) {
    let ends = [(Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131), (Signal::TERM, 143)];
    for (signal, code) in ends {
        let process = started(&mut announced(words, script), said);
        process.signal(signal);
        let end = process.wait();
        assert_eq!((end.status.code(), &end.output[..]), (Some(code), &b""[..]), "{end:?}");
        assert!(!end.log.contains("papertape: "), "{end:?}");
        assert_server_ended(&end);
    }
}

#[test]
fn a_signal_in_a_call_ends_the_server_and_then_us() {
    interrupt(&["call", "hang"], &format!("exec '{}' well-behaved", faulty()), "tools/call");
}

#[test]
fn a_signal_in_the_opening_ends_the_server_too() {
    interrupt(&["list"], &format!("exec '{}' never-opens", faulty()), "it is ");
}

#[test]
fn a_second_signal_does_not_wait_for_the_server() {
    let script = format!("exec '{}' ignores-term", faulty());
    let process = started(&mut announced(&["call", "hang"], &script), "tools/call");
    process.signal(Signal::INT);
    process.signal(Signal::TERM);
    let end = process.wait();
    assert!(matches!(end.status.code(), Some(130 | 143)), "{end:?}");
    assert_server_ended(&end);
}

#[test]
fn a_hangup_stays_ignored_if_it_was_when_we_were_started() {
    let script = format!("echo it is $$; exec '{}' well-behaved", faulty());
    let nohup = shell("trap '' HUP; exec \"$@\"", &with_script(&["call", "hang"], &script));
    let process = started(&mut { nohup }, "tools/call");
    process.signal(Signal::HUP);
    process.signal(Signal::TERM);
    let end = process.wait();
    assert_eq!(end.status.code(), Some(143), "{end:?}");
    assert_server_ended(&end);
}

#[test]
fn a_server_ends_also_when_we_are_killed() {
    for mode in ["well-behaved", "ignores-end", "ignores-term"] {
        let script = format!("exec '{}' {mode}", faulty());
        let process = started(&mut announced(&["call", "hang"], &script), "tools/call");
        process.signal(Signal::KILL);
        let end = process.wait();
        assert_eq!(end.status.signal(), Some(9), "{end:?}");
        assert_server_ended(&end);
    }
}

#[test]
fn child_processes_of_a_server_end_when_the_cli_is_killed() {
    // It is the child that announces itself; the server ignores the end of its input.
    let script = format!("sh -c 'echo it is $$; exec sleep 3600' & exec '{}' ignores-end", faulty());
    let process = started(&mut with_script(&["call", "hang"], &script), "tools/call");
    process.signal(Signal::KILL);
    assert_server_ended(&process.wait());
}

#[test]
fn a_pipe_that_nobody_writes_to_does_not_hold_back_a_signal() {
    let pipe = crate::scratch("silent_pipe").join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let url = "http://127.0.0.1:1/mcp";
    for words in [["list", "grammar", "--env-file"], ["list", url, "--bearer-file"], ["list", url, "--ca"]] {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let process = Process::start(papertape(words).arg(&pipe));
            // It opens once it is also open for reading.
            let _silent = fs::File::options().write(true).open(&pipe).unwrap();
            process.signal(signal);
            let end = process.wait();
            assert_eq!((end.status.code(), &*end.log), (Some(code), ""), "{words:?}");
        }
    }
}
