//! The OAuth client and the protected resource, against servers on loopback sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod client;
mod server;
