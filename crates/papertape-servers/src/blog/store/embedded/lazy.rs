//! Something to be made at its first use, by one thread while the others wait.

use std::sync::{Mutex, OnceLock, PoisonError};

/// A value that is made when it is first needed. If that fails, the next one tries again.
#[derive(Debug)]
pub(super) struct Lazy<T> {
    made: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self { made: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<T> Lazy<T> {
    /// The value, if it has been made.
    pub(super) fn get(&self) -> Option<&T> {
        self.made.get()
    }

    /// The value; made now if it is not there yet.
    pub(super) fn or_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.made.get() {
            return Ok(value);
        }
        let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.made.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.made.get_or_init(|| value))
    }
}
