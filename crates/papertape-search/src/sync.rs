//! Locks that outlive a panic, and values that are initialised once, which may fail.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Locks a mutex, also after a thread has panicked with it: what these mutexes guard is valid between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that is initialised on first use: one thread initialises it while the others wait. After a failure the next use
/// tries again.
#[derive(Debug)]
pub(crate) struct Lazy<T> {
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
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, initialised now if necessary.
    pub(crate) fn get_or_try_init<E>(&self, init: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
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
