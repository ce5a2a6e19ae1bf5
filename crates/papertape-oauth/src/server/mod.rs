//! The server side: the `Authorization` header of a request to a principal, or to a challenge.
//!
//! [`Auth`] is the entry point. `bearer` finds the token; `keys` knows the API keys, `oauth` verifies access tokens; `lease`
//! says how long the principal is authorized, `challenge` what a rejected request gets.

mod auth;
mod bearer;
mod challenge;
mod error;
mod keys;
mod lease;
#[cfg(feature = "oauth")]
mod oauth;
mod scope_hierarchy;
#[cfg(not(feature = "oauth"))]
mod without_oauth;

pub use auth::{Admitted, Auth};
pub use challenge::Challenge;
pub use error::AuthSetupError;
pub use keys::{Keys, NewKey};
pub use lease::Lease;
#[cfg(feature = "oauth")]
pub use oauth::{Algorithm, OAuthServer};

#[cfg(feature = "oauth")]
use oauth::ResourceServer;
#[cfg(not(feature = "oauth"))]
use without_oauth::ResourceServer;
