//! Where the time goes: nanoseconds and allocations per request to frame, parse and dispatch, in memory.

mod measure;

use std::{
    hint::black_box,
    io::{self, Cursor},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use anyhow::{Result, bail};
use papertape::{
    Cx, Server, ToolError,
    wire::{
        Decoder,
        message::{self, Bounds},
    },
};
use peers::{Echo, EchoArgs, floor::answer};
use rmcp::{ServiceExt, model::ClientJsonRpcMessage};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::measure::{heading, measure};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"micro","version":"0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Requests as hosts send them.
const REQUESTS: [(&str, &str); 4] = [
    ("tools/call", CALL),
    ("tools/call, `params` before `method`", CALL_PARAMS_FIRST),
    ("tools/call, 2026-07-28", CALL_MODERN),
    ("tools/list", r#"{"jsonrpc":"2.0","id":100000000,"method":"tools/list"}"#),
];
const CALL: &str = r#"{"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"name":"echo","arguments":{"text":"echo this text. "}}}"#;
const CALL_PARAMS_FIRST: &str = r#"{"jsonrpc":"2.0","params":{"name":"echo","arguments":{"text":"echo this text. "}},"method":"tools/call","id":100000000}"#;
const CALL_MODERN: &str = r#"{"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"name":"echo","arguments":{"text":"echo this text. "},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"micro","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

const BOUNDS: Bounds = Bounds { depth: 127, batch: 100 };

/// Lines in a full read.
const LINES: usize = (64 << 10) / CALL.len();
/// Calls in one in-memory session: enough for its start not to count.
const CALLS: usize = 10_000;

fn main() -> Result<()> {
    if cfg!(debug_assertions) {
        bail!("a debug build measures nothing: cargo run --profile dist -p micro");
    }
    frame();
    parse();
    dispatch()
}

/// Bytes to frames.
fn frame() {
    heading("frame: bytes to lines");
    let lines = format!("{CALL}\n").repeat(LINES);
    let mut decoder = Decoder::new(lines.len());
    measure("papertape, with the copy into its buffer", LINES, || {
        decoder.push(lines.as_bytes());
        while let Some(piece) = decoder.next_piece() {
            black_box(piece);
        }
    });
    measure("memchr alone", LINES, || memchr::memchr_iter(b'\n', lines.as_bytes()).count());
}

/// Frames to messages.
fn parse() {
    for (name, request) in REQUESTS {
        heading(&format!("parse: {name}, {} bytes", request.len()));
        let bytes = request.as_bytes();
        measure("papertape, with its depth check", 1, || message::parse(bytes, BOUNDS).is_ok());
        measure("serde_json, borrowed envelope, raw params", 1, || {
            serde_json::from_slice::<Envelope<'_>>(bytes).ok()
        });
        measure("serde_json::Value", 1, || serde_json::from_slice::<Value>(bytes).ok());
        measure("rmcp 3.8.0", 1, || serde_json::from_slice::<ClientJsonRpcMessage>(bytes).ok());
    }
}

/// The least that tells messages apart.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only parsing it is measured")]
struct Envelope<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Bytes to bytes: whole sessions in memory, on one thread.
fn dispatch() -> Result<()> {
    heading("dispatch: a whole `echo` call, bytes in to bytes out");
    session("papertape, arguments validated", async |input, output| {
        let server = Server::new("echo", "0")
            .tool("echo", async |args: EchoArgs, _: Cx| Ok::<_, ToolError>(args.text));
        Ok(papertape::streams::serve(server, input, output).await?)
    })?;
    session("floor: serde_json loop", async |input, mut output| {
        let mut replies = Vec::new();
        for line in input.get_ref().lines() {
            answer(line.as_bytes(), &mut replies)?;
        }
        Ok(output.write_all(&replies).await?)
    })?;
    session("rmcp 3.8.0", async |input, output| {
        Echo::default().serve((input, output)).await?.waiting().await?;
        Ok(())
    })
}

/// Measures a server on a handshake and `CALLS` calls, and that it answers all of them.
fn session(name: &str, serve: impl AsyncFn(Cursor<String>, Lines) -> Result<()>) -> Result<()> {
    let calls: String = (1..=CALLS).map(|n| CALL.replace("100000000", &n.to_string()) + "\n").collect();
    let input = format!("{INITIALIZE}\n{INITIALIZED}\n{calls}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut outcome = Ok(());
    measure(name, CALLS, || {
        let replies = Lines::default();
        let served = runtime.block_on(serve(Cursor::new(input.clone()), replies.clone()));
        let answered = replies.count();
        if served.is_err() || answered != CALLS + 1 {
            outcome = served.and_then(|()| bail!("{name} gave {answered} replies to {} requests", CALLS + 1));
        }
    });
    outcome
}

/// A writer that only counts lines.
#[derive(Clone, Default)]
struct Lines(Arc<AtomicUsize>);

impl Lines {
    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl AsyncWrite for Lines {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.fetch_add(memchr::memchr_iter(b'\n', bytes).count(), Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
