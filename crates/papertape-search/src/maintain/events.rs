//! File-system events to what there is to do about them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind};
use tokio::sync::Notify;

use crate::corpus::folder;
use crate::sync::lock;

/// What events have reported of the watched directories.
#[derive(Debug, Default)]
pub(super) struct FolderEvents {
    happened: Notify,
    /// Directories that are watched, by the paths that events about them come with.
    watched: Mutex<HashSet<PathBuf>>,
    /// Events were lost, or the watched directories are no longer the indexed ones: all must be watched again.
    lost: AtomicBool,
    /// There may be a directory that is not watched yet.
    grown: AtomicBool,
}

impl FolderEvents {
    /// Waits until something happens that can change what is found.
    pub(super) async fn happened(&self) {
        self.happened.notified().await;
    }

    /// Whether all directories must be watched again.
    pub(super) fn are_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// Whether there may be more to watch.
    pub(super) fn has_grown(&self) -> bool {
        self.grown.load(Ordering::SeqCst)
    }

    /// All directories that exist now are about to be watched.
    pub(super) fn catch_up(&self) {
        self.grown.store(false, Ordering::SeqCst);
    }

    /// A directory is about to be watched. False, if it is already.
    pub(super) fn watch(&self, folder: &Path) -> bool {
        self.watched().insert(folder.to_owned())
    }

    /// A directory is not watched after all.
    pub(super) fn forget(&self, folder: &Path) {
        self.watched().remove(folder);
    }

    pub(super) fn record(&self, event: notify::Result<Event>, except: &Path) {
        match event {
            Ok(event) if !is_relevant(&event, except) => return,
            Ok(event) if self.loses(&event) => self.lost.store(true, Ordering::SeqCst),
            Ok(event) if event.paths.iter().any(|path| is_folder(path)) => {
                self.grown.store(true, Ordering::SeqCst);
            }
            Ok(_) => {}
            // An event was lost.
            Err(_) => self.lost.store(true, Ordering::SeqCst),
        }
        self.happened.notify_one();
    }

    /// Whether an event was lost, a watched directory has been moved or removed, or an ignore file has changed.
    fn loses(&self, event: &Event) -> bool {
        let moves = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        let watched = self.watched();
        event.need_rescan()
            || event.paths.iter().any(|path| is_ignore_file(path) || (moves && watched.contains(path)))
    }

    fn watched(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        lock(&self.watched)
    }
}

/// Whether an event can change what is found.
fn is_relevant(event: &Event, except: &Path) -> bool {
    if event.need_rescan() {
        return true;
    }
    // Names can be those of directories; the content of a file is relevant only if it is read.
    let by_name = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Modify(ModifyKind::Data(_)) => {
            false
        }
        EventKind::Access(_) => return false,
        _ => true,
    };
    let of_ours =
        |path: &PathBuf| path.starts_with(except) || path.components().any(|part| part.as_os_str() == ".git");
    event.paths.iter().any(|path| !of_ours(path) && (by_name || is_text(path)))
}

/// A file that is read, or an ignore file, which says which files are.
fn is_text(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(folder::is_text) || is_ignore_file(path)
}

fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_dir())
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, RemoveKind, RenameMode};

    use super::*;

    #[test]
    fn events_of_markdown_and_of_names_are_relevant() {
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::Any));
        for (kind, path, right) in [
            (data, "/r/a.md", true),
            (data, "/r/a.MDX", true),
            (data, "/r/b/.gitignore", true),
            (data, "/r/app.log", false),
            (data, "/r/.papertape/x.md", false),
            (data, "/r/.git/x.md", false),
            (EventKind::Create(CreateKind::Any), "/r/folder.d", true),
            (EventKind::Create(CreateKind::Any), "/r/.papertape/new", false),
            (EventKind::Create(CreateKind::Any), "/r/.papertape-not", true),
            (EventKind::Remove(RemoveKind::Any), "/r/folder", true),
            (renamed, "/r/folder", true),
            (EventKind::Access(AccessKind::Read), "/r/a.md", false),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), "/r/a.md", true),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), "/r/a.md", false),
        ] {
            let event = Event::new(kind).add_path(path.into());
            assert_eq!(is_relevant(&event, Path::new("/r/.papertape")), right, "{event:?}");
        }
    }
}
