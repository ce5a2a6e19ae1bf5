//! Tests of the check on real servers.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

#[macro_use]
mod fixture;

mod behaviour;
mod stdio;
