//! Who asks: a header to a principal, or to a challenge.

use http::{HeaderMap, StatusCode};
use std::sync::Arc;

use crate::server::Principal;

/// Who may ask, and how they show it.
#[derive(Debug)]
pub struct Auth {}

/// What somebody gets who has not shown who they are, or may not do what they ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) status: StatusCode,
    /// The value of `WWW-Authenticate`.
    pub(crate) authenticate: String,
    /// What went wrong, for people.
    pub(crate) message: String,
}

impl Auth {
    /// Who asks, by the headers of a request.
    #[expect(clippy::unused_async, reason = "keys may have to be fetched")]
    pub(crate) async fn check(&self, _headers: &HeaderMap) -> Result<Arc<Principal>, Challenge> {
        Err(Challenge {
            status: StatusCode::UNAUTHORIZED,
            authenticate: "Bearer".to_owned(),
            message: String::new(),
        })
    }

    /// What somebody gets whose scopes are not enough: these are.
    pub(crate) fn insufficient(&self, scopes: &[String]) -> Challenge {
        let authenticate = format!("Bearer error=\"insufficient_scope\", scope=\"{}\"", scopes.join(" "));
        Challenge { status: StatusCode::FORBIDDEN, authenticate, message: String::new() }
    }

    /// The protected resource's metadata, if that is what is asked for.
    pub(crate) fn metadata(&self, _path: &str) -> Option<serde_json::Value> {
        None
    }
}
