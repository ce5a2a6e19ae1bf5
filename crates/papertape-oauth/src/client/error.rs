//! Why a client could not authenticate, with the remedy.

use std::fmt;

/// The step at which authentication failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthStep {
    /// Reading the challenge (`WWW-Authenticate`).
    Challenge,
    /// Fetching the protected resource metadata (RFC 9728).
    ResourceMetadata,
    /// Fetching the authorization server metadata (RFC 8414).
    ServerMetadata,
    /// Registering the client.
    Registration,
    /// The authorization request, in a browser.
    Authorization,
    /// The token request.
    Token,
    /// Refreshing a token.
    Refresh,
    /// Reading or writing the token store.
    Store,
    /// Adding a token to a request.
    Request,
}

/// Why a client could not authenticate. It never contains a token, a secret or an authorization code.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{step}: {message}")]
pub struct AuthError {
    /// The step that failed.
    pub step: AuthStep,
    /// The cause and the remedy.
    pub message: String,
    /// Whether a retry would fail in the same way.
    pub(super) permanent: bool,
}

impl AuthError {
    /// An error after which a retry may succeed.
    pub(super) fn new(step: AuthStep, message: impl Into<String>) -> Self {
        Self { step, message: message.into(), permanent: false }
    }
}

impl fmt::Display for AuthStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Challenge => "the server requires authorization",
            Self::ResourceMetadata => "cannot read the protected resource metadata",
            Self::ServerMetadata => "cannot read the authorization server metadata",
            Self::Registration => "cannot register the client",
            Self::Authorization => "authorization failed",
            Self::Token => "cannot get an access token",
            Self::Refresh => "cannot refresh the access token",
            Self::Store => "cannot use the token store",
            Self::Request => "cannot authenticate the request",
        })
    }
}

/// Text of another party, fit to be shown: bounded, without control characters, and with the secrets replaced.
pub(super) fn quote(text: &str, secrets: &[&str]) -> String {
    const MAX_LENGTH: usize = 300;
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        text = text.replace(secret, "[hidden]");
    }
    let mut plain: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_LENGTH).collect();
    if text.chars().nth(MAX_LENGTH).is_some() {
        plain.push('…');
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_bounded_and_has_neither_control_characters_nor_secrets() {
        assert_eq!(quote("bad code s3cr3t\u{1b}[2J\n", &["s3cr3t"]), "bad code [hidden] [2J");
        assert_eq!(quote(&"x".repeat(1000), &[]).chars().count(), 301);
        assert_eq!(quote("a short secret hides nothing", &["a"]), "a short secret hides nothing");
    }
}
