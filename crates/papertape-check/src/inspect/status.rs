//! How a process ended, in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// "status 3", "SIGSEGV (a crash in native code)".
pub(crate) fn words(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "an unknown status".to_owned() };
    if let Some(code) = status.code() {
        return format!("status {code}{}", meaning(code));
    }
    let signal = status.signal().unwrap_or_default();
    match SIGNALS.iter().find(|(number, _)| *number == signal) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}

/// Signals whose numbers are the same on all systems.
const SIGNALS: [(i32, &str); 9] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (4, "SIGILL (an invalid instruction)"),
    (6, "SIGABRT (it aborted itself)"),
    (8, "SIGFPE"),
    (9, "SIGKILL (killed from outside, perhaps for its use of memory)"),
    (11, "SIGSEGV (a crash in native code)"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
];

fn meaning(code: i32) -> &'static str {
    match code {
        126 => " (a shell could not execute the command)",
        127 => " (a shell did not find a command)",
        134 => " (SIGABRT in a child process)",
        137 => " (SIGKILL of a child process, perhaps for its use of memory)",
        139 => " (SIGSEGV in a child process)",
        143 => " (SIGTERM of a child process)",
        _ => "",
    }
}
