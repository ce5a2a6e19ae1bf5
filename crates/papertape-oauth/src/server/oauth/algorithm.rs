//! Signature algorithms of access tokens.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};

/// A signature algorithm of access tokens: asymmetric ones only.
///
/// There is no `none`, and no HMAC: a server that can verify tokens with a shared secret could issue them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA (PKCS #1 v1.5) with SHA-256.
    Rs256,
    /// RSA (PKCS #1 v1.5) with SHA-384.
    Rs384,
    /// RSA (PKCS #1 v1.5) with SHA-512.
    Rs512,
    /// RSA (PSS) with SHA-256.
    Ps256,
    /// RSA (PSS) with SHA-384.
    Ps384,
    /// RSA (PSS) with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All algorithms: the default.
    pub const ALL: [Algorithm; 9] = [
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Ps384,
        Algorithm::Ps512,
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::EdDsa,
    ];

    pub(super) fn to_jsonwebtoken(self) -> jsonwebtoken::Algorithm {
        match self {
            Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
            Algorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
            Algorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
            Algorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
            Algorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
            Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::Es384 => jsonwebtoken::Algorithm::ES384,
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }

    /// Whether a published key can be used with this algorithm: its type fits, and its `alg`, `use` and `key_ops` allow it.
    pub(super) fn fits(self, jwk: &Jwk) -> bool {
        let common = &jwk.common;
        let kind = match (&jwk.algorithm, self) {
            (AlgorithmParameters::EllipticCurve(key), Algorithm::Es256) => key.curve == EllipticCurve::P256,
            (AlgorithmParameters::EllipticCurve(key), Algorithm::Es384) => key.curve == EllipticCurve::P384,
            (AlgorithmParameters::OctetKeyPair(key), Algorithm::EdDsa) => key.curve == EllipticCurve::Ed25519,
            (AlgorithmParameters::RSA(_), _) => {
                !matches!(self, Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa)
            }
            _ => false,
        };
        let own = common.key_algorithm.is_none_or(|own| own == KeyAlgorithm::from(self.to_jsonwebtoken()));
        let signs = common.public_key_use.as_ref().is_none_or(|uses| *uses == PublicKeyUse::Signature);
        let verifies = common
            .key_operations
            .as_ref()
            .is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        kind && own && signs && verifies
    }
}
