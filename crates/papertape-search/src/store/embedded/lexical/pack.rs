//! Bit packing: numbers in as few bits as the largest of them needs.

/// How many numbers are packed together.
pub(super) const BLOCK: usize = 128;

/// Bytes of a block of the widest numbers, and 8 bytes more, so that every number is read from a whole 64-bit word.
const PADDED: usize = BLOCK * 4 + 8;

/// Bits that the largest of some numbers needs.
pub(super) fn width(numbers: &[u32]) -> u8 {
    let all = numbers.iter().fold(0, |all, number| all | number);
    u8::try_from(u32::BITS - all.leading_zeros()).unwrap_or_default()
}

/// Bytes of so many numbers of this width.
pub(super) fn size(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

/// Adds numbers of this width at most.
pub(super) fn pack(numbers: &[u32], width: u8, bytes: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0_u64, 0);
    for number in numbers {
        bits |= u64::from(*number) << filled;
        filled += u32::from(width);
        while filled >= 8 {
            bytes.extend(bits.to_le_bytes().first());
            bits >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        bytes.extend(bits.to_le_bytes().first());
    }
}

/// Reads [`BLOCK`] numbers; what is missing in `bytes` counts as zeros.
pub(super) fn unpack(bytes: &[u8], width: u8, numbers: &mut [u32; BLOCK]) {
    let mut padded = [0; PADDED];
    let length = bytes.len().min(BLOCK * 4);
    if let (Some(to), Some(from)) = (padded.get_mut(..length), bytes.get(..length)) {
        to.copy_from_slice(from);
    }
    // With a width that the compiler knows, this takes half the time.
    macro_rules! of_width {
        ($($width:literal)*) => {
            match width {
                $($width => unpack_of::<$width>(&padded, numbers),)*
                _ => unpack_of::<32>(&padded, numbers),
            }
        };
    }
    of_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

fn unpack_of<const WIDTH: usize>(padded: &[u8; PADDED], numbers: &mut [u32; BLOCK]) {
    for (number, place) in numbers.iter_mut().zip(0..BLOCK) {
        let bit = place * WIDTH;
        let word = padded.get(bit / 8..).and_then(|rest| rest.first_chunk());
        let bits = u64::from_le_bytes(word.copied().unwrap_or_default()) >> (bit % 8);
        // At most 32 bits are left.
        *number = u32::try_from(bits & ((1 << WIDTH) - 1)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::{BLOCK, pack, size, unpack, width};

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(
            numbers in prop::collection::vec(any::<u32>(), 0..=BLOCK),
            shift in 0_u32..32,
        ) {
            let numbers: Vec<u32> = numbers.into_iter().map(|number| number >> shift).collect();
            let (mut bytes, width) = (Vec::new(), width(&numbers));
            pack(&numbers, width, &mut bytes);
            prop_assert_eq!(bytes.len(), size(numbers.len(), width));
            let mut unpacked = [7; BLOCK];
            unpack(&bytes, width, &mut unpacked);
            prop_assert_eq!(&unpacked[..numbers.len()], numbers);
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..600), width in any::<u8>()) {
            unpack(&bytes, width, &mut [0; BLOCK]);
        }
    }
}
