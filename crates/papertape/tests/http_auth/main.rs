//! Authentication and authorization: a server on a real socket, with API keys, with signed tokens, and with neither.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod application;
mod authentication;
mod custom;
mod metadata;
mod principals;
mod revocation;
mod scope_changes;
mod scopes;
mod site;
mod visibility;
