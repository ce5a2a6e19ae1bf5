//! Servers on HTTP against hostile peers, in one binary: raw sockets, row by row of the catalogue of bad input.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod batches;
mod calls;
mod clients;
mod connection;
mod context;
mod fixture;
mod headers;
mod host_and_origin;
mod http_sse;
mod injection;
mod limits;
mod modern;
mod notifications;
mod request;
mod routes;
mod sessions;
mod shutdown;
mod streams;
