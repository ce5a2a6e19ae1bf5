//! What a server must remember between two requests, sealed so that only a server with the same key can read it.
//!
//! The client carries it and may keep it, change it or try it elsewhere: sealing (XChaCha20-Poly1305) finds out all of
//! that, because what the state is for is sealed in with it.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use data_encoding::BASE64URL_NOPAD;

/// The first byte of every seal, so that another way of sealing can follow.
const WAY: u8 = 1;
const NONCE: usize = 24;

/// Seals states.
#[derive(Clone)]
pub(crate) struct Sealer {
    cipher: XChaCha20Poly1305,
    /// How long a seal holds.
    pub(crate) lifetime: Duration,
}

/// Why a state is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unsealed {
    /// It was not sealed here, or not for this.
    Foreign,
    Expired,
}

impl Sealer {
    pub(crate) fn new(key: [u8; 32], lifetime: Duration) -> Self {
        Self { cipher: XChaCha20Poly1305::new(&key.into()), lifetime }
    }

    /// A sealer with a random key.
    pub(crate) fn random(lifetime: Duration) -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Some(Self::new(key, lifetime))
    }

    /// The same sealer, whose seals hold for another time.
    #[cfg(feature = "http-server")]
    pub(crate) fn lasting(&self, lifetime: Duration) -> Self {
        Self { cipher: self.cipher.clone(), lifetime }
    }

    /// Seals a state for a purpose. None if the system has no randomness to give.
    pub(crate) fn seal(&self, state: &[u8], purpose: &[u8]) -> Option<String> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let expires = now().saturating_add(self.lifetime.as_secs());
        let message = [&expires.to_be_bytes()[..], state].concat();
        let payload = Payload { msg: &message, aad: purpose };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some(BASE64URL_NOPAD.encode(&[&[WAY][..], &nonce, &sealed].concat()))
    }

    /// The state that was sealed for a purpose.
    pub(crate) fn open(&self, sealed: &str, purpose: &[u8]) -> Result<Vec<u8>, Unsealed> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).map_err(|_| Unsealed::Foreign)?;
        let (way, rest) = bytes.split_first().ok_or(Unsealed::Foreign)?;
        let (nonce, sealed) =
            rest.split_first_chunk::<NONCE>().filter(|_| *way == WAY).ok_or(Unsealed::Foreign)?;
        let payload = Payload { msg: sealed, aad: purpose };
        let message = self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| Unsealed::Foreign)?;
        let (expires, state) = message.split_first_chunk().ok_or(Unsealed::Foreign)?;
        if u64::from_be_bytes(*expires) < now() {
            return Err(Unsealed::Expired);
        }
        Ok(state.to_vec())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Sealer, Unsealed};

    #[test]
    fn only_the_same_key_opens_and_only_for_the_same_purpose() {
        let ours = Sealer::new([7; 32], Duration::from_secs(60));
        let replica = Sealer::new([7; 32], Duration::from_secs(60));
        let other = Sealer::random(Duration::from_secs(60)).unwrap();
        let sealed = ours.seal(b"state", b"purpose").unwrap();
        assert_eq!(replica.open(&sealed, b"purpose"), Ok(b"state".to_vec()));
        assert_eq!(other.open(&sealed, b"purpose"), Err(Unsealed::Foreign));
        assert_eq!(ours.open(&sealed, b"other"), Err(Unsealed::Foreign));
        assert_ne!(ours.seal(b"state", b"purpose").unwrap(), sealed);
    }

    #[test]
    fn every_modification_is_detected() {
        let ours = Sealer::new([7; 32], Duration::from_secs(60));
        let sealed = ours.seal(b"state", b"purpose").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ours.open(&changed, b"purpose"), Err(Unsealed::Foreign), "{at}");
            assert_eq!(ours.open(sealed.get(..at).unwrap(), b"purpose"), Err(Unsealed::Foreign), "{at}");
        }
        assert_eq!(ours.open("é", b"purpose"), Err(Unsealed::Foreign));
    }

    #[test]
    fn seals_expire() {
        let ours = Sealer::new([7; 32], Duration::ZERO);
        let then = sealed_before(2, &ours);
        assert_eq!(ours.open(&then, b"purpose"), Err(Unsealed::Expired));
    }

    /// A seal of a few seconds ago: made by hand, because time does not pass in a test.
    fn sealed_before(seconds: u64, sealer: &Sealer) -> String {
        use chacha20poly1305::aead::{Aead, Payload};
        let message = [&(super::now() - seconds).to_be_bytes()[..], b"state"].concat();
        let nonce = [0; super::NONCE];
        let payload = Payload { msg: &message, aad: b"purpose" };
        let sealed = sealer.cipher.encrypt(&nonce.into(), payload).unwrap();
        super::BASE64URL_NOPAD.encode(&[&[super::WAY][..], &nonce, &sealed].concat())
    }
}
