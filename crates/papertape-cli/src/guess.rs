//! A mistyped name to the one that was meant.

pub(crate) use papertape::guess::{hint, nearest};
