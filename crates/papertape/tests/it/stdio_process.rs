//! Servers as processes, with tools that misbehave: the examples `noisy`, `bad_schema` and `words` on real pipes.
//!
//! Rows S-70 to S-80 of the catalogue of bad input that need such tools; the others are with the command line's tests.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::process::{OPEN, Process, answer, call, ping, run};

const MIB: usize = 1024 * 1024;

/// An example server. `cargo test` builds them all.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "{} has not been built: plain `cargo test` builds the examples, `cargo test --test it` does not",
        path.display()
    );
    Command::new(path)
}

/// The example `noisy`, opened.
fn noisy(grace: &str) -> Process {
    let mut server = Process::start(example("noisy").arg(grace));
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    server
}

/// Says when input has ended, because then it is answered.
const LISTEN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"notifications":{},"_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n",
);

fn text(message: &Value) -> &Value {
    &message["result"]["content"][0]["text"]
}

/// A figure in KiB from `/proc/PID/status`, as bytes.
fn memory(pid: Pid, key: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

// S-73
#[test]
fn a_client_that_does_not_read_is_not_read_from_and_loses_nothing() {
    // What the server must not hold is 640 MB, or 160 MB: without optimisation it writes only 30 MB/s.
    const CALLS: usize = if cfg!(debug_assertions) { 2_500 } else { 10_000 };
    const LETTERS: usize = 64 * 1024;
    let mut server = noisy("10");
    let pid = server.pid();
    let before = memory(pid, "VmRSS");

    let mut input = server.input.take().unwrap();
    let writer = std::thread::spawn(move || {
        for id in 0..CALLS {
            std::io::Write::write_all(&mut input, call(id, "blob", &json!({"letters": LETTERS})).as_bytes())
                .unwrap();
        }
        input
    });
    server.wait_until_stuck();
    assert!(!writer.is_finished(), "it has read every request although its responses are not read");
    let grown = memory(pid, "VmRSS").saturating_sub(before);
    assert!(grown <= 64 * MIB, "it has grown by {grown} bytes");

    let mut seen = vec![false; CALLS];
    let letters = "x".repeat(LETTERS);
    let mut line = Vec::new();
    for _ in 0..CALLS {
        line.clear();
        server.output.as_mut().unwrap().read_until(b'\n', &mut line).unwrap();
        // Cheaper than to parse it all, and stricter.
        let id = line
            .strip_prefix(br#"{"jsonrpc":"2.0","id":"#)
            .and_then(|rest| rest.split(|&b| b == b',').next());
        let id: usize = std::str::from_utf8(id.unwrap()).unwrap().parse().unwrap();
        let right = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{letters}\"}}],\"isError\":false}}}}\n"
        );
        assert!(line == right.as_bytes(), "{}", String::from_utf8_lossy(&line[..200.min(line.len())]));
        assert!(!std::mem::replace(&mut seen[id], true), "{id} was answered twice");
    }
    let peak = memory(pid, "VmHWM").saturating_sub(before);
    assert!(peak <= 64 * MIB, "it had grown by {peak} bytes");
    drop(writer.join().unwrap());
    let end = server.finish();
    assert!(end.is_clean().output.is_empty());
}

// S-75
#[test]
fn running_requests_get_a_response_when_the_input_ends() {
    let calls = (0..20).map(|id| call(id, "blob", &json!({"letters": 100_000, "after": 200 + id})));
    let end = run(&mut example("noisy"), OPEN.to_owned() + &calls.collect::<String>());
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 21);
    assert!(answers[1..].iter().all(|answer| text(answer).as_str().unwrap().len() == 100_000));
}

