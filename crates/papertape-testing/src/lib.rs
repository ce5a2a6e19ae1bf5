//! Test helpers that several crates share.
//!
//! - [`faulty`]: an MCP server that misbehaves in one named way per mode
//! - `oauth` (a feature): signed access tokens, and an issuer with scripted responses
//! - `otlp` (a feature): a collector that receives spans and metrics in OTLP
//! - [`process`]: a server process on real pipes

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::must_use_candidate,
    reason = "in a test, a panic is a finding"
)]

pub mod faulty;
#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod process;

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
