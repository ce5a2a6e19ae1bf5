//! Whether a function has kept the thread that polled it, and so should begin elsewhere for a while.

use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that a suspect function begins off the wire.
const CALLS_OFF_THE_WIRE: u32 = 16;

/// So many of a function's next calls begin elsewhere, because it held the connection's thread up.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU32);

impl Pace {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The function has kept the thread that polled it: its next calls begin elsewhere. Not all of them, because it may
    /// have been the machine's fault.
    pub(crate) fn suspect(&self) {
        self.0.store(CALLS_OFF_THE_WIRE, Ordering::Relaxed);
    }

    pub(crate) fn is_suspect(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts a call that begins off the wire; false if it need not.
    pub(crate) fn count_off_the_wire(&self) -> bool {
        let count = |left: u32| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok()
    }
}
