//! Callbacks of the program: one that panics must not end what calls it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a callback of the program, on a task that must go on if it panics.
pub(crate) fn unless_it_panics(callback: &str, call: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        tracing::error!("the callback `{callback}` panicked: {}", message(&*panic));
        // Dropping the payload could panic again.
        std::mem::forget(panic);
    }
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}
