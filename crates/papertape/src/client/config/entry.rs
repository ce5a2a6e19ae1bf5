//! One entry of a file of servers: a program to start, or a URL.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::expand::expand;
use super::input::Inputs;
use crate::client::{Client, ClientError, ClientOptions, ErrorKind};
use crate::guess;
#[cfg(unix)]
use crate::stdio::{self, ServerCommand};
use crate::wire::error::excerpt;

/// The members of an entry.
const KNOWN: [&str; 10] =
    ["type", "command", "args", "env", "environment", "cwd", "url", "httpUrl", "serverUrl", "headers"];

/// One of these it must have.
const NEEDED: [&str; 2] = ["command", "url"];

/// A server of a file, with its variables expanded.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfiguredServer {
    name: String,
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
    /// A string; OpenCode writes a list of the program and its arguments.
    command: Option<Value>,
    #[serde(default)]
    args: Vec<String>,
    /// `environment` in OpenCode.
    #[serde(default, alias = "environment")]
    env: Map<String, Value>,
    cwd: Option<String>,
    url: Option<String>,
    /// Gemini CLI's.
    #[serde(rename = "httpUrl")]
    http_url: Option<String>,
    /// Windsurf's and Antigravity's.
    #[serde(rename = "serverUrl")]
    server_url: Option<String>,
    #[serde(default)]
    headers: Map<String, Value>,
}

impl ConfiguredServer {
    /// Reads an entry; `directory` is that which a relative `cwd` is relative to.
    pub(super) fn read(name: &str, entry: &Value, directory: &Path, inputs: &Inputs) -> Result<Self, String> {
        Transport::read(entry, directory, inputs).map(|transport| Self { name: name.to_owned(), transport })
    }

    /// Its name in the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The command line, if it is a program to start.
    #[cfg(unix)]
    #[must_use]
    pub fn command(&self) -> Option<ServerCommand> {
        let Transport::Process { command, args, env, cwd } = &self.transport else { return None };
        let mut process = ServerCommand::new(command).args(args);
        for (name, value) in env {
            process = process.env(name, value);
        }
        Some(match cwd {
            Some(cwd) => process.cwd(cwd),
            None => process,
        })
    }

    /// The URL, if it is at one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match &self.transport {
            Transport::Http { url, .. } => Some(url),
            Transport::Process { .. } => None,
        }
    }

    /// The HTTP headers, if it is at a URL. They may be secret.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        match &self.transport {
            Transport::Http { headers, .. } => headers,
            Transport::Process { .. } => &[],
        }
    }

    /// Starts the program or connects to the URL, and opens a session.
    ///
    /// # Errors
    /// If the session does not open; for a server at a URL also if the feature `http-client` is off.
    pub async fn connect(&self, options: ClientOptions) -> Result<Client, ClientError> {
        #[cfg(unix)]
        if let Some(command) = self.command() {
            return stdio::connect_with(command, options).await;
        }
        #[cfg(feature = "http-client")]
        if let Some(url) = self.url() {
            let endpoint = crate::http::Endpoint::new(url);
            let endpoint =
                self.headers().iter().fold(endpoint, |endpoint, (name, value)| endpoint.header(name, value));
            return crate::http::connect_with(endpoint, options).await;
        }
        drop(options);
        let why = match &self.transport {
            Transport::Process { .. } => "papertape starts programs on Unix only",
            Transport::Http { .. } => "it is at a URL: build with the feature `http-client` of papertape",
        };
        let operation = format!("connecting to the server {}", excerpt(&self.name));
        Err(ClientError::local(operation, ErrorKind::NotConnected(why.to_owned())))
    }
}

