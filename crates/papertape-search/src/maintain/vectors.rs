//! Vectors for what was indexed, made in the background; what fails is tried again.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::{FIRST_PAUSE, LONGEST_PAUSE, warn};
use crate::embed::EmbedError;
use crate::index::{self, RejectedTexts};
use crate::query::Searcher;
use crate::store::StoreError;

/// The pauses after a rejected request or an invalid response, which will hardly differ soon and may cost each time.
pub(super) const REJECTED_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_REJECTED_PAUSE: Duration = Duration::from_secs(3600);

/// Brings the vectors up to date whenever the terms are. Ends when no more files can change.
pub(super) async fn keep(searcher: &Searcher, mut changes: watch::Receiver<()>) {
    let Some(embedder) = searcher.embedder() else { return };
    let mut more = changes.changed().await.is_ok();
    let mut pause = FIRST_PAUSE;
    let mut logged = Vec::new();
    let mut rejected = RejectedTexts::default();
    while more {
        let mut longest = LONGEST_PAUSE;
        let done = index::vectors(&**searcher.store(), &**embedder, &mut rejected, &|_| ()).await;
        searcher.set_vector_failure(match &done {
            Ok(done) => done.failure.as_ref().map(ToString::to_string),
            Err(why) => Some(why.public_message()),
        });
        match done {
            Ok(done) => {
                // A model that stays unreachable is logged once.
                if done.warnings != logged {
                    warn(&done.warnings);
                    logged = done.warnings;
                }
                let summary = &done.summary;
                tracing::info!(vectors = summary.vectors, chunks = summary.chunks, "vectors are made");
                match done.failure {
                    None => {
                        pause = FIRST_PAUSE;
                        more = changes.changed().await.is_ok();
                        continue;
                    }
                    Some(EmbedError::InvalidResponse(_) | EmbedError::Rejected(_)) => {
                        longest = LONGEST_REJECTED_PAUSE;
                        pause = pause.max(REJECTED_PAUSE);
                    }
                    Some(_) => {}
                }
            }
            // Vectors of two models cannot be mixed; searches say that they are lexical only, and why.
            Err(why @ StoreError::Mismatch(_)) => {
                tracing::warn!("{why}");
                more = changes.changed().await.is_ok();
                continue;
            }
            Err(why) => tracing::warn!("{why}"),
        }
        // A change shortens the pause; that no more can come does not.
        tokio::select! {
            () = sleep(pause) => {}
            Ok(()) = changes.changed() => {}
        }
        pause = (pause * 2).min(longest);
    }
}
