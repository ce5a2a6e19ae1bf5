//! Unguessable values, and the challenge that proves that the same client redeems the code (PKCE, RFC 7636).

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};

use crate::client::error::{AuthError, AuthStep};

/// 256 random bits, base64url: a `state`, a code verifier, a `jti`.
pub(super) fn nonce() -> Result<String, AuthError> {
    Ok(BASE64URL_NOPAD.encode(&random_bytes()?))
}

pub(super) fn random_bytes() -> Result<[u8; 32], AuthError> {
    crate::random::bytes().map_err(|e| AuthError::new(AuthStep::Request, e.to_string()))
}

/// The SHA-256 of a text, base64url: the code challenge, DPoP's `ath`, a JWK thumbprint.
pub(super) fn digest(text: &str) -> String {
    BASE64URL_NOPAD.encode(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(digest(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn a_verifier_has_43_characters_and_is_unique() {
        let (one, two) = (nonce().unwrap(), nonce().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, two);
    }
}
