//! The files with digests of one generation, or of one that is being written. The manifest alone decides which belong to
//! it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::disk::{Pin, Sink, Source};
use crate::background::in_background;
use crate::sync::lock;

/// How many files are synced to disk together.
const SYNC_BATCH: usize = 64;

/// Larger files are synced as soon as they are written.
const LARGE: u64 = 4 * 1024 * 1024;

/// The files of one generation, or of one that is being written.
#[derive(Clone)]
pub(super) struct FileSet {
    folder: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    open: HashMap<String, Arc<Source>>,
    written: BTreeMap<String, Pin>,
    unsynced: Vec<File>,
}

impl fmt::Debug for FileSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileSet").finish_non_exhaustive()
    }
}

impl FileSet {
    /// A set that begins with these open files.
    pub(super) fn new(folder: &Path, open: HashMap<String, Arc<Source>>) -> Self {
        let inner = Inner { open, ..Inner::default() };
        Self { folder: folder.to_owned(), inner: Arc::new(Mutex::new(inner)) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// A file, opened on first use; `None` if it is not in the set.
    pub(super) fn source(&self, name: &str) -> io::Result<Option<Arc<Source>>> {
        let pin = {
            let inner = self.inner();
            if let Some(source) = inner.open.get(name) {
                return Ok(Some(Arc::clone(source)));
            }
            let Some(pin) = inner.written.get(name) else { return Ok(None) };
            *pin
        };
        let source = Arc::new(Source::open(&self.folder.join(name), name, pin, is_cached(name))?);
        self.inner().open.insert(name.to_owned(), Arc::clone(&source));
        Ok(Some(source))
    }

    /// The files written to this set.
    pub(super) fn written(&self) -> BTreeMap<String, Pin> {
        self.inner().written.clone()
    }

    /// A new file.
    pub(super) fn create(&self, name: &str) -> io::Result<Sink> {
        private().read(true).open(self.folder.join(name)).map(Sink::new)
    }

    /// Finishes a new file: it can be read, and is durable after [`Self::sync`].
    pub(super) fn finish(&self, name: &str, sink: &mut Sink) -> io::Result<Pin> {
        let pin = sink.finish()?;
        let unsynced = if pin.length >= LARGE {
            sink.file().sync_all()?;
            None
        } else {
            Some(sink.file().try_clone()?)
        };
        let full = {
            let mut inner = self.inner();
            inner.written.insert(name.to_owned(), pin);
            inner.unsynced.extend(unsynced);
            inner.unsynced.len() >= SYNC_BATCH
        };
        if full {
            self.sync()?;
        }
        Ok(pin)
    }

    /// A new file with these bytes.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<Pin> {
        let mut sink = self.create(name)?;
        sink.write_all(bytes)?;
        self.finish(name, &mut sink)
    }

    /// A new file whose digests are kept in another one.
    pub(super) fn create_plain(&self, name: &str) -> io::Result<File> {
        private().open(self.folder.join(name))
    }

    /// Syncs such a file to disk.
    pub(super) fn finish_plain(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Syncs what has been written to disk, several files in parallel.
    pub(super) fn sync(&self) -> io::Result<()> {
        let unsynced = std::mem::take(&mut self.inner().unsynced);
        in_background(|| unsynced.into_par_iter().try_for_each(|file| file.sync_all()))
    }
}

/// Options for new files, readable by their owner only: an index holds the texts of private notes.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Whether a file is read whole and cached in memory: all but posting lists, texts and vector codes.
pub(super) fn is_cached(name: &str) -> bool {
    !(name.ends_with(".postings") || name.ends_with(".texts") || name.ends_with(".codes"))
}
