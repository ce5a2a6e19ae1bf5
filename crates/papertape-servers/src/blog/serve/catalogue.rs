//! What the store holds to the list of resources, and generations to news.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use papertape::protocol::Role;
use papertape::protocol::content::Annotations;
use papertape::{Resource, Resources};
use tokio::sync::watch;
use tokio::time::timeout;

use super::situation::Work;
use super::{resource, uri};
use crate::blog::library::Library;
use crate::blog::store::FileRecord;

/// How long to wait after a store has failed to list its files.
const PAUSE: Duration = Duration::from_secs(2);

type Digest = [u8; 32];

/// What is listed.
#[derive(Debug, Default)]
struct Catalogue {
    listed: BTreeMap<String, Digest>,
}

/// What has to be done to the list.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    gone: Vec<String>,
    new: Vec<FileRecord>,
    changed: Vec<FileRecord>,
}

/// Keeps the list in step with the store, for ever: with nothing, for as long as that is of another folder. `filled` hears
/// when the list has been made for the first time.
pub(super) async fn keep(
    library: Library,
    mut work: watch::Receiver<Work>,
    resources: Resources,
    filled: watch::Sender<bool>,
) {
    let mut generations = library.store().generations();
    let mut catalogue = Catalogue::default();
    loop {
        let now = work.borrow_and_update().clone();
        if now.objection().is_some() {
            if matches!(now, Work::Refused(_)) {
                tell(catalogue.take(&[]), &library, &resources);
                filled.send_replace(true);
            }
            if work.changed().await.is_err() {
                return;
            }
            continue;
        }
        generations.mark_unchanged();
        let news = match library.store().files().await {
            Ok(files) => {
                tell(catalogue.take(&files), &library, &resources);
                filled.send_replace(true);
                tokio::select! {
                    news = generations.changed() => news,
                    () = closed(&mut work) => Ok(()),
                }
            }
            Err(error) => {
                // Without an index there is nothing to list, and searches say why.
                tracing::debug!("cannot list the files: {error}");
                timeout(PAUSE, generations.changed()).await.unwrap_or(Ok(()))
            }
        };
        if news.is_err() {
            return;
        }
    }
}

/// Waits until nothing may be read from the index.
async fn closed(work: &mut watch::Receiver<Work>) {
    if work.wait_for(|work| work.objection().is_some()).await.is_err() {
        // Nobody indexes any more, and what is there stays.
        std::future::pending::<()>().await;
    }
}

impl Catalogue {
    /// Takes over what is there now; gives what is different.
    fn take(&mut self, files: &[FileRecord]) -> Changes {
        let mut before = std::mem::take(&mut self.listed);
        let mut changes = Changes::default();
        // A file without a chunk (empty, or no text) has nothing to be read.
        for file in files.iter().filter(|file| file.chunks > 0) {
            match before.remove(&file.path) {
                None => changes.new.push(file.clone()),
                Some(digest) if digest != file.digest => changes.changed.push(file.clone()),
                Some(_) => {}
            }
            self.listed.insert(file.path.clone(), file.digest);
        }
        changes.gone = before.into_keys().collect();
        changes
    }
}

fn tell(changes: Changes, library: &Library, resources: &Resources) {
    let Changes { gone, new, changed } = changes;
    if gone.is_empty() && new.is_empty() && changed.is_empty() {
        return;
    }
    let gone: Vec<String> = gone.iter().map(|path| uri::of_file(path)).collect();
    let put = new.iter().chain(&changed).map(|file| {
        let (library, path) = (library.clone(), file.path.clone());
        let read = move |_| {
            let (library, path) = (library.clone(), path.clone());
            async move { resource::read_file(&library, &path).await }
        };
        (listed(file), read)
    });
    if let Err(error) = resources.exchange(&gone, put) {
        tracing::error!("cannot list the files: {error}");
    }
    // Who watched a file that is gone hears of it too.
    for uri in changed.iter().map(|file| uri::of_file(&file.path)).chain(gone) {
        resources.updated(&uri);
    }
}

fn listed(file: &FileRecord) -> Resource {
    let hints = Annotations {
        audience: vec![Role::User, Role::Assistant],
        last_modified: last_modified(file.stamp.modified),
        ..Annotations::default()
    };
    Resource::new(uri::of_file(&file.path))
        .name(&file.path)
        .title(&file.title)
        .mime_type(resource::MARKDOWN)
        .size(file.size)
        .annotations(hints)
}

/// As RFC 3339 writes it, if it is a time at all.
fn last_modified(nanoseconds: i64) -> Option<String> {
    let since_1970 = Duration::from_nanos(u64::try_from(nanoseconds).ok().filter(|&time| time > 0)?);
    let time = UNIX_EPOCH.checked_add(since_1970)?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::store::Stamp;
    use crate::blog::words::Language;

    fn file(path: &str, content: u8) -> FileRecord {
        FileRecord {
            path: path.to_owned(),
            stamp: Stamp::default(),
            digest: [content; 32],
            title: path.to_owned(),
            date: None,
            tags: Vec::new(),
            language: Language::Other,
            chunks: 1,
            size: 1,
        }
    }

    fn paths(files: &[FileRecord]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn files_that_come_go_and_change_are_told_apart() {
        let mut catalogue = Catalogue::default();
        let changes = catalogue.take(&[file("a", 1), file("b", 1), file("c", 1)]);
        assert_eq!(
            (paths(&changes.new), changes.changed.len(), changes.gone.len()),
            (vec!["a", "b", "c"], 0, 0)
        );
        let same = [file("a", 1), file("c", 2), file("d", 1)];
        let changes = catalogue.take(&same);
        assert_eq!((paths(&changes.new), paths(&changes.changed)), (vec!["d"], vec!["c"]));
        assert_eq!(changes.gone, ["b"]);
        assert_eq!(catalogue.take(&same), Changes::default());
        let emptied = FileRecord { chunks: 0, ..file("a", 2) };
        assert_eq!(catalogue.take(&[emptied, file("c", 2), file("d", 1)]).gone, ["a"]);
        assert_eq!(catalogue.take(&[]).gone, ["c", "d"]);
    }

    #[test]
    fn times_are_written_as_the_protocol_wants_them() {
        assert_eq!(last_modified(1_700_000_000_123_456_789).unwrap(), "2023-11-14T22:13:20Z");
        for odd in [0, -1, i64::MIN] {
            assert_eq!(last_modified(odd), None);
        }
        assert!(last_modified(i64::MAX).is_some());
    }
}
