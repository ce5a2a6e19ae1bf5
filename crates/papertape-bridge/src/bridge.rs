//! [`Bridge`]: what is behind it, and how it is served to a host.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::Arc;

use papertape::client::{ClientError, ClientOptions};
use papertape::stdio::ServerCommand;
use papertape::wire::Framing;
use papertape::{Client, Server, streams};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::exchange::Hosts;
use crate::facade::facade;
use crate::filter::Filter;
use crate::host::{FirstMessage, Host};
use crate::member::Member;
use crate::pass::{Accepted, try_handshake};
use crate::until_stopped::UntilStopped;
use crate::upstream::Upstream;

/// A connection that is being opened.
type Opening = Pin<Box<dyn Future<Output = Result<Client, ClientError>> + Send>>;

/// Connects to a server with the options of the bridge. It is called for each session with the server.
pub(crate) type Connect = Arc<dyn Fn(ClientOptions) -> Opening + Send + Sync>;

/// A bridge to servers, for hosts that do not speak their revision, their framing or their transport.
///
/// ```no_run
/// use papertape::stdio::{self, ServerCommand};
/// use papertape_bridge::{Bridge, Filter};
///
/// #[tokio::main]
/// async fn main() -> Result<(), papertape_bridge::BridgeError> {
///     let bridge = Bridge::new(|options| stdio::connect_with(ServerCommand::new("my-server"), options))
///         .filter(Filter::new().hide(["delete_everything"]));
///     let (input, output) = stdio::claim()?;
///     bridge.serve(input, output).await
/// }
/// ```
#[must_use]
pub struct Bridge {
    servers: Vec<(String, Connect)>,
    /// Names are prefixed with those of their servers.
    several: bool,
    filter: Filter,
    per_session: bool,
    process: Option<ServerCommand>,
}

