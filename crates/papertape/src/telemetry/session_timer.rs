//! How long a session lasts. Without the feature `opentelemetry` nothing is measured.

use super::{Network, Outcome, Side};
use crate::protocol::Revision;

/// Measures a session from its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionTimer {
    #[cfg(feature = "opentelemetry")]
    began: std::time::Instant,
}

impl SessionTimer {
    pub(crate) fn begin() -> Self {
        Self {
            #[cfg(feature = "opentelemetry")]
            began: std::time::Instant::now(),
        }
    }

    /// Records a session that has ended.
    pub(crate) fn end(self, side: Side, network: Network, revision: Option<Revision>, outcome: &Outcome<'_>) {
        #[cfg(feature = "opentelemetry")]
        super::metrics::session(side, network, self.began.elapsed(), revision, outcome);
        #[cfg(not(feature = "opentelemetry"))]
        let _ = (side, network, revision, outcome);
    }
}
