//! What went wrong on the way to a token, in words a person can act on.

use std::fmt;

/// The step of the way to a token that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthStep {
    /// Reading what the server answered to a request without a good token.
    Challenge,
    /// Finding out which authorization server the MCP server trusts.
    ResourceMetadata,
    /// Finding out where the authorization server's endpoints are.
    ServerMetadata,
    /// Getting a client id.
    Registration,
    /// Asking a person, in a browser.
    Authorization,
    /// Getting a token.
    Token,
    /// Getting a new token for an old one.
    Refresh,
    /// Keeping tokens.
    Store,
    /// Putting a token into a request.
    Request,
}

/// Why a client could not show who it is. Never has a token, a secret or a code in it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{step}: {message}")]
pub struct AuthError {
    /// Where it failed.
    pub step: AuthStep,
    /// What went wrong and what to do.
    pub message: String,
    /// Whether the other side said no, rather than not answering: asking again at once would be in vain.
    pub(crate) final_word: bool,
}

impl AuthError {
    /// Something that may be different next time.
    pub(crate) fn new(step: AuthStep, message: impl Into<String>) -> Self {
        Self { step, message: message.into(), final_word: false }
    }

    /// Something that will be the same next time.
    pub(crate) fn refusal(step: AuthStep, message: impl Into<String>) -> Self {
        Self { step, message: message.into(), final_word: true }
    }
}

impl fmt::Display for AuthStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Challenge => "the server wants to know who asks",
            Self::ResourceMetadata => "could not find out whom the server trusts",
            Self::ServerMetadata => "could not read the authorization server's metadata",
            Self::Registration => "could not get a client id",
            Self::Authorization => "could not get a permission",
            Self::Token => "could not get a token",
            Self::Refresh => "could not renew the token",
            Self::Store => "could not keep or find the tokens",
            Self::Request => "could not sign the request",
        })
    }
}

/// Words of a stranger, short enough and plain enough to be shown, without any of the secrets.
pub(crate) fn quote(words: &str, secrets: &[&str]) -> String {
    const LONGEST: usize = 300;
    let mut words = words.to_owned();
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        words = words.replace(secret, "[hidden]");
    }
    let mut plain: String =
        words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if words.chars().nth(LONGEST).is_some() {
        plain.push('…');
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_strangers_are_short_plain_and_without_secrets() {
        assert_eq!(quote("bad code s3cr3t\u{1b}[2J\n", &["s3cr3t"]), "bad code [hidden] [2J");
        assert_eq!(quote(&"x".repeat(1000), &[]).chars().count(), 301);
        assert_eq!(quote("a short secret hides nothing", &["a"]), "a short secret hides nothing");
    }
}
