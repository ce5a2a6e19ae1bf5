//! The client's side of authorization, against an authorization server and an MCP server on real sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod browser;
#[path = "../../src/transport/http/auth/crypto.rs"]
mod crypto;
mod discovery;
mod files;
mod issuers;
mod machines;
mod proofs;
mod scopes;
mod site;
mod tokens;
mod world;
