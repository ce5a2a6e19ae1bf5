//! Files with digests, as tantivy's directory.
//!
//! tantivy writes its list of segments (`meta.json`) into our memory, so that nothing is published before we do it; and it
//! removes nothing from the disk. So the manifest is the only file that decides what is there.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite, WatchCallback, WatchHandle,
    WritePtr,
};
use tantivy::{Directory, HasLen};

use super::blocks::{Pin, Sink, Source};
use crate::blog::background::in_background;

const META: &str = "meta.json";

/// Files that are waiting to be brought to the disk together.
const WAITING: usize = 64;

/// Larger files are brought to the disk at once.
const LARGE: u64 = 4 * 1024 * 1024;

/// The files of one generation, or of one that is being made.
#[derive(Clone)]
pub(super) struct Shelf {
    folder: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    open: HashMap<String, Arc<Source>>,
    lists: HashMap<PathBuf, Vec<u8>>,
    written: BTreeMap<String, Pin>,
    waiting: Vec<File>,
    failure: Option<io::Error>,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl Shelf {
    /// Files that are open already, and tantivy's list of its segments (empty for a new index).
    pub(super) fn new(folder: &Path, open: HashMap<String, Arc<Source>>, list: &str) -> Self {
        let mut inner = Inner { open, ..Inner::default() };
        if !list.is_empty() {
            inner.lists.insert(PathBuf::from(META), list.as_bytes().to_owned());
        }
        Self { folder: folder.to_owned(), inner: Arc::new(Mutex::new(inner)) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// tantivy's list of its segments.
    pub(super) fn list(&self) -> String {
        let inner = self.inner();
        inner
            .lists
            .get(Path::new(META))
            .map(|list| String::from_utf8_lossy(list).into_owned())
            .unwrap_or_default()
    }

    /// A file, if it is there.
    pub(super) fn source(&self, name: &str) -> io::Result<Option<Arc<Source>>> {
        let pin = {
            let inner = self.inner();
            if let Some(source) = inner.open.get(name) {
                return Ok(Some(Arc::clone(source)));
            }
            let Some(pin) = inner.written.get(name) else { return Ok(None) };
            *pin
        };
        let source = Arc::new(Source::open(&self.folder.join(name), name, pin, kept_whole(name))?);
        self.inner().open.insert(name.to_owned(), Arc::clone(&source));
        Ok(Some(source))
    }

    /// What has been written to this shelf.
    pub(super) fn written(&self) -> BTreeMap<String, Pin> {
        self.inner().written.clone()
    }

    /// Why writing failed first, for what tantivy does not tell.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.inner().failure.take()
    }

    /// A new file.
    pub(super) fn create(&self, name: &str) -> io::Result<Sink> {
        let file = private().read(true).open(self.folder.join(name));
        self.noting(file.map(Sink::new))
    }

    /// Ends a new file: it can be read, and will be on the disk after [`Self::settle`].
    pub(super) fn finish(&self, name: &str, sink: &mut Sink) -> io::Result<Pin> {
        let finished = (|| {
            let pin = sink.finish()?;
            if pin.length >= LARGE {
                sink.file().sync_all()?;
                return Ok((pin, None));
            }
            Ok((pin, Some(sink.file().try_clone()?)))
        })();
        let (pin, waiting) = self.noting(finished)?;
        let full = {
            let mut inner = self.inner();
            inner.written.insert(name.to_owned(), pin);
            inner.waiting.extend(waiting);
            inner.waiting.len() >= WAITING
        };
        if full {
            self.settle()?;
        }
        Ok(pin)
    }

    /// A new file that another one has the digests of.
    pub(super) fn create_plain(&self, name: &str) -> io::Result<File> {
        let file = private().open(self.folder.join(name));
        self.noting(file)
    }

    /// Brings such a file to the disk.
    pub(super) fn finish_plain(&self, file: &File) -> io::Result<()> {
        self.noting(file.sync_all())
    }

    /// Brings to the disk what has been written. Several at once, since the disk can do that.
    pub(super) fn settle(&self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.inner().waiting);
        let settled: io::Result<Vec<()>> =
            in_background(|| waiting.into_par_iter().map(|file| file.sync_all()).collect());
        self.noting(settled)?;
        Ok(())
    }

    fn noting<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let error = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            self.inner().failure.get_or_insert(error);
        }
        result
    }
}

/// How a new file is made: an index holds the texts of notes that only its user may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Whether a file is worth its place in memory: what is not a list of chunks by word, and not their texts.
pub(super) fn kept_whole(name: &str) -> bool {
    !(name.ends_with(".idx") || name.ends_with(".store") || name.ends_with(".codes"))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Directory for Shelf {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.source(&text(path)) {
            Ok(Some(source)) => Ok(Arc::new(Handle(source))),
            Ok(None) => Err(OpenReadError::FileDoesNotExist(path.to_owned())),
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn delete(&self, _path: &Path) -> Result<(), DeleteError> {
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        let inner = self.inner();
        let name = text(path);
        Ok(inner.lists.contains_key(path)
            || inner.open.contains_key(&name)
            || inner.written.contains_key(&name))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let name = text(path);
        match self.create(&name) {
            Ok(sink) => Ok(BufWriter::new(Box::new(Pen { shelf: self.clone(), name, sink }))),
            Err(error) => Err(OpenWriteError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let inner = self.inner();
        inner.lists.get(path).cloned().ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner().lists.insert(path.to_owned(), data.to_owned());
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

#[derive(Debug)]
struct Handle(Arc<Source>);

impl HasLen for Handle {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl FileHandle for Handle {
    fn read_bytes(&self, range: std::ops::Range<usize>) -> io::Result<OwnedBytes> {
        self.0.read(range)
    }
}

/// Writes a file of tantivy's.
struct Pen {
    shelf: Shelf,
    name: String,
    sink: Sink,
}

impl Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes);
        self.shelf.noting(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Pen {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.shelf.finish(&self.name, &mut self.sink)?;
        Ok(())
    }
}
