//! Numbers and texts to bytes, and bytes to them again, never past the end.

use super::blocks::damaged;
use std::io;

/// Bytes that are taken from the front.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, length: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or_else(|| damaged("a record ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| damaged("a record ends too early"))
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn f32(&mut self) -> io::Result<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> io::Result<String> {
        let length = self.u32()?;
        let bytes = self.take(to_usize(length))?;
        String::from_utf8(bytes.to_owned()).map_err(|_| damaged("a text is not UTF-8"))
    }
}

/// A text with its length before it.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    // Longer texts than 4 GiB do not get here: files are bounded.
    let length = u32::try_from(text.len()).unwrap_or_default();
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.as_bytes().iter().take(to_usize(length)));
}

/// A number of rows or bytes as a place in memory.
pub(super) fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
