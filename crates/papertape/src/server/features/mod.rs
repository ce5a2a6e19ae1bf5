//! What a server offers: tools, resources, resource templates, prompts, completions and skills.

pub(crate) mod completion;
pub(crate) mod integers;
mod presentation;
pub(crate) mod prompt;
pub(crate) mod resource;
#[cfg_attr(not(feature = "skills"), path = "skills_off.rs")]
pub(crate) mod skills;
pub(crate) mod text_values;
pub(crate) mod tool;
pub(crate) mod uri_template;
pub(crate) mod warning;

use std::sync::Arc;

use crate::server::catalog::registry::Listed;
use crate::server::features::completion::CompletedArgument;
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::resource::{RegisteredResource, RegisteredTemplate};
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::middleware::Middleware;
use crate::server::pipeline::run::Pace;

/// What a call runs the handler of.
#[derive(Debug, Clone)]
pub(crate) enum Feature {
    Tool(Arc<RegisteredTool>),
    Resource(Arc<RegisteredResource>),
    /// A template, and the URI that matches it.
    Template(Arc<RegisteredTemplate>, String),
    Prompt(Arc<RegisteredPrompt>),
    Completion(Arc<CompletedArgument>),
    /// A request about a task, which the task store answers.
    Task,
}

/// Requests about tasks have no handler of their own: one pace is kept for the store.
static STORE_PACE: Pace = Pace::new();

impl Feature {
    pub(crate) fn pace(&self) -> &Pace {
        match self {
            Feature::Tool(tool) => tool.pace(),
            Feature::Resource(resource) => resource.pace(),
            Feature::Template(template, _) => template.pace(),
            Feature::Prompt(prompt) => prompt.pace(),
            Feature::Completion(argument) => &argument.completer.pace,
            Feature::Task => &STORE_PACE,
        }
    }

    /// Its kind, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Feature::Tool(_) => RegisteredTool::KIND,
            Feature::Resource(_) => RegisteredResource::KIND,
            Feature::Template(..) => RegisteredTemplate::KIND,
            Feature::Prompt(_) => RegisteredPrompt::KIND,
            Feature::Completion(_) => "completion",
            Feature::Task => "task",
        }
    }

    /// The middleware of the servers that it was mounted with.
    pub(crate) fn middleware(&self) -> &[Middleware] {
        match self {
            Feature::Tool(tool) => &tool.middleware,
            Feature::Resource(resource) => &resource.middleware,
            Feature::Template(template, _) => &template.middleware,
            Feature::Prompt(prompt) => &prompt.middleware,
            Feature::Completion(argument) => &argument.middleware,
            Feature::Task => &[],
        }
    }

    /// The URI that is read, if one is.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Feature::Resource(resource) => Some(resource.key()),
            Feature::Template(_, uri) => Some(uri),
            _ => None,
        }
    }

    /// The name of a tool or prompt, the URI of a resource, the template of a resource template.
    pub(crate) fn name(&self) -> &str {
        match self {
            Feature::Tool(tool) => tool.key(),
            Feature::Resource(resource) => resource.key(),
            Feature::Template(template, _) => template.key(),
            Feature::Prompt(prompt) => prompt.key(),
            Feature::Completion(argument) => &argument.name,
            Feature::Task => "",
        }
    }
}
