//! The store in PostgreSQL against a real server that the tests start, and against servers that lie.
//!
//! Tests that need a server are run by `interop/blog/run`, which says in `PAPERTAPE_TEST_POSTGRES` where PostgreSQL's
//! binaries are.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod corpus;
mod faults;
mod folders;
mod graph;
mod hostile;
mod large;
mod pool;
mod same;
mod server;
mod tls;
mod writing;
