//! The frames of a byte stream, such as stdio.

use papertape::wire::frame::{FrameError, Piece, PieceKind};
use papertape::wire::{Decoder, Framing};

use crate::body::Body;
use crate::joiner::{Part, Pending, Whole};
use crate::message::Form;
use crate::{LONGEST, json_end};

/// Joins the parts of one direction of a byte stream.
#[derive(Debug)]
pub(crate) struct Stream {
    decoder: Decoder,
    pending: Pending,
    /// A record of a tape of HTTP that has no exchanges on it.
    body: Option<Body>,
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self { decoder: Decoder::new(LONGEST), pending: Pending::default(), body: None }
    }

    /// Adds the bytes of a record, after [`Stream::next`] has returned all messages before it.
    pub(crate) fn push(&mut self, part: Part, bytes: &[u8]) {
        if self.decoder.unfinished().is_empty() && is_body(bytes) {
            self.body.get_or_insert_default().push(part, bytes);
        } else {
            self.pending.add(part, bytes.len());
            self.decoder.push(bytes);
        }
    }

    /// The next message, if it is complete.
    pub(crate) fn next(&mut self) -> Option<Whole> {
        if let Some(body) = &mut self.body {
            if let Some(whole) = body.next().or_else(|| body.finish()) {
                return Some(whole);
            }
            self.body = None;
        }
        let piece = self.decoder.next_piece()?;
        Some(whole(&mut self.pending, &piece))
    }

    /// Returns what is incomplete; the next bytes begin a new stream.
    pub(crate) fn finish(&mut self) -> Option<Whole> {
        let whole = self.decoder.finish().map(|piece| whole(&mut self.pending, &piece));
        *self = Self::new();
        whole
    }
}

/// Whether the bytes are a body or an event: tapes of HTTP that have no exchanges on them have these without a line end
/// between them.
fn is_body(bytes: &[u8]) -> bool {
    match bytes.last() {
        Some(b'\n') => {
            let is_field = |name: &&[u8]| bytes.starts_with(name);
            bytes.ends_with(b"\n\n") && [&b"data:"[..], b"event:", b"id:", b"retry:"].iter().any(is_field)
        }
        _ => json_end::is_one_value(bytes),
    }
}

fn whole(pending: &mut Pending, piece: &Piece<'_>) -> Whole {
    let raw = piece.raw;
    match &piece.kind {
        PieceKind::Frame(body) => {
            let start = match piece.framing {
                Framing::Line => 0,
                Framing::ContentLength => raw.len().saturating_sub(body.len()),
            };
            pending.take(raw, start..start + body.len(), Form::Frame)
        }
        PieceKind::Blank => pending.take(raw, 0..0, Form::Blank),
        PieceKind::Unfinished(_) | PieceKind::Broken(FrameError::Truncated) => {
            pending.take(raw, 0..raw.len(), Form::Unterminated)
        }
        PieceKind::Skipped | PieceKind::Broken(_) => pending.take(raw, 0..raw.len(), Form::Other),
    }
}
