//! What a server offers: tools, resources, resource templates, prompts, completions, skills and apps.

pub(crate) mod app;
pub(crate) mod completion;
pub(crate) mod fallbacks;
pub(crate) mod integers;
pub(crate) mod method;
mod presentation;
pub(crate) mod prompt;
pub(crate) mod resource;
#[cfg_attr(not(feature = "skills"), path = "skills_off.rs")]
pub(crate) mod skills;
pub(crate) mod text_values;
pub(crate) mod tool;
pub(crate) mod uri_template;
pub(crate) mod warning;
