//! Where tokens are kept.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::oauth_client::RegisteredClient;
use super::secret::Secret;
use crate::sync::lock;

/// The key of stored tokens: the server and the issuer. Tokens of one issuer are never used with another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenKey {
    /// The URL of the server.
    pub server: String,
    /// The issuer identifier of the authorization server.
    pub issuer: String,
}

/// Tokens, and the client that they were issued to. Serializable; the store has to protect them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTokens {
    pub(super) access_token: Secret,
    /// The access token is bound to `key`.
    pub(super) dpop: bool,
    /// Unix time.
    pub(super) expires_at: Option<u64>,
    /// Lifetime in seconds.
    pub(super) lifetime: Option<u64>,
    pub(super) refresh_token: Option<Secret>,
    /// All scopes that were requested.
    pub(super) scopes: Vec<String>,
    pub(super) client: RegisteredClient,
    pub(super) key: Option<Secret>,
}

/// A store of tokens. Its functions may block: they are called on a thread for blocking work.
///
/// ```
/// use std::io;
///
/// use papertape_oauth::client::{OAuth, SavedTokens, TokenKey, TokenStore};
///
/// /// A keyring: a name, and the text that is stored under it.
/// trait Keyring: Send + Sync + 'static {
///     fn get(&self, name: &str) -> io::Result<Option<String>>;
///     fn set(&self, name: &str, text: &str) -> io::Result<()>;
///     fn remove(&self, name: &str) -> io::Result<()>;
/// }
///
/// struct InKeyring<K>(K);
///
/// fn name(key: &TokenKey) -> String {
///     format!("{} {}", key.server, key.issuer)
/// }
///
/// impl<K: Keyring> TokenStore for InKeyring<K> {
///     fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>> {
///         let text = self.0.get(&name(key))?;
///         Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
///     }
///
///     fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
///         self.0.set(&name(key), &serde_json::to_string(tokens)?)
///     }
///
///     fn delete(&self, key: &TokenKey) -> io::Result<()> {
///         self.0.remove(&name(key))
///     }
/// }
///
/// fn oauth(keyring: impl Keyring) -> OAuth {
///     OAuth::new().store(InKeyring(keyring))
/// }
/// ```
pub trait TokenStore: Send + Sync + 'static {
    /// Loads the tokens of a key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>>;

    /// Saves tokens, in place of earlier ones with the key.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()>;

    /// Deletes the tokens of a key, if there are any.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn delete(&self, key: &TokenKey) -> io::Result<()>;
}

/// Keeps tokens in memory.
///
/// ```
/// use papertape_oauth::client::{MemoryTokens, OAuth};
///
/// let oauth = OAuth::new().store(MemoryTokens::new());
/// ```
#[derive(Default)]
pub struct MemoryTokens {
    tokens: Mutex<HashMap<TokenKey, SavedTokens>>,
}

impl MemoryTokens {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStore for MemoryTokens {
    fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>> {
        Ok(lock(&self.tokens).get(key).cloned())
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        lock(&self.tokens).insert(key.clone(), tokens.clone());
        Ok(())
    }

    fn delete(&self, key: &TokenKey) -> io::Result<()> {
        lock(&self.tokens).remove(key);
        Ok(())
    }
}

impl fmt::Debug for MemoryTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryTokens")
    }
}
