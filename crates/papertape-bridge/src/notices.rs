//! What users should know about the servers while a bridge runs.

use std::fmt;
use std::sync::Arc;

/// Takes the sentences that [`Bridge::on_notice`](crate::Bridge::on_notice) describes.
#[derive(Clone)]
pub(crate) struct Notices(Arc<dyn Fn(&str) + Send + Sync>);

impl Notices {
    pub(crate) fn new(callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(callback))
    }

    pub(crate) fn say(&self, sentence: impl fmt::Display) {
        (self.0)(&sentence.to_string());
    }
}

impl Default for Notices {
    fn default() -> Self {
        Self::new(|sentence| tracing::warn!("{sentence}"))
    }
}
