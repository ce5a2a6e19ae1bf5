//! Waits for another writer.

use std::time::Duration;

use crate::store::{Store, StoreError, Writer};

/// How often the lock is tried, and the pause between: a writer in another process sends no event when it is done.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// Opens a writer; while another one writes, waits up to half a minute.
pub(super) async fn wait_for_writer(store: &dyn Store) -> Result<Box<dyn Writer>, StoreError> {
    for _ in 0..TRIES {
        match store.write().await {
            Err(StoreError::Locked { .. }) => tokio::time::sleep(PAUSE).await,
            other => return other,
        }
    }
    store.write().await
}
