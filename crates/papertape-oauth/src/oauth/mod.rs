//! What the OAuth client and the protected resource share: signatures, metadata locations, HTTP.

mod crypto;
mod http;
mod well_known;

pub use crypto::install_crypto_provider;
pub(crate) use http::{USER_AGENT, read_body};
pub(crate) use well_known::authorization_server_metadata;
