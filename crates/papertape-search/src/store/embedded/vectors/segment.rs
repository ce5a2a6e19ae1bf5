//! Files of vectors, opened: codes are read at once when they are first needed, exact vectors one by one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use half::f16;

use super::code::{Centre, Code};
use super::rotate::Rotation;
use crate::store::embedded::disk::{Reader, Source, damaged, to_usize};
use crate::store::embedded::manifest::VectorFile;
use crate::sync::Lazy;

/// A segment of vectors, in the order of their keys.
#[derive(Debug)]
pub(crate) struct VectorSegment {
    file: VectorFile,
    codes: Arc<Source>,
    rows: File,
    loaded: Lazy<Codes>,
}

/// The codes of a segment.
#[derive(Debug)]
pub(crate) struct Codes {
    /// The vector keys, ascending.
    pub(crate) keys: Vec<u64>,
    /// For each vector, see [`Code`].
    pub(crate) factors: Vec<[f32; 2]>,
    /// For each vector, of its key and its numbers.
    digests: Vec<[u8; ROW_DIGEST]>,
    /// For each vector that was found to be what was written, a checksum of its numbers; else 0.
    checked: Vec<AtomicU32>,
    /// For each vector as many 64-bit words as [`Self::words`].
    pub(crate) bits: Vec<u64>,
    /// How many 64-bit words a code has.
    pub(crate) words: usize,
    /// What they were made with.
    pub(crate) centre: Centre,
    /// The same.
    pub(crate) rotation: Rotation,
}

impl Codes {
    /// The code of a vector.
    pub(crate) fn code(&self, row: usize) -> Option<Code> {
        let bits = self.bits.get(row * self.words..(row + 1) * self.words)?;
        Some(Code { bits: bits.to_owned(), factors: *self.factors.get(row)? })
    }

    /// Whether a row is what was written: by its digest when it is first read; after that by the checksum that it had
    /// then, which takes a twentieth of the time. A query reads thousands of rows.
    fn is_whole(&self, row: usize, key: u64, numbers: &[u8]) -> bool {
        let (Some(digest), Some(checked)) = (self.digests.get(row), self.checked.get(row)) else {
            return false;
        };
        let sum = crc32fast::hash(numbers);
        if sum != 0 && checked.load(Ordering::Relaxed) == sum {
            return true;
        }
        let whole = row_digest(key, numbers) == *digest;
        if whole {
            checked.store(sum, Ordering::Relaxed);
        }
        whole
    }
}

/// Bytes of a row's digest, in the file of codes: enough that no other row can be made to fit.
const ROW_DIGEST: usize = 16;

/// Bytes of a vector in the file of rows.
pub(crate) fn record_size(dimension: usize) -> usize {
    2 * dimension
}

/// The digest of a row.
pub(crate) fn row_digest(key: u64, numbers: &[u8]) -> [u8; ROW_DIGEST] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(numbers).update(&key.to_le_bytes());
    let mut digest = [0; ROW_DIGEST];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

impl VectorSegment {
    /// Files that are as long as they should be.
    pub(crate) fn open(file: VectorFile, codes: Arc<Source>, rows: File) -> io::Result<Self> {
        let (size, wanted) =
            (rows.metadata()?.len(), u64::from(file.rows) * record_size(to_usize(file.dimension)) as u64);
        if size != wanted {
            return Err(damaged(format!("{} has {size} bytes, not {wanted}", file.rows())));
        }
        Ok(Self { file, codes, rows, loaded: Lazy::default() })
    }

    /// What the manifest says of it.
    pub(crate) fn file(&self) -> &VectorFile {
        &self.file
    }

    /// How many vectors.
    pub(crate) fn len(&self) -> usize {
        to_usize(self.file.rows)
    }

    /// How many numbers each has.
    pub(crate) fn dimension(&self) -> usize {
        to_usize(self.file.dimension)
    }

    /// Its codes.
    pub(crate) fn codes(&self) -> io::Result<&Codes> {
        self.loaded.get_or_try_init(|| self.load())
    }

