//! The integration tests of the library, in one binary.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod alone;
mod bytes;
mod client;
mod client_tapes;
mod envelope;
mod everything;
mod fixture;
mod headers;
mod lifecycle;
mod offers;
mod offers_hostile;
mod peer;
mod process;
mod properties;
mod skills;
mod stdio_process;
mod tapes;
mod tidy;
mod tools;
