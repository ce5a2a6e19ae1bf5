//! `mcpServers` files, which hosts keep their servers in: `mcp.json`, `.mcp.json`, `claude_desktop_config.json`; and what other
//! hosts write in JSON.
//!
//! [`Clients::from_config`](super::Clients::from_config) connects to all servers of a file; [`ServersFile`] gives them one
//! by one.

mod comments;
mod entry;
mod expand;
mod input;

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use comments::without_comments;
pub use entry::ConfiguredServer;
pub use input::Input;
use input::Inputs;

/// Where hosts keep their servers in a file.
const KEYS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp"];

/// The maximum size of a file in bytes. Some hosts keep their whole state beside the servers.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Why a file of servers, or one of its entries, cannot be used: a sentence that names the member and the remedy, without
/// the values of variables and headers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// A file of servers: `{"mcpServers": {"NAME": {"command": ..}}}`. In place of `mcpServers` it may have `servers` (VS Code),
/// `context_servers` (Zed) or `mcp` (OpenCode); in place of `url`, `httpUrl` (Gemini CLI) or `serverUrl` (Windsurf). Comments and
/// trailing commas are allowed.
///
/// ```no_run
/// use papertape::client::ClientOptions;
/// use papertape::client::config::ServersFile;
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let file = ServersFile::read("mcp.json")?;
///     let server = file.server("grammar").ok_or("there is no such server")??;
///     let client = server.connect(ClientOptions::new()).await?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct ServersFile {
    path: PathBuf,
    servers: Servers,
    inputs: Inputs,
}

/// The entries by name, whose values may be secret.
struct Servers(Map<String, Value>);

impl ServersFile {
    /// Reads a file. Its entries are checked when they are asked for: one that is invalid does not affect the others.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than 64 MiB, or has no object `mcpServers` (`servers`, `context_servers`, `mcp`).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::parse(&contents(path)?, path)
    }

    /// Reads the text of a file that is at `path`: a relative `cwd` is relative to its directory.
    ///
    /// # Errors
    /// If it has no object `mcpServers` (`servers`, `context_servers`, `mcp`).
    pub fn parse(text: &str, path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let path = path.into();
        // Some editors, and PowerShell, write a byte order mark.
        let text = without_comments(text.trim_start_matches('\u{feff}'));
        let mut document: Value =
            serde_json::from_str(&text).map_err(|error| ConfigError::new(format!("not JSON: {error}")))?;
        // The settings of VS Code have what else is a file of its own.
        if let Some(own) = document.get_mut("mcp").filter(|mcp| has_list_of_servers(mcp)).map(Value::take) {
            document = own;
        }
        let inputs = Inputs::read(document.get("inputs"));
        let found = KEYS.iter().find_map(|key| Some((key, document.get_mut(*key)?.take())));
        match found {
            Some((_, Value::Object(servers))) => Ok(Self { path, servers: Servers(servers), inputs }),
            Some((key, _)) => Err(ConfigError::new(format!(
                "\"{key}\" must be an object: {{\"NAME\": {{\"command\": ..}}}}"
            ))),
            None => Err(ConfigError::new(
                "there is no member \"mcpServers\" (nor \"servers\", as in VS Code, \"context_servers\", as in Zed, or \
                 \"mcp\", as in OpenCode)",
            )),
        }
    }

    /// The names of its servers, in its order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.servers.0.keys().map(String::as_str)
    }

    /// The path that it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server of this name, with its variables expanded; `None` if the file has none.
    ///
    /// Hosts skip servers that are [disabled](Self::is_disabled).
    #[must_use]
    pub fn server(&self, name: &str) -> Option<Result<ConfiguredServer, ConfigError>> {
        let path = self.path.display();
        let wrong = |problem| ConfigError::in_file(path, &format!("the server \"{name}\": {problem}"));
        Some(self.read_server(name)?.map_err(wrong))
    }

    /// [`ServersFile::server`] whose error is only what is wrong with the entry.
    pub(super) fn read_server(&self, name: &str) -> Option<Result<ConfiguredServer, String>> {
        let entry = self.servers.0.get(name)?;
        let directory = self.path.parent().unwrap_or(Path::new(""));
        Some(ConfiguredServer::read(name, entry, directory, &self.inputs))
    }

    /// The values that the entry of a server needs from its user (`${input:ID}`), in its order; those that have a value too.
    #[must_use]
    pub fn inputs(&self, server: &str) -> Vec<Input> {
        self.servers.0.get(server).map(|entry| self.inputs.of_entry(entry)).unwrap_or_default()
    }

    /// Sets the value of an [`Input`]. It is used by the servers that are asked for afterwards.
    #[must_use]
    pub fn input(mut self, id: impl Into<String>, value: impl Into<String>) -> Self {
        self.inputs.give(id.into(), value.into());
        self
    }

    /// Whether a server is marked with `"disabled": true` or `"enabled": false`.
    #[must_use]
    pub fn is_disabled(&self, name: &str) -> bool {
        let is = |member: &str, value: bool| {
            self.servers.0.get(name).is_some_and(|entry| entry.get(member) == Some(&Value::Bool(value)))
        };
        is("disabled", true) || is("enabled", false)
    }
}

/// Whether the member `mcp` has servers below `servers`, as in the settings of VS Code, and is not a list of servers itself.
fn has_list_of_servers(mcp: &Value) -> bool {
    let servers = mcp.get("servers").and_then(Value::as_object);
    servers.is_some_and(|servers| servers.values().all(Value::is_object))
}

impl ConfigError {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }

    pub(super) fn in_file(path: impl fmt::Display, problem: &str) -> Self {
        Self(format!("{path}: {problem}"))
    }
}

/// The text of a file of bounded size.
fn contents(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |error| ConfigError::new(format!("cannot read the file: {error}"));
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES / (1024 * 1024);
        return Err(ConfigError::new(format!("cannot read the file: it is larger than {most} MiB")));
    }
    Ok(text)
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
