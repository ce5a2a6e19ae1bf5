//! Signed access tokens.

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use p256::pkcs8::EncodePrivateKey;
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::RSA_PRIVATE_KEY;
use super::stub_issuer::StubIssuer;
use papertape_oauth::install_crypto_provider;

/// The protected resource that tokens are for.
pub const RESOURCE: &str = "https://mcp.example.com/mcp";

/// The PKCS #8 header of an Ed25519 key, before its 32 bytes.
const ED25519_PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// A private key of an issuer.
pub struct TokenSigner {
    key: EncodingKey,
    algorithm: Algorithm,
    /// The key id (`kid`).
    pub id: String,
}

impl TokenSigner {
    /// An ES256 key, which depends on the seed.
    pub fn es256(seed: u8) -> Self {
        let key = p256::SecretKey::from_slice(&[seed; 32]).unwrap().to_pkcs8_der().unwrap();
        let key = EncodingKey::from_ec_der(key.as_bytes());
        Self { key, algorithm: Algorithm::ES256, id: format!("es256-{seed}") }
    }

    /// An Ed25519 key, which depends on the seed.
    pub fn eddsa(seed: u8) -> Self {
        let key = EncodingKey::from_ed_der(&[ED25519_PKCS8, [seed; 16], [seed; 16]].concat());
        Self { key, algorithm: Algorithm::EdDSA, id: format!("eddsa-{seed}") }
    }

    /// The RSA key of these tests.
    pub fn rsa(algorithm: Algorithm) -> Self {
        let key = PrivatePkcs8KeyDer::from_pem_slice(RSA_PRIVATE_KEY).unwrap();
        let key = EncodingKey::from_rsa_der(key.secret_pkcs8_der());
        Self { key, algorithm, id: format!("rsa-{algorithm:?}") }
    }

    /// The public key, as an issuer publishes it.
    pub fn jwk(&self) -> Value {
        install_crypto_provider();
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.id.clone());
        serde_json::to_value(jwk).unwrap()
    }

    /// The header of its tokens.
    pub fn header(&self) -> Header {
        Header { kid: Some(self.id.clone()), ..Header::new(self.algorithm) }
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_with(&self.header(), claims)
    }

    /// A token with this header.
    pub fn sign_with(&self, header: &Header, claims: &Value) -> String {
        install_crypto_provider();
        jsonwebtoken::encode(header, claims, &self.key).unwrap()
    }
}

/// Valid claims.
pub fn claims(issuer: &StubIssuer) -> Value {
    json!({"iss": issuer.name(), "sub": "alice", "aud": RESOURCE, "exp": now() + 300, "scope": "read write"})
}

/// Valid claims with one replaced; null removes it.
pub fn claims_with(issuer: &StubIssuer, name: &str, value: Value) -> Value {
    let mut claims = claims(issuer);
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

/// The Unix time.
pub fn now() -> u64 {
    jsonwebtoken::get_current_timestamp()
}

/// A token with any header and signature.
pub fn encode_jwt(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
    let (header, claims) = (header.to_string(), claims.to_string());
    format!("{}.{}.{}", part(header.as_bytes()), part(claims.as_bytes()), part(signature))
}

impl std::fmt::Debug for TokenSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenSigner").field("id", &self.id).finish_non_exhaustive()
    }
}
