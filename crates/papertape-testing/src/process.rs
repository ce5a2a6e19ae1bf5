//! A real server process on real pipes.
//!
//! Tests wait for an event (a response, a line on stderr, an exit), never for time to pass.
//! A process that outlives `HANG_TIMEOUT` is killed, which ends every read and write that waits for it: a hang is a failed
//! test, not a hanging one.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Fires on failure only, however busy the machine is.
const HANG_TIMEOUT: Duration = Duration::from_secs(600);

/// Opens a session (2025-11-25); the response has the id "open".
pub const OPEN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

/// One line: a ping.
pub fn ping(id: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
}

/// One line: a tool call.
pub fn call(id: usize, tool: &str, arguments: &Value) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}}}}}\n"
    )
}

/// A running process, with our ends of those of its standard streams that are pipes.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Its stdin, until it is closed.
    pub input: Option<ChildStdin>,
    /// Its stdout.
    pub output: Option<BufReader<ChildStdout>>,
    errors: Option<Receiver<String>>,
    log: String,
    /// Dropped when the process has ended.
    _watchdog: Sender<()>,
}

/// How a process ended.
pub struct End {
    /// Its exit status.
    pub status: ExitStatus,
    /// What was on stdout and had not been read before.
    pub output: Vec<u8>,
    /// All of stderr.
    pub log: String,
}

impl Process {
    /// Starts a command with pipes for all three streams.
    pub fn start(command: &mut Command) -> Self {
        Self::start_as_it_is(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts a command with the streams it has been given.
    pub fn start_as_it_is(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (watchdog, done) = channel();
        let pid = Pid::from_child(&child);
        thread::spawn(move || {
            if done.recv_timeout(HANG_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let errors = child.stderr.take().map(|errors| {
            let (lines, collected) = channel();
            thread::spawn(move || {
                let mut errors = BufReader::new(errors);
                let mut line = Vec::new();
                while errors.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                    drop(lines.send(String::from_utf8_lossy(&line).into_owned()));
                    line.clear();
                }
            });
            collected
        });
        Self {
            input: child.stdin.take(),
            output: child.stdout.take().map(BufReader::new),
            errors,
            log: String::new(),
            child,
            _watchdog: watchdog,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Writes to its stdin.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let written = self.input.as_mut().expect("its stdin is a pipe").write_all(bytes.as_ref());
        if let Err(error) = written {
            panic!("{error}\n{}", self.log_so_far());
        }
    }

    /// The next line of its stdout, which must be JSON.
    pub fn message(&mut self) -> Value {
        let mut line = Vec::new();
        self.output.as_mut().expect("its stdout is a pipe").read_until(b'\n', &mut line).unwrap();
        assert!(
            line.ends_with(b"\n"),
            "no response, but {:?}\n{}",
            line.escape_ascii().to_string(),
            self.log_so_far()
        );
        serde_json::from_slice(&line).unwrap_or_else(|error| panic!("{error}: {}", line.escape_ascii()))
    }

    /// Waits for a line on its stderr that contains some words.
    pub fn wait_for_log(&mut self, words: &str) {
        loop {
            let line = self.errors.as_ref().expect("its stderr is a pipe").recv();
            let line = line.unwrap_or_else(|_| {
                panic!("it ended ({:?}) without saying {words:?}, but:\n{}", self.child.wait(), self.log)
            });
            self.log.push_str(&line);
            if line.contains(words) {
                return;
            }
        }
    }

    /// Waits until none of its threads has run for a while: it does nothing more without further input.
    pub fn wait_until_stuck(&self) {
        let tasks = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        let look = || -> Vec<String> {
            let tasks = fs::read_dir(&tasks).unwrap();
            let status =
                tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default());
            let of_interest = |line: &&str| line.starts_with("State:") || line.contains("_ctxt_switches");
            status.map(|status| status.lines().filter(of_interest).collect()).collect()
        };
        let began = Instant::now();
        let (mut last, mut same) = (look(), 0);
        while same < 20 {
            assert!(began.elapsed() < HANG_TIMEOUT, "it never comes to rest");
            thread::sleep(Duration::from_millis(10));
            let now = look();
            let rests = now == last && !now.iter().any(|task| task.contains("R (running)"));
            (last, same) = (now, if rests { same + 1 } else { 0 });
        }
    }

    /// What it has written to stderr so far.
    pub fn log_so_far(&mut self) -> &str {
        self.log.extend(self.errors.iter().flat_map(Receiver::try_iter));
        &self.log
    }

    /// Ends its input and waits for its end.
    pub fn finish(mut self) -> End {
        drop(self.input.take());
        self.wait()
    }

    /// Waits for its end while its input stays open.
    pub fn wait(mut self) -> End {
        let mut output = Vec::new();
        if let Some(rest) = &mut self.output {
            rest.read_to_end(&mut output).unwrap();
        }
        let status = self.child.wait().unwrap();
        self.log.extend(self.errors.iter().flatten());
        End { status, output, log: std::mem::take(&mut self.log) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that has failed leaves no process behind; one that has passed has none.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl End {
    /// Exit code 0, and neither an error nor a panic on stderr.
    #[track_caller]
    pub fn is_clean(&self) -> &Self {
        let failed = ["ERROR", "panicked"].iter().any(|word| self.log.contains(word));
        assert!(self.status.code() == Some(0) && !failed, "{self:?}");
        self
    }

    /// The messages on its stdout; every line must be one.
    #[track_caller]
    pub fn messages(&self) -> Vec<Value> {
        let lines = self.output.split_inclusive(|&b| b == b'\n');
        lines
            .map(|line| {
                let message = line.strip_suffix(b"\n").and_then(|line| serde_json::from_slice(line).ok());
                message.unwrap_or_else(|| panic!("no message: {}\n{self:?}", line.escape_ascii()))
            })
            .collect()
    }
}

/// The only response with an id. Responses arrive in any order.
#[track_caller]
pub fn answer(messages: &[Value], id: impl Into<Value>) -> &Value {
    let id = id.into();
    let mut found = messages.iter().filter(|message| message["id"] == id);
    let response = found.next().unwrap_or_else(|| panic!("no response to {id}: {messages:?}"));
    assert!(found.next().is_none(), "two responses to {id}: {messages:?}");
    response
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt = String::from_utf8_lossy(self.output.get(..1000).unwrap_or(&self.output));
        write!(
            f,
            "{}\n--- stdout, {} bytes\n{excerpt}\n--- stderr\n{}",
            self.status,
            self.output.len(),
            self.log
        )
    }
}

/// Runs a command to its end on a given input.
pub fn run(command: &mut Command, input: impl Into<Vec<u8>>) -> End {
    let mut process = Process::start(command);
    let (mut pipe, input) = (process.input.take().unwrap(), input.into());
    // It may respond, and end, before it has read everything.
    let writer = thread::spawn(move || drop(pipe.write_all(&input)));
    let end = process.wait();
    writer.join().unwrap();
    end
}
