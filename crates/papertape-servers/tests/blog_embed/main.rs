//! Embedders against services that misbehave on real sockets, and against the folders of models.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod folder;
mod model;
mod services;
mod stub;
mod tiny;