/// Why a bridge ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// No server behind it can be used.
    #[error(transparent)]
    Server(#[from] ClientError),
    /// The host cannot be served.
    #[error(transparent)]
    Host(#[from] io::Error),
    /// The server process has exited by itself.
    #[error("the server has exited ({0})")]
    Exited(ExitStatus),
}

impl Bridge {
    /// A bridge to the server that this connects to, with the options of the bridge, to which others can be added. It is called
    /// for each session with the server.
    pub fn new<F>(connect: impl Fn(ClientOptions) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Client, ClientError>> + Send + 'static,
    {
        Self { several: false, ..Self::of_several().server("", connect) }
    }

    /// A bridge to several servers as one, each added with [`Bridge::server`]. The names of tools and prompts begin with that of
    /// their server: `github_search`. A server that cannot be used is left out, and logged.
    pub fn of_several() -> Self {
        Self { servers: Vec::new(), several: true, filter: Filter::new(), per_session: false, process: None }
    }

    /// Adds a server.
    pub fn server<F>(
        mut self,
        name: impl Into<String>,
        connect: impl Fn(ClientOptions) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Client, ClientError>> + Send + 'static,
    {
        self.servers.push((name.into(), Arc::new(move |options| Box::pin(connect(options)))));
        self
    }

    /// Which tools hosts see.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// The command of the server: if the host of [`Bridge::serve`] speaks a revision and a framing that the server understands, all
    /// bytes pass unchanged, and no connection is made. Without effect if there are several servers or a filter.
    pub fn pass_through(mut self, command: ServerCommand) -> Self {
        self.process = Some(command);
        self
    }

    /// Connects to the servers for each session of a host, with the name and the capabilities of that host, and not once for all
    /// hosts. Hosts of stateless revisions have no sessions: they share one connection.
    pub fn per_session(mut self) -> Self {
        self.per_session = true;
        self
    }

    /// Serves one host over a pair of streams, until its input ends. The server is connected when the first message has arrived,
    /// with the name and the capabilities of the host.
    ///
    /// # Errors
    /// If the server cannot be connected, which the host gets as the error of its first request, or the host cannot be served.
    pub async fn serve<R, W>(self, reader: R, writer: W) -> Result<(), BridgeError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        self.serve_until(reader, writer, std::future::pending()).await
    }

    /// [`Bridge::serve`] until `stop` is ready, which counts as the end of the input: running requests get time to finish, and
    /// the server is ended before this returns.
    ///
    /// # Errors
    /// As with [`Bridge::serve`].
    pub async fn serve_until<R, W>(
        self,
        reader: R,
        mut writer: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), BridgeError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let stop = pin!(stop);
        let mut reader = UntilStopped::new(reader, stop);
        let Some(first) = FirstMessage::read(&mut reader).await? else { return Ok(()) };
        if let Some(accepted) = self.pass(&first).await {
            let rest = first.bytes.get(first.length..).unwrap_or_default();
            return match accepted.pass(rest, reader, writer).await? {
                Some(status) => Err(BridgeError::Exited(status)),
                None => Ok(()),
            };
        }
        let (server, connections) = match self.open(&first.host, Hosts::One).await {
            Ok(opened) => opened,
            Err(error) => {
                if let Some(id) = &first.id {
                    writer.write_all(&failure(id, &error, first.framing)).await?;
                    writer.flush().await?;
                }
                return Err(error.into());
            }
        };
        let served = streams::serve(server, first.bytes.chain(reader), writer).await;
        connections.close().await;
        Ok(served?)
    }

    /// The server, if it speaks as the host does.
    async fn pass(&self, first: &FirstMessage) -> Option<Accepted> {
        let command = self.process.as_ref().filter(|_| !self.several && self.filter.is_empty())?;
        try_handshake(command, first).await
    }

    /// Connects to the servers, for any number of hosts: the server that hosts see, to be served in any way, and the connections
    /// behind it, to be closed after that.
    ///
    /// # Errors
    /// If no server can be connected.
    pub async fn connect(self) -> Result<(Server, Connections), ClientError> {
        self.open(&Host::any(), Hosts::Several).await
    }

    async fn open(self, host: &Host, hosts: Hosts) -> Result<(Server, Connections), ClientError> {
        let Self { servers, several, filter, per_session, .. } = self;
        let (mut opening, mut prefixes) = (JoinSet::new(), Vec::new());
        for (index, (name, connect)) in servers.into_iter().enumerate() {
            // Those of all servers: one that fails does not rename the tools of others.
            prefixes.push(free_prefix(&name, &prefixes));
            let host = host.clone();
            opening.spawn(async move {
                let upstream = Upstream::connect(&connect, &host, hosts).await;
                (index, name, connect, upstream)
            });
        }
        let (mut members, mut failed) = (Vec::new(), None);
        while let Some(joined) = opening.join_next().await {
            let Ok((index, name, connect, upstream)) = joined else { continue };
            match upstream {
                Ok(upstream) => {
                    let prefix = prefixes.get(index).filter(|_| several).cloned().unwrap_or_default();
                    let connect = per_session.then_some(connect);
                    members.push((index, Member::new(name, prefix, upstream, connect)));
                }
                Err(error) if several => {
                    tracing::error!(server = name, "the server is left out: {error}");
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let (true, Some(error)) = (members.is_empty(), failed) {
            return Err(error);
        }
        members.sort_by_key(|(index, _)| *index);
        let members: Vec<_> = members.into_iter().map(|(_, member)| member).collect();
        let server = facade(several, &members, filter).await;
        Ok((server, Connections(members)))
    }
}

/// The connections to the servers behind a bridge.
pub struct Connections(Vec<Arc<Member>>);

impl Connections {
    /// Closes them, and waits until no process of the servers is left.
    pub async fn close(self) {
        let mut closing = JoinSet::new();
        for member in self.0 {
            closing.spawn(async move { member.close().await });
        }
        while closing.join_next().await.is_some() {}
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|member| member.name())).finish()
    }
}

/// The beginning of the names of a server's tools, which no other server has: letters, digits, `_` and `-` are accepted
/// everywhere.
fn free_prefix(name: &str, taken: &[String]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let plain: String = name.chars().map(plain).collect();
    let plain = if plain.is_empty() { "server".to_owned() } else { plain };
    let numbered = (2..).map(|number| format!("{plain}{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(plain)
}

/// The error response to the first request of a host whose server cannot be used.
fn failure(id: &Value, error: &ClientError, framing: Framing) -> Vec<u8> {
    let error = json!({"code": -32603, "message": format!("the bridge cannot use the server: {error}")});
    let mut frame = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into_bytes();
    framing.seal(&mut frame, 0);
    frame
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.servers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Bridge")
            .field("servers", &names)
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::free_prefix;

    #[test]
    fn prefixes_are_plain_and_differ() {
        let mut taken = Vec::new();
        for name in ["git hub", "git_hub", "", "naïve-1"] {
            taken.push(free_prefix(name, &taken));
        }
        assert_eq!(taken, ["git_hub", "git_hub2", "server", "na_ve-1"]);
    }
}
