//! Pass-through: where a host and a server process speak the same revision in the same framing, every byte of one is passed to the
//! other as it is.
//!
//! The host's handshake is forwarded. If the server accepts its revision, bytes are copied from then on. If it does not, it is
//! ended, and the bridge translates: handshakes and lists have no effect, so nothing has been done twice.

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
use tokio::time::{sleep, timeout};

use crate::host::{FirstMessage, Handshake};

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
    input: ChildStdin,
    output: ChildStdout,
    /// What it has written so far.
    written: Vec<u8>,
}

/// Starts a server with the handshake of its host; `None` if it does not accept it.
pub(crate) async fn try_handshake(command: &ServerCommand, first: &FirstMessage) -> Option<Accepted> {
    first.handshake.as_ref()?;
    let (server, mut input, mut output) = command
        .start()
        .inspect_err(|error| tracing::debug!(%error, "the server cannot be started for its host"))
        .ok()?;
    let handshake = first.bytes.get(..first.length)?;
    let answered = async {
        input.write_all(handshake).await.ok()?;
        tokio::select! {
            response = read_response(&mut output, first) => response,
            () = no_response(&input, first) => None,
        }
    };
    let written = timeout(OPENING, answered).await.ok().flatten();
    match written {
        Some(written) => Some(Accepted { server, input, output, written }),
        None => {
            drop((input, output));
            // It may have to free what its successor needs.
            drop(server.end().await);
            None
        }
    }
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

/// What a server has written when its response to the handshake has come; `None` if it does not accept it.
async fn read_response(output: &mut ChildStdout, first: &FirstMessage) -> Option<Vec<u8>> {
    let mut decoder = Decoder::new(LONGEST);
    let mut written = Vec::new();
    while written.len() < LONGEST {
        let before = written.len();
        if output.read_buf(&mut written).await.ok()? == 0 {
            return None;
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
                let result = message.get("result").filter(|_| piece.framing == first.framing)?;
                return first.handshake.as_ref()?.is_accepted_by(result).then_some(written);
            }
        }
    }
    None
}

impl Accepted {
    /// Passes all bytes on until the host or the server ends. The status of a server that has ended by itself.
    pub(crate) async fn pass(
        self,
        rest: &[u8],
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
    ) -> io::Result<Option<ExitStatus>> {
        let Self { server, mut input, mut output, written } = self;
        let to_server = async move {
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
            passed = &mut to_host => passed.map(|()| true),
            () = &mut to_server => {
                // It closes the server's stdin.
                drop(to_server);
                timeout(GRACE, to_host).await.unwrap_or(Ok(())).map(|()| false)
            }
        };
        let status = server.end().await;
        let by_itself = passed?;
        Ok(if by_itself { Some(status?) } else { None })
    }
}
