//! A generation, read to the last byte: is it what was written, and is it the same as another?

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::snapshot::Snapshot;
use crate::blog::store::{ChunkId, FileRecord, StoreError};

impl Snapshot {
    /// Reads every byte and checks it, before anything is made of it: what was damaged never gets to tantivy.
    pub(super) fn verify(&self) -> Result<(), StoreError> {
        let faults = self.place().faults();
        let io = |error| faults.io("cannot read", error);
        for source in self.sources().map_err(io)? {
            source.verify().map_err(io)?;
        }
        for segment in self.vectors() {
            segment.verify().map_err(io)?;
        }
        let manifest = self.manifest();
        let counts = [
            ("files", self.table()?.len() as u64, manifest.indexed),
            ("chunks", self.words()?.docs(), manifest.chunks),
            ("chunks with vectors", self.joined()?.embedded, manifest.embedded),
            (
                "chunks of files",
                self.table()?.iter().map(|record| u64::from(record.chunks)).sum(),
                manifest.chunks,
            ),
        ];
        for (what, is, should) in counts {
            if is != should {
                return Err(faults.corrupt(format!("it has {is} {what}, not {should}")));
            }
        }
        Ok(())
    }

    /// A digest of what it holds, whatever the order in which it came: files, chunks, words and vectors. When files were
    /// read is left out.
    pub(super) fn digest(&self) -> Result<[u8; 32], StoreError> {
        let io = |error| self.place().faults().io("cannot read", error);
        let mut hasher = blake3::Hasher::new();
        let words = self.words()?;
        for record in self.table()?.iter() {
            add_record(&mut hasher, record);
            for (index, place) in words.of_file(&record.path)? {
                let chunk = words.chunk(place)?;
                hasher.update(&index.to_le_bytes());
                add_text(&mut hasher, &chunk.title);
                chunk.headings.iter().for_each(|heading| add_text(&mut hasher, heading));
                add_text(&mut hasher, &chunk.text);
                hasher.update(&chunk.key.0.to_le_bytes());
            }
        }
        hasher.update(
            &self.words_digest().map_err(|error| self.place().faults().words("cannot read", &error))?,
        );
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

    /// The sum over all words of all chunks: no order matters.
    fn words_digest(&self) -> tantivy::Result<[u8; 16]> {
        let Ok(words) = self.words() else { return Ok([0; 16]) };
        let mut sum = 0_u128;
        for (reader, columns) in words.segments() {
            let inverted = reader.inverted_index(words.fields().words)?;
            let mut terms = inverted.terms().stream()?;
            while terms.advance() {
                let mut docs =
                    inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)?;
                while docs.doc() != TERMINATED {
                    if !reader.is_deleted(docs.doc()) {
                        let id = ChunkId(columns.id.get_val(docs.doc()));
                        sum = sum.wrapping_add(word_digest(id, terms.key(), docs.term_freq()));
                    }
                    docs.advance();
                }
            }
        }
        Ok(sum.to_le_bytes())
    }
}

fn word_digest(chunk: ChunkId, word: &[u8], times: u32) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&chunk.0.to_le_bytes()).update(&times.to_le_bytes()).update(word);
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
