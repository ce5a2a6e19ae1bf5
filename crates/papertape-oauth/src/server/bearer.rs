//! The bearer token of a request (RFC 6750, section 2.1).

use http::{HeaderMap, header};

use super::challenge::Refusal;

/// The longest token.
pub(super) const MAX_TOKEN: usize = 16 * 1024;

/// The token in the `Authorization` header. Tokens in a URL or a form are not accepted: they end up in logs.
pub(super) fn token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or_else(Refusal::missing_token)?;
    if values.next().is_some() {
        return Err(Refusal::invalid_request("there are several Authorization headers"));
    }
    let text = value.to_str().map_err(|_| {
        Refusal::invalid_request("the Authorization header has characters that are not ASCII")
    })?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::unknown_scheme());
    }
    let token = token.trim_matches(' ');
    if token.is_empty() {
        return Err(Refusal::invalid_request("the token after Bearer is missing"));
    }
    if token.len() > MAX_TOKEN {
        return Err(Refusal::invalid_request("the token is longer than 16 KiB"));
    }
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b)) {
        return Err(Refusal::invalid_request(
            "the token has characters that are not allowed in a bearer token",
        ));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::token;

    fn authorization(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn the_scheme_is_case_insensitive_and_spaces_are_trimmed() {
        for value in ["Bearer abc", "bearer abc", "BEARER   abc", "bEaReR abc "] {
            assert_eq!(token(&authorization(value)), Ok("abc"), "{value}");
        }
    }

    #[test]
    fn every_character_of_a_bearer_token_is_accepted() {
        for valid in ["a", "-._~+/", "abc==", "eyJ.eyJ.sig"] {
            assert_eq!(token(&authorization(&format!("Bearer {valid}"))), Ok(valid));
        }
    }
}
