//! The integration tests of the library, in one binary.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod apps;
mod by_hand;
mod bytes;
mod client;
mod client_tapes;
mod clients;
mod custom;
mod envelope;
mod features;
mod features_hostile;
mod fixture;
mod full_server;
mod headers;
mod lifecycle;
mod model_api;
mod own_process;
mod peer;
mod properties;
mod proxying;
mod skills;
mod state;
mod stdio_process;
mod tapes;
mod tidy;
mod tools;
mod unix_socket;

use papertape_testing::process;
