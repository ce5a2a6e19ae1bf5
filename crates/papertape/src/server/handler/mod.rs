//! Handlers: the context they are given, what they return, how they fail, and the middleware around them.

pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod middleware;
pub(crate) mod progress;
pub(crate) mod request_context;
