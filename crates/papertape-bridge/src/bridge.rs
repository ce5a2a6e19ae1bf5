//! [`Bridge`]: what is behind it, and how it is served to a host.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;

use papertape::client::{ClientError, ClientOptions};
use papertape::wire::Framing;
use papertape::{Client, Server, streams};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::facade::facade;
use crate::filter::Filter;
use crate::host::FirstMessage;
use crate::member::Member;
use crate::until_stopped::UntilStopped;
use crate::upstream::Upstream;

/// A connection that is being opened.
pub type Opening = Pin<Box<dyn Future<Output = Result<Client, ClientError>> + Send>>;

/// Connects to a server with the options of the bridge, to which others can be added. It is called for each session with the server.
pub type Connect = Arc<dyn Fn(ClientOptions) -> Opening + Send + Sync>;

/// A bridge to a server, for hosts that do not speak its revision, its framing or its transport.
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
    connect: Connect,
    filter: Filter,
}

/// Why a bridge ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The server behind it cannot be used.
    #[error(transparent)]
    Server(#[from] ClientError),
    /// The host cannot be served.
    #[error(transparent)]
    Host(#[from] io::Error),
}

impl Bridge {
    /// A bridge to the server that this connects to.
    pub fn new<F>(connect: impl Fn(ClientOptions) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Client, ClientError>> + Send + 'static,
    {
        let connect: Connect = Arc::new(move |options| Box::pin(connect(options)));
        Self { connect, filter: Filter::new() }
    }

    /// Which tools hosts see.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
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
        let opened = async {
            let upstream = Upstream::connect(&self.connect, &first.host, false).await?;
            let server = self.server(&upstream).await;
            Ok::<_, ClientError>((upstream, server))
        };
        let (upstream, server) = match opened.await {
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
        upstream.client.clone().close().await;
        Ok(served?)
    }

    /// The server that the host sees.
    async fn server(&self, upstream: &Arc<Upstream>) -> Server {
        let identity = upstream.client.server();
        let member = Member::new(identity.name.clone(), String::new(), Arc::clone(upstream));
        facade(identity, upstream.client.instructions(), vec![member], self.filter.clone()).await
    }
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
        f.debug_struct("Bridge").field("filter", &self.filter).finish_non_exhaustive()
    }
}
