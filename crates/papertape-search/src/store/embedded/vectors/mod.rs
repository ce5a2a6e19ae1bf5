//! Segments of vectors, and nearest-neighbour search in them.
//!
//! A vector is kept twice: exactly (16 bits for each number), and as a code of one bit for each. All codes are scanned;
//! the most promising vectors are then read and compared exactly. The codes are those of RaBitQ (Gao and Long, 2024): the
//! signs of the vector after a random rotation, from which a scalar product can be estimated without bias.
//!
//! - `rotate`: a random rotation that spreads information over all numbers
//! - `code`: quantisation: a rotated vector to bits, a query to bit planes
//! - `count`: population counts of their common bits
//! - `segment`: files of vectors, opened
//! - `build`: vectors to files
//! - `scan`: a query to the nearest vectors

pub(super) mod build;
pub(super) mod code;
mod count;
mod rotate;
pub(super) mod scan;
pub(super) mod segment;

/// A set of rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    bits: Vec<u64>,
}

impl Rows {
    /// None of so many.
    pub(super) fn none(count: usize) -> Self {
        Self { bits: vec![0; count.div_ceil(64)] }
    }

    /// None of as many as this one is of.
    pub(super) fn empty_copy(&self) -> Self {
        Self { bits: vec![0; self.bits.len()] }
    }

    /// Takes one in.
    pub(super) fn insert(&mut self, row: usize) {
        if let Some(word) = self.bits.get_mut(row / 64) {
            *word |= 1 << (row % 64);
        }
    }

    /// Leaves out those that are not in the other set.
    pub(super) fn retain(&mut self, others: &Self) {
        let others = others.bits.iter().copied().chain(std::iter::repeat(0));
        self.bits.iter_mut().zip(others).for_each(|(word, other)| *word &= other);
    }

    /// Leaves out those that are in the other set.
    pub(super) fn remove(&mut self, others: &Self) {
        self.bits.iter_mut().zip(&others.bits).for_each(|(word, other)| *word &= !other);
    }

    /// Whether it is in.
    pub(super) fn contains(&self, row: usize) -> bool {
        self.bits.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// How many are in.
    pub(super) fn len(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }
}
