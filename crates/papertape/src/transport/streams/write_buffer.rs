//! Frames that are being written, and how much of them the peer has received.

use crate::outbox::{OUTBOX, Outgoing};
use crate::transport::tap::Tap;
use crate::wire::tape::Direction;

/// Frames that are being written.
#[derive(Default)]
pub(super) struct WriteBuffer {
    frames: Outgoing,
    written: usize,
    /// How many frames have been written in full, and how many bytes those are.
    taped: (usize, usize),
}

impl WriteBuffer {
    /// Whether everything has been written.
    pub(super) fn is_empty(&self) -> bool {
        self.written == self.frames.bytes.len()
    }

    /// The bytes that are still to be written.
    pub(super) fn rest(&self) -> &[u8] {
        self.frames.bytes.get(self.written..).unwrap_or_default()
    }

    /// Takes the next frames.
    pub(super) fn refill(&mut self, take: impl FnOnce(&mut Outgoing)) {
        self.frames.bytes.clear();
        self.frames.ends.clear();
        // Memory that a very large message took is released.
        if self.frames.bytes.capacity() > 16 * OUTBOX {
            self.frames = Outgoing::default();
        }
        self.written = 0;
        self.taped = (0, 0);
        take(&mut self.frames);
    }

    /// Counts `count` more bytes as written, and records every frame that is complete now. Returns how many those are.
    pub(super) fn advance(&mut self, count: usize, direction: Direction, tap: &mut Tap) -> u64 {
        self.written += count;
        let mut completed = 0;
        let (mut index, mut start) = self.taped;
        while let Some(&end) = self.frames.ends.get(index).filter(|&&end| end <= self.written) {
            tap.frame(direction, self.frames.bytes.get(start..end).unwrap_or_default());
            (index, start) = (index + 1, end);
            completed += 1;
        }
        self.taped = (index, start);
        completed
    }

    /// How many frames have not been written in full.
    pub(super) fn unfinished(&self) -> usize {
        self.frames.ends.len() - self.taped.0
    }

    /// Records the beginning of a frame that will not be written in full.
    pub(super) fn abandon(&self, direction: Direction, tap: &mut Tap) {
        let (_, start) = self.taped;
        if start < self.written {
            tap.frame(direction, self.frames.bytes.get(start..self.written).unwrap_or_default());
        }
    }
}
