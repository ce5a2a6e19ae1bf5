//! Why somebody is refused, to what the response says about it.

use http::StatusCode;

/// What somebody gets who has not shown who they are, or may not do what they ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) status: StatusCode,
    /// The value of `WWW-Authenticate`; always one that a header can have.
    pub(crate) authenticate: String,
    /// What went wrong, for people. No token is ever part of it.
    pub(crate) message: String,
}

/// Why somebody is not let in. The words go to whoever asks: they name no token and no part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// They have not tried.
    Absent,
    /// They have tried in a way that is not ours.
    OtherScheme,
    /// What they sent cannot be read.
    Malformed(&'static str),
    /// Their key or token is not good, and why.
    Invalid(String),
    /// They may be who they say, but not do what they ask.
    Insufficient,
    /// Nobody can tell now whether it is good; that is not their fault.
    Unavailable(String),
}

impl Refusal {
    pub(super) fn invalid(why: impl Into<String>) -> Self {
        Refusal::Invalid(why.into())
    }
}

/// The challenge for a refusal. `scopes` are what a token must have; `metadata` is where to find out who gives tokens.
pub(super) fn challenge(refusal: Refusal, scopes: &[String], metadata: Option<&str>) -> Challenge {
    let (status, error, message) = match refusal {
        Refusal::Absent => {
            let message = "this server wants to know who asks: send `Authorization: Bearer TOKEN`";
            (StatusCode::UNAUTHORIZED, None, message.to_owned())
        }
        Refusal::OtherScheme => {
            let message = "this way to authorize is not known here: send `Authorization: Bearer TOKEN`";
            (StatusCode::UNAUTHORIZED, None, message.to_owned())
        }
        Refusal::Malformed(why) => (StatusCode::BAD_REQUEST, Some("invalid_request"), why.to_owned()),
        Refusal::Invalid(why) => (StatusCode::UNAUTHORIZED, Some("invalid_token"), why),
        Refusal::Insufficient => {
            let message = format!("this needs the scopes: {}", scopes.join(" "));
            (StatusCode::FORBIDDEN, Some("insufficient_scope"), message)
        }
        Refusal::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, None, why),
    };
    let mut parameters = Vec::new();
    if let Some(error) = error {
        parameters.push(("error", error.to_owned()));
        parameters.push(("error_description", message.clone()));
    }
    // A token for offline use is between a client and its issuer: no server may ask for one.
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

/// What can stand between quotes without escapes: many clients do not know about those.
fn quotable(text: &str) -> String {
    let safe = |c: char| match c {
        '"' | '`' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    };
    text.chars().map(safe).collect()
}
