//! [`Bridge`]: what is behind it, and how it is served to a host.

use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::Arc;

use std::time::Duration;

use papertape::client::{ClientError, ClientOptions, Restart};
use papertape::stdio::ServerCommand;
use papertape::{Client, Server, streams};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::exchange::Hosts;
use crate::facade::Facade;
use crate::filter::Filter;
use crate::host::{FirstMessage, Host};
use crate::member::Member;
use crate::notices::Notices;
use crate::pass::{Accepted, try_handshake};
use crate::refusal::Refusal;
use crate::until_stopped::UntilStopped;
use crate::upstream::Connector;

/// A connection that is being opened.
type Opening = Pin<Box<dyn Future<Output = Result<Client, ClientError>> + Send>>;

/// Connects to a server with the options of the bridge. It is called for each session with the server.
pub(crate) type Connect = Arc<dyn Fn(ClientOptions) -> Opening + Send + Sync>;

/// How long several servers may take to be connected before the host gets what is there. Some hosts wait for 10 s.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// What the requests of a host get that come too late.
const STOPPED: &str = "the input of the bridge ended, or it was stopped, before the server was ready";

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
    restart: Option<Restart>,
    timeout_option: Option<&'static str>,
    notices: Notices,
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
    /// The session with the server has ended, and no other one is opened: see [`Bridge::restart`].
    #[error("the server is lost: {0}")]
    Lost(ClientError),
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
    /// their server: `github_search`.
    ///
    /// The host gets what the servers have that are connected after 5 s at most. Others are left out until they are connected. That
    /// is tried again after 1 s, and then at twice the interval each, up to 5 minutes, as it is when a session has ended.
    pub fn of_several() -> Self {
        Self {
            servers: Vec::new(),
            several: true,
            filter: Filter::new(),
            per_session: false,
            process: None,
            restart: None,
            timeout_option: None,
            notices: Notices::default(),
        }
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

    /// How often server processes that have exited are started again: the callbacks of the policy are replaced by those of the
    /// bridge, see [`Bridge::on_notice`]. Without effect on servers that are not processes.
    pub fn restart(mut self, policy: Restart) -> Self {
        self.restart = Some(policy);
        self
    }

    /// What users should know of the servers while the bridge runs, as sentences: which server cannot be used or has exited and is
    /// tried again, and which names of the filter no tool has. By default they are logged as warnings.
    ///
    /// ```no_run
    /// use papertape_bridge::Bridge;
    ///
    /// let bridge = Bridge::of_several().on_notice(|sentence| eprintln!("bridge: {sentence}"));
    /// ```
    pub fn on_notice(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices = Notices::new(callback);
        self
    }

    /// The name of the option that sets the timeout of connecting, such as `--timeout`, for errors.
    pub fn timeout_option(mut self, name: &'static str) -> Self {
        self.timeout_option = Some(name);
        self
    }

    /// Serves one host over a pair of streams, until its input ends. The server is connected when the first message has arrived,
    /// with the name and the capabilities of the host.
    ///
    /// # Errors
    /// If the server cannot be connected, which the host gets as the error of every request until its input ends; if the session with
    /// the only server ends, after the responses to the requests that were running; or if the host cannot be served.
    pub async fn serve<R, W>(self, reader: R, writer: W) -> Result<(), BridgeError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        self.serve_until(reader, writer, pending()).await
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
        let Some(mut first) = FirstMessage::read(&mut reader).await? else { return Ok(()) };
        if let Some(accepted) = self.pass(&first, &mut reader).await {
            let rest = first.bytes.get(first.length..).unwrap_or_default();
            return match accepted.pass(rest, reader, writer).await? {
                Some(status) => Err(BridgeError::Exited(status)),
                None => Ok(()),
            };
        }
        reader.unread(mem::take(&mut first.bytes));
        let mut opening = JoinSet::new();
        let opened = tokio::select! {
            biased;
            () = reader.given_up() => None,
            opened = self.open(&first.host, Hosts::One, &mut opening) => Some(opened),
        };
        let (server, members) = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => {
                opening.shutdown().await;
                let message = format!("the bridge cannot use the server: {error}");
                // A host that does not get it either has gone, which is not the cause.
                drop(Refusal::new(message).send(&mut reader, &mut writer).await);
                return Err(error.into());
            }
            None => {
                opening.shutdown().await;
                return Ok(Refusal::new(STOPPED).send(&mut reader, &mut writer).await?);
            }
        };
        // The reader alone would not see it while the host does not read: then nothing is read from it.
        let stop = reader.take_stop();
        let connections = Connections { members, opening };
        let (mut lost, closed) = (None, connections.lost());
        let stop = async {
            tokio::select! {
                () = stop => {}
                error = closed => lost = Some(error),
            }
        };
        let served = streams::serve_until(server, reader, writer, stop).await;
        connections.close().await;
        match lost {
            Some(error) => Err(BridgeError::Lost(error)),
            None => Ok(served?),
        }
    }

    /// The server, if it speaks as the host does.
    async fn pass<R, F>(&self, first: &FirstMessage, host: &mut UntilStopped<'_, R, F>) -> Option<Accepted>
    where
        R: AsyncRead + Unpin,
        F: Future<Output = ()>,
    {
        let command = self.process.as_ref().filter(|_| !self.several && self.filter.is_empty())?;
        try_handshake(command, first, host).await
    }

    /// Connects to the servers, for any number of hosts: the server that hosts see, to be served in any way, and the connections
    /// behind it, to be closed after that.
    ///
    /// # Errors
    /// If no server can be connected.
    pub async fn connect(self) -> Result<(Server, Connections), ClientError> {
        let mut opening = JoinSet::new();
        let (server, members) = self.open(&Host::any(), Hosts::Several, &mut opening).await?;
        Ok((server, Connections { members, opening }))
    }

    /// Connects to the servers. Several are kept connected by the tasks of `opening`.
    async fn open(
        self,
        host: &Host,
        hosts: Hosts,
        opening: &mut JoinSet<()>,
    ) -> Result<(Server, Vec<Arc<Member>>), ClientError> {
        let Self { servers, several, filter, per_session, restart, timeout_option, notices, .. } = self;
        let (mut prefixes, mut members) = (Vec::new(), Vec::new());
        for (name, connect) in servers {
            let prefix = if several { free_prefix(&name, &prefixes) } else { String::new() };
            prefixes.push(prefix.clone());
            let (restart, notices) = (restart.clone(), notices.clone());
            let connector = Connector { name, connect, restart, timeout_option, notices };
            members.push(Member::new(connector, prefix, hosts, per_session));
        }
        match &members[..] {
            [member] if !several => member.open(host).await?,
            _ => open_all(&members, host, opening).await?,
        }
        let facade = Facade { several, restarts: restart.is_some(), filter, notices };
        Ok((facade.server(&members).await, members))
    }
}

