//! The newest revision's types in the shape of an older revision: no member of a newer revision reaches an older peer.
//!
//! Everything is built in the newest shape and projected before it is sent. What an older revision has no member for is
//! moved to where its peers can still read it, or left out if it is only a hint.

mod capabilities;
mod client_requests;
mod content;
mod definitions;
mod result;
#[cfg(test)]
mod tests;
mod tool;

pub(crate) use capabilities::{
    abilities, client_capabilities, completion_context, implementation, server_capabilities,
};
pub(crate) use client_requests::{form, sampling, visit};
pub(crate) use content::{contents, progress_message, prompt_result};
pub(crate) use definitions::{prompt, resource, resource_template};
pub use result::CacheScope;
pub(crate) use result::{CacheHint, described, method_result};
pub(crate) use tool::{call_result, is_wrapped, tool};
