//! Who may ask, and what: a server on a real socket, asked with keys, with tokens that are really signed, and with neither.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod entrance;
mod metadata;
mod principals;
mod revoking;
mod scopes;
mod site;
mod steps;

#[path = "../../src/transport/http/auth/crypto.rs"]
mod crypto;
#[expect(dead_code, reason = "the tests within the library use the rest")]
#[path = "../../src/transport/http/auth/tests/issuer.rs"]
mod issuer;
#[expect(dead_code, reason = "the tests within the library use the rest")]
#[path = "../../src/transport/http/auth/tests/signing.rs"]
mod signing;

/// What the server calls itself. Nobody looks it up.
const RESOURCE: &str = "https://mcp.example.com/mcp";
