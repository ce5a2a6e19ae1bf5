//! Encoding and bounds-checked decoding of numbers and texts.

use super::blocks::damaged;
use std::io;

/// A reader that consumes bytes from the front.
#[derive(Debug, Clone, Copy)]
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

    /// A text with its length before it.
    pub(super) fn text(&mut self) -> io::Result<String> {
        self.str().map(str::to_owned)
    }

    /// The same, where it is.
    pub(super) fn str(&mut self) -> io::Result<&'a str> {
        let length = self.u32()?;
        let bytes = self.take(to_usize(length))?;
        std::str::from_utf8(bytes).map_err(|_| damaged("a text is not UTF-8"))
    }

    /// A number of seven bits a byte, as [`put_varint`] writes it.
    pub(super) fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(|| damaged("a record ends too early"))?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number is too long"))
    }

    /// The same, for a length or a place.
    pub(super) fn length(&mut self) -> io::Result<usize> {
        usize::try_from(self.varint()?).map_err(|_| damaged("a length is too great"))
    }
}

/// A number of seven bits a byte, the lowest first; all bytes but the last have their highest bit set.
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.extend((number | 0x80).to_le_bytes().first());
        number >>= 7;
    }
    bytes.extend(number.to_le_bytes().first());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::any;
    use proptest::{prop_assert_eq, proptest};

    use super::{Reader, put_varint};

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(number in any::<u64>(), shift in 0_u32..64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number >> shift);
            let mut reader = Reader(&bytes);
            prop_assert_eq!(reader.varint().unwrap(), number >> shift);
            prop_assert_eq!(reader.0.len(), 0);
        }
    }

    #[test]
    fn a_number_that_does_not_end_is_an_error() {
        for bytes in [&[][..], &[0x80], &[0xff; 9], &[0xff; 99]] {
            assert!(Reader(bytes).varint().is_err(), "{bytes:?}");
        }
    }
}
