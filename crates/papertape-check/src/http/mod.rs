//! The check of a server at a URL: connects, drives it over each transport and revision, and inspects the responses.
//!
//! - `check`: the order of it all
//! - `client`, `exchange`, `failure`: requests, what came back, and why nothing did
//! - `channel`: requests in a session, without one, or over HTTP+SSE (`sse`); `lists` reads the definitions with them,
//!   and `calls` calls tools
//! - `inspect`: what is wrong with connections, responses, sessions, headers and authorization

mod calls;
mod channel;
mod check;
mod client;
mod exchange;
mod failure;
mod inspect;
mod lists;
mod redactor;
mod sse;

#[cfg(test)]
mod tests;

pub use check::check_http;
