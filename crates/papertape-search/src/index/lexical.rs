//! The files that were read to a generation: read in parallel, and written one batch after the other.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::SystemTime;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use tokio::task::{JoinHandle, spawn_blocking};

use super::compare::{Difference, Suspect, compare};
use super::digest::Digest;
use super::error::IndexError;
use super::read::{FileOutcome, Fresh, Same, read, settle};
use super::writer::wait_for_writer;
use super::{OnProgress, Options, Progress, Report};
use crate::background::in_background;
use crate::corpus::folder::{Folder, Listing};
use crate::store::{FileRecord, Store, StoreError, Summary, Writer};
use crate::warnings::Warnings;

/// Files that are read at once, at most.
const BATCH_FILES: usize = 512;

/// Bytes that are read at once, at most (a single file may have more).
const BATCH_BYTES: u64 = 32 << 20;

/// From this many files with a new stamp and the same bytes on, a generation is written with the new stamps. Fewer are
/// read again by the next run: that costs less, and subscribers get no notification without a change.
const MIN_TOUCHED: usize = 1_000;

/// How often it is tried when the database aborts it because of others, as in a deadlock.
const TRIES: u32 = 3;

/// Brings the terms of the store up to date.
pub(super) async fn update(
    folder: &Folder,
    store: &dyn Store,
    options: Options,
    warnings: &mut Warnings,
    progress: OnProgress<'_>,
) -> Result<Report, IndexError> {
    let mut tries = 1;
    loop {
        match update_once(folder, store, options, warnings, progress).await {
            Err(IndexError::Store(StoreError::Crossed(why))) if tries < TRIES => {
                tracing::warn!("indexing starts again: {why}");
                tries += 1;
            }
            other => return other,
        }
    }
}

async fn update_once(
    folder: &Folder,
    store: &dyn Store,
    options: Options,
    warnings: &mut Warnings,
    progress: OnProgress<'_>,
) -> Result<Report, IndexError> {
    let mut new_warnings = Warnings::default();
    let mut pass = Pass { folder, store, options, progress, warnings: &mut new_warnings };
    let mut report = pass.attempt(None).await?;
    if report.is_none() {
        // Another process has written meanwhile: once more, with the write lock held from the beginning.
        new_warnings = Warnings::default();
        let writer = open_writer(store, options).await?;
        let mut pass = Pass { folder, store, options, progress, warnings: &mut new_warnings };
        report = pass.attempt(Some(writer)).await?;
    }
    *warnings = new_warnings;
    let report = report
        .ok_or_else(|| StoreError::Other("another process keeps writing the index: try again".to_owned()));
    Ok(report?)
}

struct Pass<'a> {
    folder: &'a Folder,
    store: &'a dyn Store,
    options: Options,
    progress: OnProgress<'a>,
    warnings: &'a mut Warnings,
}

