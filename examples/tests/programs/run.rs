//! The built programs.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use papertape::Client;
use papertape::client::ClientOptions;
use papertape::stdio::{self, ServerCommand};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

/// The path of a program; `cargo test` builds them beside the tests.
pub(crate) fn path(program: &str) -> PathBuf {
    let tests = env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples").join(program);
    assert!(path.exists(), "{} is not built: cargo build -p papertape-examples --examples", path.display());
    path
}

/// A client of a program on stdio.
pub(crate) async fn connect(program: &str) -> Client {
    connect_with(ServerCommand::new(path(program)), ClientOptions::new()).await
}

pub(crate) async fn connect_with(command: ServerCommand, options: ClientOptions) -> Client {
    stdio::connect_with(command, options).await.unwrap()
}

/// A program that serves on HTTP, and prints its URL to stderr first. It is killed when this is dropped.
pub(crate) struct Program {
    url: String,
    _stderr: Lines<BufReader<ChildStderr>>,
    child: Child,
}

impl Program {
    pub(crate) async fn start<A: AsRef<OsStr>>(
        program: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(path(program));
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = stderr.next_line().await.unwrap().unwrap();
        Self { url, _stderr: stderr, child }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends SIGTERM and waits for the end of the program.
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        let kill = format!("kill -TERM {}", self.child.id().unwrap());
        assert!(Command::new("sh").args(["-c", &kill]).status().await.unwrap().success());
        self.child.wait().await.unwrap()
    }
}
