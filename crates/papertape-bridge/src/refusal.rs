//! What a host gets whose server cannot be used.

use std::future::Future;
use std::io;

use papertape::server::Limits;
use papertape::wire::error::PARSE_ERROR;
use papertape::wire::frame::{FrameError, Piece, PieceKind};
use papertape::wire::message::{self, Bounds, Message, Payload, Rejected};
use papertape::wire::{Decoder, Framing, Id, RpcError};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::until_stopped::UntilStopped;

/// The error that every request of a host gets.
pub(crate) struct Refusal {
    error: RpcError,
    limits: Limits,
}

#[derive(Serialize)]
struct Response {
    jsonrpc: &'static str,
    /// `null` if it cannot be read.
    id: Option<Id>,
    error: RpcError,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { error: RpcError::internal(message), limits: Limits::default() }
    }

    /// Responds to every request until the input ends, and to what is not a message as any server does.
    pub(crate) async fn send<R, F>(
        &self,
        reader: &mut UntilStopped<'_, R, F>,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        F: Future<Output = ()>,
    {
        let mut decoder = Decoder::new(self.limits.frame);
        let mut ended = false;
        while !ended {
            ended = reader.read_buf(decoder.space()).await? == 0;
            while let Some(piece) = decoder.next_piece() {
                ended |= matches!(&piece.kind, PieceKind::Broken(error) if error.is_fatal());
                self.respond(&piece, reader, writer).await?;
            }
        }
        match decoder.finish() {
            Some(piece) => self.respond(&piece, reader, writer).await,
            None => Ok(()),
        }
    }

    async fn respond<R, F: Future<Output = ()>>(
        &self,
        piece: &Piece<'_>,
        reader: &mut UntilStopped<'_, R, F>,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let Some(mut frame) = self.response(&piece.kind) else { return Ok(()) };
        piece.framing.seal(&mut frame, 0);
        let written = async {
            writer.write_all(&frame).await?;
            writer.flush().await
        };
        tokio::pin!(written);
        tokio::select! {
            written = &mut written => written,
            // A host that does not read is not waited for.
            () = reader.stopped() => timeout(self.limits.grace, written).await?,
        }
    }

    /// The response to a piece of the input, if it gets one.
    fn response(&self, piece: &PieceKind<'_>) -> Option<Vec<u8>> {
        let bounds = Bounds { depth: self.limits.depth, batch: self.limits.batch };
        let to_frame = |body| match message::parse(body, bounds) {
            Ok(Payload::Batch(members)) => {
                let responses = members.iter().map(|member| self.to_message(message::parse_member(member)));
                let responses: Vec<_> = responses.flatten().collect();
                if responses.is_empty() { None } else { serde_json::to_vec(&responses).ok() }
            }
            Ok(Payload::Single(message)) => json(self.to_message(Ok(message))),
            Err(rejected) => json(self.to_message(Err(rejected))),
        };
        match piece {
            PieceKind::Frame(body) => to_frame(body),
            // The beginning of a message is not one.
            PieceKind::Unfinished(body) => {
                let rejected = message::parse(body, bounds).err();
                let is_message = rejected.is_none_or(|rejected| rejected.error.code != PARSE_ERROR);
                if is_message { to_frame(body) } else { None }
            }
            PieceKind::Blank | PieceKind::Skipped => None,
            PieceKind::Broken(error) => {
                let error = match error {
                    FrameError::TooLong { .. } => RpcError::invalid_request(error.to_string()),
                    FrameError::Header(_) | FrameError::Truncated => RpcError::parse(error.to_string()),
                };
                json(Some(Response { jsonrpc: "2.0", id: None, error }))
            }
        }
    }

    fn to_message(&self, message: Result<Message<'_>, Rejected>) -> Option<Response> {
        let (id, error) = match message {
            Ok(Message::Request(request)) => (Some(request.id), self.error.clone()),
            Ok(Message::Notification(_) | Message::Response(_)) => return None,
            Err(rejected) => (rejected.id, rejected.error),
        };
        Some(Response { jsonrpc: "2.0", id, error })
    }
}

/// The error response to a request as a frame.
pub(crate) fn frame(id: Id, error: RpcError, framing: Framing) -> Vec<u8> {
    let mut frame = json(Some(Response { jsonrpc: "2.0", id: Some(id), error })).unwrap_or_default();
    framing.seal(&mut frame, 0);
    frame
}

fn json(response: Option<Response>) -> Option<Vec<u8>> {
    serde_json::to_vec(&response?).ok()
}
