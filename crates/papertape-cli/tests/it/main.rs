//! The integration tests of the command line, in one binary: `papertape` as a process on real pipes, sockets and ttys.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod load;
mod logs;
mod pipes;
#[path = "../../../papertape/tests/it/process.rs"]
mod process;
mod session;
mod signals;
mod streams;
mod tape;
mod usage;

use std::path::PathBuf;
use std::process::Command;

use process::End;

/// The binary under test, with nothing in the environment to change what it does.
fn papertape<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_papertape"));
    command.args(arguments).env_remove("RUST_LOG").env_remove("NO_COLOR").env_remove("RUST_BACKTRACE");
    command
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

/// It ended well and said nothing, on either stream.
#[track_caller]
fn assert_silent(end: &End) {
    end.is_clean();
    assert!(end.output.is_empty() && end.log.is_empty(), "{end:?}");
}

/// An empty folder for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A pipe nobody reads any more: both ends, and the last byte it takes has been written.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let size = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
    std::io::Write::write_all(&mut writer, &vec![b'#'; size]).unwrap();
    (reader, writer)
}
