//! The lists of a server: what is in them, page by page, and handles to change them while it serves.

pub(crate) mod cursor;
pub(crate) mod handles;
pub(crate) mod registry;
pub(crate) mod visibility;
