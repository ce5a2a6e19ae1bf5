//! What is wrong with connections, responses, sessions, headers and authorization.

pub(crate) mod authorization;
pub(crate) mod connection;
pub(crate) mod endpoint;
pub(crate) mod origin;
pub(crate) mod response;
pub(crate) mod session;
pub(crate) mod stateless;
pub(crate) mod token;

use crate::code::Code;
use crate::finding::Finding;
use crate::hosts::affected;

/// A finding that affects what `hosts.toml` says.
fn finding(code: Code, message: impl Into<String>) -> Finding {
    Finding::new(code, message).affects(affected(code.name))
}
