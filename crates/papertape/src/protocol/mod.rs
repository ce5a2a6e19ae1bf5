//! What MCP says, as plain data: the types of the newest revision only.
//!
//! [`revision`] answers every question about a revision; [`project`] turns the newest shape into an older one.
//! Nothing here does I/O, is async or reads a clock.

pub mod capabilities;
pub mod completion;
pub mod content;
pub mod input;
pub mod logging;
pub mod meta;
pub mod method;
pub(crate) mod mirror;
pub mod project;
pub mod prompts;
pub mod raw_json;
pub mod resources;
pub mod revision;
pub mod skills;
pub mod tools;

pub use completion::{Completion, Reference};
pub use content::{Annotations, Content, Icon, ResourceContents, ResourceLink, Role, UnknownContent};
pub use input::{
    ElicitAction, ElicitResult, FormRequest, Root, SamplingMessage, SamplingRequest, SamplingResult,
    UrlRequest,
};
pub use logging::LogLevel;
pub use prompts::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use raw_json::RawJson;
pub use resources::{Resource, ResourceTemplate};
pub use revision::Revision;
pub use skills::{Skill, SkillFile, SkillResources};
pub use tools::{CallToolResult, ToolAnnotations, ToolDefinition};
