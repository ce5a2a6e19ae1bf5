//! The stored fields of the documents of a segment and of their files, in columns.

use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;

use super::DocId;
use crate::corpus::document::is_day;
use crate::store::embedded::disk::{Reader, damaged, put_text, to_usize};

/// Bytes that all documents, all files and all blocks of texts have, one column after the other.
const DOC_COLUMNS: [usize; 5] = [8, 8, 4, 4, 1];
const FILE_COLUMNS: [usize; 4] = [4, 8, 4, 4];
const BLOCK_COLUMNS: [usize; 2] = [4, 8];

/// Bytes of the three counts before the columns.
const HEAD: usize = 12;

/// A file that documents are from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::store::embedded) struct StoredFile<'a> {
    pub(in crate::store::embedded) path: &'a str,
    pub(in crate::store::embedded) title: &'a str,
    /// `YYYYMMDD` as a number; 0 without a date.
    pub(in crate::store::embedded) day: u32,
    /// In lower case.
    pub(in crate::store::embedded) tags: Vec<&'a str>,
}

/// The stored fields of a document beside its terms and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredDocument {
    /// The chunk id, the same in every store.
    pub(super) id: u64,
    /// Its vector key.
    pub(super) key: u64,
    /// Its index in the file.
    pub(super) index: u32,
    /// Its length in one byte.
    pub(super) norm: u8,
}

/// Collects documents, file by file.
#[derive(Debug, Default)]
pub(super) struct DocumentsWriter {
    documents: Vec<(StoredDocument, u32)>,
    files: Vec<FileEntry>,
    records: Vec<u8>,
}

#[derive(Debug)]
struct FileEntry {
    path: String,
    first: DocId,
    tokens: u64,
    place: usize,
}

impl DocumentsWriter {
    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Bytes of memory, about.
    pub(super) fn memory(&self) -> usize {
        self.documents.capacity() * size_of::<(StoredDocument, u32)>()
            + self.records.capacity() * 2
            + self.files.capacity() * size_of::<FileEntry>()
    }

    /// Begins with the next file, whose documents have so many tokens. Returns its number.
    pub(super) fn begin_file(&mut self, file: &StoredFile<'_>, tokens: u64) -> io::Result<u32> {
        let number = number(self.files.len())?;
        let (path, place) = (file.path.to_owned(), self.records.len());
        self.files.push(FileEntry { path, first: self.next()?, tokens, place });
        put_text(&mut self.records, file.path);
        put_text(&mut self.records, file.title);
        self.records.extend(file.day.to_le_bytes());
        for tag in &file.tags {
            put_text(&mut self.records, tag);
        }
        Ok(number)
    }

    /// The next document of the file.
    pub(super) fn push(&mut self, document: StoredDocument) -> io::Result<DocId> {
        let doc = self.next()?;
        let file = self.files.len().saturating_sub(1);
        self.documents.push((document, number(file)?));
        Ok(doc)
    }

    fn next(&self) -> io::Result<DocId> {
        number(self.documents.len())
    }

    /// Writes all of it. `blocks` are the blocks of texts: their first documents, and where they begin.
    pub(super) fn finish(&self, blocks: &[(DocId, u64)], sink: &mut impl Write) -> io::Result<()> {
        for count in [self.documents.len(), self.files.len(), blocks.len()] {
            sink.write_all(&number(count)?.to_le_bytes())?;
        }
        let mut by_path: Vec<u32> = (0..number(self.files.len())?).collect();
        let path = |number: &u32| self.files.get(to_usize(*number)).map(|file| &file.path);
        by_path.sort_unstable_by(|one, other| path(one).cmp(&path(other)));
        let documents = || self.documents.iter().map(|(document, _)| document);
        put_column(sink, documents().map(|document| document.id.to_le_bytes()))?;
        put_column(sink, documents().map(|document| document.key.to_le_bytes()))?;
        put_column(sink, documents().map(|document| document.index.to_le_bytes()))?;
        put_column(sink, self.documents.iter().map(|(_, file)| file.to_le_bytes()))?;
        put_column(sink, documents().map(|document| [document.norm]))?;
        put_column(sink, self.files.iter().map(|file| file.first.to_le_bytes()))?;
        put_column(sink, self.files.iter().map(|file| file.tokens.to_le_bytes()))?;
        for file in &self.files {
            sink.write_all(&number(file.place)?.to_le_bytes())?;
        }
        put_column(sink, by_path.iter().map(|file| file.to_le_bytes()))?;
        put_column(sink, blocks.iter().map(|(first, _)| first.to_le_bytes()))?;
        put_column(sink, blocks.iter().map(|(_, place)| place.to_le_bytes()))?;
        sink.write_all(&self.records)
    }
}

fn put_column<const N: usize>(
    sink: &mut impl Write,
    mut values: impl Iterator<Item = [u8; N]>,
) -> io::Result<()> {
    values.try_for_each(|value| sink.write_all(&value))
}

fn number(count: usize) -> io::Result<u32> {
    u32::try_from(count).map_err(|_| io::Error::other("too much for a segment"))
}

