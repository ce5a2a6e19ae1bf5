//! Random bytes to names that nobody can guess, and the proof that a token's asker began the flow (PKCE).

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};

use super::error::{AuthError, AuthStep};

/// A name of 256 random bits that fits into a URL.
pub(crate) fn name() -> Result<String, AuthError> {
    Ok(BASE64URL_NOPAD.encode(&bytes()?))
}

/// 256 random bits.
pub(crate) fn bytes() -> Result<[u8; 32], AuthError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|_| AuthError::new(AuthStep::Request, "the system has no randomness to give"))?;
    Ok(bytes)
}

/// The SHA-256 of a text, as it goes into a URL or a token: PKCE's challenge, DPoP's `ath`.
pub(crate) fn digest(text: &str) -> String {
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
    fn names_are_long_enough_for_pkce_and_never_the_same() {
        let (one, two) = (name().unwrap(), name().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, two);
    }
}
