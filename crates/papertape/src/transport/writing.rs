//! Frames to bytes that have crossed: what is being written, and how much of it the peer has.

use super::tap::Tap;
use crate::outbox::{OUTBOX, Outgoing};
use crate::wire::tape::Direction;

/// Frames being written.
#[derive(Default)]
pub(super) struct Writing {
    frames: Outgoing,
    written: usize,
    /// How many frames have been written in full, and how many bytes those are.
    taped: (usize, usize),
}

impl Writing {
    pub(super) fn is_done(&self) -> bool {
        self.written == self.frames.bytes.len()
    }

    pub(super) fn rest(&self) -> &[u8] {
        self.frames.bytes.get(self.written..).unwrap_or_default()
    }

    /// Takes the next frames.
    pub(super) fn begin(&mut self, take: impl FnOnce(&mut Outgoing)) {
        self.frames.bytes.clear();
        self.frames.ends.clear();
        // The room a very large answer took is given back.
        if self.frames.bytes.capacity() > 16 * OUTBOX {
            self.frames = Outgoing::default();
        }
        self.written = 0;
        self.taped = (0, 0);
        take(&mut self.frames);
    }

    /// Notes that bytes have crossed; a frame is on the tape once it has crossed whole. How many have.
    pub(super) fn advance(&mut self, count: usize, direction: Direction, tap: &mut Tap) -> u64 {
        self.written += count;
        let mut crossed = 0;
        let (mut index, mut start) = self.taped;
        while let Some(&end) = self.frames.ends.get(index).filter(|&&end| end <= self.written) {
            tap.frame(direction, self.frames.bytes.get(start..end).unwrap_or_default());
            (index, start) = (index + 1, end);
            crossed += 1;
        }
        self.taped = (index, start);
        crossed
    }

    /// How many frames have not crossed whole.
    pub(super) fn unfinished(&self) -> usize {
        self.frames.ends.len() - self.taped.0
    }

    /// Puts the beginning of a frame that never crossed whole on the tape.
    pub(super) fn give_up(&self, direction: Direction, tap: &mut Tap) {
        let (_, start) = self.taped;
        if start < self.written {
            tap.frame(direction, self.frames.bytes.get(start..self.written).unwrap_or_default());
        }
    }
}