/// The documents of a segment.
#[derive(Debug)]
pub(in crate::store::embedded) struct Documents {
    bytes: Bytes,
    docs: usize,
    files: usize,
    blocks: usize,
    doc_columns: [usize; 5],
    file_columns: [usize; 4],
    block_columns: [usize; 2],
    records: usize,
}

impl Documents {
    /// The documents in these bytes.
    pub(super) fn open(bytes: Bytes) -> io::Result<Self> {
        let mut reader = Reader(&bytes);
        let [docs, files, blocks] = [reader.u32()?, reader.u32()?, reader.u32()?].map(to_usize);
        let mut end = HEAD;
        let doc_columns = columns(&mut end, DOC_COLUMNS, docs);
        let file_columns = columns(&mut end, FILE_COLUMNS, files);
        let block_columns = columns(&mut end, BLOCK_COLUMNS, blocks);
        if end > bytes.len() {
            return Err(damaged("a segment has fewer documents than it should"));
        }
        Ok(Self { bytes, docs, files, blocks, doc_columns, file_columns, block_columns, records: end })
    }

    /// How many documents there are, deleted or not.
    pub(in crate::store::embedded) fn len(&self) -> usize {
        self.docs
    }

    /// How many files they are from.
    pub(in crate::store::embedded) fn files(&self) -> usize {
        self.files
    }

    /// The chunk id, the same in every store.
    pub(in crate::store::embedded) fn id(&self, doc: DocId) -> u64 {
        let [ids, ..] = self.doc_columns;
        self.u64(ids, to_usize(doc), self.docs)
    }

    /// Its vector key.
    pub(in crate::store::embedded) fn key(&self, doc: DocId) -> u64 {
        let [_, keys, ..] = self.doc_columns;
        self.u64(keys, to_usize(doc), self.docs)
    }

    /// Its index in the file.
    pub(in crate::store::embedded) fn index(&self, doc: DocId) -> u32 {
        let [_, _, indexes, ..] = self.doc_columns;
        self.u32(indexes, to_usize(doc), self.docs)
    }

    /// The number of its file.
    pub(in crate::store::embedded) fn file_of(&self, doc: DocId) -> u32 {
        let [_, _, _, files, _] = self.doc_columns;
        self.u32(files, to_usize(doc), self.docs)
    }

    /// The lengths of all documents, each in one byte.
    pub(in crate::store::embedded) fn norms(&self) -> &[u8] {
        let [.., norms] = self.doc_columns;
        self.bytes.get(norms..norms + self.docs).unwrap_or_default()
    }

    /// The documents of a file.
    pub(in crate::store::embedded) fn of_file(&self, file: u32) -> Range<DocId> {
        let [firsts, ..] = self.file_columns;
        let (file, docs) = (to_usize(file), u32::try_from(self.docs).unwrap_or(u32::MAX));
        let first =
            |file| if file < self.files { self.u32(firsts, file, self.files).min(docs) } else { docs };
        first(file)..first(file.saturating_add(1))
    }

    /// How many tokens the documents of a file have.
    pub(in crate::store::embedded) fn tokens(&self, file: u32) -> u64 {
        let [_, tokens, ..] = self.file_columns;
        self.u64(tokens, to_usize(file), self.files)
    }

    /// The stored fields of a file.
    pub(in crate::store::embedded) fn file(&self, number: u32) -> io::Result<StoredFile<'_>> {
        let [_, _, places, _] = self.file_columns;
        let place = |file| to_usize(self.u32(places, file, self.files));
        let number = to_usize(number);
        let records = self.bytes.get(self.records..).unwrap_or_default();
        let end = if number + 1 < self.files { place(number + 1) } else { records.len() };
        let record = records.get(place(number)..end).filter(|_| number < self.files);
        let mut reader = Reader(record.ok_or_else(|| damaged("a segment names a file that is not there"))?);
        let (path, title, day) = (reader.str()?, reader.str()?, reader.u32()?);
        let mut tags = Vec::new();
        while !reader.0.is_empty() {
            tags.push(reader.str()?);
        }
        Ok(StoredFile { path, title, day, tags })
    }

    /// The numbers of all files with this path: one at most, unless it was deleted and added again.
    pub(in crate::store::embedded) fn find(&self, path: &str) -> io::Result<Vec<u32>> {
        let [.., by_path] = self.file_columns;
        let number = |place| self.u32(by_path, place, self.files);
        let (mut low, mut high) = (0, self.files);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.file(number(middle))?.path < path { low = middle + 1 } else { high = middle }
        }
        let mut found = Vec::new();
        while low < self.files && self.file(number(low))?.path == path {
            found.push(number(low));
            low += 1;
        }
        Ok(found)
    }

    /// The block of texts that a document is in: its number, and the first document in it.
    pub(super) fn block_of(&self, doc: DocId) -> Option<(usize, DocId)> {
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_of_block(middle) <= doc { low = middle + 1 } else { high = middle }
        }
        let block = low.checked_sub(1)?;
        Some((block, self.first_of_block(block)))
    }

    fn first_of_block(&self, block: usize) -> DocId {
        let [firsts, _] = self.block_columns;
        self.u32(firsts, block, self.blocks)
    }

    /// The documents of a block: the first, and the first of the next block.
    pub(super) fn docs_of_block(&self, block: usize) -> Range<DocId> {
        let next = block + 1;
        let end = if next < self.blocks { self.first_of_block(next) } else { DocId::MAX };
        self.first_of_block(block)..end
    }

    /// How many blocks of texts there are.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Where a block of texts is; the last one ends with the file of so many bytes.
    pub(super) fn block(&self, number: usize, length: usize) -> Range<usize> {
        let [_, places] = self.block_columns;
        let place = |number| {
            let place = self.u64(places, number, self.blocks);
            if number < self.blocks { usize::try_from(place).unwrap_or(usize::MAX) } else { length }
        };
        place(number)..place(number + 1)
    }

    fn u32(&self, column: usize, row: usize, rows: usize) -> u32 {
        self.value(column, row, rows).map(u32::from_le_bytes).unwrap_or_default()
    }

    fn u64(&self, column: usize, row: usize, rows: usize) -> u64 {
        self.value(column, row, rows).map(u64::from_le_bytes).unwrap_or_default()
    }

    /// A value of a column; none after its end.
    fn value<const N: usize>(&self, column: usize, row: usize, rows: usize) -> Option<[u8; N]> {
        let place = column + N * Some(row).filter(|row| *row < rows)?;
        self.bytes.get(place..)?.first_chunk().copied()
    }
}

