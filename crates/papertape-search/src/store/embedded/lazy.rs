//! Lazy initialisation that may fail: one thread initialises while the others wait.

use crate::sync::lock;
use std::sync::{Mutex, OnceLock};

/// A value that is initialised on first use. After a failure the next use tries again.
#[derive(Debug)]
pub(super) struct Lazy<T> {
    value: OnceLock<T>,
    initialising: Mutex<()>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), initialising: Mutex::new(()) }
    }
}

impl<T> Lazy<T> {
    /// The value, if it is initialised.
    pub(super) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, initialised now if necessary.
    pub(super) fn get_or_try_init<E>(&self, init: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _turn = lock(&self.initialising);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = init()?;
        Ok(self.value.get_or_init(|| value))
    }
}
