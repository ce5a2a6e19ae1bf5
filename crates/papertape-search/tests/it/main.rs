//! The search engine on real files, real sockets and, if there is one, a real PostgreSQL.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod embed;
mod index;
#[cfg(feature = "postgres")]
mod postgres;
