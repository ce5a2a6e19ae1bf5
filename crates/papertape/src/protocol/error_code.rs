//! The codes of errors: JSON-RPC's own and those of MCP.

/// The text is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// The server does not know the method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The method is known, its parameters are invalid.
pub const INVALID_PARAMS: i64 = -32602;
/// The server is at fault.
pub const INTERNAL_ERROR: i64 = -32603;
/// There is no such resource, in revisions before 2026-07-28; since then that is [`INVALID_PARAMS`].
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A header of an HTTP request is missing or does not match the body (2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// The client has not declared a capability that the request needs (2026-07-28).
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// The request names a protocol version that the server does not support (2026-07-28).
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
