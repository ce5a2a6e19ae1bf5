//! `mcpServers` files as targets: those of `--config`, and the one in the current directory.

use std::path::Path;

use papertape::client::config::{ConfigError, ConfiguredServer, ServersFile};
use papertape::guess;

use crate::args::{BundledServer, FromFile};
use crate::exit::Failure;
use crate::server_inputs;
use crate::target::Connector;

/// The file that is read without `--config`, if it is in the current directory.
pub(crate) const DEFAULT: &str = ".mcp.json";

/// The file of `--config`.
pub(crate) fn open(path: &Path) -> Result<ServersFile, Failure> {
    let wrong = |problem: ConfigError| Failure::usage(format!("--config {}: {problem}", path.display()));
    ServersFile::read(path).map_err(wrong)
}

/// The file in the current directory; `None` if there is none. One that is invalid is an error only if it is named.
pub(crate) fn in_current_directory() -> Option<Result<ServersFile, ConfigError>> {
    let path = Path::new(DEFAULT);
    path.is_file().then(|| ServersFile::read(path))
}

/// The server of this name, with the values of its inputs.
pub(crate) fn find(file: ServersFile, name: &str, options: &FromFile) -> Result<ConfiguredServer, Failure> {
    let file = server_inputs::fill_in(file, name, options)?;
    let server = file.server(name).ok_or_else(|| unknown(&file, name, &BundledServer::names()))?;
    server.map_err(|problem| Failure::usage(problem.to_string()))
}

/// The error for a name that the file does not have.
pub(crate) fn unknown(file: &ServersFile, typed: &str, bundled: &[String]) -> Failure {
    let known = file.names().chain(bundled.iter().map(String::as_str));
    let names: Vec<&str> = file.names().collect();
    let names = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
    Failure::usage(format!(
        "there is no server \"{typed}\" in {}{}\n  its servers: {names}\n  the bundled servers: {}",
        file.path().display(),
        guess::hint(typed, known),
        bundled.join(", ")
    ))
}

/// How to connect to a server of a file.
pub(crate) fn connector(server: &ConfiguredServer) -> Connector {
    match (server.command(), server.url()) {
        (Some(command), _) => Connector::Process(command),
        (None, url) => {
            Connector::Http { url: url.unwrap_or_default().to_owned(), headers: server.headers().to_vec() }
        }
    }
}
