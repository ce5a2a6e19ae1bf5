//! Any pair of byte streams: a socket, a pair of pipes, a test.

pub(crate) mod client;
pub(super) mod server;
mod write_buffer;

pub use client::{connect, connect_with};
pub use server::{Undelivered, serve};
