//! The client side: the headers of each request, and what to do when the server responds with a challenge.
//!
//! [`Credentials`] is the entry point; `www_authenticate` parses challenges, and `oauth` obtains the tokens that they require.

mod credentials;
mod error;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(not(feature = "oauth"))]
mod without_oauth;
mod www_authenticate;

pub use credentials::Credentials;
pub use error::{AuthError, AuthStep};
#[cfg(feature = "oauth")]
pub use oauth::{
    Assertion, Browser, Dpop, FileTokens, IdentityProvider, MemoryTokens, OAuth, OAuthClient, OAuthFlow,
    Redirect, SavedTokens, Secret, TokenKey, TokenStore,
};
#[cfg(not(feature = "oauth"))]
pub use without_oauth::OAuthFlow;
