//! Keys and the tokens that are signed with them.

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use p256::pkcs8::EncodePrivateKey;
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::issuer::FakeIssuer;
use super::{RESOURCE, crypto};

/// Made for these tests and used nowhere else.
const RSA: &[u8] = include_bytes!("rsa-for-tests.pem");

/// What stands before the 32 bytes of an Ed25519 key in PKCS #8.
const ED25519_PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

pub(super) struct Signer {
    key: EncodingKey,
    algorithm: Algorithm,
    pub(super) id: String,
}

impl Signer {
    pub(super) fn es256(seed: u8) -> Self {
        let key = p256::SecretKey::from_slice(&[seed; 32]).unwrap().to_pkcs8_der().unwrap();
        let key = EncodingKey::from_ec_der(key.as_bytes());
        Self { key, algorithm: Algorithm::ES256, id: format!("es256-{seed}") }
    }

    pub(super) fn eddsa(seed: u8) -> Self {
        let key = EncodingKey::from_ed_der(&[ED25519_PKCS8, [seed; 16], [seed; 16]].concat());
        Self { key, algorithm: Algorithm::EdDSA, id: format!("eddsa-{seed}") }
    }

    pub(super) fn rsa(algorithm: Algorithm) -> Self {
        let key = PrivatePkcs8KeyDer::from_pem_slice(RSA).unwrap();
        let key = EncodingKey::from_rsa_der(key.secret_pkcs8_der());
        Self { key, algorithm, id: format!("rsa-{algorithm:?}") }
    }

    /// The public half, as issuers publish it.
    pub(super) fn jwk(&self) -> Value {
        crypto::install();
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.id.clone());
        serde_json::to_value(jwk).unwrap()
    }

    pub(super) fn header(&self) -> Header {
        Header { kid: Some(self.id.clone()), ..Header::new(self.algorithm) }
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&self.header(), claims)
    }

    pub(super) fn sign_with(&self, header: &Header, claims: &Value) -> String {
        crypto::install();
        jsonwebtoken::encode(header, claims, &self.key).unwrap()
    }
}

/// Claims that are all right.
pub(super) fn claims(issuer: &FakeIssuer) -> Value {
    json!({"iss": issuer.name(), "sub": "alice", "aud": RESOURCE, "exp": now() + 300, "scope": "read write"})
}

/// The same, but for one.
pub(super) fn claims_but(issuer: &FakeIssuer, name: &str, value: Value) -> Value {
    let mut claims = claims(issuer);
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

pub(super) fn now() -> u64 {
    jsonwebtoken::get_current_timestamp()
}

/// A token made by hand.
pub(super) fn by_hand(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
    let (header, claims) = (header.to_string(), claims.to_string());
    format!("{}.{}.{}", part(header.as_bytes()), part(claims.as_bytes()), part(signature))
}
