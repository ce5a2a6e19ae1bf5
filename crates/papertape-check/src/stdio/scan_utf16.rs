//! Lines in UTF-16 to messages.

use serde_json::Value;

use crate::stdio::scan::{Kind, LineEnd, Message, Place};

/// The order of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Utf16 {
    /// The low byte first.
    Little,
    /// The high byte first.
    Big,
}

impl Utf16 {
    /// Whether a stream is UTF-16, from its first bytes.
    pub(crate) fn detect(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xff, 0xfe, ..] | [b'{', 0, ..] => Some(Utf16::Little),
            [0xfe, 0xff, ..] | [0, b'{', ..] => Some(Utf16::Big),
            _ => None,
        }
        // Two bytes that happen to be such a mark begin no text in UTF-16 unless every second byte after them is zero.
        .filter(|order| {
            let text = bytes.get(2..).unwrap_or_default();
            let high = text.chunks_exact(2).take(16).filter(|pair| match (order, pair) {
                (Utf16::Little, [_, high]) | (Utf16::Big, [high, _]) => *high == 0,
                _ => false,
            });
            text.len() < 2 || high.count() > 0
        })
    }

    /// Whether the bytes begin with a byte order mark.
    pub(crate) fn has_mark(bytes: &[u8]) -> bool {
        matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
    }

    fn unit(self, pair: &[u8]) -> u16 {
        match (self, pair) {
            (Utf16::Little, [low, high]) | (Utf16::Big, [high, low]) => u16::from_be_bytes([*high, *low]),
            _ => 0,
        }
    }

    /// The next line.
    pub(crate) fn take(self, rest: &[u8], ended: bool) -> Option<(usize, Kind)> {
        let line_end = rest.chunks_exact(2).position(|pair| self.unit(pair) == u16::from(b'\n'));
        if line_end.is_none() && !ended {
            return None;
        }
        let length = line_end.map_or(rest.len(), |at| (at + 1) * 2);
        let units = rest.get(..length).unwrap_or_default().chunks_exact(2).map(|pair| self.unit(pair));
        let text: String =
            char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if text.trim().is_empty() {
            return Some((length, Kind::Blank));
        }
        let end = if line_end.is_some() { LineEnd::Lf } else { LineEnd::Missing };
        let kind = match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) if value.is_object() => Kind::Message(Message {
                value,
                batch: false,
                end,
                pretty: false,
                framed: false,
                invalid: false,
                utf16: true,
                not_a_number: false,
                refused: None,
            }),
            _ => Kind::Text(Place::OwnLine),
        };
        Some((length, kind))
    }
}
