//! The official conformance suite's scenarios over stdio, which the suite cannot test: the same server
//! (`examples/conformance_server`) as a process of its own, with the same requests in each revision that has them.
//!
//! The functions carry the suite's names of the scenarios. Those that are about HTTP alone (sessions, headers, event
//! streams, Origin) are left to `interop/conformance/run`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod elicitation;
mod lifecycle;
mod mrtr;
mod prompts;
mod resources;
mod skills;
mod stateless;
mod subscriptions;
mod tasks;
mod tools;
mod wire;

use papertape_testing::process;
