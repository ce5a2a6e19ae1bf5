//! A strict HTTP/1.1 server in front of hyper: limits on connections, deadlines without a timer per connection, and a graceful
//! shutdown. Nothing in this crate depends on MCP.
//!
//! | module | contents |
//! |---|---|
//! | `listener` | [`serve`]: accepts connections, makes room for new ones, drains them at the end |
//! | `limits`, `descriptors` | [`ConnectionLimits`], and how many connections the open file limit allows |
//! | `connection` | one connection, from its first byte to its last; `close` is the error response and the lingering close |
//! | `strict_stream` | the socket as hyper sees it: every byte passes `scan` first, and bodies have a minimum rate |
//! | `scan` | a parser that rejects what two parties could read in two ways (request smuggling) |
//! | `connection_state`, `connection_table` | the stage and the deadlines of each connection, by one clock; checked for all a few times a second |
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http::Response;
//! use http_body_util::Full;
//! use papertape_http1::{ConnectionLimits, serve};
//! use tokio::net::TcpListener;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let handler = |_request, _peer| async { Response::new(Full::new(Bytes::from("hello\n"))) };
//!     let limits = ConnectionLimits::new().connections(1_000);
//!     // In a program: a future that ends with a signal.
//!     let stop = async {};
//!     serve(listener, handler, limits, Duration::from_secs(5), stop).await
//! }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod close;
mod connection;
mod connection_state;
mod connection_table;
mod descriptors;
mod limits;
mod listener;
mod scan;
mod strict_stream;
mod sync;
#[cfg(test)]
mod tests;

pub use descriptors::{max_connections, raise_open_file_limit};
pub use limits::ConnectionLimits;
pub use listener::serve;

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
