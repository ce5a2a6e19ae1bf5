//! Resources, resource templates and prompts in lists.

use super::content::older_annotations;
use crate::protocol::{PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, Revision};

/// A resource in a list.
#[must_use]
pub(crate) fn resource(mut resource: ResourceDefinition, revision: Revision) -> ResourceDefinition {
    if !revision.has_icons() {
        resource.icons.clear();
    }
    if !revision.has_structured_output() {
        resource.title = None;
        resource.meta = None;
        older_annotations(&mut resource.annotations);
    }
    resource
}

/// A resource template in a list.
#[must_use]
pub(crate) fn resource_template(
    mut template: ResourceTemplateDefinition,
    revision: Revision,
) -> ResourceTemplateDefinition {
    if !revision.has_icons() {
        template.icons.clear();
    }
    if !revision.has_structured_output() {
        template.title = None;
        template.meta = None;
        older_annotations(&mut template.annotations);
    }
    template
}

/// A prompt in a list.
#[must_use]
pub(crate) fn prompt(mut prompt: PromptDefinition, revision: Revision) -> PromptDefinition {
    if !revision.has_icons() {
        prompt.icons.clear();
    }
    if !revision.has_structured_output() {
        prompt.title = None;
        prompt.meta = None;
        for argument in &mut prompt.arguments {
            argument.title = None;
        }
    }
    prompt
}
