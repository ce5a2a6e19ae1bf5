//! Lists the files of the index as resources, and turns new generations into notifications.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use papertape::protocol::Role;
use papertape::protocol::content::Annotations;
use papertape::server::{Resource, Resources};
use tokio::sync::watch;
use tokio::time::timeout;

use super::{resource, uri};
use papertape_search::maintain::{IndexState, LiveIndex};
use papertape_search::query::Searcher;
use papertape_search::store::FileRecord;

/// How long to wait after the files could not be listed.
const PAUSE: Duration = Duration::from_secs(2);

type Digest = [u8; 32];

/// The listed files.
#[derive(Debug, Default)]
struct Catalogue {
    listed: BTreeMap<String, Digest>,
}

/// The changes between two generations.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    gone: Vec<String>,
    new: Vec<FileRecord>,
    changed: Vec<FileRecord>,
}

/// Keeps the list in sync with the index until cancelled; it is empty while the index is of another directory. `listed`
/// becomes true when the list has been made for the first time.
pub(super) async fn keep(index: LiveIndex, resources: Resources, listed: watch::Sender<bool>) {
    let (searcher, mut state) = (index.searcher(), index.state());
    if state.wait_for(|state| *state != IndexState::Deferred).await.is_err() {
        return;
    }
    let mut generations = searcher.store().generations();
    let mut catalogue = Catalogue::default();
    loop {
        let now = state.borrow_and_update().clone();
        if now.objection().is_some() {
            if matches!(now, IndexState::OtherFolder(_)) {
                publish(catalogue.take(&[]), searcher, &resources);
                listed.send_replace(true);
            }
            if state.changed().await.is_err() {
                return;
            }
            continue;
        }
        generations.mark_unchanged();
        let changed = match searcher.store().files().await {
            Ok(files) => {
                publish(catalogue.take(&files), searcher, &resources);
                listed.send_replace(true);
                tokio::select! {
                    changed = generations.changed() => changed,
                    () = closed(&mut state) => Ok(()),
                }
            }
            Err(error) => {
                // Without an index there is nothing to list, and searches say why.
                tracing::debug!("cannot list the files: {error}");
                timeout(PAUSE, generations.changed()).await.unwrap_or(Ok(()))
            }
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Waits until nothing may be read from the index.
async fn closed(state: &mut watch::Receiver<IndexState>) {
    if state.wait_for(|state| state.objection().is_some()).await.is_err() {
        // Nothing is indexed any more, and the list stays.
        std::future::pending::<()>().await;
    }
}

impl Catalogue {
    /// Replaces the list, and returns what has changed.
    fn take(&mut self, files: &[FileRecord]) -> Changes {
        let mut before = std::mem::take(&mut self.listed);
        let mut changes = Changes::default();
        // A file without a chunk (empty, or without text) is not listed.
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

fn publish(changes: Changes, searcher: &Searcher, resources: &Resources) {
    let Changes { gone, new, changed } = changes;
    if gone.is_empty() && new.is_empty() && changed.is_empty() {
        return;
    }
    let gone: Vec<String> = gone.iter().map(|path| uri::of_file(path)).collect();
    let put = new.iter().chain(&changed).map(|file| {
        let (searcher, path) = (searcher.clone(), file.path.clone());
        let read = move |_| {
            let (searcher, path) = (searcher.clone(), path.clone());
            async move { resource::read_file(&searcher, &path).await }
        };
        (listed(file), read)
    });
    if let Err(error) = resources.exchange(&gone, put) {
        tracing::error!("cannot list the files: {error}");
    }
    // Subscribers of a file that is gone are notified, too.
    for uri in changed.iter().map(|file| uri::of_file(&file.path)).chain(gone) {
        resources.updated(&uri);
    }
}

fn listed(file: &FileRecord) -> Resource {
    let mut hints = Annotations::new().audience(Role::User).audience(Role::Assistant);
    hints.last_modified = last_modified(file.stamp.modified);
    Resource::new(uri::of_file(&file.path))
        .name(&file.path)
        .title(&file.title)
        .mime_type(resource::media_type(&file.path))
        .size(file.size)
        .annotations(hints)
}

/// In RFC 3339, if the time is valid.
fn last_modified(nanoseconds: i64) -> Option<String> {
    let since_1970 = Duration::from_nanos(u64::try_from(nanoseconds).ok().filter(|&time| time > 0)?);
    let time = UNIX_EPOCH.checked_add(since_1970)?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use papertape_search::analysis::Language;
    use papertape_search::store::Stamp;

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
    fn new_changed_and_removed_files_are_distinguished() {
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
        for invalid in [0, -1, i64::MIN] {
            assert_eq!(last_modified(invalid), None);
        }
        assert!(last_modified(i64::MAX).is_some());
    }
}
