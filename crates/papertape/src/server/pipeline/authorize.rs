//! Authorization: whether the principal has the scopes of what a request addresses.

use papertape_oauth::Principal;

use super::resolve::Target;
use crate::wire::RpcError;

/// Why a request is not served, by the step that refused it.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It could not be decoded.
    Malformed(RpcError),
    /// The principal lacks some of these scopes.
    Forbidden(Vec<String>),
    /// It was decoded, but cannot be served.
    Failed(RpcError),
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Refused::Failed(error)
    }
}

/// Without a principal (stdio, or HTTP without authorization) nothing is refused.
pub(super) fn authorize(principal: Option<&Principal>, target: &Target) -> Result<(), Refused> {
    let Some(principal) = principal else { return Ok(()) };
    let scopes = target.scopes();
    if principal.has_scopes(&scopes) { Ok(()) } else { Err(Refused::Forbidden(scopes)) }
}
