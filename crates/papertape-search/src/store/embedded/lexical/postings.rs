//! A posting list: the documents that have a term, ascending, and how often each has it.
//!
//! A list is cut into blocks of 128 documents. First come the heads of all blocks, with the last document of each, so that a
//! document is looked up without unpacking the blocks before it; then the blocks, with the gaps between documents and the
//! frequencies, both packed into as few bits as the block needs. Positions within documents are not kept: a format that does
//! has another version in the manifest, and keeps them in a file beside this one.

use std::io;

use bytes::Bytes;

use super::DocId;
use crate::store::embedded::disk::{damaged, to_usize};

/// How many documents are in a block, and so how many numbers are packed together.
const BLOCK: usize = 128;

/// Bytes of a block of the widest numbers, and 8 bytes more, so that every number is read from a whole 64-bit word.
const PADDED: usize = BLOCK * 4 + 8;

/// Bytes of a block's head: its last document, the bits of a gap, the bits of a frequency.
const HEAD: usize = 6;

/// Adds a posting list to `bytes`. The documents are ascending, and each has the term at least once.
pub(super) fn encode(postings: &[(DocId, u32)], bytes: &mut Vec<u8>) {
    let (mut packed, mut before) = (Vec::new(), DocId::MAX);
    for block in postings.chunks(BLOCK) {
        let (mut gaps, mut frequencies) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        for (doc, frequency) in block {
            gaps.push(doc.wrapping_sub(before).wrapping_sub(1));
            frequencies.push(frequency.wrapping_sub(1));
            before = *doc;
        }
        // The last document is in the head.
        gaps.pop();
        let (gap_width, frequency_width) = (width(&gaps), width(&frequencies));
        bytes.extend(before.to_le_bytes());
        bytes.extend([gap_width, frequency_width]);
        pack(&gaps, gap_width, &mut packed);
        pack(&frequencies, frequency_width, &mut packed);
    }
    bytes.append(&mut packed);
}

/// Documents and frequencies, unpacked.
#[derive(Debug)]
pub(in crate::store::embedded) struct Block {
    docs: [DocId; BLOCK],
    frequencies: [u32; BLOCK],
    count: usize,
}

impl Block {
    /// Room for a block, with nothing in it yet.
    pub(in crate::store::embedded) fn new() -> Self {
        Self { docs: [0; BLOCK], frequencies: [0; BLOCK], count: 0 }
    }

    /// The documents, and how often each has the term.
    pub(in crate::store::embedded) fn postings(&self) -> impl Iterator<Item = (DocId, u32)> {
        let docs = self.docs.get(..self.count).unwrap_or_default();
        docs.iter().copied().zip(self.frequencies.iter().copied())
    }

    /// How often this document has the term, if it is in this block and has it.
    pub(in crate::store::embedded) fn frequency(&self, doc: DocId) -> Option<u32> {
        let place = self.docs.get(..self.count)?.binary_search(&doc).ok()?;
        self.frequencies.get(place).copied()
    }
}

/// A posting list that is read block by block.
#[derive(Debug)]
pub(in crate::store::embedded) struct PostingList {
    bytes: Bytes,
    count: usize,
    /// Which block is next, where it begins, and the last document before it.
    next: usize,
    place: usize,
    before: DocId,
}

impl PostingList {
    /// The list in these bytes, with so many documents.
    pub(super) fn new(bytes: Bytes, count: u32) -> Self {
        let count = to_usize(count);
        Self { bytes, count, next: 0, place: count.div_ceil(BLOCK) * HEAD, before: DocId::MAX }
    }

    /// How many documents are in the list.
    pub(in crate::store::embedded) fn len(&self) -> usize {
        self.count
    }

    /// Unpacks the next block; false after the last.
    pub(in crate::store::embedded) fn next_block(&mut self, block: &mut Block) -> io::Result<bool> {
        let Some(head) = self.head()? else { return Ok(false) };
        self.unpack(&head, block)?;
        Ok(true)
    }

    /// Unpacks the block that a document is in if it is in the list, unless `block` is that one already; false after the
    /// last. Documents are looked up in their order.
    pub(in crate::store::embedded) fn find(&mut self, doc: DocId, block: &mut Block) -> io::Result<bool> {
        if self.next > 0 && doc <= self.before && block.count > 0 {
            return Ok(true);
        }
        while let Some(head) = self.head()? {
            if doc <= head.last {
                self.unpack(&head, block)?;
                return Ok(true);
            }
            self.pass(&head);
        }
        Ok(false)
    }

