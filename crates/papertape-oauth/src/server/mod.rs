//! The server side: the `Authorization` header of a request to a principal, or to a challenge.
//!
//! [`Auth`] is the entry point: it finds the token, which `keys` (API keys) or `oauth` (access tokens) verifies, and says how long
//! its principal is authorized. `application` is for applications that authenticate requests themselves. `challenge` is what a rejected request gets.

mod application;
mod auth;
mod challenge;
mod error;
mod keys;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(not(feature = "oauth"))]
mod without_oauth;

pub use auth::{Admitted, Auth, Lease, bearer_token};
pub use challenge::Challenge;
pub use error::AuthSetupError;
pub use keys::{Keys, NewKey};
#[cfg(feature = "oauth")]
pub use oauth::{Algorithm, Introspection, OAuthServer};

#[cfg(feature = "oauth")]
use oauth::{Recheck, ResourceServer};
#[cfg(not(feature = "oauth"))]
use without_oauth::{Recheck, ResourceServer};
