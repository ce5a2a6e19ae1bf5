//! Waits for changes in any of several directories.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::Poll;

use super::watcher::Watcher;

/// A watcher for each directory.
#[derive(Debug)]
pub(super) struct Watchers(Vec<Watcher>);

impl Watchers {
    /// Watches from now on; `except` is the index itself.
    pub(super) async fn new(roots: impl Iterator<Item = PathBuf>, except: &Path) -> Self {
        let mut watchers = Vec::new();
        for root in roots {
            watchers.push(Watcher::new(root, except.to_owned()).await);
        }
        Self(watchers)
    }

    /// Waits until something has changed in one of them. The caller scans all of them after this.
    pub(super) async fn changed(&mut self) {
        let mut each: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = Vec::new();
        for watcher in &mut self.0 {
            each.push(Box::pin(watcher.changed()));
        }
        poll_fn(|cx| match each.iter_mut().any(|change| change.as_mut().poll(cx).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}
