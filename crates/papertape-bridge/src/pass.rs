//! Pass-through: where a host and a server process speak the same revision in the same framing, every byte of one is passed to the
//! other as it is. They are read on the way only to know which requests have no response when the server exits.
//!
//! The host's handshake is forwarded. If the server accepts its revision, bytes are copied from then on. If it does not, it is
//! ended, and the bridge translates: handshakes and lists have no effect, so nothing has been done twice.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use papertape::stdio::{RunningServer, ServerCommand};
use papertape::wire::frame::PieceKind;
use papertape::wire::{Decoder, Framing};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::host::{FirstMessage, Handshake};
use crate::in_flight::InFlight;
use crate::lock;
use crate::until_stopped::UntilStopped;

/// How long a server may take for the handshake.
const OPENING: Duration = Duration::from_secs(30);

/// How long a server may leave a handshake without a response that it does not know, after it has read it.
const PROBE: Duration = Duration::from_secs(2);

/// The longest response to a handshake.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long a server may take to write what is left after the end of its stdin.
const GRACE: Duration = Duration::from_secs(10);

/// How often the input of a host is read after its server has exited.
const MOST_READS: usize = 16;

/// A server that has accepted the handshake of its host.
pub(crate) struct Accepted {
    server: RunningServer,
    /// `None` if its host had closed its own by then.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What it has written so far.
    written: Vec<u8>,
    framing: Framing,
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
        let framing = first.framing;
        return Some(Accepted { server, input, output, written, framing });
    }
    drop(output);
    // It may have to free what the next process needs.
    drop(server.end().await);
    if is_alone && written.is_empty() {
        // The host has closed its input, and this process did not reject its handshake: another one is not needed.
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

/// Why nothing more goes to the server.
enum Stopped {
    /// The input of the host has ended.
    ByHost,
    /// The server does not read any more: it is about to exit.
    ByServer,
}

impl Accepted {
    /// Passes all bytes on until the host or the server ends. The status of a server that has ended by itself: then the requests
    /// that it has not responded to get an error.
    pub(crate) async fn pass(
        self,
        rest: &[u8],
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
    ) -> io::Result<Option<ExitStatus>> {
        let Self { server, input, mut output, written, framing } = self;
        let in_flight = Mutex::new(InFlight::new(framing));
        let to_server = async {
            let Some(mut input) = input else { return Stopped::ByHost };
            let mut bytes = rest.to_vec();
            loop {
                // Known before the server can respond.
                lock(&in_flight).host_sends(&bytes);
                if input.write_all(&bytes).await.is_err() {
                    return Stopped::ByServer;
                }
                bytes.clear();
                if !matches!(reader.read_buf(&mut bytes).await, Ok(1..)) {
                    return Stopped::ByHost;
                }
            }
        };
        let to_host = async {
            let mut bytes = written;
            loop {
                lock(&in_flight).server_sends(&bytes);
                writer.write_all(&bytes).await?;
                writer.flush().await?;
                bytes.clear();
                // A server whose output cannot be read has ended.
                if !matches!(output.read_buf(&mut bytes).await, Ok(1..)) {
                    return Ok(());
                }
            }
        };
        let passed: io::Result<bool> = {
            let (mut to_server, mut to_host) = (Box::pin(to_server), pin!(to_host));
            tokio::select! {
                // A server that exits because its stdin has ended does not exit by itself.
                biased;
                stopped = &mut to_server => {
                    // It closes the server's stdin.
                    drop(to_server);
                    let rest = timeout(GRACE, to_host).await.unwrap_or(Ok(()));
                    rest.map(|()| matches!(stopped, Stopped::ByServer))
                }
                passed = &mut to_host => passed.map(|()| true),
            }
        };
        let status = server.end().await;
        if !passed? {
            return Ok(None);
        }
        let status = status?;
        let mut in_flight = in_flight.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What the host has sent meanwhile.
        for _ in 0..MOST_READS {
            let mut bytes = Vec::with_capacity(64 * 1024);
            match timeout(Duration::ZERO, reader.read_buf(&mut bytes)).await {
                Ok(Ok(1..)) => in_flight.host_sends(&bytes),
                _ => break,
            }
        }
        let message = format!("the server has exited ({status}) before it responded; its stderr may say why");
        writer.write_all(&in_flight.errors(&message)).await?;
        writer.flush().await?;
        Ok(Some(status))
    }
}
