//! Any pair of byte streams: a socket, a pair of pipes, a test.

pub(crate) mod client;
pub(super) mod server;

pub use client::{connect, connect_with};
pub use server::{Undelivered, serve, serve_until};
