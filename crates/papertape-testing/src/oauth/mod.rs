//! Signed access tokens, and an issuer with scripted responses. The keys are used in tests only.

mod signing;
mod stub_issuer;

pub use signing::{RESOURCE, TokenSigner, claims, claims_with, encode_jwt, now};
pub use stub_issuer::{INTROSPECTION_CLIENT, StubIssuer, StubResponse, key_set};

/// An RSA key of 2048 bits in PKCS #8.
pub const RSA_PRIVATE_KEY: &[u8] = include_bytes!("rsa.pem");
/// An EC key on P-256 in PKCS #8.
pub const EC_PRIVATE_KEY: &[u8] = include_bytes!("ec.pem");
/// The public key of [`EC_PRIVATE_KEY`].
pub const EC_PUBLIC_KEY: &[u8] = include_bytes!("ec.pub.pem");
