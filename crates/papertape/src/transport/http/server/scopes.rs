//! What a request asks for to whether whoever asks may have it.

use super::site::Site;
use crate::link::Link;
use crate::server::Params;
use crate::transport::http::auth::Challenge;

/// Refuses what the principal's scopes do not allow.
pub(crate) fn check(site: &Site, method: &str, params: &Params<'_>, link: &Link) -> Result<(), Challenge> {
    let Some(auth) = &site.options.auth else { return Ok(()) };
    let needed = site.service.scopes(method, params);
    if link.principal().is_some_and(|principal| principal.has_scopes(&needed)) {
        return Ok(());
    }
    Err(auth.insufficient(&needed))
}
