//! Words as they are shown, and where in the file each of them stands.

use std::ops::Range;

use super::wiki;

/// How many bytes of a block may be known by their beginning and end alone.
const WINDOW: usize = 64;

/// Text without marks.
#[derive(Debug, Default)]
pub(super) struct Plain {
    text: String,
    /// In order.
    spans: Vec<Span>,
    /// Whether the next words are of another block than the last.
    fresh: bool,
}

/// A part of the file, and what it shows.
#[derive(Debug)]
struct Span {
    source: Range<usize>,
    plain: Range<usize>,
}

impl Plain {
    /// How much there is.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The last character.
    pub(super) fn last(&self) -> Option<char> {
        self.text.chars().next_back()
    }

    /// All that was added since there was so much.
    pub(super) fn after(&self, length: usize) -> &str {
        self.text.get(length..).unwrap_or_default()
    }

    /// Adds what a part of the file shows.
    pub(super) fn push(&mut self, text: &str, source: Range<usize>) {
        if text.is_empty() {
            return;
        }
        let from = self.text.len();
        self.text.push_str(text);
        let plain = from..self.text.len();
        match self.spans.last_mut() {
            Some(last) if !self.fresh && source.end.saturating_sub(last.source.start) <= WINDOW => {
                last.source.end = source.end;
                last.plain.end = plain.end;
            }
            _ => self.spans.push(Span { source, plain }),
        }
        self.fresh = false;
    }

    /// Adds what stands between words, and nowhere in the file.
    pub(super) fn push_mark(&mut self, mark: &str) {
        self.text.push_str(mark);
    }

    /// Parts words.
    pub(super) fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    /// Takes away the block identifier that the last words are, if they are one.
    pub(super) fn drop_block_id(&mut self) {
        // In the last line alone: what ended before is over.
        let line = self.text.rfind('\n').map_or(0, |end| end + 1);
        let Some(left) = self.text.get(line..).and_then(wiki::block_id) else { return };
        let length = line + left;
        self.text.truncate(length);
        for span in self.spans.iter_mut().rev().take_while(|span| span.plain.end > length) {
            span.plain = span.plain.start.min(length)..length;
        }
    }

    /// Parts blocks.
    pub(super) fn end_block(&mut self) {
        if self.text.ends_with(' ') {
            self.text.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.fresh = true;
    }

    /// What a part of the file shows.
    pub(super) fn within(&self, source: Range<usize>) -> &str {
        let range = self.place(source.start)..self.place(source.end);
        self.text.get(range).unwrap_or_default().trim()
    }

    /// Where that is shown which stands at a place of the file.
    fn place(&self, source: usize) -> usize {
        let after = self.spans.partition_point(|span| span.source.end <= source);
        let Some(span) = self.spans.get(after) else { return self.text.len() };
        let into = source.saturating_sub(span.source.start);
        // Exact for text that is shown as it is written, and near enough for the rest.
        let length = span.source.len().max(1);
        let mut place = span.plain.start + into * span.plain.len() / length;
        while !self.text.is_char_boundary(place) {
            place -= 1;
        }
        place
    }
}
