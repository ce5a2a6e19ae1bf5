//! The other end of the connection: a client that writes bytes to a server in memory and reads what comes back.
//!
//! Time is paused: when every task waits, the clock jumps to the next timer. So "the server has done all it will do" is
//! something a test can wait for, and no test sleeps.

use std::collections::BTreeMap;
use std::time::Duration;

use papertape::Server;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;

/// The revisions that open with `initialize`, oldest first.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one that does not.
pub(crate) const MODERN: &str = "2026-07-28";

/// A client of a server in memory.
pub(crate) struct Peer {
    to_server: Option<WriteHalf<DuplexStream>>,
    from_server: ReadHalf<DuplexStream>,
    server: JoinHandle<std::io::Result<()>>,
    /// Read, but not yet handed out as lines.
    rest: Vec<u8>,
}

impl Peer {
    /// Connects to a server. Call within [`run`].
    pub(crate) fn connect(server: Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024 * 1024);
        let (reader, writer) = split(theirs);
        let server = tokio::spawn(papertape::streams::serve(server, reader, writer));
        let (from_server, to_server) = split(ours);
        Self { to_server: Some(to_server), from_server, server, rest: Vec::new() }
    }

    /// Connects to a server and has `revision` in use: by a handshake, or by a first request.
    pub(crate) async fn open(server: Server, revision: &str) -> Self {
        let mut peer = Self::connect(server);
        if revision == MODERN {
            let replies = peer.line(request(MODERN, "\"open\"", "server/discover", json!({}))).await;
            assert_eq!(replies[0]["result"]["resultType"], "complete", "{replies:?}");
        } else {
            peer.initialize(revision).await;
        }
        peer
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

    /// All bytes that come within some time, all of which passes.
    pub(crate) async fn within(&mut self, time: Duration) -> Vec<u8> {
        let end = tokio::time::Instant::now() + time;
        let mut bytes = Vec::new();
        while let Ok(Ok(1..)) = tokio::time::timeout_at(end, self.from_server.read_buf(&mut bytes)).await {}
        bytes
    }

    /// Sends one line and returns the messages that come back.
    pub(crate) async fn line(&mut self, line: impl AsRef<[u8]>) -> Vec<Value> {
        messages(&self.send([line.as_ref(), b"\n"].concat()).await)
    }

    /// Writes bytes and waits for nothing: for tests on several threads, where time is not paused.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.to_server.as_mut().unwrap().write_all(bytes.as_ref()).await.unwrap();
    }

    /// The next line that comes, however long that takes.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.rest.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&line).unwrap();
            }
            assert_ne!(self.from_server.read_buf(&mut self.rest).await.unwrap(), 0, "the server has ended");
        }
    }

    /// Whether the server has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.server.is_finished()
    }

    /// Opens a legacy session.
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
    lines
        .map(|line| serde_json::from_slice(line.strip_suffix(b"\n").expect("a whole line")).expect("JSON"))
        .collect()
}

/// A request in the words of a revision: a modern one says in `_meta` what a legacy client has agreed on before.
///
/// `id` is a JSON token.
pub(crate) fn request(revision: &str, id: &str, method: &str, mut params: Value) -> String {
    if revision == MODERN {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A request to call a tool.
pub(crate) fn call(revision: &str, id: &str, tool: &str, arguments: &Value) -> String {
    request(revision, id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Takes a request back.
pub(crate) fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

/// The messages in bytes framed as lines, a word for each.
///
/// `R(7)` is a result, `F(7)` that of a tool that failed, `E(-32600,7)` an error, `E(-32600,null)` and `E(-32600,–)`
/// errors with a null id and with none, `N(x)` a notification, `[R(7) R(8)]` a batch. Ids are exactly as written.
pub(crate) fn words(bytes: &[u8]) -> String {
    let lines = bytes.split_inclusive(|&b| b == b'\n');
    let words: Vec<String> =
        lines.map(|line| word(line.strip_suffix(b"\n").expect("a whole line"))).collect();
    words.join(" ")
}

/// One frame's message in a word; it must be a well-formed one.
pub(crate) fn word(frame: &[u8]) -> String {
    assert!(!frame.contains(&b'\n'), "a frame with a line end: {}", frame.escape_ascii());
    let text = std::str::from_utf8(frame).expect("UTF-8");
    if text.starts_with('[') {
        let members: Vec<&RawValue> = serde_json::from_str(text).expect("JSON");
        let words: Vec<String> = members.into_iter().map(|member| word(member.get().as_bytes())).collect();
        return format!("[{}]", words.join(" "));
    }
    let mut members: BTreeMap<&str, &RawValue> = serde_json::from_str(text).expect("a JSON object");
    let mut take = |name| members.remove(name).map(RawValue::get);
    assert_eq!(take("jsonrpc"), Some("\"2.0\""), "{text}");
    let word = match (take("id"), take("method"), take("result"), take("error")) {
        (Some(id), None, Some(result), None) => {
            let result: Value = serde_json::from_str(result).unwrap();
            assert!(result.is_object(), "{text}");
            format!("{}({id})", if result["isError"] == true { "F" } else { "R" })
        }
        (id, None, None, Some(error)) => {
            let error: Value = serde_json::from_str(error).unwrap();
            assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{text}");
            format!("E({},{})", error["code"].as_i64().unwrap(), id.unwrap_or("–"))
        }
        (None, Some(method), None, None) => {
            let params = take("params");
            assert!(params.is_none_or(|params| params.starts_with('{')), "{text}");
            format!("N({})", method.trim_matches('"'))
        }
        _ => panic!("neither a response nor a notification: {text}"),
    };
    assert!(members.is_empty(), "members too many: {text}");
    word
}

/// The response to an unreadable id (decision 4), for a table that says `–`.
pub(crate) fn in_words_of(revision: &str, expected: &str) -> String {
    if revision < "2025-11-25" { expected.replace('–', "null") } else { expected.to_owned() }
}

/// Runs a test on several threads, in real time: for what only happens when things happen at once.
pub(crate) fn run_threads<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap().block_on(test)
}

/// Runs a test on one thread with paused time.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}
