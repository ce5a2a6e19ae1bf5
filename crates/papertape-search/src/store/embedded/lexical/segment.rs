//! The files of a segment, opened, and the texts in it, compressed in blocks of a few documents.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lz4_flex::block::{compress, decompress_into};

use super::documents::Documents;
use super::postings::PostingList;
use super::terms::{TermDictionary, TermInfo};
use super::{DocId, documents};
use crate::store::embedded::disk::{Reader, Source, damaged, put_varint, to_usize};
use crate::store::embedded::file_set::FileSet;
use crate::store::embedded::manifest::LexicalFile;
use crate::store::embedded::vectors::Rows;
use crate::store::{Chunk, Lines, VectorKey};
use crate::sync::lock;

/// A block of texts has at least so many bytes before it is compressed. A hit has to decompress all of it.
const TEXT_BLOCK: usize = 8 * 1024;

/// The highest compression ratio of LZ4; a block that claims more is invalid.
const BEST_RATIO: usize = 256;

/// How many decompressed blocks of texts are cached: about a megabyte.
const KEPT: usize = 128;

/// Longer ones than this are not cached.
const LONG: usize = 4 * TEXT_BLOCK;

/// A segment of terms and texts, and what was deleted from it.
#[derive(Debug)]
pub(in crate::store::embedded) struct LexicalSegment {
    file: LexicalFile,
    terms: TermDictionary,
    documents: Documents,
    postings: Arc<Source>,
    texts: Arc<Source>,
    cached: TextCache,
    deleted: Option<Deleted>,
}

/// What was deleted from a segment.
#[derive(Debug)]
struct Deleted {
    /// The numbers of files, ascending.
    files: Vec<u32>,
    docs: Rows,
}

impl LexicalSegment {
    /// Opens the files that the manifest names.
    pub(in crate::store::embedded) fn open(file_set: &FileSet, file: &LexicalFile) -> io::Result<Self> {
        let source =
            |name: String| file_set.source(&name)?.ok_or_else(|| damaged(format!("{name} is missing")));
        let whole = |name: String| source(name).and_then(|source| source.read(0..source.len()));
        let documents = Documents::open(whole(file.documents())?)?;
        let deleted = match &file.deleted {
            Some(name) => Some(Deleted::open(&whole(name.clone())?, &documents)?),
            None => None,
        };
        Ok(Self {
            terms: TermDictionary::open(whole(file.terms())?)?,
            postings: source(file.postings())?,
            texts: source(file.texts())?,
            cached: TextCache::new(documents.blocks()),
            file: file.clone(),
            documents,
            deleted,
        })
    }

    /// Its entry in the manifest.
    pub(in crate::store::embedded) fn file(&self) -> &LexicalFile {
        &self.file
    }

    /// Its term dictionary.
    pub(in crate::store::embedded) fn terms(&self) -> &TermDictionary {
        &self.terms
    }

    /// Its documents.
    pub(in crate::store::embedded) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// How many documents it has, deleted or not.
    pub(in crate::store::embedded) fn len(&self) -> usize {
        self.documents.len()
    }

    /// How many documents were deleted from it.
    pub(in crate::store::embedded) fn dead(&self) -> usize {
        self.deleted.as_ref().map_or(0, |deleted| deleted.docs.len())
    }

    /// Whether any document was deleted.
    pub(in crate::store::embedded) fn has_deletes(&self) -> bool {
        self.deleted.is_some()
    }

    /// Whether a document was deleted.
    pub(in crate::store::embedded) fn is_deleted(&self, doc: DocId) -> bool {
        self.deleted.as_ref().is_some_and(|deleted| deleted.docs.contains(to_usize(doc)))
    }

    /// The files that were deleted from it, ascending.
    pub(in crate::store::embedded) fn deleted_files(&self) -> &[u32] {
        self.deleted.as_ref().map_or(&[], |deleted| &deleted.files)
    }

    /// The files that were not deleted.
    pub(in crate::store::embedded) fn live_files(&self) -> impl Iterator<Item = u32> {
        let files = u32::try_from(self.documents.files()).unwrap_or(u32::MAX);
        (0..files).filter(|file| self.deleted_files().binary_search(file).is_err())
    }

    /// The file with this path, if it was not deleted.
    pub(in crate::store::embedded) fn find_file(&self, path: &str) -> io::Result<Option<u32>> {
        let mut found = self.documents.find(path)?;
        found.retain(|file| self.deleted_files().binary_search(file).is_err());
        Ok(found.pop())
    }

