//! Several servers as one: names with a prefix, merged lists, failures of one that do not affect the others.

mod connecting;
mod member;
mod merged;
mod requests;

use std::fmt;
use std::path::Path;

use tokio::task::JoinSet;

use super::config::ServersFile;
use super::{Client, ClientError, ClientOptions, ErrorKind};
use crate::wire::error::excerpt;
use member::Member;
pub use merged::{Merged, ServerEntry};

/// Clients of several servers, used as one.
///
/// The name of a tool or a prompt begins with that of its server: `grammar_conjugate` is the tool `conjugate` of the server
/// `grammar`. All names are ones that model APIs accept (`^[a-zA-Z0-9_-]{1,64}$`): one that is too long, or has other
/// characters, ends with a digest of itself. If the names of two servers could be confused, as those of `a` and `a_b` could,
/// the later one gets another prefix (`a-b`).
///
/// ```no_run
/// use papertape::client::Clients;
/// use serde_json::json;
///
/// #[tokio::main]
/// async fn main() -> Result<(), papertape::client::ClientError> {
///     let clients = Clients::from_config("mcp.json").await?;
///     for failure in clients.failures() {
///         eprintln!("{}: {}", failure.server, failure.error);
///     }
///     for tool in clients.tools().await.entries {
///         println!("{} is {} of {}", tool.item.name, tool.name, tool.server);
///     }
///     let result = clients.call("grammar_lookup_spanish", json!({"english_form": "ate"})).await?;
///     clients.close().await;
///     Ok(())
/// }
/// ```
#[derive(Default)]
pub struct Clients {
    members: Vec<Member>,
    failures: Vec<ServerFailure>,
}

/// A server that failed, and why.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerFailure {
    /// The name of the server.
    pub server: String,
    /// What failed.
    pub error: ClientError,
}

impl Clients {
    /// No servers; see [`Clients::add`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects to all servers of an `mcpServers` file at once, and waits until each is connected or has failed. Servers
    /// that are marked with `"disabled": true` are skipped.
    ///
    /// A server that cannot be connected is one of the [`failures`](Self::failures), and does not affect the others.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub async fn from_config(path: impl AsRef<Path>) -> Result<Self, ClientError> {
        Self::from_config_with(path, |_| ClientOptions::new()).await
    }

    /// [`Clients::from_config`] with the options of each server, given its name.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub async fn from_config_with(
        path: impl AsRef<Path>,
        options: impl Fn(&str) -> ClientOptions,
    ) -> Result<Self, ClientError> {
        let path = path.as_ref();
        let file = ServersFile::read(path).map_err(|problem| {
            ClientError::local(format!("reading {}", path.display()), ErrorKind::Config(problem))
        })?;
        Ok(Self::connect(&file, options).await)
    }

    /// Adds a server that is connected. A server of the same name is replaced, and returned if it is connected.
    pub fn add(&mut self, name: impl Into<String>, client: Client) -> Option<Client> {
        let name = name.into();
        self.failures.retain(|failure| failure.server != name);
        self.put(name, Some(client))
    }

    /// Sets the client of a server, which keeps its prefix if it is known.
    fn put(&mut self, name: String, client: Option<Client>) -> Option<Client> {
        match self.members.iter_mut().find(|member| member.name == name) {
            Some(member) => {
                let prefix = member.prefix.clone();
                std::mem::replace(member, Member::new(name, prefix, client)).into_client()
            }
            None => {
                let taken: Vec<&str> = self.members.iter().map(|member| &*member.prefix).collect();
                let prefix = member::free_prefix(&name, &taken);
                self.members.push(Member::new(name, prefix, client));
                None
            }
        }
    }

    /// The servers that could not be connected, and why.
    #[must_use]
    pub fn failures(&self) -> &[ServerFailure] {
        &self.failures
    }

    /// The client of a server; `None` if it is not connected.
    #[must_use]
    pub fn get(&self, server: &str) -> Option<&Client> {
        self.iter().find_map(|(name, client)| (name == server).then_some(client))
    }

    /// The servers that are connected, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Client)> {
        self.members.iter().filter_map(|member| Some((&*member.name, member.client()?)))
    }

    /// Closes all sessions at once, and waits until the processes of all servers are gone.
    pub async fn close(self) {
        let closing = self.members.into_iter().filter_map(Member::into_client);
        let mut closing: JoinSet<_> = closing.map(Client::close).collect();
        while closing.join_next().await.is_some() {}
    }

    /// The server that a name begins with, and the rest of it. No two prefixes fit one name: see [`member::free_prefix`].
    fn route<'a>(&self, name: &'a str) -> Option<(&Member, &'a str)> {
        self.members.iter().find_map(|member| {
            let rest = name.strip_prefix(&*member.prefix)?.strip_prefix('_')?;
            Some((member, rest))
        })
    }

    /// [`Clients::route`] to a server that is connected.
    fn connected<'a>(&self, what: &str, name: &'a str) -> Result<(&Member, &Client, &'a str), ErrorKind> {
        let (member, rest) = self.route(name).ok_or_else(|| self.no_such(what))?;
        let client = member.client().ok_or_else(|| {
            let failure = self.failures.iter().find(|failure| failure.server == member.name);
            let why = failure.map(|failure| failure.error.to_string()).unwrap_or_default();
            ErrorKind::NotConnected(format!("{}: {why}", excerpt(&member.name)))
        })?;
        Ok((member, client, rest))
    }

    fn no_such(&self, what: &str) -> ErrorKind {
        let prefixes: Vec<String> = self.members.iter().map(|member| format!("{}_", member.prefix)).collect();
        let prefixes = if prefixes.is_empty() { "there is none".to_owned() } else { prefixes.join(", ") };
        ErrorKind::NotFound(format!(
            "no server has a {what} of this name: it must begin with the name of its server ({prefixes})"
        ))
    }
}

impl<N: Into<String>> FromIterator<(N, Client)> for Clients {
    fn from_iter<I: IntoIterator<Item = (N, Client)>>(clients: I) -> Self {
        let mut all = Self::new();
        for (name, client) in clients {
            all.add(name, client);
        }
        all
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.members.iter().map(|member| (&member.name, member.client()))).finish()
    }
}
