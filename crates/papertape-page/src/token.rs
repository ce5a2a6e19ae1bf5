//! The token of a start: without it, no request but those for the static files is served.

use std::fmt;
use std::io;

use data_encoding::HEXLOWER;
use subtle::ConstantTimeEq;

/// 256 random bits in hexadecimal.
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new() -> io::Result<Self> {
        random::<32>().map(Self)
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// `N` random bytes in hexadecimal.
pub(crate) fn random<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(HEXLOWER.encode(&bytes))
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}
