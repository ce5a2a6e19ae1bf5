//! Messages to frames that wait to be written.

use serde::Serialize;

use crate::wire::{Framing, Id, RpcError};

/// Bytes that may wait to be written before nothing more is read.
pub(crate) const OUTBOX: usize = 256 * 1024;

/// Frames that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    framing: Framing,
    frames: Outgoing,
    pushed: u64,
}

/// Frames that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    /// Where each frame ends.
    pub(crate) ends: Vec<usize>,
}

#[cfg(feature = "http-server")]
impl Outgoing {
    /// Removes all frames; the memory is reused.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Each frame, with its line end.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let frame = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            frame
        })
    }

    /// Releases the memory: it may take long until it is needed again.
    pub(crate) fn give_back_room(&mut self) {
        *self = Self::default();
    }
}

/// The content of a response.
pub(crate) enum Reply<'a> {
    /// Writes the result's JSON.
    Result(&'a dyn Fn(&mut Vec<u8>)),
    Error(&'a RpcError),
}

impl Outbox {
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Appends one message.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let Outgoing { bytes, ends } = &mut self.frames;
        let start = bytes.len();
        write(bytes);
        self.framing.seal(bytes, start);
        ends.push(bytes.len());
        self.pushed += 1;
    }

    /// How many messages have been appended, ever.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Bytes waiting.
    pub(crate) fn pending(&self) -> usize {
        self.frames.bytes.len()
    }

    /// Takes what waits into `outgoing`, which must be empty and whose room is used again.
    pub(crate) fn swap(&mut self, outgoing: &mut Outgoing) {
        std::mem::swap(&mut self.frames, outgoing);
    }
}

pub(crate) fn write_request<P: Serialize>(out: &mut Vec<u8>, id: &Id, method: &str, params: Option<&P>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(out);
    out.push(b',');
    write_method(out, method, params);
}

pub(crate) fn write_notification<P: Serialize>(out: &mut Vec<u8>, method: &str, params: Option<&P>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    write_method(out, method, params);
}

fn write_method<P: Serialize>(out: &mut Vec<u8>, method: &str, params: Option<&P>) {
    out.extend_from_slice(b"\"method\":");
    write_json(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        write_json(out, params);
    }
    out.push(b'}');
}

pub(crate) fn write_reply(out: &mut Vec<u8>, id: &Id, reply: &Reply<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(out);
    match reply {
        Reply::Result(write) => {
            out.extend_from_slice(b",\"result\":");
            write(out);
        }
        Reply::Error(error) => {
            out.extend_from_slice(b",\"error\":");
            write_json(out, error);
        }
    }
    out.push(b'}');
}

pub(crate) fn write_anonymous_error(out: &mut Vec<u8>, omit_id: bool, error: &RpcError) {
    out.extend_from_slice(if omit_id {
        b"{\"jsonrpc\":\"2.0\",\"error\":"
    } else {
        &b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"[..]
    });
    write_json(out, error);
    out.push(b'}');
}

/// Appends JSON made of our own types, which have string keys only and so cannot fail to be written.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
