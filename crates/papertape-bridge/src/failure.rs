//! Errors of a server on their way to the host.

use papertape::ToolError;
use papertape::client::{ClientError, ErrorKind};
use papertape::protocol::error_code::{
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, RESOURCE_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
};
use papertape::wire::RpcError;

/// URLs have to be visited first (2025-11-25 only).
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// An error of the server as it is, unless its code has a meaning in one revision alone.
pub(crate) fn pass_on(error: &ClientError) -> ToolError {
    match error.kind() {
        ErrorKind::Rpc(error) => translated(error),
        _ => ToolError::rpc(INTERNAL_ERROR, error.to_string(), None),
    }
}

fn translated(error: &RpcError) -> ToolError {
    let RpcError { code, message, data, .. } = error;
    match *code {
        // The pipeline gives it the code of the host's revision.
        RESOURCE_NOT_FOUND => ToolError::refused(message),
        MISSING_CLIENT_CAPABILITY | HEADER_MISMATCH | UNSUPPORTED_PROTOCOL_VERSION => {
            ToolError::rpc(INVALID_PARAMS, message, data.clone())
        }
        URL_ELICITATION_REQUIRED => {
            let elicitations = data.as_ref().and_then(|data| data.get("elicitations")?.as_array());
            let urls = elicitations.into_iter().flatten().filter_map(|visit| visit.get("url")?.as_str());
            let urls: Vec<&str> = urls.collect();
            ToolError::failed(format!("{message}; open first, and then try again: {}", urls.join(", ")))
        }
        code => ToolError::rpc(code, message, data.clone()),
    }
}
