//! The store in PostgreSQL against a real server that the tests start, and against servers that lie.
//!
//! Tests that need a server are run by `interop/blog/run`, which says in `PAPERTAPE_TEST_POSTGRES` where PostgreSQL's
//! binaries are.

#[cfg(unix)]
mod corpus;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod same;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod tls;
#[cfg(unix)]
mod writing;
