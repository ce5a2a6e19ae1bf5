//! The OAuth flow in a build without the feature `oauth`: a type without values, so that [`Credentials`] is the same in both.
//!
//! [`Credentials`]: super::Credentials

use std::net::SocketAddr;

use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::error::AuthError;

/// The OAuth flow of one server; it takes the feature `oauth` to make one.
#[derive(Debug)]
pub enum OAuthFlow {}

impl OAuthFlow {
    pub(super) async fn headers(&self, _: &Method, _: &Url) -> Result<HeaderMap, AuthError> {
        match *self {}
    }

    pub(super) async fn challenged(
        &self,
        _: &Url,
        _: StatusCode,
        _: &HeaderMap,
        _: usize,
    ) -> Result<(), AuthError> {
        match *self {}
    }

    pub(super) fn observe(&self, _: &HeaderMap, _: Option<SocketAddr>) {
        match *self {}
    }
}