impl Pass<'_> {
    /// Nothing, if what was compared is no longer the newest generation.
    async fn attempt(&mut self, writer: Option<Box<dyn Writer>>) -> Result<Option<Report>, IndexError> {
        (self.progress)(Progress::Scanning);
        self.check_seal().await?;
        let (before, records) = known(self.store).await?;
        let generation = before.as_ref().map(|summary| summary.generation);
        let mut listing = self.list().await?;
        let skipped = std::mem::take(&mut listing.skipped);
        let difference = compare(listing, &records, self.options);
        if let Some(failure) = difference.objection(&records, self.options) {
            return Err(failure);
        }
        let mut change = Change::new(self.store, generation, records, self.options, writer);
        change.report.unchanged = difference.unchanged;
        change.report.skipped = skipped;
        change.report.absent.clone_from(&difference.absent);
        for absent in &difference.absent {
            self.warnings.add(absent.clone());
        }
        if !self.read(difference, &mut change).await? {
            return Ok(None);
        }
        // A directory without files is an index without files: the first run always writes.
        if before.is_none() && !change.lock().await? {
            return Ok(None);
        }
        let Some(mut report) = change.commit(before, self.progress).await? else { return Ok(None) };
        report.paths.sort_unstable();
        Ok(Some(report))
    }

    /// Fails if another user or machine has sealed an index outside the directory: it may be of another directory, or
    /// shared.
    async fn check_seal(&self) -> Result<(), StoreError> {
        if self.options.same_folder_only || self.options.never_empty {
            let known = self.store.summary().await;
            if let Err(error @ StoreError::Unsealed { by_another: true, .. }) = known {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn list(&mut self) -> Result<Listing, StoreError> {
        let folder = self.folder.clone();
        let listing = spawn_blocking(move || folder.list()).await.map_err(|error| panicked(&error))?;
        let mut listing = listing.map_err(|source| StoreError::Io {
            doing: format!("cannot list {}", self.folder.root().display()),
            source,
        })?;
        self.warnings.append(std::mem::take(&mut listing.warnings));
        Ok(listing)
    }

    /// False, if what was compared is no longer the newest generation.
    async fn read(&mut self, difference: Difference, change: &mut Change<'_>) -> Result<bool, StoreError> {
        let stamps = difference.suspects.iter().map(|suspect| &suspect.seen.stamp);
        tokio::time::sleep(settle(stamps, SystemTime::now())).await;
        for path in difference.gone {
            if !change.remove(path).await? {
                return Ok(false);
            }
        }
        let of = to_u64(difference.suspects.len());
        let mut done = 0;
        let mut batches = batches(difference.suspects).into_iter();
        let mut reading = batches.next().map(|batch| self.begin(batch, change));
        while let Some(running) = reading {
            (self.progress)(Progress::Reading { done, of });
            let outcomes = running.await.map_err(|error| panicked(&error))?;
            // The next batch is read while this one is written, so that there are never more than two.
            reading = batches.next().map(|batch| self.begin(batch, change));
            for (suspect, outcome) in outcomes {
                done += 1;
                if !change.take(suspect, outcome, self.warnings).await? {
                    return Ok(false);
                }
            }
        }
        if of > 0 {
            (self.progress)(Progress::Reading { done, of });
        }
        Ok(true)
    }

    fn begin(&self, batch: Vec<Suspect>, change: &Change<'_>) -> JoinHandle<Vec<(Suspect, FileOutcome)>> {
        let (folder, records, full) = (self.folder.clone(), Arc::clone(&change.records), self.options.full);
        spawn_blocking(move || {
            let read = |suspect: &Suspect| {
                let record = suspect.known.and_then(|place| records.get(place)).filter(|_| !full);
                let digest = record.map(|record| Digest(record.digest));
                // A panic in a parser costs this file only.
                let outcome =
                    catch_unwind(|| read(&folder, &suspect.seen.path, digest)).unwrap_or_else(|_| {
                        FileOutcome::Unreadable(format!(
                            "{}: cannot be parsed, a bug in papertape",
                            suspect.seen.path
                        ))
                    });
                (suspect.clone(), outcome)
            };
            in_background(|| batch.par_iter().map(read).collect())
        })
    }
}

/// What the store holds, if there is an index.
async fn known(store: &dyn Store) -> Result<(Option<Summary>, Arc<[FileRecord]>), StoreError> {
    match store.summary().await {
        Ok(summary) => Ok((Some(summary), store.files().await?)),
        Err(error) if error.is_absence() => Ok((None, Arc::from([]))),
        Err(error) => Err(error),
    }
}

/// Cuts a list into batches that fit into memory.
fn batches(suspects: Vec<Suspect>) -> Vec<Vec<Suspect>> {
    let mut batches: Vec<Vec<Suspect>> = Vec::new();
    let mut bytes = 0_u64;
    for suspect in suspects {
        bytes = bytes.saturating_add(suspect.seen.stamp.size);
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_FILES && bytes <= BATCH_BYTES => batch.push(suspect),
            _ => {
                bytes = suspect.seen.stamp.size;
                batches.push(vec![suspect]);
            }
        }
    }
    batches
}

/// The next generation in the making.
struct Change<'a> {
    store: &'a dyn Store,
    generation: Option<u64>,
    records: Arc<[FileRecord]>,
    options: Options,
    /// Opened when there is something to write.
    writer: Option<Box<dyn Writer>>,
    /// Files with a new stamp and the same bytes.
    touched: Vec<FileRecord>,
    report: Report,
}