/// Connects to several servers, until all have been tried, or the time is over and one is there.
async fn open_all(
    members: &[Arc<Member>],
    host: &Host,
    opening: &mut JoinSet<()>,
) -> Result<(), ClientError> {
    let (report, mut attempts) = mpsc::unbounded_channel();
    for (number, member) in members.iter().enumerate() {
        opening.spawn(Arc::clone(member).keep_open(number, host.clone(), report.clone()));
    }
    drop(report);
    let mut grace = pin!(sleep(GRACE));
    let (mut failed, mut is_over) = (Vec::new(), false);
    loop {
        let is_one_there = members.iter().any(|member| member.first().is_some());
        if is_over && is_one_there {
            break;
        }
        tokio::select! {
            biased;
            attempt = attempts.recv() => match attempt {
                Some((_, Ok(()))) => {}
                Some((number, Err(error))) => failed.push((number, error)),
                None => break,
            },
            () = &mut grace, if !is_over => is_over = true,
        }
    }
    for (number, member) in members.iter().enumerate() {
        let name = member.name();
        if let Some((_, error)) = failed.iter().find(|(of, _)| *of == number) {
            member.say(format_args!("the server {name} is left out, and tried again: {error}"));
        } else if member.first().is_none() {
            let seconds = GRACE.as_secs();
            member.say(format_args!(
                "the server {name} is not connected after {seconds} s: it is left out until it is"
            ));
        }
    }
    let is_one_there = members.iter().any(|member| member.first().is_some());
    match failed.pop() {
        Some((_, error)) if !is_one_there => Err(error),
        _ => Ok(()),
    }
}

/// The connections to the servers behind a bridge. Dropped, servers that are not connected yet, or not any more, stay so.
pub struct Connections {
    members: Vec<Arc<Member>>,
    /// What keeps several connected.
    opening: JoinSet<()>,
}

impl Connections {
    /// Waits until the session with the only server has ended by itself, and no other one is opened; for ever if there are several
    /// servers, which are connected again. The reason.
    pub fn lost(&self) -> impl Future<Output = ClientError> + Send + use<> {
        let only = if self.opening.is_empty() { self.members.first() } else { None };
        let client = only.and_then(|member| member.first()).map(|first| first.client.clone());
        async move {
            if let Some(client) = client {
                client.closed().await;
                if let Some(why) = client.why_closed() {
                    return why;
                }
            }
            pending().await
        }
    }

    /// Closes them, and waits until no process of the servers is left.
    pub async fn close(self) {
        let Self { members, mut opening } = self;
        opening.shutdown().await;
        let mut closing = JoinSet::new();
        for member in members {
            closing.spawn(async move { member.close().await });
        }
        while closing.join_next().await.is_some() {}
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members.iter().map(|member| member.name())).finish()
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
mod tests;
