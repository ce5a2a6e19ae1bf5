//! The options of servers that are started, and of servers at a URL.

use std::path::PathBuf;

use clap::ValueHint;

use super::values::{header, variable};

/// How a server process is started.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Server process (stdio)")]
pub(crate) struct ServerProcess {
    /// Set an environment variable of the server; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Set the environment variables in FILE (KEY=VALUE lines; comments, quotes and `export` are allowed); may be repeated.
    /// --env takes precedence.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) env_file: Vec<PathBuf>,
    /// The working directory of the server.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
}

/// How requests are made to a server at a URL.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Server at a URL (HTTP)")]
pub(crate) struct RemoteServer {
    /// Send a header with every request; may be repeated.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    /// Send the bearer token in FILE, over https or to loopback only.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) bearer_file: Option<PathBuf>,
    /// Allow a token to be sent over plain http, where others can read it.
    #[arg(long)]
    pub(crate) insecure_http: bool,
    /// Trust the certificates in FILE (PEM) besides those of the system.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
}

impl ServerProcess {
    /// One of these options that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--env", !self.env.is_empty()),
            ("--env-file", !self.env_file.is_empty()),
            ("--cwd", self.cwd.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

impl RemoteServer {
    /// One of these options that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--header", !self.header.is_empty()),
            ("--bearer-file", self.bearer_file.is_some()),
            ("--insecure-http", self.insecure_http),
            ("--ca", self.ca.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}
