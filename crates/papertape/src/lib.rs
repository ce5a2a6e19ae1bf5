//! The Model Context Protocol, with every byte in sight.
//!
//! Bytes become a *frame*, a frame becomes a *message*, a request goes through one *pipeline* to a *handler*, whose output
//! becomes a message, a frame, and bytes again. The modules stand in that order:
//!
//! - [`wire`]: bytes to messages and back, and the tape that records them
//! - [`protocol`]: the types of MCP as plain data, and how its five revisions differ
//! - [`server`](Server): tools, resources, prompts, and how they are served
//! - [`client`](Client): a client of any server, in any revision
//! - [`stdio`], `http` (a feature), [`memory`] and [`streams`]: transports
//!
//! A server with one tool:
//!
//! ```no_run
//! use papertape::{Cx, Server, ToolError, stdio};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! /// Count the words of a text.
//! #[derive(Deserialize, JsonSchema)]
//! struct WordCount {
//!     /// The text to count.
//!     text: String,
//! }
//!
//! async fn word_count(args: WordCount, _: Cx) -> Result<String, ToolError> {
//!     Ok(args.text.split_whitespace().count().to_string())
//! }
//!
//! #[tokio::main]
//! async fn main() -> std::io::Result<()> {
//!     stdio::serve(Server::new("text", "1.0.0").tool("word_count", word_count)).await
//! }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod client;
#[doc(hidden)]
pub mod guess;
pub mod protocol;
mod schema;
pub mod server;
mod sync;
pub mod tape;
mod transport;
pub mod wire;

pub use client::Client;
pub use server::{Cx, Json, Server, ToolError};
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub use transport::http;
#[cfg(unix)]
pub use transport::stdio;
pub use transport::{memory, streams};

/// The Rust in the Markdown files is compiled.
#[cfg(doctest)]
mod markdown {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../README.md")]
    struct Crate;
    #[cfg(feature = "skills")]
    #[doc = include_str!("../../../docs/tools.md")]
    struct Tools;
    #[cfg(feature = "skills")]
    #[doc = include_str!("../../../docs/client.md")]
    struct Client;
    #[cfg(any(feature = "http-client", feature = "http-server"))]
    #[doc = include_str!("../../../docs/http.md")]
    struct Http;
}