    fn head(&self) -> io::Result<Option<BlockHead>> {
        let count = self.count.saturating_sub(self.next * BLOCK).min(BLOCK);
        if count == 0 {
            return Ok(None);
        }
        let head = self.bytes.get(self.next * HEAD..).and_then(|rest| rest.first_chunk::<HEAD>());
        let Some([a, b, c, d, gap_width, frequency_width]) = head else { return Err(too_short()) };
        Ok(Some(BlockHead {
            last: DocId::from_le_bytes([*a, *b, *c, *d]),
            gap_width: *gap_width,
            frequency_width: *frequency_width,
            count,
        }))
    }

    fn unpack(&mut self, head: &BlockHead, block: &mut Block) -> io::Result<()> {
        let gaps_end = self.place + size(head.count - 1, head.gap_width);
        let end = gaps_end + size(head.count, head.frequency_width);
        let gaps = self.bytes.get(self.place..gaps_end).ok_or_else(too_short)?;
        let frequencies = self.bytes.get(gaps_end..end).ok_or_else(too_short)?;
        unpack(gaps, head.gap_width, &mut block.docs);
        let (docs, _) = block.docs.split_at_mut(head.count);
        let mut doc = self.before;
        for gap in docs.iter_mut() {
            doc = doc.wrapping_add(*gap).wrapping_add(1);
            *gap = doc;
        }
        if let Some(last) = docs.last_mut() {
            *last = head.last;
        }
        unpack(frequencies, head.frequency_width, &mut block.frequencies);
        block.frequencies.iter_mut().for_each(|frequency| *frequency = frequency.wrapping_add(1));
        block.count = head.count;
        self.pass(head);
        Ok(())
    }

    fn pass(&mut self, head: &BlockHead) {
        self.place += size(head.count - 1, head.gap_width) + size(head.count, head.frequency_width);
        self.before = head.last;
        self.next += 1;
    }
}

/// The head of a block.
struct BlockHead {
    last: DocId,
    gap_width: u8,
    frequency_width: u8,
    count: usize,
}

fn too_short() -> io::Error {
    damaged("a posting list ends too early")
}

/// Bits that the largest of some numbers needs.
fn width(numbers: &[u32]) -> u8 {
    let all = numbers.iter().fold(0, |all, number| all | number);
    u8::try_from(u32::BITS - all.leading_zeros()).unwrap_or_default()
}

/// Bytes of so many numbers of this width.
fn size(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

/// Adds numbers of this width at most.
fn pack(numbers: &[u32], width: u8, bytes: &mut Vec<u8>) {
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
fn unpack(bytes: &[u8], width: u8, numbers: &mut [u32; BLOCK]) {
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
    use std::collections::BTreeMap;
    use std::ops::RangeInclusive;

    use bytes::Bytes;
    use proptest::prelude::{Strategy, any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::{BLOCK, Block, PostingList, encode, pack, size, unpack, width};

    fn list(postings: &[(u32, u32)]) -> PostingList {
        let mut bytes = Vec::new();
        encode(postings, &mut bytes);
        PostingList::new(Bytes::from(bytes), u32::try_from(postings.len()).unwrap())
    }

    fn all(mut list: PostingList) -> Vec<(u32, u32)> {
        let (mut block, mut all) = (Block::new(), Vec::new());
        while list.next_block(&mut block).unwrap() {
            all.extend(block.postings());
        }
        all
    }

    fn postings() -> impl Strategy<Value = Vec<(u32, u32)>> {
        let map = |docs: RangeInclusive<u32>| prop::collection::btree_map(docs, 1_u32..300, 0..500);
        proptest::prop_oneof![map(0..=600), map(0..=u32::MAX), map(u32::MAX - 9..=u32::MAX)]
            .prop_map(|postings: BTreeMap<u32, u32>| postings.into_iter().collect())
    }

    proptest! {
        #[test]
        fn postings_come_back_as_they_were(postings in postings()) {
            prop_assert_eq!(all(list(&postings)), postings);
        }

        #[test]
        fn documents_are_looked_up(postings in postings(), docs in prop::collection::btree_set(0_u32..700, 0..50)) {
            let known: BTreeMap<u32, u32> = postings.iter().copied().collect();
            let (mut list, mut block) = (list(&postings), Block::new());
            for doc in docs {
                let found = list.find(doc, &mut block).unwrap();
                let frequency = block.frequency(doc).filter(|_| found);
                prop_assert_eq!(frequency, known.get(&doc).copied());
            }
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..300), count in any::<u32>()) {
            let (mut list, mut block) = (PostingList::new(Bytes::from(bytes), count), Block::new());
            while list.next_block(&mut block).unwrap_or(false) {}
        }

        #[test]
        fn packed_numbers_come_back_as_they_were(
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
        fn no_bytes_break_unpacking(bytes in prop::collection::vec(any::<u8>(), 0..600), width in any::<u8>()) {
            unpack(&bytes, width, &mut [0; BLOCK]);
        }
    }
}
