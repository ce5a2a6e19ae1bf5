//! An issuer's published keys (JWKS): JSON to the keys that tokens can be checked with.

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use serde_json::Value;

use super::algorithm::Algorithm;

/// Of one issuer, no more keys than this are kept.
const MOST_KEYS: usize = 100;

/// A token that does not say which key it was signed with is tried with so many.
const MOST_TRIED: usize = 8;

/// The keys of one issuer at one time.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<PublicKey>,
}

#[derive(Debug)]
struct PublicKey {
    id: Option<String>,
    /// How it may be used.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl KeySet {
    /// The keys in a document that are of any use. One that is not understood spoils none of the others.
    pub(super) fn read(document: &Value) -> Result<Self, String> {
        let list = document.get("keys").and_then(Value::as_array).ok_or("there is no list `keys` in it")?;
        let keys: Vec<PublicKey> = list.iter().take(MOST_KEYS).filter_map(read_key).collect();
        if keys.is_empty() {
            return Err("there is no public key in it that a signature can be checked with".to_owned());
        }
        Ok(Self { keys })
    }

    /// The keys that a token may have been signed with.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<&DecodingKey> {
        let fits = |key: &&PublicKey| {
            key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id)
        };
        self.keys.iter().filter(fits).take(MOST_TRIED).map(|key| &key.key).collect()
    }
}

fn read_key(value: &Value) -> Option<PublicKey> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let algorithms: Vec<Algorithm> =
        Algorithm::ALL.into_iter().filter(|algorithm| algorithm.fits(&jwk)).collect();
    // Among those that fit nothing are shared secrets: with one, a token could be made by whoever has seen it.
    if algorithms.is_empty() {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(PublicKey { id: jwk.common.key_id, algorithms, key })
}
