//! What a request asks for to whether whoever asks may have it.

use std::cell::RefCell;

use super::site::Site;
use crate::link::Link;
use crate::server::Params;
use crate::transport::http::auth::Challenge;
use crate::wire::RpcError;

/// Refuses what the principal's scopes do not allow, and notes the challenge that says so.
pub(crate) fn check(
    site: &Site,
    method: &str,
    params: &Params<'_>,
    link: &Link,
    forbidden: &RefCell<Option<Challenge>>,
) -> Result<(), RpcError> {
    let Some(auth) = &site.options.auth else { return Ok(()) };
    let needed = site.service.scopes(method, params);
    if link.principal().is_some_and(|principal| principal.has_scopes(&needed)) {
        return Ok(());
    }
    let challenge = auth.insufficient(&needed);
    let error = RpcError::invalid_request(challenge.message.clone());
    forbidden.replace(Some(challenge));
    Err(error)
}