// A client that has said all and reads 64 KiB now and then gets everything, however long that takes.
#[test]
fn a_client_that_reads_slowly_gets_every_response() {
    const GRACE: Duration = Duration::from_secs(8);
    const CALLS: usize = 400;
    let mut server = noisy("8");
    // Some are answered at once, some when the input has long ended.
    let calls = (0..CALLS)
        .map(|id| call(id, "blob", &json!({"letters": 4_000, "after": (id % 4 == 0).then_some(1_500)})));
    server.send(calls.collect::<String>());
    drop(server.input.take());
    let (ended, mut output) = (Instant::now(), server.output.take().unwrap());
    let mut bytes = Vec::new();
    // Well beyond the grace period, with no pause in it that is anywhere near as long.
    while ended.elapsed() < GRACE * 3 / 2 {
        let mut some = [0; 16 * 1024];
        let count = output.read(&mut some).unwrap();
        bytes.extend_from_slice(&some[..count]);
        std::thread::sleep(GRACE / 16);
    }
    output.read_to_end(&mut bytes).unwrap();
    let answers: Vec<Value> =
        bytes.split_inclusive(|&b| b == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect();
    let ids: HashSet<u64> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    assert_eq!((answers.len(), ids.len()), (CALLS, CALLS));
    assert!(answers.iter().all(|answer| text(answer).as_str().is_some_and(|text| text.len() == 4_000)));
    server.wait().is_clean();
}

// Undelivered responses are dropped after the grace period, and the exit code and the message say so.
#[test]
fn undelivered_responses_set_the_exit_code() {
    // More than a pipe takes, and little enough for the server to read on and see the end of its input.
    const CALLS: usize = 30;
    for hang in [false, true] {
        let mut server = noisy("0.5");
        if hang {
            server.send(call(CALLS, "hang", &json!({})));
        }
        server.send((0..CALLS).map(|id| call(id, "blob", &json!({"letters": 8_000}))).collect::<String>());
        drop(server.input.take());
        // The pipe holds a part of them; its reader is kept, and reads when it is too late.
        let mut output = server.output.take().unwrap();
        let end = server.wait();
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).unwrap();
        let whole = bytes.iter().filter(|&&b| b == b'\n').count();
        assert!(whole < CALLS, "everything fitted into the pipe");
        assert_eq!(end.status.code(), Some(1), "{}", end.log);
        let lost = CALLS - whole + usize::from(hang);
        let expected =
            format!("the client has not read its input for 500ms; responses not delivered: {lost};");
        assert!(end.log.contains(&expected), "{expected}: {}", end.log);
    }
}

// S-76
#[test]
fn two_hundred_slow_tools_respond_in_whole_lines() {
    let mut server = noisy("10");
    server.send(
        (0..200).map(|id| call(id, "blob", &json!({"letters": 65_536, "after": 50}))).collect::<String>(),
    );
    let mut ids = HashSet::new();
    for _ in 0..200 {
        let answer = server.message();
        assert_eq!(text(&answer).as_str().unwrap().len(), 65_536);
        assert!(ids.insert(answer["id"].as_u64().unwrap()), "{} was answered twice", answer["id"]);
    }
    assert!(server.finish().is_clean().output.is_empty());
}

// S-77
#[test]
fn an_internal_error_reaches_stderr_without_a_subscriber() {
    let end = run(&mut example("noisy"), format!("{OPEN}{}", call(1, "internal", &json!({}))));
    let messages = end.messages();
    let error = &answer(&messages, 1)["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("internal error")));
    let line = "internal: internal error: the password is \\u{1b}[1mswordfish\\nand more\n";
    assert!(end.log.contains(line), "{}", end.log);
}

#[test]
fn stray_prints_go_to_stderr() {
    let requests = [
        OPEN,
        &call(1, "print", &json!({"text": "a debugging line"})),
        &call(2, "print", &json!({"text": "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"})),
        &call(3, "print", &json!({"text": "an unfinished line", "unfinished": true})),
        &ping(4),
    ];
    let end = run(&mut example("noisy"), requests.concat());
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 5, "{answers:?}");
    for id in 1..=3 {
        assert_eq!(text(answer(&answers, id)), "printed");
    }
    answer(&answers, 4);
    for words in ["printed before serving", "a debugging line\n", "\"result\":{}}\n", "an unfinished line"] {
        assert!(end.log.contains(words), "{words:?} is not on stderr: {}", end.log);
    }
}

// S-71 and S-77
#[test]
fn a_tool_that_prints_without_a_reader_delays_no_other() {
    let (unread, stderr) = std::io::pipe().unwrap();
    let mut command = example("noisy");
    command.arg("0.3").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    let mut server = Process::start_as_it_is(&mut command);
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    // More than a pipe holds: this call never ends, and neither does the panic that comes after it.
    server.send(call(1, "print", &json!({"text": "x".repeat(100_000)})) + &ping(2));
    assert_eq!(server.message()["id"], 2);
    server.send(call(3, "panic", &json!({})) + &ping(4));
    // On a busy machine the panic may find room before the print has taken it all, and be answered first.
    let mut early = vec![server.message()];
    while early.last().unwrap()["id"] != 4 {
        early.push(server.message());
    }
    server.signal(Signal::TERM);
    let input = server.input.take();
    let end = server.wait();
    drop((input, unread));
    let mut answers = end.is_clean().messages();
    answers.extend(early);
    for id in [1, 3] {
        assert_eq!(answer(&answers, id)["error"]["code"], -32603);
    }
}

