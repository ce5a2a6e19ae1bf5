//! [`Bridge`]: what is behind it, and how it is served to a host.

use std::fmt;
use std::future::Future;
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::Arc;

use papertape::client::{ClientError, ClientOptions};
use papertape::stdio::ServerCommand;
use papertape::{Client, Server, streams};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use crate::exchange::Hosts;
use crate::facade::facade;
use crate::filter::Filter;
use crate::host::{FirstMessage, Host};
use crate::member::Member;
use crate::pass::{Accepted, try_handshake};
use crate::refusal::Refusal;
use crate::until_stopped::UntilStopped;
use crate::upstream::Upstream;

/// A connection that is being opened.
type Opening = Pin<Box<dyn Future<Output = Result<Client, ClientError>> + Send>>;

/// Connects to a server with the options of the bridge. It is called for each session with the server.
pub(crate) type Connect = Arc<dyn Fn(ClientOptions) -> Opening + Send + Sync>;

/// A server that has been connected to: its number, its name, how to connect to it again, and the session.
type Opened = (usize, String, Connect, Result<Arc<Upstream>, ClientError>);

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
    /// If the server cannot be connected, which the host gets as the error of every request until its input ends, or the host cannot be served.
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
        let (server, connections) = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => {
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
        let served = streams::serve_until(server, reader, writer, stop).await;
        connections.close().await;
        Ok(served?)
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
        self.open(&Host::any(), Hosts::Several, &mut JoinSet::new()).await
    }

    /// Connects to the servers, with `opening`: if this is dropped, those that are being connected are left there.
    async fn open(
        self,
        host: &Host,
        hosts: Hosts,
        opening: &mut JoinSet<Opened>,
    ) -> Result<(Server, Connections), ClientError> {
        let Self { servers, several, filter, per_session, .. } = self;
        let mut prefixes = Vec::new();
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
    use std::collections::BTreeMap;
    use std::future::{Future, pending};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use papertape::client::ClientError;
    use papertape::server::Tool;
    use papertape::stdio::ServerCommand;
    use papertape::{Client, Server, memory};
    use serde_json::{Value, json};
    use tokio::io::AsyncWriteExt;
    use tokio::sync::Notify;
    use tokio::time::{sleep, timeout};

    use super::{Bridge, BridgeError, STOPPED, free_prefix};

    const OPEN: &str =
        r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;

    /// How serving a host ends that stays, and what it gets.
    async fn serve(
        bridge: Bridge,
        message: &str,
        stop: impl Future<Output = ()>,
    ) -> (Result<(), BridgeError>, Value) {
        let (mut host, input) = tokio::io::duplex(1_000_000);
        host.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        let mut output = Vec::new();
        let ended = bridge.serve_until(input, &mut output, stop).await;
        (ended, serde_json::from_slice(&output).unwrap())
    }

    /// A connection that does not open, and says when it begins and is dropped.
    async fn connecting(begun: Arc<Notify>, dropped: Arc<AtomicBool>) -> Result<Client, ClientError> {
        struct OnDrop(Arc<AtomicBool>);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _dropped = OnDrop(dropped);
        begun.notify_one();
        pending().await
    }

    #[tokio::test]
    async fn a_bridge_is_stopped_while_it_connects() {
        let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (begins, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
        let bridge = Bridge::new(move |_| connecting(Arc::clone(&begins), Arc::clone(&drops)));
        let (ended, response) = serve(bridge, OPEN, begun.notified()).await;
        assert!(ended.is_ok(), "{ended:?}");
        assert!(dropped.load(Ordering::SeqCst), "it still connects");
        assert_eq!(
            response,
            json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": STOPPED}})
        );
    }

    #[tokio::test]
    async fn a_bridge_is_stopped_during_the_handshake_of_a_process() {
        let started = std::env::temp_dir().join(format!("papertape-bridge-{}", std::process::id()));
        let file = started.to_str().unwrap();
        let command = ServerCommand::new("sh").args([
            "-c",
            "echo > \"$1\"; while read -r line; do :; done",
            "sh",
            file,
        ]);
        let bridge = Bridge::new(|_| pending()).pass_through(command);
        let stop = async {
            while !started.exists() {
                tokio::task::yield_now().await;
            }
        };
        let (ended, response) = serve(bridge, OPEN, stop).await;
        std::fs::remove_file(&started).unwrap();
        assert!(ended.is_ok(), "{ended:?}");
        assert_eq!(response["error"]["message"], STOPPED, "{response}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bridge_is_stopped_while_its_host_does_not_read() {
        let flood = || {
            let text = async |_: BTreeMap<String, Value>, _| Ok("x".repeat(1_000_000));
            memory::connect(Server::new("flood", "1").tool(Tool::new("flood"), text))
        };
        let (mut host, input) = tokio::io::duplex(100_000);
        let (output, _unread) = tokio::io::duplex(100);
        let call =
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"flood","arguments":{}}}"#;
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        host.write_all(format!("{OPEN}\n{initialized}\n{call}\n").as_bytes()).await.unwrap();
        let stop = sleep(Duration::from_secs(60));
        let served = Bridge::new(move |_| flood()).serve_until(input, output, stop);
        let ended = timeout(Duration::from_secs(60 * 60), served).await.unwrap();
        assert!(matches!(ended, Err(BridgeError::Host(_))), "{ended:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_closes_its_input_does_not_wait_for_a_silent_server() {
        let mut output = Vec::new();
        let ended = Bridge::new(|_| pending()).serve(OPEN.as_bytes(), &mut output).await;
        assert!(ended.is_ok(), "{ended:?}");
        let response: Value = serde_json::from_slice(&output).unwrap();
        assert_eq!((&response["id"], &response["error"]["message"]), (&json!(7), &json!(STOPPED)));
    }

    /// What a host gets that closes its input after the handshake with this process.
    async fn after_the_end(script: &str) -> Value {
        let command = ServerCommand::new("sh").args(["-c", script]);
        let bridge = Bridge::new(|_| pending()).pass_through(command);
        let (input, mut output) = (format!("{OPEN}\n"), Vec::new());
        let ended = bridge.serve(input.as_bytes(), &mut output).await;
        assert!(ended.is_ok(), "{ended:?}");
        serde_json::from_slice(&output).unwrap()
    }

    #[tokio::test]
    async fn a_silent_process_gets_the_end_of_the_input() {
        assert_eq!(after_the_end("while read -r line; do :; done").await["error"]["message"], STOPPED);
    }

    #[tokio::test]
    async fn a_process_may_respond_after_the_end_of_the_input() {
        let opened = json!({"jsonrpc": "2.0", "id": 7, "result": {"protocolVersion": "2025-06-18"}});
        assert_eq!(after_the_end(&format!("cat > /dev/null; echo '{opened}'")).await, opened);
    }

    /// What a host gets that sends this to a server that does not start.
    async fn refused(input: &str) -> Vec<Value> {
        let no_server = |options| papertape::stdio::connect_with(ServerCommand::new("/no/server"), options);
        let mut output = Vec::new();
        let ended = Bridge::new(no_server).serve(input.as_bytes(), &mut output).await;
        assert!(matches!(ended, Err(BridgeError::Server(_))), "{ended:?}");
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn every_request_gets_the_error_of_a_server_that_cannot_be_used() {
        let rest = r#"{"jsonrpc":"2.0","method":"a"}
[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"2","method":"c"}]
[{"jsonrpc":"2.0","method":"b"}]

{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"a"}
{"jsonrpc":"2.0","id":3,"method":"a"}"#;
        let responses = refused(&format!("{OPEN}\n{rest}")).await;
        let ids: Vec<String> =
            responses.iter().map(|one| one.get("id").unwrap_or(&one[1]["id"]).to_string()).collect();
        assert_eq!(ids[..2], ["7", "\"2\""], "{responses:?}");
        assert_eq!(ids[3..], ["3"], "{responses:?}");
        assert_eq!(responses[1].as_array().unwrap().len(), 2, "{responses:?}");
        for response in [&responses[0], &responses[1][0], &responses[1][1], &responses[2], &responses[3]] {
            assert_eq!(response["error"]["code"], -32603, "{response}");
            assert!(response["error"]["message"].as_str().unwrap().contains("/no/server"), "{response}");
        }
    }

    #[tokio::test]
    async fn garbage_gets_an_error_if_the_server_cannot_be_used() {
        let responses = refused(&format!("garbage\n{OPEN}\n{{\"half")).await;
        let [garbage, open] = &responses[..] else { panic!("{responses:?}") };
        assert_eq!((&garbage["id"], &garbage["error"]["code"]), (&Value::Null, &json!(-32700)));
        assert_eq!((&open["id"], &open["error"]["code"]), (&json!(7), &json!(-32603)));
    }

    #[test]
    fn prefixes_are_plain_and_differ() {
        let mut taken = Vec::new();
        for name in ["git hub", "git_hub", "", "naïve-1"] {
            taken.push(free_prefix(name, &taken));
        }
        assert_eq!(taken, ["git_hub", "git_hub2", "server", "na_ve-1"]);
    }
}
