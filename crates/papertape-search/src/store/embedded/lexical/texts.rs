//! The texts of documents, compressed in blocks of a few documents.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use lz4_flex::block::{compress, decompress_into};

use super::DocId;
use crate::store::embedded::blocks::damaged;
use crate::store::embedded::bytes::{Reader, put_varint, to_usize};

/// A block has at least so many bytes before it is compressed. A hit has to decompress all of it.
const BLOCK: usize = 8 * 1024;

/// The highest compression ratio of LZ4; a block that claims more is invalid.
const BEST_RATIO: usize = 256;

/// The texts of a document.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Text {
    /// The headings above it.
    pub(super) headings: Vec<String>,
    /// Its Markdown.
    pub(super) text: String,
}

/// Writes texts. Documents are given in their order.
#[derive(Debug)]
pub(super) struct TextsWriter<W> {
    sink: W,
    block: Vec<u8>,
    blocks: Vec<(DocId, u64)>,
    docs: DocId,
    written: u64,
}

impl<W: Write> TextsWriter<W> {
    pub(super) fn new(sink: W) -> Self {
        Self { sink, block: Vec::new(), blocks: Vec::new(), docs: 0, written: 0 }
    }

    /// The texts of the next document.
    pub(super) fn push(&mut self, headings: &[String], text: &str) -> io::Result<()> {
        let mut record = Vec::with_capacity(text.len() + 64);
        put_varint(&mut record, headings.len() as u64);
        for heading in headings {
            put_varint(&mut record, heading.len() as u64);
            record.extend_from_slice(heading.as_bytes());
        }
        record.extend_from_slice(text.as_bytes());
        self.push_record(&record)
    }

    /// The next document's texts, as another block has them.
    pub(super) fn push_record(&mut self, record: &[u8]) -> io::Result<()> {
        if self.block.is_empty() {
            self.blocks.push((self.docs, self.written));
        }
        put_varint(&mut self.block, record.len() as u64);
        self.block.extend_from_slice(record);
        self.docs += 1;
        if self.block.len() >= BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.block.len()).map_err(|_| io::Error::other("a text is too long"))?;
        let compressed = compress(&self.block);
        self.sink.write_all(&length.to_le_bytes())?;
        self.sink.write_all(&compressed)?;
        self.written += 4 + compressed.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left. Gives the file, which has still to be finished, and its blocks: the first document of each,
    /// and where it begins.
    pub(super) fn finish(mut self) -> io::Result<(W, Vec<(DocId, u64)>)> {
        self.end_block()?;
        Ok((self.sink, self.blocks))
    }
}

/// The bytes of a block.
pub(super) fn decompress(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut reader = Reader(block);
    let length = to_usize(reader.u32()?);
    if length / BEST_RATIO > reader.0.len() {
        return Err(damaged("a block of texts is longer than it can be"));
    }
    let mut bytes = vec![0; length];
    match decompress_into(reader.0, &mut bytes) {
        Ok(written) if written == length => Ok(bytes),
        _ => Err(damaged("a block of texts cannot be decompressed")),
    }
}

/// How many decompressed blocks are cached: about a megabyte.
const KEPT: usize = 128;

/// Longer blocks than this are not cached.
const LONG: usize = 4 * BLOCK;

/// A direct-mapped cache of decompressed blocks.
#[derive(Debug)]
pub(super) struct BlockCache(Vec<Mutex<Option<(usize, Bytes)>>>);

impl BlockCache {
    /// A cache for a file of so many blocks.
    pub(super) fn new(blocks: usize) -> Self {
        Self((0..blocks.min(KEPT)).map(|_| Mutex::default()).collect())
    }

    /// A block, read if it is not cached.
    pub(super) fn or_read(
        &self,
        number: usize,
        read: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<Bytes> {
        let Some(place) = self.0.get(number % KEPT) else { return read().map(Bytes::from) };
        let lock = || place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = lock().as_ref().filter(|(other, _)| *other == number) {
            return Ok(block.clone());
        }
        let block = Bytes::from(read()?);
        if block.len() <= LONG {
            *lock() = Some((number, block.clone()));
        }
        Ok(block)
    }
}

/// The records of a block's bytes, in the order of its documents.
pub(super) struct Records<'a>(Reader<'a>);

impl<'a> Records<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(Reader(bytes))
    }

    /// The next one; none after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<&'a [u8]>> {
        if self.0.0.is_empty() {
            return Ok(None);
        }
        let length = self.0.length()?;
        self.0.take(length).map(Some)
    }
}

/// The texts in a record.
pub(super) fn decode(record: &[u8]) -> io::Result<Text> {
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(damaged("a text is not UTF-8")),
    };
    let mut reader = Reader(record);
    let mut headings = Vec::new();
    for _ in 0..reader.varint()? {
        let length = reader.length()?;
        headings.push(text(reader.take(length)?)?);
    }
    Ok(Text { headings, text: text(reader.0)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::{Records, Text, TextsWriter, decode, decompress};

    proptest! {
        #[test]
        fn texts_come_back_as_they_were(
            texts in prop::collection::vec((prop::collection::vec(".{0,9}", 0..4), ".{0,200}"), 0..40),
            repeat in 1_usize..60,
        ) {
            let mut writer = TextsWriter::new(Vec::new());
            let texts: Vec<Text> =
                texts.into_iter().map(|(headings, text)| Text { headings, text: text.repeat(repeat) }).collect();
            for text in &texts {
                writer.push(&text.headings, &text.text).unwrap();
            }
            let (bytes, blocks) = writer.finish().unwrap();
            let ends = blocks.iter().skip(1).map(|(_, place)| *place).chain([bytes.len() as u64]);
            let mut read = Vec::new();
            for ((first, start), end) in blocks.iter().zip(ends) {
                prop_assert_eq!(read.len(), *first as usize);
                let block = decompress(&bytes[*start as usize..end as usize]).unwrap();
                let mut records = Records::new(&block);
                while let Some(record) = records.next().unwrap() {
                    read.push(decode(record).unwrap());
                }
            }
            prop_assert_eq!(read, texts);
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), length in 0_u32..60_000) {
            drop(decode(&bytes));
            let mut records = Records::new(&bytes);
            while matches!(records.next(), Ok(Some(_))) {}
            let block: Vec<u8> = length.to_le_bytes().into_iter().chain(bytes).collect();
            drop(decompress(&block));
        }
    }
}
