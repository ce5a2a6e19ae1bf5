//! Builds a segment from chunks, within a memory budget.

use std::collections::HashMap;
use std::io::{self, Write};

use super::DocId;
use super::documents::{DocumentsWriter, StoredDocument, StoredFile, day};
use super::postings::encode;
use super::segment::TextsWriter;
use super::terms::TermsWriter;
use crate::rank::bm25::byte_of_length;
use crate::store::embedded::disk::{Reader, Sink, put_varint};
use crate::store::embedded::file_set::FileSet;
use crate::store::embedded::index_folder::unique;
use crate::store::embedded::manifest::LexicalFile;
use crate::store::{ChunkId, Entry, FileRecord};

/// What a term takes beside its bytes and its postings: its place in the table, which is half empty at times, and two
/// allocations.
const TERM_OVERHEAD: usize = 160;

/// A segment that is being built: texts are written at once, the rest is buffered in memory until the end.
#[derive(Debug)]
pub(in crate::store::embedded) struct Builder {
    file: LexicalFile,
    texts: TextsWriter<Sink>,
    documents: DocumentsWriter,
    terms: HashMap<Box<str>, Postings>,
    memory: usize,
}

/// The postings of a term: gaps and frequencies as varints.
#[derive(Debug, Default)]
struct Postings {
    bytes: Vec<u8>,
    count: u32,
    last: DocId,
}

impl Postings {
    fn push(&mut self, doc: DocId, frequency: u32) -> usize {
        let before = self.bytes.capacity();
        put_varint(&mut self.bytes, u64::from(doc.wrapping_sub(self.last)));
        put_varint(&mut self.bytes, u64::from(frequency));
        (self.count, self.last) = (self.count + 1, doc);
        self.bytes.capacity() - before
    }

    fn read(&self, postings: &mut Vec<(DocId, u32)>) -> io::Result<()> {
        let (mut reader, mut doc) = (Reader(&self.bytes), 0);
        let mut next = || reader.varint().map(|number| u32::try_from(number).unwrap_or_default());
        postings.clear();
        for _ in 0..self.count {
            doc += next()?;
            postings.push((doc, next()?));
        }
        Ok(())
    }
}

impl Builder {
    /// Begins with a new segment.
    pub(in crate::store::embedded) fn new(file_set: &FileSet) -> io::Result<Self> {
        let file = LexicalFile { name: unique(), deleted: None };
        let texts = TextsWriter::new(file_set.create(&file.texts())?);
        Ok(Self { file, texts, documents: DocumentsWriter::default(), terms: HashMap::new(), memory: 0 })
    }

    /// Bytes of memory, about.
    pub(in crate::store::embedded) fn memory(&self) -> usize {
        self.memory + self.documents.memory()
    }

    /// Adds a file and its chunks. Returns the file's number in the segment.
    pub(in crate::store::embedded) fn add(
        &mut self,
        record: &FileRecord,
        entries: &[Entry],
    ) -> io::Result<u32> {
        let tags: Vec<String> = record.tags.iter().map(|tag| tag.to_lowercase()).collect();
        let file = StoredFile {
            path: &record.path,
            title: &record.title,
            day: record.date.as_deref().and_then(day).unwrap_or_default(),
            tags: tags.iter().map(String::as_str).collect(),
        };
        let tokens = entries.iter().map(|entry| u64::from(entry.bag.length())).sum();
        let number = self.documents.begin_file(&file, tokens)?;
        for entry in entries {
            let doc = self.documents.push(StoredDocument {
                id: ChunkId::of(&record.path, entry.index).0,
                key: entry.key.0,
                index: entry.index,
                norm: byte_of_length(entry.bag.length()),
            })?;
            self.texts.push(entry.lines, &entry.headings, &entry.text)?;
            for (term, frequency) in entry.bag.iter().filter(|(_, frequency)| *frequency > 0) {
                if let Some(postings) = self.terms.get_mut(term) {
                    self.memory += postings.push(doc, frequency);
                } else {
                    let mut postings = Postings::default();
                    self.memory += postings.push(doc, frequency) + term.len() + TERM_OVERHEAD;
                    self.terms.insert(term.into(), postings);
                }
            }
        }
        Ok(number)
    }

    /// Writes all of it.
    pub(in crate::store::embedded) fn finish(self, file_set: &FileSet) -> io::Result<LexicalFile> {
        let mut inverted = InvertedWriter::new(file_set, &self.file)?;
        let mut terms: Vec<(&str, &Postings)> =
            self.terms.iter().map(|(term, postings)| (&**term, postings)).collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        let mut postings = Vec::new();
        for (term, packed) in terms {
            packed.read(&mut postings)?;
            inverted.push(term.as_bytes(), &postings)?;
        }
        inverted.finish(file_set, &self.file)?;
        finish(file_set, &self.file, self.texts, &self.documents)?;
        Ok(self.file)
    }
}

/// Writes texts and documents of a segment.
pub(super) fn finish(
    file_set: &FileSet,
    file: &LexicalFile,
    texts: TextsWriter<Sink>,
    documents: &DocumentsWriter,
) -> io::Result<()> {
    let (mut texts, blocks) = texts.finish()?;
    file_set.finish(&file.texts(), &mut texts)?;
    let mut sink = file_set.create(&file.documents())?;
    documents.finish(&blocks, &mut sink)?;
    file_set.finish(&file.documents(), &mut sink)?;
    Ok(())
}

/// Writes the term dictionary and the posting lists of a segment.
pub(super) struct InvertedWriter {
    terms: TermsWriter<Sink>,
    postings: Sink,
    encoded: Vec<u8>,
}

impl InvertedWriter {
    pub(super) fn new(file_set: &FileSet, file: &LexicalFile) -> io::Result<Self> {
        Ok(Self {
            terms: TermsWriter::new(file_set.create(&file.terms())?),
            postings: file_set.create(&file.postings())?,
            encoded: Vec::new(),
        })
    }

    /// The next term in their order.
    pub(super) fn push(&mut self, term: &[u8], postings: &[(DocId, u32)]) -> io::Result<()> {
        self.encoded.clear();
        encode(postings, &mut self.encoded);
        self.postings.write_all(&self.encoded)?;
        let doc_freq = u32::try_from(postings.len()).map_err(io::Error::other)?;
        self.terms.push(term, doc_freq, self.encoded.len() as u64)
    }

    pub(super) fn finish(mut self, file_set: &FileSet, file: &LexicalFile) -> io::Result<()> {
        file_set.finish(&file.postings(), &mut self.postings)?;
        file_set.finish(&file.terms(), &mut self.terms.finish()?)?;
        Ok(())
    }
}
