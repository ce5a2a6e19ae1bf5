//! The line of a server's stderr that names the error. The last line seldom does: runtimes end with their version, a stack
//! trace or a brace, and programs with their usage.

use std::sync::Arc;

#[cfg(unix)]
use crate::callback::unless_it_panics;

/// Called with each line of a server's stderr.
pub(crate) type OnStderr = Arc<dyn Fn(&str) + Send + Sync>;

/// The longest line that is passed on in one part.
#[cfg(unix)]
const LONGEST_LINE: usize = 64 * 1024;

/// The lines of a server's stderr for a callback.
#[cfg(unix)]
pub(crate) struct StderrLines {
    callback: OnStderr,
    /// The beginning of a line that has not ended.
    unfinished: Vec<u8>,
}

#[cfg(unix)]
impl StderrLines {
    pub(crate) fn new(callback: OnStderr) -> Self {
        Self { callback, unfinished: Vec::new() }
    }

    /// Passes on the lines that these bytes end.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.unfinished.extend_from_slice(part);
            if part.ends_with(b"\n") || self.unfinished.len() >= LONGEST_LINE {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let line = self.unfinished.strip_suffix(b"\n").unwrap_or(&self.unfinished);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        unless_it_panics("on_stderr", || (self.callback)(&String::from_utf8_lossy(line)));
        self.unfinished.clear();
    }
}

/// A last line may have no line end.
#[cfg(unix)]
impl Drop for StderrLines {
    fn drop(&mut self) {
        if !self.unfinished.is_empty() {
            self.flush();
        }
    }
}

/// Words that mark a line as an error: names of errors, and words of their messages.
const NAMES: [&str; 5] = ["error", "fatal", "panic", "exception", "critical"];
const WORDS: [&str; 22] = [
    "failed",
    "failure",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable to",
    "not found",
    "no such",
    "no module",
    "missing",
    "required",
    "invalid",
    "not defined",
    "not set",
    "unknown",
    "unrecognized",
    "denied",
    "refused",
    "unauthorized",
    "aborted",
    "segmentation fault",
];

/// Beginnings of the lines with which runtimes report a crash.
const CRASHES: [&str; 8] = [
    "panic: ",
    "fatal error: ",
    "Exception in thread ",
    "Unhandled exception",
    "Unhandled Exception",
    "PHP Fatal error: ",
    "terminate called ",
    "FATAL ERROR: ",
];

/// Beginnings of the lines that npm prints beside the reason.
const NPM_DETAILS: [&str; 7] =
    ["code ", "errno ", "syscall ", "path ", "command ", "a complete log", "log files"];

/// How likely a line names the cause, least likely first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A brace, a version, a hint.
    Noise,
    /// Any other text.
    Text,
    /// Words or names of errors in an indented line.
    IndentedWords,
    IndentedName,
    /// Words of error messages.
    Words,
    /// The name of an error.
    Name,
    /// The report of a crash by a runtime.
    Crash,
}

/// The line that most likely names the error: the last of those with the highest rank, joined with the next one if it ends
/// with a colon. `None` if there is no text.
pub(super) fn error_line(stderr: &str) -> Option<String> {
    let text = without_escapes(stderr);
    let lines: Vec<&str> = text.lines().map(|line| unframed(line).trim_end()).collect();
    if let Some(reason) = reason_of_npm(&lines) {
        return Some(reason);
    }
    let mut in_traceback = false;
    let mut best: Option<(Rank, usize)> = None;
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut rank = rank(line);
        let indented = line.starts_with([' ', '\t']);
        if line.trim_start().starts_with("Traceback (most recent call last)") {
            in_traceback = true;
            rank = Rank::Noise;
        } else if in_traceback && !indented {
            // The line after the frames of a Python traceback is the exception, whatever its name.
            in_traceback = false;
            rank = Rank::Crash;
        }
        if best.is_none_or(|(most, _)| rank >= most) {
            best = Some((rank, index));
        }
    }
    let (_, index) = best?;
    let line = lines.get(index)?.trim();
    let next = lines.get(index + 1).map_or("", |next| next.trim());
    Some(if line.ends_with(':') && !next.is_empty() { format!("{line} {next}") } else { line.to_owned() })
}

