//! A crypto provider for `jsonwebtoken` on ring.
//!
//! The provider that comes with `jsonwebtoken` depends on the crate `rsa`, whose private-key operations leak through their
//! timing (RUSTSEC-2023-0071), and on seven more crates for what ring, which TLS needs anyway, implements as well. A process
//! has one provider, so this one supports every algorithm that the rest of a program may use, HMAC included.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result};
use jsonwebtoken::jwk::{EllipticCurve, ThumbprintHash};
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair, UnparsedPublicKey};
use ring::{digest, hmac};

/// Makes `jsonwebtoken` use ring in this process, unless another provider is installed. This crate calls it before it signs
/// or verifies a token.
pub fn install_crypto_provider() {
    let _ = PROVIDER.install_default();
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |der| {
            let PublicKeyComponents { n, e } = PublicKeyComponents::from(rsa_pair(der)?.public());
            Ok((n, e))
        },
        // ring does not parse public keys into their components.
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ec_pub_components_from_private_key: ec_components,
        ed_pub_components_from_private_key: |der, _| Ok(ed_pair(der)?.public_key().as_ref().to_vec()),
        compute_digest: |data, hash| {
            let hash = match hash {
                ThumbprintHash::SHA256 => &digest::SHA256,
                ThumbprintHash::SHA384 => &digest::SHA384,
                ThumbprintHash::SHA512 => &digest::SHA512,
                _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
            };
            Ok(digest::digest(hash, data).as_ref().to_vec())
        },
    },
};

struct RingSigner {
    algorithm: Algorithm,
    key: PrivateKey,
}

enum PrivateKey {
    Rsa(Box<RsaKeyPair>, &'static dyn signature::RsaEncoding),
    Ec(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Hmac(hmac::Key),
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    let (algorithm, der) = (*algorithm, key.as_bytes());
    if !key.family().algorithms().contains(&algorithm) {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    let key = match key.family() {
        AlgorithmFamily::Rsa => PrivateKey::Rsa(Box::new(rsa_pair(der)?), rsa_encoding(algorithm)?),
        AlgorithmFamily::Ec => PrivateKey::Ec(ec_pair(der, algorithm)?),
        AlgorithmFamily::Ed => PrivateKey::Ed25519(ed_pair(der)?),
        AlgorithmFamily::Hmac => PrivateKey::Hmac(hmac::Key::new(hmac_hash(algorithm)?, der)),
    };
    Ok(Box::new(RingSigner { algorithm, key }))
}

impl Signer<Vec<u8>> for RingSigner {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, SignatureError> {
        let random = SystemRandom::new();
        match &self.key {
            PrivateKey::Rsa(key, encoding) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(*encoding, &random, message, &mut signature).map_err(|_| SignatureError::new())?;
                Ok(signature)
            }
            PrivateKey::Ec(key) => {
                let signature = key.sign(&random, message).map_err(|_| SignatureError::new())?;
                Ok(signature.as_ref().to_vec())
            }
            PrivateKey::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
            PrivateKey::Hmac(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
        }
    }
}

impl JwtSigner for RingSigner {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if !key.family().algorithms().contains(algorithm) {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }))
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), SignatureError> {
        let checked = match (self.key.kind(), self.algorithm) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, algorithm) => {
                // Some issuers encode the unsigned integers as signed ones, with a leading zero.
                let key = PublicKeyComponents { n: without_zeros(n), e: without_zeros(e) };
                key.verify(
                    rsa_parameters(algorithm).map_err(SignatureError::from_source)?,
                    message,
                    signature,
                )
            }
            (
                DecodingKeyKind::SecretOrDer(secret),
                Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512,
            ) => {
                let hash = hmac_hash(self.algorithm).map_err(SignatureError::from_source)?;
                hmac::verify(&hmac::Key::new(hash, secret), message, signature)
            }
            (DecodingKeyKind::SecretOrDer(key), algorithm) => {
                let algorithm = verification_algorithm(algorithm).map_err(SignatureError::from_source)?;
                UnparsedPublicKey::new(algorithm, key).verify(message, signature)
            }
        };
        checked.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

fn verification_algorithm(algorithm: Algorithm) -> Result<&'static dyn signature::VerificationAlgorithm> {
    Ok(match algorithm {
        Algorithm::ES256 => &signature::ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &signature::ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &signature::ED25519,
        algorithm => rsa_parameters(algorithm)?,
    })
}

fn rsa_parameters(algorithm: Algorithm) -> Result<&'static signature::RsaParameters> {
    Ok(match algorithm {
        Algorithm::RS256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    })
}

fn rsa_encoding(algorithm: Algorithm) -> Result<&'static dyn signature::RsaEncoding> {
    Ok(match algorithm {
        Algorithm::RS256 => &signature::RSA_PKCS1_SHA256,
        Algorithm::RS384 => &signature::RSA_PKCS1_SHA384,
        Algorithm::RS512 => &signature::RSA_PKCS1_SHA512,
        Algorithm::PS256 => &signature::RSA_PSS_SHA256,
        Algorithm::PS384 => &signature::RSA_PSS_SHA384,
        Algorithm::PS512 => &signature::RSA_PSS_SHA512,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    })
}

fn hmac_hash(algorithm: Algorithm) -> Result<hmac::Algorithm> {
    Ok(match algorithm {
        Algorithm::HS256 => hmac::HMAC_SHA256,
        Algorithm::HS384 => hmac::HMAC_SHA384,
        Algorithm::HS512 => hmac::HMAC_SHA512,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    })
}

/// An RSA key in PKCS #1 or PKCS #8.
fn rsa_pair(der: &[u8]) -> Result<RsaKeyPair> {
    let pair = RsaKeyPair::from_der(der).or_else(|_| RsaKeyPair::from_pkcs8(der));
    pair.map_err(|error| Error::from(ErrorKind::InvalidRsaKey(error.to_string())))
}

/// An EC key in PKCS #8, with its public key.
fn ec_pair(der: &[u8], algorithm: Algorithm) -> Result<EcdsaKeyPair> {
    let signs = match algorithm {
        Algorithm::ES256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        Algorithm::ES384 => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    EcdsaKeyPair::from_pkcs8(signs, der, &SystemRandom::new()).map_err(|_| ErrorKind::InvalidEcdsaKey.into())
}

/// An Ed25519 key in PKCS #8, with or without its public key.
fn ed_pair(der: &[u8]) -> Result<Ed25519KeyPair> {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| ErrorKind::InvalidEddsaKey.into())
}

fn ec_components(der: &[u8], algorithm: Algorithm) -> Result<(EllipticCurve, Vec<u8>, Vec<u8>)> {
    let pair = ec_pair(der, algorithm)?;
    let curve = if algorithm == Algorithm::ES256 { EllipticCurve::P256 } else { EllipticCurve::P384 };
    // The first byte says that the point is uncompressed.
    let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
    let (x, y) = point.split_at(point.len() / 2);
    Ok((curve, x.to_vec(), y.to_vec()))
}
