//! What was changed, to a generation that everybody sees, and then to fewer and fuller files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::manifest::{Manifest, VectorFile};
use super::place::{Unpublished, unique};
use super::snapshot::Snapshot;
use super::table;
use super::tidy::{Size, choose};
use super::vectors::build;
use super::write::Changes;
use crate::blog::store::{FileRecord, StoreError, Summary, main_languages};
use crate::blog::words::Language;

/// The table of indexed files, written.
struct Table {
    name: String,
    indexed: u64,
    languages: Vec<Language>,
}

impl Changes {
    /// Makes it the newest generation.
    pub(super) fn commit(mut self) -> Result<Summary, StoreError> {
        if let Some(base) = self.base.as_ref().filter(|_| !self.changed) {
            return Ok(self.core.summary(base));
        }
        self.feed(false)?;
        if let Some(writer) = &mut self.writer {
            let committed = writer.commit();
            committed.map_err(|error| self.words(&error))?;
        }
        self.write_vectors()?;
        let table = self.write_table()?;
        let generation =
            self.core.newest().max(self.base.as_ref().map_or(0, |base| base.manifest().generation)) + 1;
        self.publish(table, generation)?;
        if let Err(error) = self.tidy() {
            // What was asked for is done; the next one will try again.
            tracing::warn!(%error, "the index could not be tidied up");
        }
        Ok(self.base.as_ref().map(|base| self.core.summary(base)).unwrap_or_default())
    }

    fn write_table(&self) -> Result<Table, StoreError> {
        let before = self.base.as_ref().map(|base| base.table()).transpose()?;
        let mut records: Vec<&FileRecord> = Vec::new();
        let kept = before
            .iter()
            .flat_map(|table| table.iter())
            .filter(|record| !self.files.contains_key(&record.path));
        records.extend(kept);
        records.extend(self.files.values().flatten());
        records.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut chunks: BTreeMap<Language, u64> = BTreeMap::new();
        for record in &records {
            *chunks.entry(record.language).or_default() += u64::from(record.chunks);
        }
        let languages = main_languages(&chunks);
        let name = format!("{}.files", unique());
        let written = (|| {
            let mut sink = self.shelf.create(&name)?;
            sink.write_all(&table::encode(records.iter().copied()))?;
            self.shelf.finish(&name, &mut sink)
        })();
        written.map_err(|error| self.io(error))?;
        Ok(Table { name, indexed: records.len() as u64, languages })
    }

    /// Opens what has been written as a generation, counts what is in it, and makes it the newest.
    fn publish(&mut self, table: Table, generation: u64) -> Result<(), StoreError> {
        let meta = self.index.load_metas().map_err(|error| self.words(&error))?;
        let needed = meta.list_segment_files();
        let mut files = self.base.as_ref().map(|base| base.manifest().files.clone()).unwrap_or_default();
        files.extend(self.shelf.written());
        let codes: BTreeSet<String> = self.vectors.iter().map(VectorFile::codes).collect();
        files.retain(|name, _| {
            needed.contains(Path::new(name)) || codes.contains(name) || *name == table.name
        });
        let mut manifest = Manifest {
            generation,
            lexical: self.shelf.list(),
            files,
            table: table.name,
            vectors: self.vectors.clone(),
            indexed: table.indexed,
            ..Manifest::default()
        };
        manifest.set_languages(table.languages);
        manifest.set_embedding(self.embedding.clone());
        let place = self.core.place();
        let opened = Snapshot::open(place, manifest, self.base.as_deref());
        let mut snapshot = opened.map_err(|error| self.io(error))?;
        let chunks = snapshot.words()?.docs();
        let embedded = if self.vectors.is_empty() { 0 } else { snapshot.joined()?.embedded };
        snapshot.manifest_mut().chunks = chunks;
        snapshot.manifest_mut().embedded = embedded;
        self.shelf.settle().map_err(|error| self.io(error))?;
        let before = self.base.as_ref().map(|base| base.manifest());
        let published = place.publish(snapshot.manifest(), before);
        if let Err(Unpublished { error, certain }) = published {
            self.certain = certain;
            return Err(self.io(error));
        }
        let place = self.core.place();
        let snapshot = Arc::new(snapshot);
        self.base = Some(Arc::clone(&snapshot));
        self.core.install(snapshot)?;
        place.sweep();
        Ok(())
    }

    /// Merges segments where that is worth it. The generation stays the same: nothing in it changes.
    fn tidy(&mut self) -> Result<(), StoreError> {
        while self.merge_words()? | self.merge_vectors()? {
            let Some(base) = &self.base else { return Ok(()) };
            let manifest = base.manifest();
            let languages = manifest.summary().languages;
            let table = Table { name: manifest.table.clone(), indexed: manifest.indexed, languages };
            let generation = manifest.generation;
            self.publish(table, generation)?;
        }
        Ok(())
    }

    fn merge_words(&mut self) -> Result<bool, StoreError> {
        let metas = self.index.searchable_segment_metas().map_err(|error| self.words(&error))?;
        let sizes: Vec<Size> = metas
            .iter()
            .map(|meta| Size { live: u64::from(meta.num_docs()), dead: u64::from(meta.num_deleted_docs()) })
            .collect();
        let Some(chosen) = choose(&sizes) else { return Ok(false) };
        let ids: Vec<_> =
            chosen.iter().filter_map(|number| metas.get(*number)).map(|meta| meta.id()).collect();
        drop(metas);
        self.start_writer(false)?;
        let Some(writer) = &mut self.writer else { return Ok(false) };
        let merged = writer.merge(&ids).wait();
        merged.map_err(|error| self.words(&error))?;
        Ok(true)
    }

    fn merge_vectors(&mut self) -> Result<bool, StoreError> {
        let Some(base) = self.base.as_ref().filter(|base| !base.vectors().is_empty()).map(Arc::clone) else {
            return Ok(false);
        };
        let live = &base.joined()?.live;
        let sizes: Vec<Size> = base
            .vectors()
            .iter()
            .zip(live)
            .map(|(segment, live)| (live.len() as u64, segment.len() as u64))
            .map(|(live, all)| Size { live, dead: all - live })
            .collect();
        let Some(chosen) = choose(&sizes) else { return Ok(false) };
        let inputs: Vec<_> = chosen
            .iter()
            .filter_map(|number| Some((base.vectors().get(*number)?.as_ref(), live.get(*number)?)))
            .collect();
        let merged = build::merge(&self.shelf, &inputs).map_err(|error| self.io(error))?;
        self.vectors.retain(|file| !inputs.iter().any(|(segment, _)| segment.file() == file));
        self.vectors.extend(merged);
        Ok(true)
    }
}
