//! The page's server as HTTP clients see it, and its files as they are.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod attacks;
mod client;
mod files;
mod queries;
mod trying;
