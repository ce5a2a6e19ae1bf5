//! A server: what it offers, and how one request to it is served.
//!
//! - `builder`: [`Server`], under construction; `service`: the same, ready to serve
//! - `features`: tools, resources, prompts, completions and skills; `catalog`: how they are listed and changed
//! - `extend`: methods, notifications and extensions of one's own, fallbacks; `background`: work while it is served
//! - `session`: what is agreed with one client, what runs for it, and what it has subscribed to
//! - `pipeline`: one request from its message to its response, step by step
//! - `handler`: what a handler is given and returns; `elicitation`: what it requests from the client; `tasks`: calls that go on
//!   after their response

mod background;
mod builder;
mod catalog;
mod elicitation;
mod extend;
pub(crate) mod features;
mod handler;
mod limits;
pub(crate) mod pipeline;
mod service;
pub(crate) mod session;
mod tasks;

#[cfg(feature = "http-server")]
pub(crate) use background::Serving;
pub use builder::Server;
pub use catalog::handles::{Prompts, Resources, Tools};
pub use catalog::visibility::ListedItem;
pub use elicitation::ask::{Elicited, Form, InputRequest, RawInputRequest, Roots, UrlElicitation};
#[cfg(feature = "http-server")]
pub(crate) use elicitation::seal::Sealer;
pub use extend::Notifier;
pub use features::app::App;
pub use features::completion::CompletionRequest;
pub use features::method::{Method, MethodOutput};
pub use features::prompt::{Prompt, PromptOutput};
pub use features::resource::{ReadOutput, Resource, ResourceTemplate};
#[cfg(feature = "skills")]
pub use features::skills::{Skill, Skills};
pub use features::tool::{Json, Tool, ToolOutput};
pub use features::warning::{Warning, WarningKind};
pub use handler::context::Cx;
pub use handler::error::{SetupError, ToolError, ToolErrorKind};
pub use handler::middleware::{Next, Outcome, Request};
pub use handler::progress::{ProgressMessage, ProgressNumber, ProgressTotal};
pub use limits::Limits;
pub use papertape_oauth::Principal;
pub(crate) use pipeline::run::Call;
pub(crate) use service::ServiceCore;
pub use service::{IntoService, Service};
pub use tasks::{MemoryTasks, StoreFuture, Task, TaskStatus, TaskStore};
