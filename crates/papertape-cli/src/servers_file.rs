//! `mcpServers` files, which hosts keep their servers in: `.mcp.json`, `mcp.json`, `claude_desktop_config.json`.

mod expand;

use std::fmt;
use std::path::{Path, PathBuf};

use papertape::guess;
use papertape::stdio::ServerCommand;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::target::Connector;
use expand::expand;

/// The file that is read without `--config`, if it is in the current directory.
pub(crate) const DEFAULT: &str = ".mcp.json";

/// The servers of a file, by name.
#[derive(Debug)]
pub(crate) struct ServersFile {
    path: PathBuf,
    servers: Map<String, Value>,
}

/// A server of a file, with its variables expanded.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    transport: Transport,
}

#[derive(Clone, PartialEq, Eq)]
enum Transport {
    Process { command: String, args: Vec<String>, env: Vec<(String, String)>, cwd: Option<PathBuf> },
    Http { url: String, headers: Vec<(String, String)> },
}

/// An entry as it is written. Members that only hosts use are ignored.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    transport: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Map<String, Value>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: Map<String, Value>,
}

impl ServersFile {
    /// The file of `--config`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let wrong = |problem: String| Failure::usage(format!("--config {}: {problem}", path.display()));
        Self::read(path).map_err(wrong)
    }

    /// The file in the current directory; `None` if there is none. One that is invalid is an error only if it is named.
    pub(crate) fn in_current_directory() -> Option<Result<Self, String>> {
        let path = Path::new(DEFAULT);
        path.is_file().then(|| Self::read(path))
    }

    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read the file: {error}"))?;
        // Some editors, and PowerShell, write a byte order mark.
        let mut document: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| format!("not JSON: {error} (comments are not allowed)"))?;
        // VS Code has `servers`.
        let keys = ["mcpServers", "servers"];
        let servers = keys.iter().find_map(|key| document.get_mut(*key).map(Value::take));
        match servers {
            Some(Value::Object(servers)) => Ok(Self { path: path.to_owned(), servers }),
            Some(_) => Err("\"mcpServers\" must be an object: {\"NAME\": {\"command\": ..}}".to_owned()),
            None => Err("there is no member \"mcpServers\" (or \"servers\", as in VS Code)".to_owned()),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.servers.keys().map(String::as_str)
    }

    pub(crate) fn path(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// The server of this name; `None` if the file has none.
    pub(crate) fn find(&self, name: &str) -> Option<Result<ConfiguredServer, Failure>> {
        let entry = self.servers.get(name)?;
        let wrong = |problem| Failure::usage(format!("{}: the server \"{name}\": {problem}", self.path()));
        let transport = self.transport(entry).map_err(wrong);
        Some(transport.map(|transport| ConfiguredServer { name: name.to_owned(), transport }))
    }

    /// The error for a name that the file does not have.
    pub(crate) fn unknown(&self, typed: &str, bundled: &[String]) -> Failure {
        let known = self.names().chain(bundled.iter().map(String::as_str));
        let names: Vec<&str> = self.names().collect();
        let names = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
        Failure::usage(format!(
            "there is no server \"{typed}\" in {}{}\n  its servers: {names}\n  the bundled servers: {}",
            self.path(),
            guess::hint(typed, known),
            bundled.join(", ")
        ))
    }

    fn transport(&self, entry: &Value) -> Result<Transport, String> {
        // The message of serde has the value, which may be a secret.
        let Entry { transport, command, args, env, cwd, url, headers } =
            Entry::deserialize(entry).map_err(|_| misshapen(entry))?;
        match (transport.as_deref(), command, url) {
            (_, Some(_), Some(_)) => {
                Err("it has both \"command\" and \"url\": a server is started or at a URL".to_owned())
            }
            (None | Some("stdio"), Some(command), None) => Ok(Transport::Process {
                command: expand("command", &command)?,
                args: args.iter().map(|arg| expand("args", arg)).collect::<Result<_, _>>()?,
                env: expanded("env", &env)?,
                cwd: cwd.map(|cwd| expand("cwd", &cwd).map(|cwd| self.directory().join(cwd))).transpose()?,
            }),
            (None | Some("http" | "sse" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
                Ok(Transport::Http { url: expand("url", &url)?, headers: expanded("headers", &headers)? })
            }
            (Some(kind @ ("stdio" | "http" | "sse" | "streamable-http" | "streamableHttp")), ..) => {
                let member = if kind == "stdio" { "command" } else { "url" };
                Err(format!("its \"type\" is \"{kind}\", but there is no \"{member}\""))
            }
            (Some(kind), ..) => {
                Err(format!("\"type\" is \"{kind}\": papertape knows \"stdio\", \"http\" and \"sse\""))
            }
            (None, None, None) => Err("it has neither \"command\" nor \"url\"".to_owned()),
        }
    }

    /// The directory that a relative `cwd` is relative to.
    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// Which member has the wrong type.
fn misshapen(entry: &Value) -> String {
    let has = |member: &str, fits: fn(&Value) -> bool| entry.get(member).is_none_or(fits);
    let strings = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    if !entry.is_object() {
        return "it must be an object: {\"command\": ..} or {\"url\": ..}".to_owned();
    }
    for member in ["type", "command", "cwd", "url"] {
        if !has(member, Value::is_string) {
            return format!("\"{member}\" must be a string");
        }
    }
    if !has("args", strings) {
        return "\"args\" must be a list of strings".to_owned();
    }
    let member = if has("env", Value::is_object) { "headers" } else { "env" };
    format!("\"{member}\" must be an object: {{\"NAME\": \"VALUE\"}}")
}

/// The members of `env` or `headers`. Numbers and booleans are written as they are.
fn expanded(member: &str, map: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let one = |(name, value): (&String, &Value)| {
        let within = format!("{member}.{name}");
        match value {
            Value::String(text) => Ok((name.clone(), expand(&within, text)?)),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(format!("\"{within}\" must be a string")),
        }
    };
    map.iter().map(one).collect()
}

impl ConfiguredServer {
    /// How to connect to it.
    pub(crate) fn connector(&self) -> Connector {
        match &self.transport {
            Transport::Process { command, args, env, cwd } => {
                let mut process = ServerCommand::new(command).args(args);
                for (name, value) in env {
                    process = process.env(name, value);
                }
                if let Some(cwd) = cwd {
                    process = process.cwd(cwd);
                }
                Connector::Process(process)
            }
            Transport::Http { url, headers } => {
                Connector::Http { url: url.clone(), headers: headers.clone() }
            }
        }
    }

    /// The URL, if it is at one.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.transport {
            Transport::Http { url, .. } => Some(url),
            Transport::Process { .. } => None,
        }
    }
}

/// Without the values of variables and headers, which may be secret.
impl fmt::Debug for ConfiguredServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredServer").field("name", &self.name).finish_non_exhaustive()
    }
}