/// `YYYY-MM-DD` as a number that grows with time, if it is a day.
pub(in crate::store::embedded) fn day(date: &str) -> Option<u32> {
    if is_day(date) { date.replace('-', "").parse().ok() } else { None }
}

/// Where columns of so many rows begin, one after the other.
fn columns<const N: usize>(end: &mut usize, sizes: [usize; N], rows: usize) -> [usize; N] {
    sizes.map(|size| {
        let start = *end;
        *end = end.saturating_add(size.saturating_mul(rows));
        start
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::{Documents, DocumentsWriter, StoredDocument, StoredFile, day};

    #[test]
    fn days_are_numbers_in_order() {
        assert_eq!(day("2026-07-28"), Some(20_260_728));
        for invalid in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-31",
            "2026-07-28T00:00",
            "2026-07-00",
            "1-2-3-4",
            "99999999999999999999-1-1",
        ] {
            assert_eq!(day(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn documents_and_files_come_back_as_they_were() {
        let mut writer = DocumentsWriter::default();
        let files = [
            StoredFile { path: "b.md", title: "B", day: 20_260_728, tags: vec!["rust", ""] },
            StoredFile { path: "a.md", ..StoredFile::default() },
            StoredFile { path: "c.md", title: "C", ..StoredFile::default() },
        ];
        for (file, docs) in files.iter().zip([2, 0, 3]) {
            writer.begin_file(file, docs * 7).unwrap();
            for index in 0..docs {
                let number = writer.len() as u64;
                let index = u32::try_from(index).unwrap();
                writer.push(StoredDocument { id: number << 40, key: !number, index, norm: 9 }).unwrap();
            }
        }
        let mut bytes = Vec::new();
        writer.finish(&[(0, 0), (3, 99)], &mut bytes).unwrap();
        let documents = Documents::open(Bytes::from(bytes)).unwrap();
        assert_eq!((documents.len(), documents.files(), documents.norms()), (5, 3, &[9; 5][..]));
        for (file, number) in files.iter().zip(0..) {
            assert_eq!(documents.file(number).unwrap(), *file);
            assert_eq!(documents.find(file.path).unwrap(), [number]);
        }
        assert!(documents.find("d.md").unwrap().is_empty() && documents.file(3).is_err());
        assert_eq!([0, 1, 2, 3, 9].map(|file| documents.of_file(file)), [0..2, 2..2, 2..5, 5..5, 5..5]);
        assert_eq!([0, 1, 2, 3].map(|file| documents.tokens(file)), [14, 0, 21, 0]);
        assert_eq!([0, 4].map(|doc| (documents.id(doc), documents.key(doc))), [(0, !0), (4 << 40, !4)]);
        assert_eq!(
            [0, 1, 2, 4].map(|doc| (documents.index(doc), documents.file_of(doc))),
            [(0, 0), (1, 0), (0, 2), (2, 2)]
        );
        assert_eq!([2, 3].map(|doc| documents.block_of(doc).unwrap()), [(0, 0), (1, 3)]);
        assert_eq!([0, 1].map(|block| documents.block(block, 120)), [0..99, 99..120]);
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(counts in prop::array::uniform3(0_u32..4), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let head = counts.into_iter().flat_map(u32::to_le_bytes);
            let Ok(documents) = Documents::open(head.chain(bytes).collect()) else { return Ok(()) };
            for number in 0..5 {
                drop(documents.file(number));
                let docs = documents.of_file(number);
                prop_assert_eq!(docs.end as usize <= documents.len(), true);
                documents.block_of(number);
            }
            drop(documents.find("a.md"));
        }
    }
}
