//! The key set of an issuer (JWKS, RFC 7517).

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use serde_json::Value;

use super::algorithm::Algorithm;

/// The most keys of an issuer.
const MAX_KEYS: usize = 100;

/// The most keys that a token without `kid` is tried with.
const MAX_TRIED: usize = 8;

#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<PublicKey>,
}

#[derive(Debug)]
struct PublicKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl KeySet {
    /// The usable keys of a document. Unknown ones are skipped.
    pub(super) fn read(document: &Value) -> Result<Self, String> {
        let list = document.get("keys").and_then(Value::as_array).ok_or("it has no list `keys`")?;
        let keys: Vec<PublicKey> = list.iter().take(MAX_KEYS).filter_map(read_key).collect();
        if keys.is_empty() {
            return Err("it has no public key for a supported signature algorithm".to_owned());
        }
        Ok(Self { keys })
    }

    /// The keys that may have signed a token.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<&DecodingKey> {
        let fits = |key: &&PublicKey| {
            key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id)
        };
        self.keys.iter().filter(fits).take(MAX_TRIED).map(|key| &key.key).collect()
    }
}

fn read_key(value: &Value) -> Option<PublicKey> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let algorithms: Vec<Algorithm> =
        Algorithm::ALL.into_iter().filter(|algorithm| algorithm.fits(&jwk)).collect();
    // Shared secrets are among those without an algorithm: every reader of the key set could issue tokens with one.
    if algorithms.is_empty() {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(PublicKey { id: jwk.common.key_id, algorithms, key })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The public key of RFC 7517, appendix A.1.
    fn ec_key() -> Value {
        json!({
            "kty": "EC", "crv": "P-256", "kid": "1",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
        })
    }

    #[test]
    fn a_key_set_without_a_usable_key_is_rejected() {
        for invalid in [
            json!(null),
            json!([]),
            json!({}),
            json!({"keys": 7}),
            json!({"keys": []}),
            json!({"keys": [7, null, {}, {"kty": "RSA"}, {"kty": "oct", "k": "c2VjcmV0"}]}),
            json!({"keys": [{"kty": "OKP", "crv": "X25519", "x": "AAAA"}]}),
        ] {
            assert!(KeySet::read(&invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn unusable_keys_are_skipped() {
        let mixed = json!({"keys": [{"kty": "future", "x": {"y": 1}}, ec_key(), {"kty": "RSA", "n": "!", "e": "AQAB"}]});
        let keys = KeySet::read(&mixed).unwrap();
        assert_eq!(keys.find(Some("1"), Algorithm::Es256).len(), 1);
    }
}