impl Transport {
    fn read(entry: &Value, directory: &Path, inputs: &Inputs) -> Result<Self, String> {
        // The message of serde has the value, which may be a secret.
        let Entry { transport, command, args, env, cwd, url, http_url, server_url, headers } =
            Entry::deserialize(entry).map_err(|_| misshapen(entry))?;
        let command = command.map(|command| words(command).ok_or_else(|| misshapen(entry))).transpose()?;
        // Where a host has two of them, `url` is that of an older transport.
        let url = http_url.or(server_url).or(url);
        match (transport.as_deref(), command, url) {
            (_, Some(_), Some(_)) => {
                Err("it has both \"command\" and \"url\": a server is started or at a URL".to_owned())
            }
            (None | Some("stdio" | "local"), Some(command), None) => {
                let command = command.iter().map(|word| expand("command", word, inputs));
                let mut words = command.chain(args.iter().map(|arg| expand("args", arg, inputs)));
                Ok(Transport::Process {
                    command: words.next().transpose()?.unwrap_or_default(),
                    args: words.collect::<Result<_, _>>()?,
                    env: expanded("env", &env, inputs)?,
                    cwd: cwd
                        .map(|cwd| expand("cwd", &cwd, inputs).map(|cwd| directory.join(cwd)))
                        .transpose()?,
                })
            }
            (
                None | Some("http" | "sse" | "streamable-http" | "streamableHttp" | "remote"),
                None,
                Some(url),
            ) => Ok(Transport::Http {
                url: expand("url", &url, inputs)?,
                headers: expanded("headers", &headers, inputs)?,
            }),
            (
                Some(
                    kind @ ("stdio" | "local" | "http" | "sse" | "streamable-http" | "streamableHttp"
                    | "remote"),
                ),
                ..,
            ) => {
                let member = if matches!(kind, "stdio" | "local") { "command" } else { "url" };
                Err(format!("its \"type\" is \"{kind}\", but there is no \"{member}\""))
            }
            (Some(kind), ..) => {
                Err(format!("\"type\" is \"{kind}\": papertape knows \"stdio\", \"http\" and \"sse\""))
            }
            (None, None, None) => Err(format!("it has neither \"command\" nor \"url\"{}", meant(entry))),
        }
    }
}

/// The words of a command: a string is the program, a list also has its arguments.
fn words(command: Value) -> Option<Vec<String>> {
    match command {
        Value::String(program) => Some(vec![program]),
        list => serde_json::from_value(list).ok().filter(|words: &Vec<String>| !words.is_empty()),
    }
}

/// The hint for a member that may be a mistyped or shortened `command` or `url`: `cmd`, `uri`.
fn meant(entry: &Value) -> String {
    let members = entry.as_object().into_iter().flat_map(Map::keys);
    let hints = members.filter(|member| !KNOWN.contains(&member.as_str())).filter_map(|member| {
        let short = |known: &&str| is_short_for(member, known);
        let known = guess::nearest(member, NEEDED).or_else(|| NEEDED.into_iter().find(short))?;
        Some(format!(": did you mean \"{known}\" by \"{member}\"?"))
    });
    hints.take(1).collect()
}

/// Whether a name has letters of another one, in their order and from the first on.
fn is_short_for(short: &str, known: &str) -> bool {
    let mut letters = known.chars();
    short.len() > 1
        && short.chars().next() == known.chars().next()
        && short.to_lowercase().chars().all(|letter| letters.any(|other| other == letter))
}

/// Which member has the wrong type.
fn misshapen(entry: &Value) -> String {
    let has = |member: &str, fits: fn(&Value) -> bool| entry.get(member).is_none_or(fits);
    let strings = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    if !entry.is_object() {
        return "it must be an object: {\"command\": ..} or {\"url\": ..}".to_owned();
    }
    for member in ["type", "cwd", "url", "httpUrl", "serverUrl"] {
        if !has(member, Value::is_string) {
            return format!("\"{member}\" must be a string");
        }
    }
    if !has("command", |command| command.is_null() || words(command.clone()).is_some()) {
        return "\"command\" must be a string, or a list of the program and its arguments".to_owned();
    }
    if !has("args", strings) {
        return "\"args\" must be a list of strings".to_owned();
    }
    let maps = ["env", "environment"];
    let member = maps.into_iter().find(|member| !has(member, Value::is_object)).unwrap_or("headers");
    format!("\"{member}\" must be an object: {{\"NAME\": \"VALUE\"}}")
}

/// The members of `env` or `headers`. Numbers and booleans are written as they are.
fn expanded(
    member: &str,
    map: &Map<String, Value>,
    inputs: &Inputs,
) -> Result<Vec<(String, String)>, String> {
    let one = |(name, value): (&String, &Value)| {
        let within = format!("{member}.{name}");
        match value {
            Value::String(text) => Ok((name.clone(), expand(&within, text, inputs)?)),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(format!("\"{within}\" must be a string")),
        }
    };
    map.iter().map(one).collect()
}

/// Without the values of variables and headers, which may be secret.
impl fmt::Debug for ConfiguredServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredServer").field("name", &self.name).finish_non_exhaustive()
    }
}
