//! The protected resource (RFC 9728): access tokens of trusted issuers.
//!
//! `resource_server` is the configuration; `access_token` verifies a token (JWT) with the keys that `issuer` caches, which
//! `fetch` gets from the authorization server (`jwks`, `algorithm`); opaque tokens go to `introspection`.

mod access_token;
mod algorithm;
mod fetch;
mod introspection;
mod issuer;
mod jwks;
mod resource_server;

pub use algorithm::Algorithm;
pub use introspection::Introspection;
pub(super) use introspection::Recheck;
pub use resource_server::OAuthServer;
pub(super) use resource_server::ResourceServer;

use super::Auth;

impl Auth {
    /// Accepts the access tokens of the trusted issuers.
    pub fn oauth(mut self, oauth: OAuthServer) -> Self {
        match oauth.build() {
            Ok(oauth) => self.oauth = Some(oauth),
            Err(problem) => self.note_problem(problem),
        }
        self
    }
}
