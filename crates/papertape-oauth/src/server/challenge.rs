//! The response to a request that is not authenticated or not authorized (RFC 6750, section 3).

use http::StatusCode;

/// The response to a request that is not authenticated or not authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// 400, 401, 403 or 503.
    pub status: StatusCode,
    /// The value of `WWW-Authenticate`; always a valid header value.
    pub authenticate: String,
    /// The reason, for people. It never contains a part of a token.
    pub message: String,
}

/// Why a request is rejected. The message is sent to the client: it never contains a part of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// The error code, which a request without a token does not get.
    pub(super) error: Option<&'static str>,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn missing_token() -> Self {
        let message = "authorization is required: send `Authorization: Bearer TOKEN`".to_owned();
        Self { status: StatusCode::UNAUTHORIZED, error: None, message }
    }

    pub(super) fn unknown_scheme() -> Self {
        let message =
            "the authentication scheme is not supported: send `Authorization: Bearer TOKEN`".to_owned();
        Self { status: StatusCode::UNAUTHORIZED, error: None, message }
    }

    pub(super) fn invalid_request(problem: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: Some("invalid_request"), message: problem.to_owned() }
    }

    pub(super) fn invalid_token(problem: &str) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, error: Some("invalid_token"), message: problem.to_owned() }
    }

    pub(super) fn insufficient_scope(scopes: &[String]) -> Self {
        let message = format!("this needs the scopes: {}", scopes.join(" "));
        Self { status: StatusCode::FORBIDDEN, error: Some("insufficient_scope"), message }
    }

    /// The challenge. `scopes` are those that a token needs, `metadata` is the URL of the protected resource metadata.
    pub(super) fn challenge(self, scopes: &[String], metadata: Option<&str>) -> Challenge {
        let Self { status, error, message } = self;
        let mut parameters = Vec::new();
        if let Some(error) = error {
            parameters.push(("error", error.to_owned()));
            parameters.push(("error_description", message.clone()));
        }
        // A refresh token is between a client and its authorization server: a server must not require one.
        let scopes: Vec<&str> =
            scopes.iter().map(String::as_str).filter(|scope| *scope != "offline_access").collect();
        if !scopes.is_empty() {
            parameters.push(("scope", scopes.join(" ")));
        }
        parameters.extend(metadata.map(|url| ("resource_metadata", url.to_owned())));
        if parameters.is_empty() {
            // A challenge has at least one parameter.
            parameters.push(("realm", "mcp".to_owned()));
        }
        let parameters: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}=\"{}\"", quotable(value))).collect();
        Challenge { status, authenticate: format!("Bearer {}", parameters.join(", ")), message }
    }
}

/// Replaces what would need an escape within quotes, which many clients do not parse.
fn quotable(text: &str) -> String {
    let safe = |c: char| match c {
        '"' | '`' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    };
    text.chars().map(safe).collect()
}
