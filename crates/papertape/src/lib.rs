//! The Model Context Protocol, with every byte in sight.
//!
//! A byte arrives, becomes a *frame*, becomes a *message*, is *dispatched* to a *handler*, whose answer becomes a message,
//! a frame, and bytes again. The modules stand in that order:
//!
//! - [`wire`]: bytes to messages and back, and the tape that keeps them
//! - [`protocol`]: what MCP says, as plain data, and how five revisions of it differ
//! - `link`: one conversation
//! - [`server`](Server): tools and how they are called
//! - [`client`](Client): any server, in whatever revision it speaks
//! - [`front_matter`]: what stands at the top of a Markdown file, for skills and whoever reads such files
//! - [`stdio`], `http` (a feature), [`memory`], [`serve`] and [`connect`]: where the bytes come from and go to
//!
//! A server is a function and two lines:
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

mod client;
pub mod front_matter;
#[doc(hidden)]
pub mod guess;
mod link;
mod outbox;
pub mod protocol;
mod schema;
mod server;
mod transport;
pub mod wire;

pub use client::{
    CallOptions, Change, Client, ClientError, ClientOptions, ErrorKind, Interests, Listed, Mismatch,
    Progress, Subscription,
};
pub use protocol::content::Content;
pub use protocol::logging::LogLevel;
pub use protocol::project::CacheScope;
pub use schema::Violation;
pub use server::{
    About, Completing, Cx, Done, Elicited, Form, Json, Limits, MemoryTasks, Next, Principal, Prompt,
    PromptOutput, Prompts, Question, ReadOutput, Resource, ResourceTemplate, Resources, Roots, Server,
    SetupError, Skill, Skills, Stored, Task, TaskStatus, TaskStore, Tool, ToolError, ToolOutput, Tools,
    Visit, Warning, WarningKind,
};
#[cfg(feature = "http")]
pub use transport::http;
#[cfg(unix)]
pub use transport::stdio;
pub use transport::{Frame, Undelivered, connect, create_tape, memory, serve};

/// The Rust in the Markdown files is compiled.
#[cfg(doctest)]
mod markdown {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/tools.md")]
    struct Tools;
    #[doc = include_str!("../../../docs/client.md")]
    struct Client;
    #[cfg(feature = "http")]
    #[doc = include_str!("../../../docs/http.md")]
    struct Http;
}