// S-77
#[test]
fn a_child_process_does_not_inherit_the_protocol_streams() {
    // `cat` would take the pings for itself, and end only with the input.
    let script = "echo hi from the child; cat; echo bye";
    let mut server = noisy("10");
    let child = call(0, "child", &json!({"script": script}));
    server.send(child + &(1..=100).map(ping).collect::<String>());
    let answers: Vec<Value> = (0..=100).map(|_| server.message()).collect();
    let end = server.finish();
    assert_eq!(text(answer(&answers, 0)), "exit status: 0", "{answers:?}");
    for id in 1..=100 {
        assert_eq!(answer(&answers, id)["result"], json!({}));
    }
    assert!(end.is_clean().output.is_empty());
    assert!(end.log.contains("hi from the child\nbye\n"), "{}", end.log);
}

// S-77
#[test]
fn a_child_process_inherits_no_other_descriptor() {
    const LIST: &str = "ls /proc/$$/fd";
    // The test runner may have left some open.
    let usual = run(Command::new("sh").args(["-c", LIST]), "").output;
    let end = run(&mut example("noisy"), OPEN.to_owned() + &call(1, "child", &json!({"script": LIST})));
    let log = end.is_clean().log.strip_prefix("printed before serving").unwrap();
    assert_eq!(log, String::from_utf8(usual).unwrap());
}

// S-77
#[test]
fn a_tool_that_reads_stdin_finds_it_empty() {
    let end = run(&mut example("noisy"), [OPEN, &call(1, "read_stdin", &json!({})), &ping(2)].concat());
    let answers = end.is_clean().messages();
    assert_eq!(text(answer(&answers, 1)), "0 bytes", "{answers:?}");
    assert_eq!(answer(&answers, 2)["result"], json!({}));
}

#[test]
fn a_panic_gets_an_error_and_is_survived() {
    let mut server = noisy("10");
    for (id, later) in [(1, false), (2, true)] {
        server.send(call(id, "panic", &json!({"later": later})));
        let answer = server.message();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id.into(), &Value::from(-32603)), "{answer}");
    }
    server.send(ping(3));
    assert_eq!(server.message()["id"], 3);
    let end = server.finish();
    assert_eq!((end.status.code(), &end.output[..]), (Some(0), &b""[..]), "{end:?}");
}

/// Reads up to an answer, and returns the messages before it.
fn read_until(server: &mut Process, id: impl Into<Value>) -> Vec<Value> {
    let id = id.into();
    let mut before = Vec::new();
    loop {
        let message = server.message();
        if message["id"] == id {
            return before;
        }
        before.push(message);
    }
}

// Decision 12.
#[test]
fn sigterm_and_sigint_let_running_tools_finish() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = noisy("60");
        server.send(call(1, "blob", &json!({"letters": 5, "after": 500})) + LISTEN + &ping(2));
        let before = read_until(&mut server, 2);
        assert!(before.iter().all(|message| message["id"] != 1), "the slow call came first: {before:?}");
        server.signal(signal);
        // Its input stays open all the while.
        let input = server.input.take();
        let end = server.wait();
        drop(input);
        let answers = end.is_clean().messages();
        assert_eq!(answers.len(), 2, "{end:?}");
        assert!(answer(&answers, "listen")["result"].is_object());
        assert_eq!(text(answer(&answers, 1)), "xxxxx");
    }
}

/// Ends a server on which a tool runs that never ends; the grace period is short.
fn give_up(mut server: Process) {
    server.signal(Signal::TERM);
    let input = server.input.take();
    let end = server.wait();
    drop(input);
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 1, "{end:?}");
    assert_eq!(
        (&answers[0]["id"], &answers[0]["error"]["code"]),
        (&1.into(), &Value::from(-32603)),
        "{end:?}"
    );
}

// Decision 12.
#[test]
fn a_tool_that_never_ends_is_given_up_after_the_grace_period() {
    let mut server = noisy("0.3");
    server.send(call(1, "hang", &json!({})) + &ping(2));
    assert_eq!(server.message()["id"], 2);
    give_up(server);
}

// Decision 12. A runtime waits for its blocking threads when it is dropped, as `#[tokio::main]` does at the end.
#[test]
fn a_tool_that_blocks_its_thread_is_abandoned_after_the_grace_period() {
    let mut server = noisy("0.3");
    server.send(call(1, "block", &json!({})));
    server.wait_for_log("blocking");
    give_up(server);
}