fn rank(line: &str) -> Rank {
    let text = line.trim();
    let indented = line.starts_with([' ', '\t']);
    if !indented && is_crash(text) {
        return Rank::Crash;
    }
    let lower = text.to_lowercase();
    if is_noise(text, &lower) {
        return Rank::Noise;
    }
    let warns = lower.contains("warn");
    let has = |words: &[&str]| !warns && words.iter().any(|word| lower.contains(word));
    match (has(&NAMES), has(&WORDS), indented) {
        (true, _, false) => Rank::Name,
        (true, _, true) => Rank::IndentedName,
        (false, true, false) => Rank::Words,
        (false, true, true) => Rank::IndentedWords,
        (false, false, _) => Rank::Text,
    }
}

fn is_crash(text: &str) -> bool {
    CRASHES.iter().any(|crash| text.starts_with(crash))
        || (text.starts_with("thread ") && text.contains(" panicked at "))
        || has_name_of_exception(text)
}

/// Whether it begins as in `TypeError: ..`, `Error [ERR_X]: ..`, `Uncaught a.b.SomeException: ..`.
fn has_name_of_exception(text: &str) -> bool {
    let text = text.strip_prefix("Uncaught ").unwrap_or(text);
    let text = text.strip_prefix("(in promise) ").unwrap_or(text);
    let Some((head, _)) = text.split_once(':') else { return false };
    let name = head.split(" [").next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$'));
    is_name && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// Lines at the end that do not name the error.
fn is_noise(text: &str, lower: &str) -> bool {
    let is_version = |name: &str| {
        text.strip_prefix(name).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    !text.contains(char::is_alphabetic)
        || is_version("Node.js v")
        || is_version("Bun v")
        || lower.starts_with("usage:")
        || lower.starts_with("usage of ")
        || lower.starts_with("note: ")
        || lower.starts_with("exit status ")
        || lower.starts_with("at ")
        || lower.starts_with("for more information")
        || lower.starts_with("run '")
        || lower.starts_with("try '")
        || lower.starts_with("run with ")
        || lower.starts_with("goroutine ")
}

/// The first line of npm's report that names the reason; unless something else crashed.
fn reason_of_npm(lines: &[&str]) -> Option<String> {
    let said = |line: &&str| {
        let said = line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! "))?;
        let lower = said.trim().to_lowercase();
        let is_reason = !lower.is_empty() && !NPM_DETAILS.iter().any(|beside| lower.starts_with(beside));
        is_reason.then(|| line.to_string())
    };
    if lines.iter().any(|line| !line.starts_with([' ', '\t']) && is_crash(line)) {
        return None;
    }
    lines.iter().find_map(said)
}

/// Removes the frame that Python draws around the exceptions of a group.
fn unframed(line: &str) -> &str {
    let inner = line.trim_start();
    match inner.strip_prefix("| ") {
        Some(inner) => inner,
        None if inner.starts_with("+-") || inner == "|" => "",
        None => inner.strip_prefix("+ ").filter(|inner| inner.contains("Traceback")).unwrap_or(line),
    }
}

/// Removes escape sequences of terminals, such as colours.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        // A control sequence ends with a letter; every other escape is taken for two characters.
        if chars.next() == Some('[') {
            chars.by_ref().find(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::error_line;

    #[cfg(unix)]
    #[test]
    fn a_callback_that_panics_is_called_with_every_line() {
        use std::sync::{Arc, Mutex};

        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&lines);
        let callback = move |line: &str| {
            crate::sync::lock(&seen).push(line.to_owned());
            panic!("on purpose");
        };
        let mut passed_on = super::StderrLines::new(Arc::new(callback));
        passed_on.add(b"one\ntwo\nthr");
        passed_on.add(b"ee");
        drop(passed_on);
        assert_eq!(*crate::sync::lock(&lines), ["one", "two", "three"]);
    }

    /// The stderr of programs, and the line that names the error.
    const SAMPLES: &[(&str, &str)] = &[
        // Node: an uncaught error.
        (
            "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/srv/index.js'\n    \
             at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)\n    at node:internal/main:17:47 {\n  \
             code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.23.3\n",
            "Error: Cannot find module '/srv/index.js'",
        ),
        (
            "file:///srv/dist/index.js:12\nthrow new Error(\"API_KEY is not set\");\n      ^\n\nError: API_KEY is not set\n    \
             at file:///srv/dist/index.js:12:7\n\nNode.js v20.1.0\n",
            "Error: API_KEY is not set",
        ),
        (
            "node:internal/errors:540\n      throw error;\n      ^\n\nTypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must \
             be of type string. Received undefined\n    at join (node:path:1268:7) {\n  code: 'ERR_INVALID_ARG_TYPE'\n}\n\n\
             Node.js v22.23.3\n",
            "TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be of type string. Received undefined",
        ),
        (
            "Error connecting to the database: {\n  code: 'ECONNREFUSED',\n  port: 5432\n}\n",
            "Error connecting to the database: {",
        ),
        // A ZodError has its reasons in the lines after it; the first is better than a bracket.
        (
            "ZodError: [\n  {\n    \"code\": \"invalid_type\",\n    \"message\": \"Required\"\n  }\n]\n    at new (x.js:1)\n",
            "ZodError: [",
        ),
        (
            "error: Cannot find module \"zod\" from \"/srv/a.ts\"\n\nBun v1.1.30 (Linux x64)\n",
            "error: Cannot find module \"zod\" from \"/srv/a.ts\"",
        ),
        (
            "npm warn exec The following package was not found and will be installed: no-such\nnpm error code E404\n\
             npm error 404 Not Found - GET https://registry.example/no-such - Not found\nnpm error 404\n\
             npm error 404  'no-such@*' is not in this registry.\nnpm error A complete log of this run can be found in: /l\n",
            "npm error 404 Not Found - GET https://registry.example/no-such - Not found",
        ),
        (
            "npm ERR! code ENOENT\nnpm ERR! syscall open\nnpm ERR! path /srv/package.json\nnpm ERR! errno -2\n\
             npm ERR! enoent Could not read package.json\n",
            "npm ERR! enoent Could not read package.json",
        ),
        // Python.
        (
            "Traceback (most recent call last):\n  File \"/srv/server.py\", line 3, in <module>\n    import mcp\n\
             ModuleNotFoundError: No module named 'mcp'\n",
            "ModuleNotFoundError: No module named 'mcp'",
        ),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    x[\"k\"]\nKeyError: 'k'\n\nDuring handling of \
             the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 9\n    \
             raise Stopped\na.Stopped: no key\n",
            "a.Stopped: no key",
        ),
        (
            "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1\n  | ExceptionGroup: unhandled \
             errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent \
             call last):\n    |   File \"b.py\", line 2\n    | httpx.ConnectError: All connection attempts failed\n    \
             +------------------------------------\n",
            "httpx.ConnectError: All connection attempts failed",
        ),
        (
            "INFO:     Started server process [1]\nTraceback (most recent call last):\n  File \"a.py\", line 2\n    assert False\n\
             AssertionError\nINFO:     Finished server process [1]\n",
            "AssertionError",
        ),
        (
            "usage: server.py [-h] --token TOKEN\nserver.py: error: the following arguments are required: --token\n",
            "server.py: error: the following arguments are required: --token",
        ),
        (
            "Usage: serve [OPTIONS]\nTry 'serve --help' for help.\n\nError: Missing option '--root'.\n",
            "Error: Missing option '--root'.",
        ),
        (
            "python3: can't open file '/srv/a.py': [Errno 2] No such file or directory\n",
            "python3: can't open file '/srv/a.py': [Errno 2] No such file or directory",
        ),
        (
            "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because no-such was not found in the package registry\n",
            "╰─▶ Because no-such was not found in the package registry",
        ),
        // Go.
        (
            "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation]\n\n\
             goroutine 1 [running]:\nmain.main()\n\t/srv/main.go:5 +0x1d\nexit status 2\n",
            "panic: runtime error: invalid memory address or nil pointer dereference",
        ),
        (
            "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n",
            "fatal error: all goroutines are asleep - deadlock!",
        ),
        (
            "flag provided but not defined: -x\nUsage of server:\n  -log string\n    \tdebug, info or error (default \"info\")\n",
            "flag provided but not defined: -x",
        ),
        (
            "Error: unknown flag: --stdio\nUsage:\n  server [flags]\n\nFlags:\n  -h, --help   help for server\n      --level string   \
             debug or error\n\n",
            "Error: unknown flag: --stdio",
        ),
        (
            "2026/11/17 10:00:00 listening\n2026/11/17 10:00:01 dial tcp 127.0.0.1:1: connect: connection refused\n",
            "2026/11/17 10:00:01 dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        // Rust.
        (
            "\nthread 'main' panicked at src/main.rs:2:5:\nno token in the environment\nnote: run with `RUST_BACKTRACE=1` \
             environment variable to display a backtrace\n",
            "thread 'main' panicked at src/main.rs:2:5: no token in the environment",
        ),
        (
            "Error: cannot read the file\n\nCaused by:\n    No such file or directory (os error 2)\n",
            "Error: cannot read the file",
        ),
        (
            "error: the following required arguments were not provided:\n  --root <DIR>\n\nUsage: server --root <DIR>\n\n\
             For more information, try '--help'.\n",
            "error: the following required arguments were not provided: --root <DIR>",
        ),
        // The JVM, .NET, PHP, Ruby.
        (
            "Exception in thread \"main\" java.lang.IllegalStateException: no token\n\tat Main.main(Main.java:3)\nCaused by: \
             java.io.IOException: closed\n\t... 1 more\n",
            "Exception in thread \"main\" java.lang.IllegalStateException: no token",
        ),
        ("Error: Unable to access jarfile server.jar\n", "Error: Unable to access jarfile server.jar"),
        (
            "Unhandled exception. System.InvalidOperationException: no token\n   at Program.Main() in /srv/Program.cs:line 3\n",
            "Unhandled exception. System.InvalidOperationException: no token",
        ),
        (
            "PHP Fatal error:  Uncaught Exception: no token in /srv/a.php:3\nStack trace:\n#0 {main}\n  thrown in /srv/a.php on line 3\n",
            "PHP Fatal error:  Uncaught Exception: no token in /srv/a.php:3",
        ),
        (
            "server.rb:3:in 'main': no token (RuntimeError)\n\tfrom server.rb:9:in '<main>'\n",
            "server.rb:3:in 'main': no token (RuntimeError)",
        ),
        // Programs that start others.
        (
            "Unable to find image 'no-such:latest' locally\ndocker: Error response from daemon: pull access denied for no-such\n\n\
             Run 'docker run --help' for more information\n",
            "docker: Error response from daemon: pull access denied for no-such",
        ),
        ("sh: 1: no-such-server: not found\n", "sh: 1: no-such-server: not found"),
        // Logs.
        (
            "{\"level\":\"info\",\"msg\":\"starting\"}\n{\"level\":\"error\",\"msg\":\"no token\"}\n{\"level\":\"info\",\"msg\":\"bye\"}\n",
            "{\"level\":\"error\",\"msg\":\"no token\"}",
        ),
        ("\u{1b}[31mError:\u{1b}[0m no token\n\u{1b}[2mgood bye\u{1b}[0m\n", "Error: no token"),
        (
            "(node:7) ExperimentalWarning: an invalid thing\nServer running on stdio\n",
            "Server running on stdio",
        ),
        // Nothing that looks like an error: the last text.
        ("starting\nwaiting for the disk\n", "waiting for the disk"),
        ("starting\n}\n", "starting"),
        ("}\n", "}"),
    ];

    #[test]
    fn the_line_that_names_the_error_is_found() {
        for (stderr, expected) in SAMPLES {
            assert_eq!(error_line(stderr).as_deref(), Some(*expected), "{stderr}");
        }
        assert_eq!(error_line(""), None);
        assert_eq!(error_line(" \n\n\t\n"), None);
    }

    #[test]
    fn any_text_is_accepted() {
        for text in
            ["\u{1b}", "\u{1b}[", "\u{1b}[31", "Traceback (most recent call last):", "npm error ", ":", "| "]
        {
            drop(error_line(text));
        }
    }
}
