//! The types of MCP as plain data, in the shape of the newest revision only.
//!
//! [`revision`] has every difference between revisions; `project` turns the newest shape into that of an older one.
//! Nothing here does I/O, is async or reads a clock.

pub mod apps;
pub mod capabilities;
pub mod completion;
pub mod content;
pub mod error_code;
pub mod input;
pub mod logging;
pub mod meta;
pub mod method;
pub(crate) mod param_headers;
pub(crate) mod project;
pub mod prompts;
pub mod raw_json;
pub mod resources;
pub mod revision;
pub mod skills;
pub mod tasks;
pub mod tools;

pub use apps::{AppMeta, Csp, Permissions, ToolUi};
pub use completion::{Completion, Reference};
pub use content::{Annotations, Content, Icon, ResourceContents, ResourceLink, Role, UnknownContent};
pub use input::{
    ElicitAction, ElicitResult, FormRequest, Root, SamplingMessage, SamplingRequest, SamplingResult,
    UrlRequest,
};
pub use logging::LogLevel;
pub use project::CacheScope;
pub use prompts::{PromptArgument, PromptDefinition, PromptMessage, PromptResult};
pub use raw_json::RawJson;
pub use resources::{ResourceDefinition, ResourceTemplateDefinition};
pub use revision::Revision;
pub use skills::{SkillDefinition, SkillFile, SkillResources};
pub use tasks::TaskStatus;
pub use tools::{CallToolResult, ToolAnnotations, ToolDefinition};
