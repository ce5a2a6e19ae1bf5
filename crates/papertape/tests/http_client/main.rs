//! The client on HTTP, against servers that are a few lines of raw bytes each.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod auth;
mod faults;
mod http_sse;
mod legacy;
mod limits;
mod modern;
mod negotiation;
mod one_service;
mod redirects;
mod scripted;
mod streams;
mod subscriptions;
mod tape;
mod tasks;
mod tls_and_proxy;
