//! The command line of a server process.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

/// The command line of a server, for [`stdio::connect`](crate::stdio::connect).
///
/// ```
/// use papertape::stdio::ServerCommand;
///
/// let command = ServerCommand::new("my-server").args(["--database", "notes.db"]).env("API_KEY", "..").cwd("/srv");
/// ```
#[derive(Clone)]
#[must_use]
pub struct ServerCommand {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
}

impl ServerCommand {
    /// A program: a path, or a name that is looked up on the `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), environment: Vec::new(), directory: None }
    }

    /// Appends arguments.
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable. All others are inherited from this process.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets the working directory, which is otherwise that of this process.
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Whether the program is a path at which there is a file.
    fn program_exists(&self) -> bool {
        let program = Path::new(&self.program);
        program.components().count() > 1 && self.directory.clone().unwrap_or_default().join(program).is_file()
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Its arguments.
    #[must_use]
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// The environment variables that it gets beside those of this process.
    #[must_use]
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Its working directory, if it is not that of this process.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Starts the process in a group of its own, with pipes for stdin and stdout.
    pub(super) fn spawn(&self, stderr: Stdio) -> io::Result<Child> {
        if self.program.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
        }
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = &self.directory {
            if !directory.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("the working directory {} does not exist", directory.display()),
                ));
            }
            command.current_dir(directory);
        }
        command.spawn().map_err(|error| {
            let program = self.program.display();
            let remedy = match error.kind() {
                // What a kernel says of a script is about its interpreter, and of a program about its loader.
                io::ErrorKind::NotFound if self.program_exists() => {
                    "; it exists, but the interpreter that it names in its first line (#!) does not"
                }
                _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
                    "; a script must name its interpreter in its first line (#!/usr/bin/env python3), and a program must be built for this machine"
                }
                io::ErrorKind::NotFound => "; is it installed, and is its directory on the PATH?",
                io::ErrorKind::PermissionDenied => "; is it a program, and is it executable?",
                _ => "",
            };
            io::Error::new(error.kind(), format!("{program}: {error}{remedy}"))
        })
    }
}

/// Without the values of variables, which may be secret.
impl fmt::Debug for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&OsString> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &variables)
            .field("directory", &self.directory)
            .finish()
    }
}
