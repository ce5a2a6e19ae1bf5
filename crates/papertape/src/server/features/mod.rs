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
