//! Pass-through: where a host and a server process speak the same revision in the same framing, every byte of one is passed to the
//! other as it is.
//!
//! The host's handshake is forwarded. If the server accepts its revision, bytes are copied from then on. If it does not, it is
//! ended, and the bridge translates: handshakes and lists have no effect, so nothing has been done twice.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use papertape::stdio::{RunningServer, ServerCommand};
use papertape::wire::frame::PieceKind;
use papertape::wire::{Decoder, Framing};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::host::{FirstMessage, Handshake};
use crate::until_stopped::UntilStopped;

/// How long a server may take for the handshake.
const OPENING: Duration = Duration::from_secs(30);

/// How long a server may leave a handshake without a response that it does not know, after it has read it.
const PROBE: Duration = Duration::from_secs(2);

/// The longest response to a handshake.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long a server may take to write what is left after the end of its stdin.
const GRACE: Duration = Duration::from_secs(10);

/// A server that has accepted the handshake of its host.
pub(crate) struct Accepted {
    server: RunningServer,
    /// `None` if its host had closed its own by then.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What it has written so far.
    written: Vec<u8>,
}

/// Starts a server with the handshake of its host; `None` if it does not accept it.
pub(crate) async fn try_handshake<R, F>(
    command: &ServerCommand,
    first: &FirstMessage,
    host: &mut UntilStopped<'_, R, F>,
) -> Option<Accepted>
where
    R: AsyncRead + Unpin,
    F: Future<Output = ()>,
{
    first.handshake.as_ref()?;
    let (server, input, mut output) = command
        .start()
        .inspect_err(|error| tracing::debug!(%error, "the server cannot be started for its host"))
        .ok()?;
    let (mut is_alone, mut written) = (false, Vec::new());
    let opened = {
        let closed = Notify::new();
        let mut opened = pin!(timeout(OPENING, open(input, &mut output, &mut written, first, &closed)));
        let in_time = tokio::select! {
            opened = &mut opened => Some(opened),
            () = host.ended() => None,
        };
        match in_time {
            Some(opened) => opened.ok().flatten(),
            None => {
                // What else the host has sent may only be passed on to a server that accepts the handshake.
                is_alone = first.bytes.len() == first.length && host.is_read();
                if is_alone {
                    closed.notify_one();
                }
                tokio::select! {
                    opened = opened => opened.ok().flatten(),
                    () = host.given_up() => None,
                }
            }
        }
    };
    if let Some(input) = opened {
        return Some(Accepted { server, input, output, written });
    }
    drop(output);
    // It may have to free what its successor needs.
    drop(server.end().await);
    if is_alone && written.is_empty() {
        // The host needs no other process, unless the server has rejected the handshake.
        host.give_up();
    }
    None
}

/// Sends the handshake, and waits for the response. When the host has `closed` its input, so is that of the server, which is
/// no reason not to respond. What is left of the server's input; `None` if it does not accept the handshake.
async fn open(
    mut input: ChildStdin,
    output: &mut ChildStdout,
    written: &mut Vec<u8>,
    first: &FirstMessage,
    closed: &Notify,
) -> Option<Option<ChildStdin>> {
    input.write_all(first.bytes.get(..first.length)?).await.ok()?;
    let mut accepted = pin!(is_accepted(output, written, first));
    tokio::select! {
        is_accepted = &mut accepted => return is_accepted.then_some(Some(input)),
        () = no_response(&input, first) => return None,
        () = closed.notified() => {}
    }
    drop(input);
    accepted.await.then_some(None)
}

/// Waits as long as a server may leave a handshake or a framing without a response that it does not know.
async fn no_response(input: &ChildStdin, first: &FirstMessage) {
    if matches!(first.handshake, Some(Handshake::Initialize(_))) && first.framing == Framing::Line {
        // Every server knows that: it may only be slow.
        std::future::pending::<()>().await;
    }
    RunningServer::has_read(input).await;
    sleep(PROBE).await;
}

/// Whether a server accepts the handshake, with what it has `written` until then.
async fn is_accepted(output: &mut ChildStdout, written: &mut Vec<u8>, first: &FirstMessage) -> bool {
    let mut decoder = Decoder::new(LONGEST);
    while written.len() < LONGEST {
        let before = written.len();
        if !matches!(output.read_buf(written).await, Ok(1..)) {
            return false;
        }
        decoder.push(written.get(before..).unwrap_or_default());
        while let Some(piece) = decoder.next_piece() {
            let PieceKind::Frame(body) = piece.kind else { continue };
            let Ok(message) = serde_json::from_slice::<Value>(body) else { continue };
            let is_response = message.get("method").is_none();
            // An error without an id is about the only message that there was.
            let is_ours =
                message.get("id") == first.ids.first() || message.get("id").is_none_or(Value::is_null);
            if is_response && is_ours {
                let result = message.get("result").filter(|_| piece.framing == first.framing);
                let handshake = first.handshake.as_ref();
                return handshake
                    .zip(result)
                    .is_some_and(|(handshake, result)| handshake.is_accepted_by(result));
            }
        }
    }
    false
}

impl Accepted {
    /// Passes all bytes on until the host or the server ends. The status of a server that has ended by itself.
    pub(crate) async fn pass(
        self,
        rest: &[u8],
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
    ) -> io::Result<Option<ExitStatus>> {
        let Self { server, input, mut output, written } = self;
        let to_server = async move {
            let Some(mut input) = input else { return };
            // A server that does not read any more is about to exit.
            drop(input.write_all(rest).await);
            drop(copy(&mut reader, &mut input).await);
        };
        let to_host = async {
            writer.write_all(&written).await?;
            writer.flush().await?;
            copy(&mut output, &mut writer).await?;
            writer.flush().await
        };
        let (mut to_server, mut to_host) = (Box::pin(to_server), pin!(to_host));
        let passed = tokio::select! {
            // A server that exits because its stdin has ended does not exit by itself.
            biased;
            () = &mut to_server => {
                // It closes the server's stdin.
                drop(to_server);
                timeout(GRACE, to_host).await.unwrap_or(Ok(())).map(|()| false)
            }
            passed = &mut to_host => passed.map(|()| true),
        };
        let status = server.end().await;
        let by_itself = passed?;
        Ok(if by_itself { Some(status?) } else { None })
    }
}
