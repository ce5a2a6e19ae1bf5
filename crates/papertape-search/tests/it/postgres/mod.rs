//! The store in PostgreSQL against a real server that the tests start, and against malformed servers.
//!
//! Tests that need a server are run by `interop/blog/run`, which sets `PAPERTAPE_TEST_POSTGRES` to where PostgreSQL's
//! binaries are.

#![expect(
    clippy::expect_used,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod corpus;
mod faults;
mod folders;
mod graph;
mod hostile;
mod large;
mod parity;
mod pool;
mod server;
mod tls;
mod writing;
