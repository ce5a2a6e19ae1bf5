//! The response to a request that is not authenticated or not authorized (RFC 6750, section 3).

use http::StatusCode;

/// The response to a request that is not authenticated or not authorized.
///
/// ```
/// use papertape_oauth::server::Challenge;
/// let missing = Challenge::unauthorized("sign in at https://app.example.com/login").authenticate("Cookie realm=\"app\"");
/// let forbidden = Challenge::forbidden("your account is locked");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// 400, 401, 403 or 503.
    pub status: StatusCode,
    /// The value of `WWW-Authenticate`; the header is left out if this is empty, or not a valid header value.
    pub authenticate: String,
    /// The reason, for people. It never contains a part of a token.
    pub message: String,
}

impl Challenge {
    /// 401: the request has no credentials. `WWW-Authenticate` asks for a bearer token, unless
    /// [`authenticate`](Self::authenticate) says something else.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        let refusal = Refusal { status: StatusCode::UNAUTHORIZED, error: None, message: message.into() };
        refusal.challenge(&[], None)
    }

    /// 401 with the error `invalid_token`: the credentials are not valid, or have expired. The message must not quote them.
    #[must_use]
    pub fn invalid_token(message: &str) -> Self {
        Refusal::invalid_token(message).challenge(&[], None)
    }

    /// 403 with the error `insufficient_scope`, which makes clients request these scopes.
    #[must_use]
    pub fn insufficient_scope<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        Refusal::insufficient_scope(&scopes).challenge(&scopes, None)
    }

    /// 403: other credentials of the same user would not help.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, authenticate: String::new(), message: message.into() }
    }

    /// 503: the credentials cannot be verified now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, authenticate: String::new(), message: message.into() }
    }

    /// The value of `WWW-Authenticate`.
    #[must_use]
    pub fn authenticate(mut self, value: impl Into<String>) -> Self {
        self.authenticate = value.into();
        self
    }
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

    pub(super) fn missing_principal() -> Self {
        let message = "authentication is required".to_owned();
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

    #[cfg(feature = "oauth")]
    pub(super) fn unavailable(problem: &str) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, error: None, message: problem.to_owned() }
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
