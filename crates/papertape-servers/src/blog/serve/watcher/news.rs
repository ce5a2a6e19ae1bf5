//! What the system tells of a folder to what there is to do about it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind};
use tokio::sync::Notify;

use crate::blog::folder::is_markdown;

/// What the system tells.
#[derive(Debug, Default)]
pub(super) struct News {
    happened: Notify,
    /// Folders that are watched, by the paths that events about them come with.
    watched: Mutex<HashSet<PathBuf>>,
    /// What is watched is no longer what counts: of what comes in its place nothing is told.
    lost: AtomicBool,
    /// There may be a folder that is not watched yet.
    grown: AtomicBool,
}

impl News {
    /// Waits until something happens that can change what is found.
    pub(super) async fn happened(&self) {
        self.happened.notified().await;
    }

    /// Whether all must be watched anew.
    pub(super) fn are_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// Whether there may be more to watch.
    pub(super) fn has_grown(&self) -> bool {
        self.grown.load(Ordering::SeqCst)
    }

    /// All that has come till now is about to be watched.
    pub(super) fn catch_up(&self) {
        self.grown.store(false, Ordering::SeqCst);
    }

    /// A folder is about to be watched. False, if it is already.
    pub(super) fn watch(&self, folder: &Path) -> bool {
        self.watched().insert(folder.to_owned())
    }

    /// A folder is not watched after all.
    pub(super) fn forget(&self, folder: &Path) {
        self.watched().remove(folder);
    }

    pub(super) fn hear(&self, event: notify::Result<Event>, except: &Path) {
        match event {
            Ok(event) if !matters(&event, except) => return,
            Ok(event) if self.loses(&event) => self.lost.store(true, Ordering::SeqCst),
            Ok(event) if event.paths.iter().any(|path| is_folder(path)) => {
                self.grown.store(true, Ordering::SeqCst);
            }
            Ok(_) => {}
            // Something was not told.
            Err(_) => self.lost.store(true, Ordering::SeqCst),
        }
        self.happened.notify_one();
    }

    /// Whether something was not told, a folder has gone from its place, or other folders count now.
    fn loses(&self, event: &Event) -> bool {
        let moves = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        let watched = self.watched();
        event.need_rescan()
            || event.paths.iter().any(|path| is_rule(path) || (moves && watched.contains(path)))
    }

    fn watched(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what happened can change what is found.
fn matters(event: &Event, except: &Path) -> bool {
    if event.need_rescan() {
        return true;
    }
    // Names can be those of folders; what is within a file matters only if it is Markdown.
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

/// Markdown, or what says which Markdown counts.
fn is_text(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(is_markdown) || is_rule(path)
}

fn is_rule(path: &Path) -> bool {
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
    fn what_matters_is_markdown_and_names() {
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
            assert_eq!(matters(&event, Path::new("/r/.papertape")), right, "{event:?}");
        }
    }
}