impl<'a> Change<'a> {
    fn new(
        store: &'a dyn Store,
        generation: Option<u64>,
        records: Arc<[FileRecord]>,
        options: Options,
        writer: Option<Box<dyn Writer>>,
    ) -> Self {
        Self { store, generation, records, options, writer, touched: Vec::new(), report: Report::default() }
    }

    /// Adds a file that was read. False, as in [`Change::lock`].
    async fn take(
        &mut self,
        suspect: Suspect,
        outcome: FileOutcome,
        warnings: &mut Warnings,
    ) -> Result<bool, StoreError> {
        let path = suspect.seen.path;
        let record = suspect.known.and_then(|place| self.records.get(place)).cloned();
        match (outcome, record) {
            (FileOutcome::Same(Same { stamp, warnings: unlogged }), Some(record)) => {
                self.report.unchanged += 1;
                for warning in unlogged {
                    warnings.add(format!("{path}: {warning}"));
                }
                if record.stamp != stamp {
                    self.touched.push(FileRecord { stamp, ..record });
                }
                Ok(true)
            }
            (FileOutcome::Fresh(fresh), record) => {
                for warning in &fresh.warnings {
                    warnings.add(format!("{path}: {warning}"));
                }
                self.put(*fresh, record.as_ref()).await
            }
            // It exists, and may be readable again in a moment: till then its old text is found.
            (FileOutcome::Unreadable(why), record) => {
                warnings.add(why);
                self.report.unchanged += u64::from(record.is_some());
                Ok(true)
            }
            (FileOutcome::Vanished, Some(_)) => self.remove(path).await,
            (FileOutcome::Vanished | FileOutcome::Same(_), None) => Ok(true),
        }
    }

    async fn put(&mut self, fresh: Fresh, record: Option<&FileRecord>) -> Result<bool, StoreError> {
        if !self.lock().await? {
            return Ok(false);
        }
        let path = fresh.record.path.clone();
        match record {
            None => self.report.added += 1,
            Some(record) if record.digest == fresh.record.digest => self.report.unchanged += 1,
            Some(_) => self.report.changed += 1,
        }
        if record.is_none_or(|record| record.digest != fresh.record.digest) {
            self.report.paths.push(path);
        }
        if let Some(writer) = &mut self.writer {
            writer.put(fresh.record, fresh.entries).await?;
        }
        Ok(true)
    }

    async fn remove(&mut self, path: String) -> Result<bool, StoreError> {
        if !self.lock().await? {
            return Ok(false);
        }
        if let Some(writer) = &mut self.writer {
            writer.remove(&path).await?;
        }
        self.report.removed += 1;
        self.report.paths.push(path);
        Ok(true)
    }

    /// Takes the write lock. False, if another process has written since files were compared.
    async fn lock(&mut self) -> Result<bool, StoreError> {
        if self.writer.is_some() {
            return Ok(true);
        }
        let writer = open_writer(self.store, self.options).await?;
        let (now, _) = known(self.store).await?;
        self.writer = Some(writer);
        Ok(now.map(|summary| summary.generation) == self.generation)
    }

    /// Writes what there is to write. Nothing, as in [`Change::lock`].
    async fn commit(
        mut self,
        before: Option<Summary>,
        progress: OnProgress<'_>,
    ) -> Result<Option<Report>, StoreError> {
        if self.touched.len() >= MIN_TOUCHED && !self.lock().await? {
            return Ok(None);
        }
        let written = self.report.added + self.report.changed + self.report.removed > 0
            || self.touched.len() >= MIN_TOUCHED
            || self.options.full
            || before.is_none();
        match (self.writer, before) {
            (Some(mut writer), _) if written => {
                progress(Progress::Writing);
                for record in self.touched {
                    writer.touch(record).await?;
                }
                self.report.summary = writer.commit().await?;
            }
            (_, before) => self.report.summary = before.unwrap_or_default(),
        }
        Ok(Some(self.report))
    }
}

async fn open_writer(store: &dyn Store, options: Options) -> Result<Box<dyn Writer>, StoreError> {
    if options.wait_for_writer { wait_for_writer(store).await } else { store.write().await }
}

fn panicked(error: &tokio::task::JoinError) -> StoreError {
    StoreError::Other(format!("reading files panicked: {error}"))
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
