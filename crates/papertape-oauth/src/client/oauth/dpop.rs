//! Sender-constrained tokens: DPoP proofs (RFC 9449).

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderValue, Method};
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::Signer;
use serde_json::{Value, json};
use url::Url;

use super::pkce;
use super::secret::Secret;
use super::unix_time;
use crate::client::error::{AuthError, AuthStep};

/// The longest nonce.
const MAX_NONCE: usize = 1024;

/// Whether tokens are sender-constrained: bound to a key of the client (DPoP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dpop {
    /// If the authorization server supports it.
    #[default]
    Auto,
    /// Always: a token that is not bound is rejected.
    Required,
    /// Never.
    Off,
}

/// The key that a token is bound to.
#[derive(Clone)]
pub(super) struct ProofKey {
    key: SigningKey,
}

impl ProofKey {
    pub(super) fn new() -> Result<Self, AuthError> {
        // Nearly every number of 256 bits is a key; a few are too large.
        for _ in 0..4 {
            if let Ok(key) = SigningKey::from_slice(&pkce::random_bytes()?) {
                return Ok(Self { key });
            }
        }
        Err(AuthError::new(AuthStep::Request, "cannot generate a DPoP key"))
    }

    /// A key from the token store.
    pub(super) fn parse(saved: &Secret) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(saved.reveal().as_bytes()).ok()?;
        Some(Self { key: SigningKey::from_slice(&bytes).ok()? })
    }

    /// The key for the token store.
    pub(super) fn to_secret(&self) -> Secret {
        Secret::new(BASE64URL_NOPAD.encode(&self.key.to_bytes()))
    }

    /// The public key, as a JWK.
    fn public_jwk(&self) -> Value {
        let point = self.key.verifying_key().to_sec1_point(false);
        let encode =
            |half: Option<&p256::FieldBytes>| half.map(|b| BASE64URL_NOPAD.encode(b)).unwrap_or_default();
        json!({ "crv": "P-256", "kty": "EC", "x": encode(point.x()), "y": encode(point.y()) })
    }

    /// The JWK thumbprint (RFC 7638): the digest of the members in alphabetical order.
    pub(super) fn thumbprint(&self) -> String {
        pkce::digest(&self.public_jwk().to_string())
    }

    /// A proof for one request, which may carry an access token.
    pub(super) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<HeaderValue, AuthError> {
        let mut bare = url.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        let mut claims = json!({
            "jti": pkce::nonce()?,
            "htm": method.as_str(),
            "htu": bare.as_str(),
            "iat": unix_time(),
        });
        if let Some(claims) = claims.as_object_mut() {
            claims.extend(token.map(|token| ("ath".to_owned(), pkce::digest(token).into())));
            claims.extend(nonce.map(|nonce| ("nonce".to_owned(), nonce.into())));
        }
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.public_jwk() });
        let encode = |part: &Value| BASE64URL_NOPAD.encode(part.to_string().as_bytes());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature: p256::ecdsa::Signature = self.key.sign(signed.as_bytes());
        let proof = format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature.to_bytes()));
        let mut value = HeaderValue::from_str(&proof)
            .map_err(|_| AuthError::new(AuthStep::Request, "the DPoP proof is not a header value"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProofKey({})", self.thumbprint())
    }
}

/// The nonce that a server requires in the next proof.
pub(super) fn nonce(headers: &HeaderMap) -> Option<String> {
    let nonce = headers.get("dpop-nonce")?.to_str().ok()?;
    (!nonce.is_empty() && nonce.len() <= MAX_NONCE).then(|| nonce.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::signature::Verifier;

    #[test]
    fn a_proof_is_signed_and_names_the_request() {
        let key = ProofKey::parse(&ProofKey::new().unwrap().to_secret()).unwrap();
        let url = Url::parse("https://example.com/mcp?x=1#y").unwrap();
        let proof = key.proof(&Method::POST, &url, Some("token"), Some("n")).unwrap();
        let text = proof.to_str().unwrap();
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
        let signature = p256::ecdsa::Signature::from_slice(&signature).unwrap();
        key.key.verifying_key().verify(signed.as_bytes(), &signature).unwrap();
        let (_, claims) = signed.split_once('.').unwrap();
        let claims: Value =
            serde_json::from_slice(&BASE64URL_NOPAD.decode(claims.as_bytes()).unwrap()).unwrap();
        assert_eq!(claims["htu"], "https://example.com/mcp");
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["nonce"], "n");
        assert_eq!(claims["ath"], pkce::digest("token"));
        assert!(format!("{key:?} {proof:?}").len() < 100, "the key is not shown");
    }

    #[test]
    fn the_thumbprint_is_of_the_members_in_order() {
        let key = ProofKey::new().unwrap();
        let jwk = key.public_jwk();
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
        assert_eq!(key.thumbprint(), pkce::digest(&text));
    }
}
