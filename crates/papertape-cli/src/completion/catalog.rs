//! What a server lists, as far as completion needs it.

use papertape::Client;
use papertape::client::ListEntry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::prompt;

/// The most entries of a list that are kept.
const MOST_ENTRIES: usize = 1_000;

/// The lists of a server. A list that fails is empty: completion prints no errors.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Callable>,
    pub(crate) prompts: Vec<Callable>,
    pub(crate) resources: Vec<Listed>,
    /// URI templates.
    pub(crate) templates: Vec<Listed>,
    /// Whether the server completes values of arguments.
    pub(crate) completes_values: bool,
}

/// A tool or a prompt.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Callable {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    /// The JSON Schema of its arguments.
    pub(crate) arguments: Value,
}

/// A resource or a template.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Listed {
    /// The URI or the URI template.
    pub(crate) uri: String,
    pub(crate) name: String,
}

/// A list to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
}

impl List {
    pub(crate) const ALL: [List; 3] = [List::Tools, List::Prompts, List::Resources];
}

impl Catalog {
    /// Requests these lists of those that the server declares; tools also if it declares nothing at all.
    pub(crate) async fn request(client: &Client, lists: &[List]) -> Self {
        let declared = client.capabilities();
        let nothing = declared.tools.is_none() && declared.resources.is_none() && declared.prompts.is_none();
        let mut catalog = Self { completes_values: declared.completions.is_some(), ..Self::default() };
        for list in lists {
            match list {
                List::Tools if declared.tools.is_some() || nothing => {
                    catalog.tools = kept(client.tools().await, |tool| Callable {
                        name: tool.name,
                        about: tool.description.or(tool.title),
                        arguments: tool.input_schema,
                    });
                }
                List::Prompts if declared.prompts.is_some() => {
                    catalog.prompts = kept(client.prompts().await, |prompt| Callable {
                        arguments: prompt::as_schema(&prompt),
                        name: prompt.name,
                        about: prompt.description.or(prompt.title),
                    });
                }
                List::Resources if declared.resources.is_some() => {
                    catalog.resources = kept(client.resources().await, |resource| Listed {
                        uri: resource.uri,
                        name: resource.title.unwrap_or(resource.name),
                    });
                    catalog.templates = kept(client.resource_templates().await, |template| Listed {
                        uri: template.uri_template,
                        name: template.title.unwrap_or(template.name),
                    });
                }
                List::Tools | List::Prompts | List::Resources => {}
            }
        }
        catalog
    }

    /// Whether nothing is listed.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { tools, prompts, resources, templates, .. } = self;
        tools.is_empty() && prompts.is_empty() && resources.is_empty() && templates.is_empty()
    }
}

fn kept<T, L, E>(list: Result<Vec<ListEntry<T>>, E>, keep: impl Fn(T) -> L) -> Vec<L> {
    list.into_iter().flatten().take(MOST_ENTRIES).map(|entry| keep(entry.item)).collect()
}
