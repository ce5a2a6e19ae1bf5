//! The other end of the wire: a client that writes bytes to a server in memory and reads what comes back.
//!
//! Time is paused: when every task waits, the clock jumps to the next timer. So "the server has done all it will do" is
//! something a test can wait for, and no test sleeps.

use std::time::Duration;

use papertape::Server;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;

/// A client of a server in memory.
pub(crate) struct Peer {
    to_server: Option<WriteHalf<DuplexStream>>,
    from_server: ReadHalf<DuplexStream>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Peer {
    /// Connects to a server. Call within [`run`].
    pub(crate) fn connect(server: Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024 * 1024);
        let (reader, writer) = split(theirs);
        let server = tokio::spawn(papertape::serve(server, reader, writer));
        let (from_server, to_server) = split(ours);
        Self { to_server: Some(to_server), from_server, server }
    }

    /// Sends bytes as they are, and returns all bytes that come back until the server has nothing more to do for now.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        // A server that has ended reads nothing more, which shows in what comes back.
        drop(self.to_server.as_mut().unwrap().write_all(bytes.as_ref()).await);
        self.settle().await
    }

    /// All bytes that come until the server has nothing more to do for now.
    pub(crate) async fn settle(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // With paused time this fires only when every task is waiting.
        while let Ok(Ok(count)) =
            tokio::time::timeout(Duration::from_millis(1), self.from_server.read_buf(&mut bytes)).await
        {
            if count == 0 {
                break;
            }
        }
        bytes
    }

    /// Sends one line and returns the messages that come back.
    pub(crate) async fn line(&mut self, line: impl AsRef<[u8]>) -> Vec<Value> {
        messages(&self.send([line.as_ref(), b"\n"].concat()).await)
    }

    /// Opens a legacy conversation.
    pub(crate) async fn initialize(&mut self, revision: &str) {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
        );
        let replies = self.line(request).await;
        assert_eq!(replies[0]["result"]["protocolVersion"], revision, "{replies:?}");
        assert!(self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await.is_empty());
    }

    /// Ends the input; returns the last bytes once the server has ended.
    pub(crate) async fn end(mut self) -> Vec<u8> {
        // Dropping a half would not close the stream.
        self.to_server.take().unwrap().shutdown().await.unwrap();
        let mut bytes = Vec::new();
        self.from_server.read_to_end(&mut bytes).await.unwrap();
        self.server.await.unwrap().unwrap();
        bytes
    }
}

/// The messages in bytes framed as lines; every one must be JSON.
pub(crate) fn messages(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split_inclusive(|&b| b == b'\n');
    lines.map(|line| serde_json::from_slice(line.strip_suffix(b"\n").expect("a whole line")).expect("JSON")).collect()
}

/// Runs a test on one thread with paused time.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(test)
}
