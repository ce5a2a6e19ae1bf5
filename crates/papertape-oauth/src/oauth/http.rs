//! Bounded HTTP responses.

use reqwest::{Error, Response};

pub(crate) const USER_AGENT: &str = concat!("papertape/", env!("CARGO_PKG_VERSION"));

/// The body of a response; `None` if it is longer than `limit` bytes.
pub(crate) async fn read_body(mut response: Response, limit: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len().saturating_add(chunk.len()) > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
