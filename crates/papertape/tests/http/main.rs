//! Servers on HTTP against peers that mean no good, in one binary: raw sockets, row by row of the catalogue of bad input.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod around;
mod batches;
mod calls;
mod clients;
mod doors;
mod ending;
mod fixture;
mod headers;
mod limits;
mod lines;
mod modern;
mod news;
mod old;
mod request;
mod sessions;
mod streams;
mod wire;
