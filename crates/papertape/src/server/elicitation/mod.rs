//! What a handler asks of the client: forms and URLs for its user (elicitation), its model (sampling), its roots.

pub(crate) mod ask;
pub(crate) mod request_state;
pub(crate) mod seal;