    fn load(&self) -> io::Result<Codes> {
        let (rows, dimension) = (self.len(), self.dimension());
        let rotation = Rotation::new(dimension);
        let words = rotation.padded() / 64;
        let head = 4 + 4 * dimension;
        if self.codes.len() != head + rows * (16 + ROW_DIGEST + 8 * words) {
            return Err(damaged(format!("{} has another size than its vectors need", self.file.codes())));
        }
        let bytes = self.codes.read(0..head)?;
        let mut reader = Reader(&bytes);
        let learned_from = reader.u32()?;
        let mean = (0..dimension).map(|_| reader.f32()).collect::<io::Result<_>>()?;
        let keys = self.load_u64s(head, rows)?;
        let factors = self.load_u64s(head + 8 * rows, rows)?;
        let digests = self.load_u64s(head + 16 * rows, rows * ROW_DIGEST / 8)?;
        let bits = self.load_u64s(head + (16 + ROW_DIGEST) * rows, rows * words)?;
        if !keys.is_sorted() {
            return Err(damaged(format!("{} is not in order", self.file.codes())));
        }
        let factors = factors.into_iter().map(unpack).collect();
        let (digests, _) = digests.as_chunks::<{ ROW_DIGEST / 8 }>();
        let digests = digests.iter().map(|[low, high]| join(*low, *high)).collect();
        let checked = (0..rows).map(|_| AtomicU32::new(0)).collect();
        Ok(Codes {
            keys,
            factors,
            digests,
            checked,
            bits,
            words,
            centre: Centre { mean, learned_from },
            rotation,
        })
    }

    fn load_u64s(&self, start: usize, count: usize) -> io::Result<Vec<u64>> {
        const STEP: usize = 128 * 1024;
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let from = start + 8 * numbers.len();
            let bytes = self.codes.read(from..from + 8 * STEP.min(count - numbers.len()))?;
            let (words, _) = bytes.as_chunks::<8>();
            numbers.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        }
        Ok(numbers)
    }

    /// Reads neighbouring vectors, and gives each to `each` with its key.
    pub(crate) fn read(&self, rows: Range<usize>, each: impl FnMut(u64, &[f16])) -> io::Result<()> {
        self.read_by(self.codes()?, rows, each)
    }

    fn read_by(
        &self,
        codes: &Codes,
        rows: Range<usize>,
        mut each: impl FnMut(u64, &[f16]),
    ) -> io::Result<()> {
        let first = rows.start;
        let size = record_size(self.dimension());
        let keys = codes.keys.get(rows).unwrap_or_default();
        let mut bytes = vec![0; size * keys.len()];
        self.rows.read_exact_at(&mut bytes, (size * first) as u64).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(format!("{} ends too early", self.file.rows())),
            _ => error,
        })?;
        let mut vector = vec![f16::ZERO; self.dimension()];
        for ((numbers, key), row) in bytes.chunks_exact(size).zip(keys).zip(first..) {
            if !codes.is_whole(row, *key, numbers) {
                return Err(damaged(format!("row {row} of {} is not what was written", self.file.rows())));
            }
            let (numbers, _) = numbers.as_chunks::<2>();
            for (to, from) in vector.iter_mut().zip(numbers) {
                *to = f16::from_le_bytes(*from);
            }
            each(*key, &vector);
        }
        Ok(())
    }

    /// Reads all of it.
    pub(crate) fn verify(&self) -> io::Result<()> {
        self.codes.verify()?;
        let codes = self.load()?;
        for first in (0..self.len()).step_by(256) {
            self.read_by(&codes, first..self.len().min(first + 256), |_, _| {})?;
        }
        Ok(())
    }
}

fn join(low: u64, high: u64) -> [u8; ROW_DIGEST] {
    (u128::from(low) | u128::from(high) << 64).to_le_bytes()
}

fn unpack(packed: u64) -> [f32; 2] {
    let [a, b, c, d, e, f, g, h] = packed.to_le_bytes();
    [f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h])]
}
