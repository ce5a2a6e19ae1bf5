//! SIGTERM, SIGINT, SIGSTOP: decision 12 and row S-80 of docs/behaviour.md.

use rustix::process::{Signal, WaitOptions, waitpid};
use serde_json::json;

use crate::process::{OPEN, Process, call, ping};
use crate::{assert_silent, papertape};

#[test]
fn sigterm_and_sigint_end_an_idle_server_well() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Process::start(&mut papertape(["serve", "text"]));
        server.send(ping(1));
        assert_eq!(server.message()["id"], 1);
        server.signal(signal);
        let input = server.input.take();
        let end = server.wait();
        drop(input);
        assert_silent(&end);
    }
}

#[test]
fn sigterm_lets_a_running_tool_finish() {
    let mut server =
        Process::start(&mut papertape(["serve", "text", "--grace", "600", "--log-level", "info"]));
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    // Long enough to be counted on another thread: the ping overtakes it.
    server.send(call(1, "word_count", &json!({"text": "我喜欢学习英语 ".repeat(50_000)})) + &ping(2));
    assert_eq!(server.message()["id"], 2);
    server.signal(Signal::TERM);
    server.wait_for_log("shutting down");
    let input = server.input.take();
    let end = server.wait();
    drop(input);
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 1, "{end:?}");
    assert_eq!(
        (&answers[0]["id"], &answers[0]["result"]["content"][0]["text"]),
        (&json!(1), &json!("200000"))
    );
}

#[test]
fn a_tool_that_outlasts_the_grace_period_is_given_up() {
    let mut server = Process::start(&mut papertape(["serve", "text", "--grace", "0", "--log-level", "info"]));
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    server.send(call(1, "word_count", &json!({"text": "我喜欢学习英语 ".repeat(200_000)})) + &ping(2));
    assert_eq!(server.message()["id"], 2);
    server.signal(Signal::TERM);
    // The input's end would otherwise overtake the signal, which then finds nothing to end and ends the process its way.
    server.wait_for_log("shutting down");
    let end = server.finish();
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 1, "{end:?}");
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!(1), &json!(-32603)));
}

// S-80
#[test]
fn a_stopped_server_responds_to_everything_once_it_continues() {
    let mut server = Process::start(&mut papertape(["serve", "text"]));
    server.send(ping(0));
    assert_eq!(server.message()["id"], 0);
    server.signal(Signal::STOP);
    let (_, status) = waitpid(Some(server.pid()), WaitOptions::UNTRACED).unwrap().unwrap();
    assert!(status.stopped());
    // A thousand pings fit into the pipe.
    server.send((1..=1_000).map(ping).collect::<String>());
    server.signal(Signal::CONT);
    for id in 1..=1_000 {
        assert_eq!(server.message()["id"], id);
    }
    assert_eq!(server.finish().is_clean().log, "");
}
