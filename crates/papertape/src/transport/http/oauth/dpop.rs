//! A key to proofs that the sender of a token is the one it was given to (RFC 9449).

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderValue, Method};
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::Signer;
use serde_json::{Value, json};
use url::Url;

use super::error::{AuthError, AuthStep};
use super::random;
use super::secret::Secret;

/// The longest nonce that is remembered.
const LONGEST: usize = 1024;

/// Whether tokens are bound to a key of the client's (DPoP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dpop {
    /// If the authorization server can.
    #[default]
    Auto,
    /// Always: a token that is not bound is refused.
    Required,
    /// Never.
    Off,
}

/// A key that tokens are bound to.
#[derive(Clone)]
pub(crate) struct ProofKey {
    key: SigningKey,
}

impl ProofKey {
    pub(crate) fn new() -> Result<Self, AuthError> {
        // Nearly every number of 256 bits is a key; a few are too large, so there is a second try.
        for _ in 0..4 {
            if let Ok(key) = SigningKey::from_slice(&random::bytes()?) {
                return Ok(Self { key });
            }
        }
        Err(AuthError::new(AuthStep::Request, "no key could be made"))
    }

    /// A key as it was kept.
    pub(crate) fn read(kept: &Secret) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(kept.reveal().as_bytes()).ok()?;
        Some(Self { key: SigningKey::from_slice(&bytes).ok()? })
    }

    /// The key, to be kept.
    pub(crate) fn keep(&self) -> Secret {
        Secret::new(BASE64URL_NOPAD.encode(&self.key.to_bytes()))
    }

    /// The public half.
    fn public(&self) -> Value {
        let point = self.key.verifying_key().to_encoded_point(false);
        let encode =
            |half: Option<&p256::FieldBytes>| half.map(|b| BASE64URL_NOPAD.encode(b)).unwrap_or_default();
        json!({ "crv": "P-256", "kty": "EC", "x": encode(point.x()), "y": encode(point.y()) })
    }

    /// The key's name (RFC 7638): the digest of its members in alphabetical order.
    pub(crate) fn thumbprint(&self) -> String {
        random::digest(&self.public().to_string())
    }

    /// A proof for one request. `token` is the one that is sent along.
    pub(crate) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<HeaderValue, AuthError> {
        let mut bare = url.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default();
        let mut claims = json!({
            "jti": random::name()?,
            "htm": method.as_str(),
            "htu": bare.as_str(),
            "iat": now,
        });
        if let Some(claims) = claims.as_object_mut() {
            claims.extend(token.map(|token| ("ath".to_owned(), random::digest(token).into())));
            claims.extend(nonce.map(|nonce| ("nonce".to_owned(), nonce.into())));
        }
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.public() });
        let encode = |part: &Value| BASE64URL_NOPAD.encode(part.to_string().as_bytes());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature: p256::ecdsa::Signature = self.key.sign(signed.as_bytes());
        let proof = format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature.to_bytes()));
        let mut value = HeaderValue::from_str(&proof)
            .map_err(|_| AuthError::new(AuthStep::Request, "the proof of possession is no header"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProofKey({})", self.thumbprint())
    }
}

/// The number that a server wants to find in the next proof.
pub(crate) fn nonce(headers: &HeaderMap) -> Option<String> {
    let nonce = headers.get("dpop-nonce")?.to_str().ok()?;
    (!nonce.is_empty() && nonce.len() <= LONGEST).then(|| nonce.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::signature::Verifier;

    #[test]
    fn a_proof_is_signed_and_says_what_it_is_for() {
        let key = ProofKey::read(&ProofKey::new().unwrap().keep()).unwrap();
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
        assert_eq!(claims["ath"], random::digest("token"));
        assert!(format!("{key:?} {proof:?}").len() < 100, "nothing of the key is shown");
    }

    #[test]
    fn the_thumbprint_is_of_the_members_in_order() {
        let key = ProofKey::new().unwrap();
        let public = key.public();
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, public["x"], public["y"]);
        assert_eq!(key.thumbprint(), random::digest(&text));
    }
}
