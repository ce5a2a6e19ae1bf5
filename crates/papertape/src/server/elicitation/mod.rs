//! What a handler requests from the client: forms and URLs for its user (elicitation), its model (sampling), its roots.

pub(crate) mod ask;
pub(crate) mod request_state;
pub(crate) mod seal;
