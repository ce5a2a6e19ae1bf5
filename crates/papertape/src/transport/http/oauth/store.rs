//! Where tokens are kept between two runs.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::client::Registered;
use super::secret::Secret;

/// Whose tokens: for which server, from which issuer. Tokens of one issuer are never used for another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenKey {
    /// The MCP server's URL.
    pub server: String,
    /// The authorization server's issuer, byte for byte.
    pub issuer: String,
}

/// What is kept: tokens, and the client that they were given to. It can be serialized; to keep it safe is the store's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTokens {
    pub(crate) access_token: Secret,
    /// The token is bound to `key`.
    pub(crate) dpop: bool,
    /// In seconds since 1970.
    pub(crate) expires_at: Option<u64>,
    /// For how many seconds the token was good when it was given.
    pub(crate) lifetime: Option<u64>,
    pub(crate) refresh_token: Option<Secret>,
    /// What was asked for, ever.
    pub(crate) scopes: Vec<String>,
    pub(crate) client: Registered,
    pub(crate) key: Option<Secret>,
}

/// Keeps tokens. Its functions may block; they are called where that does no harm.
pub trait TokenStore: Send + Sync + 'static {
    /// The tokens of a key, if there are any.
    ///
    /// # Errors
    /// If the store cannot be read: the text tells why and what to do.
    fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>>;

    /// Keeps tokens in place of the ones that the key had.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()>;

    /// Forgets the tokens of a key; it is fine if there are none.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn delete(&self, key: &TokenKey) -> io::Result<()>;
}

/// Keeps tokens as long as the process lives.
#[derive(Default)]
pub struct MemoryTokens {
    tokens: Mutex<HashMap<TokenKey, SavedTokens>>,
}

impl MemoryTokens {
    /// Nothing is kept yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStore for MemoryTokens {
    fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>> {
        Ok(self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), tokens.clone());
        Ok(())
    }

    fn delete(&self, key: &TokenKey) -> io::Result<()> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        Ok(())
    }
}

impl fmt::Debug for MemoryTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryTokens")
    }
}
