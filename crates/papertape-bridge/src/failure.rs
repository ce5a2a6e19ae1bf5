//! Errors of a server on their way to the host.

use papertape::client::{ClientError, ErrorKind};
use papertape::protocol::Revision;
use papertape::protocol::error_code::{
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, RESOURCE_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
};
use papertape::wire::RpcError;
use papertape::{Cx, ToolError};

/// URLs have to be visited first (2025-11-25 only).
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// An error of the server for the host of a call; one of the session with it names the server, if there are several.
pub(crate) fn pass_on(error: &ClientError, server: Option<&str>, cx: &Cx) -> ToolError {
    match error.kind() {
        ErrorKind::Rpc(error) => {
            let revision = Revision::parse(&cx.revision().to_string()).unwrap_or(Revision::NEWEST_LEGACY);
            translated(error, revision)
        }
        _ => {
            let of = server.map(|name| format!("the server {name}: ")).unwrap_or_default();
            ToolError::rpc(INTERNAL_ERROR, format!("{of}{error}"), None)
        }
    }
}

/// The error as it is, unless its code has no meaning in the revision, or another one.
fn translated(error: &RpcError, revision: Revision) -> ToolError {
    let RpcError { code, message, data, .. } = error;
    let code = match *code {
        RESOURCE_NOT_FOUND => revision.resource_not_found_code(),
        // Since 2026-07-28 that code says so only together with the URI.
        INVALID_PARAMS if data.as_ref().is_some_and(|data| data.get("uri").is_some()) => {
            revision.resource_not_found_code()
        }
        MISSING_CLIENT_CAPABILITY | HEADER_MISMATCH | UNSUPPORTED_PROTOCOL_VERSION
            if revision.opens_with_handshake() =>
        {
            INVALID_PARAMS
        }
        URL_ELICITATION_REQUIRED if revision != Revision::NEWEST_LEGACY => return visit_first(error),
        code => code,
    };
    ToolError::rpc(code, message, data.clone())
}

/// The URLs of an error that only hosts of 2025-11-25 understand.
fn visit_first(error: &RpcError) -> ToolError {
    let elicitations = error.data.as_ref().and_then(|data| data.get("elicitations")?.as_array());
    let urls = elicitations.into_iter().flatten().filter_map(|visit| visit.get("url")?.as_str());
    let urls: Vec<&str> = urls.collect();
    ToolError::failed(format!("{}; open first, and then try again: {}", error.message, urls.join(", ")))
}

#[cfg(test)]
mod tests {
    use papertape::protocol::Revision;
    use papertape::server::ToolErrorKind;
    use papertape::wire::RpcError;
    use serde_json::{Value, json};

    use super::translated;

    const LEGACY: Revision = Revision::NEWEST_LEGACY;

    fn error(code: i64, data: Value) -> RpcError {
        RpcError::new(code, "no").with_data(data)
    }

    #[test]
    fn urls_to_visit_are_named_to_hosts_that_do_not_know_the_error() {
        let sent = error(-32042, json!({"elicitations": [{"url": "https://example.com/in"}]}));
        let newest = Revision::parse("2026-07-28").unwrap();
        assert_eq!(
            translated(&sent, newest).to_string(),
            "no; open first, and then try again: https://example.com/in"
        );
        assert_eq!(translated(&sent, LEGACY).kind(), ToolErrorKind::Rpc);
    }

    #[test]
    fn other_errors_keep_their_message() {
        for code in [-32021, -32002, 1001] {
            assert_eq!(translated(&error(code, json!({"a": 1})), LEGACY).to_string(), "no");
        }
    }
}
