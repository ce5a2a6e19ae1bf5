//! The Model Context Protocol (MCP) for servers and clients, with every byte in sight.
//!
//! A server is built from async functions: their argument types become the schemas that clients see and that every call is
//! validated against.
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
//!
//! # By task
//!
//! | to | see |
//! |---|---|
//! | write a tool | [`Server::tool`], [`Tool`](server::Tool), what it can return: [`ToolOutput`](server::ToolOutput), [`Json`] |
//! | report errors | [`ToolError`] |
//! | share state between handlers | [`Server::with_state`], [`Cx::state`] |
//! | report progress, notice cancellation, know the caller | [`Cx`] |
//! | read the request: HTTP headers, client, `_meta` | `Cx::http` (feature `http-server`), [`Cx::client`], [`Cx::meta`] |
//! | serve resources, templates, prompts, completion | [`Server::resource`], [`Server::resource_template`], [`Server::prompt`], [`ResourceTemplate::complete`](server::ResourceTemplate::complete) |
//! | ask the user | [`Cx::ask`] with a [`Form`](server::Form) or a [`UrlElicitation`](server::UrlElicitation) |
//! | add and remove tools while serving | [`Server::tools`], [`Server::resources`], [`Server::prompts`] |
//! | run long calls as tasks | [`Tool::long_running`](server::Tool::long_running), [`Server::task_store`] |
//! | run work in the background | [`Server::background`] |
//! | show a page for a tool's results | [`Server::app`], [`App`](server::App) |
//! | limit, cache or log calls | [`Server::middleware`] |
//! | add methods and notifications of your own, write a proxy | [`Server::method`], [`Server::notification`], [`Server::fallback_tool`] |
//! | combine servers | [`Server::mount`] |
//! | serve on stdio | [`stdio::serve`] |
//! | serve over HTTP, or in an axum application | `http::serve`, `http::service` (feature `http-server`) |
//! | serve on a Unix socket, or any byte stream | [`unix::serve`], [`streams::serve`] |
//! | serve in several ways at once | [`Server::build`], [`Service`](server::Service) |
//! | authenticate clients, and require scopes | `http::Auth`, [`Tool::scopes`](server::Tool::scopes), [`Server::visible`] |
//! | test a server | [`memory::connect`], [`Server::check`] |
//! | call a server | [`stdio::connect`], `http::connect` (feature `http-client`), [`Client::call`], [`Client::call_as`] with types |
//! | answer elicitation and sampling requests of a server | [`ClientOptions::on_form`](client::ClientOptions::on_form), [`on_sampling`](client::ClientOptions::on_sampling) |
//! | receive log messages and notifications of a server | [`ClientOptions::on_log`](client::ClientOptions::on_log), [`on_notification`](client::ClientOptions::on_notification) |
//! | handle a client's errors | [`ClientError`](client::ClientError), [`ErrorKind`](client::ErrorKind) |
//! | wait for tasks, or come back to them | [`Client::call_task`], [`Client::task`] |
//! | use several servers as one | [`Clients`](client::Clients) |
//! | give tools to a model | [`ModelApi`](client::model_api::ModelApi) |
//! | sign in to a server | `http::OAuth` (feature `oauth`) |
//! | follow changes of a server | [`Client::listen`] |
//! | trace and measure | the features `opentelemetry` and `metrics` |
//! | record the bytes | [`stdio::Options::tape`], [`ClientOptions::tape`](client::ClientOptions::tape), [`tape`] |
//!
//! The guides in the repository's `docs/` show each of these with complete programs, and `examples/` has larger ones.
//!
//! # How it is made
//!
//! Bytes become a *frame*, a frame becomes a *message*, a request goes through one *pipeline* to a *handler*, whose output
//! becomes a message, a frame, and bytes again. The modules stand in that order:
//!
//! - [`wire`]: bytes to messages and back, and the tape that records them
//! - [`protocol`]: the types of MCP as plain data, and how its five revisions differ
//! - [`server`]: tools, resources, prompts, and how they are served
//! - [`client`]: a client of any server, in any revision
//! - [`stdio`], `http` (a feature), [`unix`], [`memory`] and [`streams`]: transports

#![cfg_attr(docsrs, feature(doc_cfg))]

mod callback;
pub mod client;
#[doc(hidden)]
pub mod guess;
pub mod protocol;
mod schema;
pub mod server;
mod sync;
pub mod tape;
mod telemetry;
mod transport;
pub mod wire;

pub use client::Client;
pub use server::{Cx, Json, Server, ToolError};
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub use transport::http;
pub use transport::{memory, streams};
#[cfg(unix)]
pub use transport::{stdio, unix};

/// The Rust in the Markdown files is compiled.
#[cfg(doctest)]
mod markdown {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../README.md")]
    struct Crate;
    #[cfg(all(feature = "skills", feature = "http-server"))]
    #[doc = include_str!("../../../docs/tools.md")]
    struct Tools;
    #[doc = include_str!("../../../docs/agents.md")]
    struct Agents;
    #[doc = include_str!("../../../docs/middleware.md")]
    struct Middleware;
    #[doc = include_str!("../../../docs/errors.md")]
    struct Errors;
    #[cfg(all(feature = "http-client", feature = "http-server"))]
    #[doc = include_str!("../../../docs/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../docs/from-rmcp.md")]
    struct FromRmcp;
    #[doc = include_str!("../../../docs/state.md")]
    struct State;
    #[doc = include_str!("../../../docs/extending.md")]
    struct Extending;
    #[doc = include_str!("../../../docs/apps.md")]
    struct Apps;
    #[cfg(feature = "skills")]
    #[doc = include_str!("../../../docs/client.md")]
    struct Client;
    #[cfg(all(feature = "http-client", feature = "http-server", feature = "oauth"))]
    #[doc = include_str!("../../../docs/http.md")]
    struct Http;
    #[cfg(all(feature = "metrics", feature = "opentelemetry"))]
    #[doc = include_str!("../../../docs/telemetry.md")]
    struct Telemetry;
    #[cfg(all(feature = "http-server", feature = "oauth"))]
    #[doc = include_str!("../../../docs/authentication.md")]
    struct Authentication;
    #[cfg(feature = "http-server")]
    #[doc = include_str!("../../../docs/deploy.md")]
    struct Deploy;
}
