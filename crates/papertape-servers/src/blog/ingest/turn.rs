//! The one who writes, after whoever writes now.

use std::time::Duration;

use crate::blog::store::{Store, StoreError, Writer};

/// How often another writer is waited for, and how long each time: it may be in another process, which tells nobody when it
/// is done.
const PATIENCE: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// Waits half a minute: a minute's work of a model is not thrown away because somebody writes.
pub(super) async fn patiently(store: &dyn Store) -> Result<Box<dyn Writer>, StoreError> {
    for _ in 0..PATIENCE {
        match store.write().await {
            Err(StoreError::Locked { .. }) => tokio::time::sleep(PAUSE).await,
            other => return other,
        }
    }
    store.write().await
}
