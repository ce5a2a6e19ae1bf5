//! Blocks of content, contents of resources, messages of prompts and of progress.

use super::result::meta;
use crate::protocol::capabilities::Implementation;
use crate::protocol::content::{Annotations, Content, EmbeddedResource, ResourceContents, ResourceLink};
use crate::protocol::{PromptResult, Revision};

/// The contents of a resource.
#[must_use]
pub(crate) fn contents(mut contents: Vec<ResourceContents>, revision: Revision) -> Vec<ResourceContents> {
    for content in &mut contents {
        content.meta = content.meta.take().filter(|_| revision.has_structured_output());
    }
    contents
}

/// A prompt with its arguments filled in; in stateless revisions `identity` is added to its `_meta`.
#[must_use]
pub(crate) fn prompt_result(
    mut result: PromptResult,
    revision: Revision,
    identity: &Implementation,
) -> PromptResult {
    result.meta = meta(result.meta, revision, identity);
    for (number, message) in (1..).zip(&mut result.messages) {
        content(&mut message.content, revision, number);
    }
    result
}

/// The message of a progress notification.
#[must_use]
pub(crate) fn progress_message(message: Option<String>, revision: Revision) -> Option<String> {
    message.filter(|_| revision.has_annotations_and_audio())
}

/// A block of content; `number` makes generated URIs unique.
pub(super) fn content(block: &mut Content, revision: Revision, number: usize) {
    // Its type may be one of a newer revision.
    if let Content::Unknown(unknown) = block {
        *block = Content::text(unknown.json());
    }
    if !revision.has_structured_output() {
        older_content(block, revision, number);
    }
    if let Content::ResourceLink(link) = block
        && !revision.has_icons()
    {
        link.icons.clear();
    }
}

/// A block for a revision before 2025-06-18.
fn older_content(block: &mut Content, revision: Revision, number: usize) {
    match block {
        Content::Text(text) => {
            text.meta = None;
            older_annotations(&mut text.annotations);
        }
        Content::Image(media) => {
            media.meta = None;
            older_annotations(&mut media.annotations);
        }
        Content::Audio(media) => {
            media.meta = None;
            older_annotations(&mut media.annotations);
            if !revision.has_annotations_and_audio() {
                *block = Content::Resource(EmbeddedResource {
                    resource: ResourceContents {
                        uri: format!("attachment:audio-{number}"),
                        mime_type: Some(std::mem::take(&mut media.mime_type)),
                        blob: Some(std::mem::take(&mut media.data)),
                        ..ResourceContents::default()
                    },
                    annotations: media.annotations.take(),
                    meta: None,
                });
            }
        }
        Content::ResourceLink(link) => {
            let mut text = Content::text(link_as_text(link));
            older_annotations(&mut link.annotations);
            if let Some(hints) = link.annotations.take() {
                text = text.annotated(hints);
            }
            *block = text;
        }
        Content::Resource(embedded) => {
            embedded.meta = None;
            embedded.resource.meta = None;
            older_annotations(&mut embedded.annotations);
        }
        Content::Unknown(_) => {}
    }
}

pub(super) fn older_annotations(annotations: &mut Option<Annotations>) {
    if let Some(hints) = annotations {
        hints.last_modified = None;
    }
}

fn link_as_text(link: &ResourceLink) -> String {
    let name = link.title.as_ref().unwrap_or(&link.name);
    match &link.description {
        Some(description) => format!("{name}: {} ({description})", link.uri),
        None => format!("{name}: {}", link.uri),
    }
}
