//! The length of a chunk to one byte, as stores keep it, and back.
//!
//! It is exact up to 40; after that it is rounded down, with an error below an eighth: four bits of each number are kept,
//! and how many follow them. Lucene keeps lengths in the same way.

/// Shorter lengths are kept as they are, beside those that the four bits give anyway.
const EXACT: u32 = 24;

/// The byte of a length.
#[must_use]
pub(crate) fn to_byte(length: u32) -> u8 {
    let Some(more) = length.checked_sub(EXACT) else { return u8::try_from(length).unwrap_or_default() };
    let shift = (u32::BITS - more.leading_zeros()).saturating_sub(4);
    let kept = more >> shift;
    // Below 8 there is no highest bit to leave out.
    let byte = EXACT + if kept < 8 { kept } else { (shift + 1) << 3 | kept & 7 };
    u8::try_from(byte).unwrap_or(u8::MAX)
}

/// The length that a byte stands for: the least of those that have it.
#[must_use]
pub(crate) fn of_byte(byte: u8) -> u32 {
    let Some(more) = u32::from(byte).checked_sub(EXACT) else { return u32::from(byte) };
    EXACT
        + match (more >> 3).checked_sub(1) {
            None => more,
            Some(shift) => (more & 7 | 8) << shift,
        }
}

#[cfg(test)]
mod tests {
    use super::{of_byte, to_byte};

    #[test]
    fn a_byte_stands_for_the_least_length_that_has_it() {
        for byte in 0..=u8::MAX {
            assert_eq!(to_byte(of_byte(byte)), byte);
            if let Some(before) = byte.checked_sub(1) {
                assert!(of_byte(before) < of_byte(byte));
                assert_eq!(to_byte(of_byte(byte) - 1), before);
            }
        }
        assert_eq!(
            [0, 7, 24, 40, 41, 43, 1_000].map(|length| of_byte(to_byte(length))),
            [0, 7, 24, 40, 40, 42, 984]
        );
        assert_eq!((of_byte(u8::MAX), to_byte(u32::MAX)), (2_013_265_944, u8::MAX));
    }
}
