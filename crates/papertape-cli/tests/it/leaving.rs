//! Ctrl-C and SIGTERM while a server runs: the server ends, then we do, and say how.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{End, Process};
use crate::{faulty, papertape};

/// A server that says who it is on stderr of its own accord, and on the wire, before it becomes another.
fn announced(words: &[&str], script: &str) -> Command {
    let mut command = papertape(words.iter().copied());
    command.args(["--trace", "--", "sh", "-c", &format!("echo it is $$; {script}")]);
    command
}

/// Waits until the server that announced itself has ended.
/// One that was killed may need a moment, and whoever adopts it may not have asked yet how it ended.
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

/// Ends `papertape` once it has said some words on stderr; nothing may be left of the server.
fn interrupt(words: &[&str], script: &str, said: &str) {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut process = Process::start(&mut announced(words, script));
        process.wait_for_log(said);
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
fn a_second_signal_does_not_wait_for_a_server_that_does_not_end() {
    let script = format!("exec '{}' ignores-term", faulty());
    let mut process = Process::start(&mut announced(&["call", "hang"], &script));
    process.wait_for_log("tools/call");
    process.signal(Signal::INT);
    process.signal(Signal::TERM);
    let end = process.wait();
    assert!(matches!(end.status.code(), Some(130 | 143)), "{end:?}");
    assert_server_ended(&end);
}