    /// A term's posting list.
    pub(in crate::store::embedded) fn postings(&self, term: &TermInfo) -> io::Result<PostingList> {
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let range = place(term.start)..place(term.start.saturating_add(term.length));
        Ok(PostingList::new(self.postings.read(range)?, term.doc_freq))
    }

    /// A document as a chunk.
    pub(in crate::store::embedded) fn chunk(&self, doc: DocId) -> io::Result<Chunk> {
        let not_there = || damaged("a segment has no text of a document");
        let (number, first) = self.documents.block_of(doc).ok_or_else(not_there)?;
        let block = self.cached.or_read(number, || self.text_block(number))?;
        let mut records = Records::new(&block);
        for _ in first..doc {
            records.next()?;
        }
        let Text { lines, headings, text } = decode(records.next()?.ok_or_else(not_there)?)?;
        let documents::StoredFile { path, title, .. } = self.documents.file(self.documents.file_of(doc))?;
        Ok(Chunk {
            source: path.to_owned(),
            index: self.documents.index(doc),
            title: title.to_owned(),
            headings,
            text,
            key: VectorKey(self.documents.key(doc)),
            lines,
        })
    }

    /// The texts of some documents, as they are stored.
    pub(super) fn text_block(&self, number: usize) -> io::Result<Vec<u8>> {
        let range = self.documents.block(number, self.texts.len());
        decompress(&self.texts.read(range)?)
    }
}

impl Deleted {
    fn open(bytes: &[u8], documents: &Documents) -> io::Result<Self> {
        let (mut files, mut docs) = (Vec::new(), Rows::none(documents.len()));
        let mut reader = Reader(bytes);
        while !reader.0.is_empty() {
            let file = reader.u32()?;
            if files.last().is_some_and(|last| *last >= file) {
                return Err(damaged("a list of deleted files is not in order"));
            }
            documents.of_file(file).for_each(|doc| docs.insert(to_usize(doc)));
            files.push(file);
        }
        Ok(Self { files, docs })
    }
}

/// The texts of a document.
#[derive(Debug, PartialEq, Eq, Default)]
struct Text {
    /// Where it stands in the file.
    lines: Lines,
    /// The headings above it.
    headings: Vec<String>,
    /// Its Markdown.
    text: String,
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
    pub(super) fn push(&mut self, lines: Lines, headings: &[String], text: &str) -> io::Result<()> {
        let mut record = Vec::with_capacity(text.len() + 64);
        put_varint(&mut record, lines.start.into());
        put_varint(&mut record, lines.end.into());
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
        if self.block.len() >= TEXT_BLOCK { self.end_block() } else { Ok(()) }
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
fn decompress(block: &[u8]) -> io::Result<Vec<u8>> {
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

/// A direct-mapped cache of decompressed blocks.
#[derive(Debug)]
struct TextCache(Vec<Mutex<Option<(usize, Bytes)>>>);

impl TextCache {
    /// A cache for a file of so many blocks.
    fn new(blocks: usize) -> Self {
        Self((0..blocks.min(KEPT)).map(|_| Mutex::default()).collect())
    }

    /// A block, read if it is not cached.
    fn or_read(&self, number: usize, read: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Bytes> {
        let Some(place) = self.0.get(number % KEPT) else { return read().map(Bytes::from) };
        if let Some((_, block)) = lock(place).as_ref().filter(|(other, _)| *other == number) {
            return Ok(block.clone());
        }
        let block = Bytes::from(read()?);
        if block.len() <= LONG {
            *lock(place) = Some((number, block.clone()));
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
fn decode(record: &[u8]) -> io::Result<Text> {
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(damaged("a text is not UTF-8")),
    };
    let mut reader = Reader(record);
    let mut line = || reader.varint().map(|line| u32::try_from(line).unwrap_or_default());
    let lines = Lines { start: line()?, end: line()? };
    let mut headings = Vec::new();
    for _ in 0..reader.varint()? {
        let length = reader.length()?;
        headings.push(text(reader.take(length)?)?);
    }
    Ok(Text { lines, headings, text: text(reader.0)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::{Lines, Records, Text, TextsWriter, decode, decompress};

    proptest! {
        #[test]
        fn texts_come_back_as_they_were(
            texts in prop::collection::vec((any::<(u32, u32)>(), prop::collection::vec(".{0,9}", 0..4), ".{0,200}"), 0..40),
            repeat in 1_usize..60,
        ) {
            let mut writer = TextsWriter::new(Vec::new());
            let texts: Vec<Text> = texts
                .into_iter()
                .map(|((start, end), headings, text)| Text {
                    lines: Lines { start, end },
                    headings,
                    text: text.repeat(repeat),
                })
                .collect();
            for text in &texts {
                writer.push(text.lines, &text.headings, &text.text).unwrap();
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
