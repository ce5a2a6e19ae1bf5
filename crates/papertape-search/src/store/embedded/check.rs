//! Verification of every byte of a generation, and a digest of its content.

use std::io;

use super::lexical::postings::Block;
use super::lexical_index::LexicalIndex;
use super::snapshot::Snapshot;
use crate::store::{ChunkId, FileRecord, StoreError};

impl Snapshot {
    /// Verifies the digest of every byte before anything is parsed.
    pub(super) fn verify(&self) -> Result<(), StoreError> {
        let errors = self.folder().errors();
        let io = |error| errors.io("cannot read", error);
        for source in self.sources().map_err(io)? {
            source.verify().map_err(io)?;
        }
        for segment in self.vectors() {
            segment.verify().map_err(io)?;
        }
        let manifest = self.manifest();
        let counts = [
            ("files", self.table()?.len() as u64, manifest.indexed),
            ("chunks", self.lexical_index()?.docs(), manifest.chunks),
            ("chunks with vectors", self.joined()?.embedded, manifest.embedded),
            (
                "chunks of files",
                self.table()?.iter().map(|record| u64::from(record.chunks)).sum(),
                manifest.chunks,
            ),
        ];
        for (what, is, should) in counts {
            if is != should {
                return Err(errors.corrupt(format!("it has {is} {what}, not {should}")));
            }
        }
        Ok(())
    }

    /// A digest of what it holds, whatever the order in which it was written: files, chunks, postings and vectors. File
    /// stamps are left out.
    pub(super) fn digest(&self) -> Result<[u8; 32], StoreError> {
        let io = |error| self.folder().errors().io("cannot read", error);
        let mut hasher = blake3::Hasher::new();
        let lexical = self.lexical_index()?;
        for record in self.table()?.iter() {
            add_record(&mut hasher, record);
            for (index, place) in lexical.of_file(&record.path)? {
                let chunk = lexical.chunk(place)?;
                hasher.update(&index.to_le_bytes());
                add_text(&mut hasher, &chunk.title);
                chunk.headings.iter().for_each(|heading| add_text(&mut hasher, heading));
                add_text(&mut hasher, &chunk.text);
                hasher.update(&chunk.key.0.to_le_bytes());
            }
        }
        hasher.update(&postings_digest(lexical).map_err(io)?);
        if let Some(embedding) = self.manifest().embedding() {
            add_text(&mut hasher, &embedding.model);
            add_text(&mut hasher, &embedding.digest);
        }
        let mut vectors = Vec::new();
        for (segment, live) in self.vectors().iter().zip(&self.joined()?.live) {
            for row in (0..segment.len()).filter(|row| live.contains(*row)) {
                let read = |key, vector: &[half::f16]| {
                    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                    vectors.push((key, blake3::hash(&bytes)));
                };
                segment.read(row..row + 1, read).map_err(io)?;
            }
        }
        vectors.sort_unstable_by_key(|(key, _)| *key);
        for (key, hash) in vectors {
            hasher.update(&key.to_le_bytes()).update(hash.as_bytes());
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

/// The sum over all postings: independent of their order.
fn postings_digest(index: &LexicalIndex) -> io::Result<[u8; 16]> {
    let (mut sum, mut block) = (0_u128, Block::new());
    for segment in index.segments() {
        let mut terms = segment.terms().stream();
        while let Some((term, info)) = terms.next()? {
            let mut list = segment.postings(&info)?;
            while list.next_block(&mut block)? {
                for (doc, frequency) in block.postings().filter(|(doc, _)| !segment.is_deleted(*doc)) {
                    let id = ChunkId(segment.documents().id(doc));
                    sum = sum.wrapping_add(posting_digest(id, term, frequency));
                }
            }
        }
    }
    Ok(sum.to_le_bytes())
}

fn posting_digest(chunk: ChunkId, term: &[u8], frequency: u32) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&chunk.0.to_le_bytes()).update(&frequency.to_le_bytes()).update(term);
    let mut first = [0; 16];
    hasher.finalize_xof().fill(&mut first);
    u128::from_le_bytes(first)
}

fn add_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

fn add_record(hasher: &mut blake3::Hasher, record: &FileRecord) {
    add_text(hasher, &record.path);
    hasher.update(&record.digest);
    add_text(hasher, &record.title);
    add_text(hasher, record.date.as_deref().unwrap_or_default());
    record.tags.iter().for_each(|tag| add_text(hasher, tag));
    add_text(hasher, record.language.code());
    hasher.update(&record.chunks.to_le_bytes()).update(&record.size.to_le_bytes());
}
