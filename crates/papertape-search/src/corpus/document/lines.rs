//! The lines of a file that its chunks stand on.

/// The lines of a file that a chunk stands on, from 1, front matter counted. Both are 0 if the chunk is not text as it
/// stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// The first line with something on it.
    pub start: u32,
    /// The last line with something on it.
    pub end: u32,
}

/// Counts the lines of a text that is given piece by piece.
#[derive(Debug)]
pub(super) struct LineCounter {
    /// The line that the next piece begins on.
    next: u32,
}

impl LineCounter {
    /// A counter behind this much of the text.
    pub(super) fn after(text: &str) -> Self {
        Self { next: ends(text).saturating_add(1) }
    }

    /// The lines of the next piece. Blank lines around it are not counted, unless there is nothing else.
    pub(super) fn take(&mut self, piece: &str) -> Lines {
        let start = self.next;
        self.next = start.saturating_add(ends(piece));
        let from_first = piece.trim_start();
        if from_first.is_empty() {
            return Lines { start, end: start };
        }
        let before = piece.strip_suffix(from_first).unwrap_or_default();
        let start = start.saturating_add(ends(before));
        Lines { start, end: start.saturating_add(ends(from_first.trim_end())) }
    }
}

fn ends(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{LineCounter, Lines};

    #[test]
    fn blank_lines_around_a_piece_are_not_its_own() {
        let mut counter = LineCounter::after("---\ntitle: a\n---\n");
        for (piece, start, end) in [
            ("\n# One\n\nText\n\n", 5, 7),
            ("Two\r\nlines\r\n", 9, 10),
            ("of one ", 11, 11),
            ("line\n", 11, 11),
            (" \n\n", 12, 12),
            ("end", 14, 14),
        ] {
            assert_eq!(counter.take(piece), Lines { start, end }, "{piece:?}");
        }
    }
}
