//! The headers of a request to the token in them.

use http::{HeaderMap, header};

use super::challenge::Refusal;

/// Longer tokens are not looked at.
pub(super) const LONGEST_TOKEN: usize = 16 * 1024;

/// The token of a request: in one `Authorization` header and nowhere else, so that none ends up in logs of URLs.
pub(super) fn token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Refusal::Absent)?;
    if values.next().is_some() {
        return Err(Refusal::Malformed("there is more than one Authorization header"));
    }
    let text =
        value.to_str().map_err(|_| Refusal::Malformed("the Authorization header has odd characters"))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::OtherScheme);
    }
    let token = token.trim_matches(' ');
    if token.is_empty() {
        return Err(Refusal::Malformed("there is no token after Bearer"));
    }
    if token.len() > LONGEST_TOKEN {
        return Err(Refusal::Malformed("the token is longer than 16 KiB"));
    }
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b)) {
        return Err(Refusal::Malformed("the token has characters that no token can have"));
    }
    Ok(token)
}
