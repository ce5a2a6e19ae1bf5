//! Publishes pending changes as the newest generation, then merges segments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::index_folder::{Unpublished, unique};
use super::lexical::merge::merge;
use super::lexical::segment::LexicalSegment;
use super::manifest::{LexicalFile, Manifest, VectorFile};
use super::merge_policy::{SegmentSize, choose_segments};
use super::snapshot::Snapshot;
use super::table;
use super::vectors::build;
use super::write::Changes;
use crate::analysis::Language;
use crate::store::{FileRecord, StoreError, Summary, main_languages};

/// The table of indexed files, written.
struct Table {
    name: String,
    indexed: u64,
    languages: Vec<Language>,
}

impl Changes {
    /// Publishes the changes as the newest generation.
    pub(super) fn commit(mut self) -> Result<Summary, StoreError> {
        if let Some(base) = self.base.as_ref().filter(|_| !self.changed) {
            return Ok(self.state.summary(base));
        }
        self.write_terms()?;
        self.write_deleted()?;
        self.write_vectors()?;
        let table = self.write_table()?;
        let generation =
            self.state.newest().max(self.base.as_ref().map_or(0, |base| base.manifest().generation)) + 1;
        self.publish(table, generation)?;
        if let Err(error) = self.merge_segments() {
            // The commit itself succeeded; the next one retries the merge.
            tracing::warn!(%error, "failed to merge index segments");
        }
        Ok(self.base.as_ref().map(|base| self.state.summary(base)).unwrap_or_default())
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
        let bytes = table::encode(records.iter().copied());
        self.file_set.write(&name, &bytes).map_err(|error| self.io(error))?;
        Ok(Table { name, indexed: records.len() as u64, languages })
    }

    /// Opens the written files as a snapshot, fills in its counts, and publishes it.
    fn publish(&mut self, table: Table, generation: u64) -> Result<(), StoreError> {
        let mut files = self.base.as_ref().map(|base| base.manifest().files.clone()).unwrap_or_default();
        files.extend(self.file_set.written());
        let lexical = self.lexical.iter().flat_map(LexicalFile::names);
        let needed: BTreeSet<String> = lexical.chain(self.vectors.iter().map(VectorFile::codes)).collect();
        files.retain(|name, _| needed.contains(name) || *name == table.name);
        let mut manifest = Manifest {
            generation,
            lexical: self.lexical.clone(),
            files,
            table: table.name,
            vectors: self.vectors.clone(),
            indexed: table.indexed,
            ..Manifest::default()
        };
        manifest.set_languages(table.languages);
        manifest.set_embedding(self.embedding.clone());
        let folder = self.state.folder();
        let opened = Snapshot::open(folder, manifest, self.base.as_deref());
        let mut snapshot = opened.map_err(|error| self.io(error))?;
        let chunks = snapshot.lexical_index()?.docs();
        let embedded = if self.vectors.is_empty() { 0 } else { snapshot.joined()?.embedded };
        snapshot.manifest_mut().chunks = chunks;
        snapshot.manifest_mut().embedded = embedded;
        self.file_set.sync().map_err(|error| self.io(error))?;
        let before = self.base.as_ref().map(|base| base.manifest());
        let published = folder.publish(snapshot.manifest(), before);
        if let Err(Unpublished { error, certain }) = published {
            self.certain = certain;
            return Err(self.io(error));
        }
        let folder = self.state.folder();
        let snapshot = Arc::new(snapshot);
        self.base = Some(Arc::clone(&snapshot));
        self.state.install(snapshot)?;
        folder.sweep();
        Ok(())
    }

    /// Merges segments that the merge policy selects. The generation number stays the same because its content does.
    fn merge_segments(&mut self) -> Result<(), StoreError> {
        while self.merge_lexical()? | self.merge_vectors()? {
            let Some(base) = &self.base else { return Ok(()) };
            let manifest = base.manifest();
            let languages = manifest.summary().languages;
            let table = Table { name: manifest.table.clone(), indexed: manifest.indexed, languages };
            let generation = manifest.generation;
            self.publish(table, generation)?;
        }
        Ok(())
    }

    fn merge_lexical(&mut self) -> Result<bool, StoreError> {
        let Some(base) = self.base.as_ref().map(Arc::clone) else { return Ok(false) };
        let segments = base.lexical_index()?.segments();
        let size = |segment: &LexicalSegment| (segment.len() as u64, segment.dead() as u64);
        let sizes: Vec<SegmentSize> =
            segments.iter().map(size).map(|(all, dead)| SegmentSize { live: all - dead, dead }).collect();
        let Some(chosen) = choose_segments(&sizes) else { return Ok(false) };
        let inputs: Vec<&LexicalSegment> = chosen.iter().filter_map(|number| segments.get(*number)).collect();
        let merged = merge(&self.file_set, &inputs).map_err(|error| self.io(error))?;
        self.lexical.retain(|file| !inputs.iter().any(|segment| segment.file() == file));
        self.lexical.extend(merged);
        Ok(true)
    }

    fn merge_vectors(&mut self) -> Result<bool, StoreError> {
        let Some(base) = self.base.as_ref().filter(|base| !base.vectors().is_empty()).map(Arc::clone) else {
            return Ok(false);
        };
        let live = &base.joined()?.live;
        let sizes: Vec<SegmentSize> = base
            .vectors()
            .iter()
            .zip(live)
            .map(|(segment, live)| (live.len() as u64, segment.len() as u64))
            .map(|(live, all)| SegmentSize { live, dead: all - live })
            .collect();
        let Some(chosen) = choose_segments(&sizes) else { return Ok(false) };
        let inputs: Vec<_> = chosen
            .iter()
            .filter_map(|number| Some((base.vectors().get(*number)?.as_ref(), live.get(*number)?)))
            .collect();
        let merged = build::merge(&self.file_set, &inputs).map_err(|error| self.io(error))?;
        self.vectors.retain(|file| !inputs.iter().any(|(segment, _)| segment.file() == file));
        self.vectors.extend(merged);
        Ok(true)
    }
}
