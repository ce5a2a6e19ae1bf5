//! The integration tests of the command line, in one binary: `papertape` as a process on real pipes, sockets and ttys.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod blog;
mod blog_load;
mod bridge;
mod calling;
mod checking;
mod client_signals;
mod completing;
mod demo;
mod documented;
mod elicitation;
mod events;
mod examples;
mod failing;
mod frames;
mod http;
mod index_authentication;
mod index_messages;
mod indexing;
mod installing;
mod keys;
mod keys_served;
mod listing;
mod load;
mod login;
mod logs;
mod new_project;
#[cfg(feature = "otel")]
mod otel;
mod page;
mod parse_errors;
mod pipes;
mod reading;
mod replay;
mod requesting;
mod screen;
mod searching;
mod server_inputs;
mod server_logs;
mod server_stderr;
mod servers_file;
mod session;
mod shell_command;
mod signals;
mod sockets;
mod stray_output;
mod streams;
mod tap;
mod tap_http;
mod tape;
mod tape_tools;
mod tasks;
mod thread_limit;
mod unprivileged;
mod urls;
mod usage;

use std::path::{Path, PathBuf};
use std::process::Command;

use papertape_testing::process::{self, End};
use serde_json::{Value, json};

/// The binary under test, with nothing in the environment to change what it does.
fn papertape<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_papertape"));
    command.args(arguments).env("TERM", "xterm");
    // The key that authenticates indexes is created there, not in the real home directory.
    command.env("XDG_DATA_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("data"));
    for name in ["RUST_LOG", "RUST_BACKTRACE", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    for name in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"] {
        command.env_remove(name);
    }
    command
}

/// The example server that misbehaves: its mode and what belongs to that. `faulty --help` lists them.
fn faulty() -> String {
    examples::example("faulty").to_str().unwrap().to_owned()
}

/// The binary under test with some words, and a mode of `faulty` after `--`.
fn against<'a>(arguments: &[&'a str], mode: &[&'a str]) -> Command {
    let mut command = papertape(arguments.iter().copied());
    command.arg("--").arg(faulty()).args(mode);
    command
}

/// A server with canned responses: one for each request, in order, from id 1 on.
fn canned(results: &[Value]) -> Vec<String> {
    const SCRIPT: &str = r#"for answer; do
        read -r line || exit
        case $line in *'"id"'*) ;; *) read -r line || exit ;; esac
        printf '%s\n' "$answer"
    done
    cat > /dev/null"#;
    let answers = results
        .iter()
        .enumerate()
        .map(|(index, result)| json!({"jsonrpc": "2.0", "id": index + 1, "result": result}).to_string());
    ["sh", "-c", SCRIPT, "sh"].into_iter().map(str::to_owned).chain(answers).collect()
}

/// The response to `initialize`, for canned servers.
fn opening(capabilities: &Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "canned", "version": "1"},
    })
}

/// The JSON document on stdout.
#[track_caller]
fn document(end: &End) -> Value {
    serde_json::from_slice(&end.output).unwrap_or_else(|error| panic!("{error}: {end:?}"))
}

/// The text on stdout.
#[track_caller]
fn text(end: &End) -> &str {
    std::str::from_utf8(&end.output).unwrap()
}

#[track_caller]
fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing:\n{text}");
    }
}

/// The binary under test, started by a shell whose script says `"$@"` where it wants it.
fn shell(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// It ended with code 0 and wrote nothing, on either stream.
#[track_caller]
fn assert_silent(end: &End) {
    end.is_clean();
    assert!(end.output.is_empty() && end.log.is_empty(), "{end:?}");
}

/// An empty directory for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a program that can be executed at once.
///
/// Another process writes it: a file that this one has open for writing is inherited by what another test is starting in the
/// same moment, and as long as it is open there, it cannot be executed ("text file busy").
fn install(program: &Path, bytes: impl Into<Vec<u8>>) {
    let script = "cat > \"$1\" && chmod 755 \"$1\"";
    process::run(Command::new("sh").args(["-c", script, "sh"]).arg(program), bytes).is_clean();
}

/// A pipe that is not read any more: both ends, and the last byte it takes has been written.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let size = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
    std::io::Write::write_all(&mut writer, &vec![b'#'; size]).unwrap();
    (reader, writer)
}
