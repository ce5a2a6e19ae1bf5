//! Bridges between MCP hosts and servers that speak different revisions, framings or transports, on papertape's public API.
//!
//! A bridge is a client of the server behind it and a server for the host in front of it. What one of them sends is translated
//! for the other: requests, progress, cancellation, log messages, lists that change, and what a server requests of its client
//! (elicitation, sampling, roots), which is a request in session-based revisions and an `input_required` result since
//! 2026-07-28. What cannot be translated is refused with an error that says why.
//!
//! - `host`: what the host says about itself in its first message
//! - `bridge`: [`Bridge`], and how it is served
//! - `pass`: the bytes of a host and a server with the same revision and framing; `in_flight`: the requests in them
//! - `refusal`: what a host gets whose server cannot be used
//! - `facade`: the server that the host sees; `lists` keeps its lists as those behind it, `watch` its subscriptions
//! - `handlers`: of what the host sees
//! - `member`: one server behind the bridge; `upstream`: a session with it; `relay`: one request to it; `exchange`: what it sends by itself; `waiting`: calls whose
//!   hosts are asked
//! - `notices`: what users are told of the servers while the bridge runs
//! - `until_stopped`: the input of a host, ended from this side
//! - `filter`: which tools the host sees; `failure`: errors on their way back

mod bridge;
mod exchange;
mod facade;
mod failure;
mod filter;
mod handlers;
mod host;
mod in_flight;
mod lists;
mod member;
mod notices;
mod pass;
mod refusal;
mod relay;
mod until_stopped;
mod upstream;
mod waiting;
mod watch;

pub use bridge::{Bridge, BridgeError, Connections};
pub use filter::Filter;
pub use host::Host;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, also if a thread has panicked while it held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
