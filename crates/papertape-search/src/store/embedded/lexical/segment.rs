//! The files of a segment, opened.

use std::io;
use std::sync::Arc;

use super::documents::Documents;
use super::postings::PostingList;
use super::terms::{TermInfo, Terms};
use super::texts::{self, BlockCache, Records};
use super::{DocId, documents};
use crate::store::embedded::blocks::{Source, damaged};
use crate::store::embedded::bytes::{Reader, to_usize};
use crate::store::embedded::file_set::FileSet;
use crate::store::embedded::manifest::LexicalFile;
use crate::store::embedded::vectors::Rows;
use crate::store::{Chunk, VectorKey};

/// A segment of terms and texts, and what was deleted from it.
#[derive(Debug)]
pub(in crate::store::embedded) struct Segment {
    file: LexicalFile,
    terms: Terms,
    documents: Documents,
    postings: Arc<Source>,
    texts: Arc<Source>,
    kept: BlockCache,
    deleted: Option<Deleted>,
}

/// What was deleted from a segment.
#[derive(Debug)]
struct Deleted {
    /// The numbers of files, ascending.
    files: Vec<u32>,
    docs: Rows,
}

impl Segment {
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
            terms: Terms::open(whole(file.terms())?)?,
            postings: source(file.postings())?,
            texts: source(file.texts())?,
            kept: BlockCache::new(documents.blocks()),
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
    pub(in crate::store::embedded) fn terms(&self) -> &Terms {
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
        let block = self.kept.or_read(number, || self.text_block(number))?;
        let mut records = Records::new(&block);
        for _ in first..doc {
            records.next()?;
        }
        let texts::Text { headings, text } = texts::decode(records.next()?.ok_or_else(not_there)?)?;
        let documents::File { path, title, .. } = self.documents.file(self.documents.file_of(doc))?;
        Ok(Chunk {
            source: path.to_owned(),
            index: self.documents.index(doc),
            title: title.to_owned(),
            headings,
            text,
            key: VectorKey(self.documents.key(doc)),
        })
    }

    /// The texts of some documents, as they are stored.
    pub(super) fn text_block(&self, number: usize) -> io::Result<Vec<u8>> {
        let range = self.documents.block(number, self.texts.len());
        texts::decompress(&self.texts.read(range)?)
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
