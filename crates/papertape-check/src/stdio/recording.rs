//! Every byte that a process wrote to a stream, and when it arrived.

use std::time::Duration;

/// How many bytes of a stream are kept; what comes after them is counted.
pub(crate) const KEPT: usize = 16 * 1024 * 1024;

/// How many arrivals are told apart.
const ARRIVALS: usize = 65_536;

/// The bytes of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    /// The bytes, from the first one.
    pub(crate) bytes: Vec<u8>,
    /// How many there were, those that were not kept included.
    pub(crate) total: u64,
    /// When the stream ended, after the start of the process.
    pub(crate) ended: Option<Duration>,
    /// Where the line ends that was not kept as a whole.
    line_end: Option<u64>,
    /// Where each arrival begins, and when it was.
    arrivals: Vec<(u64, Duration)>,
}

impl Recording {
    /// Adds bytes that have arrived.
    pub(crate) fn add(&mut self, bytes: &[u8], time: Duration) {
        if self.arrivals.len() < ARRIVALS {
            self.arrivals.push((self.total, time));
        }
        let room = KEPT.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if let (Some(rest), None) = (bytes.get(room..), self.line_end)
            && let Some(at) = memchr::memchr(b'\n', rest)
        {
            let end = room.saturating_add(at).saturating_add(1);
            self.line_end = Some(self.total.saturating_add(u64::try_from(end).unwrap_or(u64::MAX)));
        }
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    }

    /// Forgets when bytes arrived: it is not known.
    pub(crate) fn forget_times(&mut self) {
        self.arrivals.clear();
    }

    /// When the byte at an offset arrived.
    pub(crate) fn time_of(&self, offset: usize) -> Option<Duration> {
        let offset = u64::try_from(offset).ok()?;
        let after = self.arrivals.partition_point(|(begin, _)| *begin <= offset);
        self.arrivals.get(after.checked_sub(1)?).map(|(_, time)| *time)
    }

    /// When the first byte arrived.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.arrivals.first().map(|(_, time)| *time)
    }

    /// Whether bytes were not kept.
    pub(crate) fn is_cut(&self) -> bool {
        u64::try_from(self.bytes.len()).is_ok_and(|kept| kept < self.total)
    }

    /// The line that was not kept as a whole: where it begins, and how long it is, as far as it has arrived.
    pub(crate) fn cut_line(&self) -> Option<(usize, u64)> {
        if !self.is_cut() {
            return None;
        }
        let start = memchr::memrchr(b'\n', &self.bytes).map_or(0, |at| at.saturating_add(1));
        let end = self.line_end.unwrap_or(self.total);
        Some((start, end.saturating_sub(u64::try_from(start).unwrap_or(u64::MAX))))
    }

    /// The last lines, without invalid UTF-8 and terminal escapes.
    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.bytes).lines().map(plain).collect()
    }
}

/// Text without the escape sequences of terminals.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            if letters.clone().next() == Some('[') {
                letters.next();
                letters.by_ref().find(|end| ('\u{40}'..='\u{7e}').contains(end));
            }
        } else if !letter.is_control() || letter == '\t' {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{KEPT, Recording, plain};

    #[test]
    fn bytes_are_kept_up_to_a_limit_and_counted_beyond() {
        let mut recording = Recording::default();
        recording.add(b"abc", Duration::from_millis(1));
        recording.add(&vec![b'x'; KEPT], Duration::from_millis(2));
        assert_eq!((recording.bytes.len(), recording.total), (KEPT, KEPT as u64 + 3));
        assert!(recording.is_cut());
        assert_eq!(recording.cut_line(), Some((0, KEPT as u64 + 3)));
        recording.add(b"y\nz", Duration::from_millis(3));
        assert_eq!(recording.cut_line(), Some((0, KEPT as u64 + 5)));
        assert_eq!(recording.time_of(2), Some(Duration::from_millis(1)));
        assert_eq!(recording.time_of(3), Some(Duration::from_millis(2)));
    }

    #[test]
    fn text_loses_its_colours() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m and\u{7} plain"), "red and plain");
    }
}