// Decision 12. No runtime can stop a function that never awaits; the process ends all the same.
#[test]
fn a_blocking_tool_does_not_prevent_shutdown() {
    let mut server = noisy("0.3");
    server.send(call(1, "block", &json!({"here": true})));
    server.wait_for_log("blocking");
    server.signal(Signal::TERM);
    let input = server.input.take();
    server.wait().is_clean();
    drop(input);
}

// The same for what is no request.
#[test]
fn a_notification_that_blocks_does_not_prevent_shutdown() {
    let mut server = noisy("0.3");
    let params = json!({"here": true});
    let block = json!({"jsonrpc": "2.0", "method": "notifications/noisy/block", "params": params});
    server.send(format!("{block}\n"));
    server.wait_for_log("blocking");
    server.signal(Signal::TERM);
    let input = server.input.take();
    server.wait().is_clean();
    drop(input);
}

#[test]
fn background_work_that_blocks_does_not_prevent_shutdown() {
    let mut server = Process::start(example("noisy").args(["0.3", "background"]));
    server.wait_for_log("blocking");
    server.send(OPEN);
    assert_eq!(server.message()["id"], "open");
    drop(server.input.take());
    server.wait().is_clean();
}

#[test]
fn a_tool_that_blocks_its_thread_delays_no_other() {
    let mut server = noisy("0.3");
    server.send(ping(1) + &call(2, "block", &json!({"here": true})) + &ping(3));
    assert_eq!(server.message()["id"], 1);
    assert_eq!(server.message()["id"], 3);
}

// Decision 12: the grace period would be an hour.
#[test]
fn a_second_sigterm_ends_a_hanging_server_at_once() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut server = noisy("3600");
        server.send(call(1, "hang", &json!({})) + LISTEN + &ping(2));
        drop(read_until(&mut server, 2));
        server.signal(signal);
        // The subscription ends, so the first signal has arrived.
        assert_eq!(server.message()["id"], "listen");
        server.signal(signal);
        let input = server.input.take();
        assert_eq!(server.wait().status.code(), Some(code));
        drop(input);
    }
}

// S-80
#[test]
fn a_stopped_server_goes_on_where_it_was() {
    let mut server = noisy("10");
    server.send(call(0, "blob", &json!({"letters": 10, "after": 100})));
    server.signal(Signal::STOP);
    let stopped = rustix::process::waitpid(Some(server.pid()), rustix::process::WaitOptions::UNTRACED)
        .unwrap()
        .unwrap();
    assert!(stopped.1.stopped(), "{stopped:?}");
    // The clock of the slow tool runs out meanwhile.
    std::thread::sleep(Duration::from_millis(150));
    server.send((1..=500).map(ping).collect::<String>());
    server.signal(Signal::CONT);
    let mut ids: Vec<u64> = (0..=500).map(|_| server.message()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..=500));
    assert!(server.finish().is_clean().output.is_empty());
}

#[test]
fn a_bad_schema_is_a_start_up_error_that_names_the_tool() {
    let end = run(&mut example("bad_schema"), OPEN);
    assert_ne!(end.status.code(), Some(0), "{end:?}");
    assert!(end.status.code().is_some(), "{end:?}");
    assert!(end.output.is_empty(), "{end:?}");
    assert!(end.log.contains("\"misspelt\"") && end.log.contains("intger"), "{}", end.log);
    assert!(!end.log.contains("panicked") && end.log.lines().count() == 1, "{}", end.log);
}

#[test]
fn the_example_for_users_does_what_it_says() {
    let requests = [
        OPEN,
        &call(1, "count", &json!({"text": "a tale of two cities", "at_least": 3})),
        &call(2, "longest", &json!({"text": "a tale of two cities"})),
        &call(3, "longest", &json!({"text": " "})),
        &call(4, "read_out", &json!({"text": "tick tock"}))
            .replace("\"arguments\"", "\"_meta\":{\"progressToken\":\"p\"},\"arguments\""),
    ];
    let end = run(&mut example("words"), requests.concat());
    let messages = end.is_clean().messages();
    assert_eq!(text(answer(&messages, 1)), "3");
    let longest = &answer(&messages, 2)["result"];
    assert_eq!(longest["structuredContent"], json!({"word": "cities", "letters": 6}));
    assert_eq!(answer(&messages, 3)["result"]["isError"], true);
    let progress: Vec<&str> =
        messages.iter().filter_map(|message| message["params"]["message"].as_str()).collect();
    assert_eq!(progress, ["tick", "tock"]);
    assert_eq!(text(answer(&messages, 4)), "read 2 words");
}
