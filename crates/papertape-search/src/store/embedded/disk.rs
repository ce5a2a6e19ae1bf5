//! What is on the disk, read with checks: files with a digest for each block, and numbers and texts within bounds.
//!
//! A file is its data, then a digest (BLAKE3) for each block of the data; the digest of those is in the manifest. So the
//! manifest pins every byte, by digests that cannot be forged, and a block is checked without reading the others. What is
//! read is checked in the memory of this process, where nothing can change it any more. Files are not mapped: one that is
//! cut short while it is read is an error, not the end of the process.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::sync::Lazy;

/// How many bytes share a digest.
pub(super) const BLOCK: usize = 16 * 1024;

/// Files up to this size are read as a whole.
const SMALL: u64 = 1024 * 1024;

/// Bytes of a digest.
const DIGEST: usize = blake3::OUT_LEN;

/// The length and digest of a file, as listed in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    /// Bytes of data.
    pub(super) length: u64,
    /// The digest of the blocks' digests.
    #[serde(with = "hex")]
    digest: blake3::Hash,
}

impl Pin {
    fn blocks(self) -> u64 {
        self.length.div_ceil(BLOCK as u64)
    }

    /// Bytes of the blocks' digests.
    fn tail(self) -> u64 {
        self.blocks() * DIGEST as u64
    }

    /// Bytes on the disk.
    pub(super) fn size(self) -> u64 {
        self.length.saturating_add(self.tail())
    }
}

/// A digest as text.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(digest: &blake3::Hash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&digest.to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<blake3::Hash, D::Error> {
        blake3::Hash::from_hex(String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Opens a regular file for reading: symbolic links are not followed, and pipes do not block.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(damaged("something that is not a file")) }
}

/// The content differs from what was written.
pub(super) fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Writes data, followed by its digests.
#[derive(Debug)]
pub(super) struct Sink {
    file: File,
    block: Vec<u8>,
    digests: Vec<u8>,
    length: u64,
}

impl Sink {
    /// Writes to a new file.
    pub(super) fn new(file: File) -> Self {
        Self { file, block: Vec::with_capacity(BLOCK), digests: Vec::new(), length: 0 }
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.digests.extend(blake3::hash(&self.block).as_bytes());
        self.length += self.block.len() as u64;
        self.file.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left. The file has still to be synced.
    pub(super) fn finish(&mut self) -> io::Result<Pin> {
        self.end_block()?;
        self.file.write_all(&self.digests)?;
        Ok(Pin { length: self.length, digest: blake3::hash(&self.digests) })
    }

    /// The file itself.
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.get(..bytes.len().min(BLOCK - self.block.len())).unwrap_or_default();
        self.block.extend_from_slice(fits);
        if self.block.len() == BLOCK {
            self.end_block()?;
        }
        Ok(fits.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose bytes are verified when they are read.
#[derive(Debug)]
pub(super) struct Source {
    name: String,
    file: File,
    pin: Pin,
    whole: bool,
    digests: Lazy<Vec<u8>>,
    data: Lazy<Bytes>,
}

impl Source {
    /// A file that is as long as it should be. With `whole`, it is read at once when it is first needed, and kept.
    pub(super) fn open(path: &Path, name: &str, pin: Pin, whole: bool) -> io::Result<Self> {
        let file = open_plain(path)?;
        let size = file.metadata()?.len();
        if size != pin.size() {
            return Err(damaged(format!("{name} has {size} bytes, not {}", pin.size())));
        }
        let whole = whole || pin.length <= SMALL;
        Ok(Self { name: name.to_owned(), file, pin, whole, digests: Lazy::default(), data: Lazy::default() })
    }

    /// Bytes of data.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.pin.length).unwrap_or(usize::MAX)
    }

    /// A piece of the data.
    pub(super) fn read(&self, range: Range<usize>) -> io::Result<Bytes> {
        if range.start > range.end || range.end > self.len() {
            return Err(damaged(format!("{} ends before byte {}", self.name, range.end)));
        }
        if self.whole {
            let data = self.data.get_or_try_init(|| self.read_blocks(0..self.len()))?;
            return Ok(data.slice(range));
        }
        self.read_blocks(range)
    }

    fn read_blocks(&self, range: Range<usize>) -> io::Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let first = range.start / BLOCK;
        let start = first * BLOCK;
        let end = range.end.next_multiple_of(BLOCK).min(self.len());
        let mut bytes = vec![0; end - start];
        self.file.read_exact_at(&mut bytes, start as u64).map_err(|error| self.cut_short(error))?;
        let digests = self.digests()?.get(DIGEST * first..).unwrap_or_default();
        let mut wanted = digests.chunks_exact(DIGEST);
        for (block, number) in bytes.chunks(BLOCK).zip(first..) {
            if wanted.next() != Some(blake3::hash(block).as_bytes().as_slice()) {
                return Err(damaged(format!("block {number} of {} is not what was written", self.name)));
            }
        }
        Ok(Bytes::from(bytes).slice(range.start - start..range.end - start))
    }

    fn digests(&self) -> io::Result<&[u8]> {
        let digests = self.digests.get_or_try_init(|| {
            let length = usize::try_from(self.pin.tail()).map_err(io::Error::other)?;
            let mut digests = vec![0; length];
            self.file.read_exact_at(&mut digests, self.pin.length).map_err(|error| self.cut_short(error))?;
            if blake3::hash(&digests) != self.pin.digest {
                return Err(damaged(format!("the digests of {} are not those written", self.name)));
            }
            Ok(digests)
        })?;
        Ok(digests)
    }

    fn cut_short(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(format!("{} ends too early", self.name)),
            _ => error,
        }
    }

    /// Reads all of it from the disk, whatever is kept in memory.
    pub(super) fn verify(&self) -> io::Result<()> {
        let mut start = 0;
        while start < self.len() {
            let end = (start + 64 * BLOCK).min(self.len());
            self.read_blocks(start..end)?;
            start = end;
        }
        self.digests()?;
        Ok(())
    }
}

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
