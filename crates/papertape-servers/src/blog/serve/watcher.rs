//! What happens in a folder to the news that something did, once it is quiet again.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

/// Nothing more has happened for so long: whoever saves a file, or many, is done.
const QUIET: Duration = Duration::from_millis(200);

/// So long at most is waited for quiet.
const LONGEST_NOISE: Duration = Duration::from_secs(2);

/// How often to look whether the folder is still the same one.
const LOOK: Duration = Duration::from_secs(1);

/// How often to go through the folder if the system will not tell.
const POLL: Duration = Duration::from_secs(5);

/// Watches a folder.
#[derive(Debug)]
pub(super) struct Watcher {
    root: PathBuf,
    /// What of it does not count: the index itself.
    except: PathBuf,
    news: Arc<News>,
    /// The folder that was there when it was last looked at: another one may be put in its place.
    seen: Option<Identity>,
    /// What tells of it, if the system does.
    teller: Option<RecommendedWatcher>,
}

/// What the system tells.
#[derive(Debug, Default)]
struct News {
    /// Something has happened.
    happened: Notify,
    /// The folder itself was moved or removed: of what comes in its place nothing is told.
    lost: AtomicBool,
}

/// Which folder it is, whatever its name.
type Identity = (u64, u64);

impl Watcher {
    /// Hears of what happens from now on.
    pub(super) async fn new(root: PathBuf, except: PathBuf) -> Self {
        let mut watcher = Self { root, except, news: Arc::default(), seen: None, teller: None };
        watcher.watch().await;
        watcher
    }

    /// Waits until something has happened and it is quiet again.
    pub(super) async fn changed(&mut self) {
        let began = Instant::now();
        loop {
            let happened = tokio::select! {
                () = self.news.happened.notified() => true,
                () = sleep(LOOK) => false,
            };
            // The number of a folder that was removed may be given to the next one.
            if self.news.lost.swap(false, Ordering::Relaxed) || identity(&self.root) != self.seen {
                self.watch().await;
                break;
            }
            let is_due = self.seen.is_some() && self.teller.is_none() && began.elapsed() >= POLL;
            if happened || is_due {
                break;
            }
        }
        let latest = Instant::now() + LONGEST_NOISE;
        while let Ok(()) = timeout_at(latest.min(Instant::now() + QUIET), self.news.happened.notified()).await
        {
        }
    }

    /// Watches the folder that stands there now.
    async fn watch(&mut self) {
        // Whoever stops waiting for this has nothing watched, and the next one begins anew.
        (self.teller, self.seen) = (None, None);
        let Some(seen) = identity(&self.root) else { return };
        let (root, except, news) = (self.root.clone(), self.except.clone(), Arc::clone(&self.news));
        // Goes through all folders within.
        let begun = tokio::task::spawn_blocking(move || begin(&root, except, news)).await;
        match begun {
            Ok(Ok(teller)) => self.teller = Some(teller),
            Ok(Err(error)) => tracing::warn!(
                "the system does not tell what changes in the folder ({error}): it is looked through every {} s",
                POLL.as_secs()
            ),
            Err(error) => tracing::error!("cannot watch the folder: {error}"),
        }
        self.seen = Some(seen);
    }
}

fn begin(root: &Path, except: PathBuf, news: Arc<News>) -> notify::Result<RecommendedWatcher> {
    let own = root.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
        Ok(event) if !matters(&event, &except) => {}
        Ok(event) => {
            let moves = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
            if moves && event.paths.contains(&own) {
                news.lost.store(true, Ordering::Relaxed);
            }
            news.happened.notify_one();
        }
        // Something was not told: look.
        Err(_) => news.happened.notify_one(),
    })?;
    watcher.watch(root, RecursiveMode::Recursive)?;
    Ok(watcher)
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
    const ENDINGS: [&str; 3] = ["md", "markdown", "mdx"];
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) || matches!(name, ".gitignore" | ".ignore")
}

fn identity(root: &Path) -> Option<Identity> {
    let metadata = std::fs::metadata(root).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    fn scratch(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("papertape-watcher-{test}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    #[tokio::test]
    async fn changes_are_heard_of_also_after_the_folder_was_replaced() {
        let base = scratch("replaced");
        let root = base.join("notes");
        tokio::time::timeout(Duration::from_secs(60), replaced(&base, &root)).await.unwrap();
        fs::remove_dir_all(&base).unwrap();
    }

    async fn replaced(base: &Path, root: &Path) {
        fs::create_dir(root).unwrap();
        let mut watcher = Watcher::new(root.to_owned(), root.join(".papertape")).await;
        fs::create_dir_all(root.join("deep/er")).unwrap();
        watcher.changed().await;
        fs::write(root.join("deep/er/a.md"), "one").unwrap();
        watcher.changed().await;
        fs::rename(root, base.join("old")).unwrap();
        fs::create_dir(root).unwrap();
        watcher.changed().await;
        fs::write(root.join("b.md"), "two").unwrap();
        watcher.changed().await;
        // Its number may be that of the one before.
        fs::remove_dir_all(root).unwrap();
        fs::create_dir(root).unwrap();
        watcher.changed().await;
        fs::write(root.join("c.md"), "three").unwrap();
        watcher.changed().await;
        fs::remove_dir_all(root).unwrap();
        watcher.changed().await;
        fs::create_dir(root).unwrap();
        watcher.changed().await;
    }
}
