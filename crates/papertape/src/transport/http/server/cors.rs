//! CORS: pages of an origin that was configured can read the responses.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::response::{self, HttpResponse};

/// The longest list of headers that a page may request.
const LONGEST: usize = 4 * 1024;

/// A CORS preflight request: what a page may do, before the browser lets it.
pub(crate) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// A page of an accepted origin may send what MCP needs, `Mcp-Param-*` of any name among it.
pub(crate) fn preflight(parts: &Parts) -> HttpResponse {
    let mut response = response::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    let wanted = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
    if let Some(wanted) = wanted.filter(|wanted| wanted.len() <= LONGEST) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    response
}

/// Lets pages of an origin that was configured read a response.
pub(crate) fn let_read(headers: &HeaderMap, response: &mut HttpResponse) {
    let Some(origin) = headers.get(ORIGIN) else { return };
    let readable = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After");
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, readable);
    response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
}
