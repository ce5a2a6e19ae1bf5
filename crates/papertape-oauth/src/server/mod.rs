//! The server side: the `Authorization` header of a request to a principal, or to a challenge.
//!
//! [`Auth`] is the entry point: it finds the token, which `keys` (API keys) or `oauth` (access tokens) verifies, and says how long
//! its principal is authorized. `challenge` is what a rejected request gets.

mod auth;
mod challenge;
mod error;
mod keys;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(not(feature = "oauth"))]
mod without_oauth;

pub use auth::{Admitted, Auth, Lease};
pub use challenge::Challenge;
pub use error::AuthSetupError;
pub use keys::{Keys, NewKey};
#[cfg(feature = "oauth")]
pub use oauth::{Algorithm, OAuthServer};

#[cfg(feature = "oauth")]
use oauth::ResourceServer;
#[cfg(not(feature = "oauth"))]
use without_oauth::ResourceServer;
