//! The results of calls as the messages that continue a conversation.

use serde_json::{Map, Value, json};

use super::{Declarations, ModelApi, ToolCall};
use crate::protocol::content::{MediaContent, ResourceContents};
use crate::protocol::{CallToolResult, Content};

/// The images that OpenAI and Anthropic accept.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl Declarations {
    /// The messages for the results of a response's calls, in their order: to be appended to the request's `messages`
    /// (Chat Completions, Anthropic), `input` (Responses) or `contents` (Gemini), after the model's own message.
    ///
    /// Images are included, except in Chat Completions, which has text only. Audio and other binary content is named.
    #[must_use]
    pub fn results(&self, results: &[(ToolCall, CallToolResult)]) -> Vec<Value> {
        let each = results.iter();
        match self.api {
            ModelApi::OpenAiChat => each.map(|(call, result)| chat(call, result)).collect(),
            ModelApi::OpenAiResponses => each.map(|(call, result)| responses(call, result)).collect(),
            // The results of all calls must be in the one message that follows them.
            ModelApi::Anthropic => user("content", each.map(|(call, result)| anthropic(call, result))),
            ModelApi::Gemini => user("parts", each.map(|(call, result)| gemini(call, result))),
        }
    }
}

fn user(member: &str, parts: impl Iterator<Item = Value>) -> Vec<Value> {
    let parts: Vec<Value> = parts.collect();
    if parts.is_empty() { Vec::new() } else { vec![json!({"role": "user", (member): parts})] }
}

fn chat(call: &ToolCall, result: &CallToolResult) -> Value {
    json!({"role": "tool", "tool_call_id": call.id, "content": marked(text(result, |_| false), result)})
}

fn responses(call: &ToolCall, result: &CallToolResult) -> Value {
    let text = marked(text(result, is_image), result);
    let images: Vec<&MediaContent> = images(result).collect();
    let output: Value = if images.is_empty() {
        text.into()
    } else {
        let images = images.into_iter().map(|image| {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            json!({"type": "input_image", "detail": "auto", "image_url": url})
        });
        let text = (!text.is_empty()).then(|| json!({"type": "input_text", "text": text}));
        text.into_iter().chain(images).collect()
    };
    json!({"type": "function_call_output", "call_id": call.id, "output": output})
}

fn anthropic(call: &ToolCall, result: &CallToolResult) -> Value {
    let text = text(result, is_image);
    let images = images(result).map(|image| {
        let source = json!({"type": "base64", "media_type": image.mime_type, "data": image.data});
        json!({"type": "image", "source": source})
    });
    // A text must not be empty.
    let text = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    let mut content: Vec<Value> = text.into_iter().chain(images).collect();
    // An error must have a text.
    if result.is_error && content.is_empty() {
        content.push(json!({"type": "text", "text": FAILED}));
    }
    json!({"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": result.is_error})
}

fn gemini(call: &ToolCall, result: &CallToolResult) -> Value {
    let text = text(result, is_image);
    let response = if result.is_error { json!({"error": text}) } else { json!({"output": text}) };
    let mut function = Map::new();
    if !call.id.is_empty() {
        function.insert("id".to_owned(), call.id.clone().into());
    }
    function.insert("name".to_owned(), call.declared.clone().into());
    function.insert("response".to_owned(), response);
    let images =
        images(result).map(|image| json!({"inlineData": {"mimeType": image.mime_type, "data": image.data}}));
    let images: Vec<Value> = images.collect();
    if !images.is_empty() {
        function.insert("parts".to_owned(), images.into());
    }
    json!({"functionResponse": function})
}

const FAILED: &str = "the tool failed";

/// The text of a failed result for an API that has no mark for that.
fn marked(text: String, result: &CallToolResult) -> String {
    match (result.is_error, text.trim().is_empty()) {
        (false, _) => text,
        (true, true) => format!("Error: {FAILED}"),
        (true, false) => format!("Error: {text}"),
    }
}

fn is_image(image: &MediaContent) -> bool {
    IMAGES.contains(&image.mime_type.as_str())
}

fn images(result: &CallToolResult) -> impl Iterator<Item = &MediaContent> {
    result.content.iter().filter_map(|block| match block {
        Content::Image(image) if is_image(image) => Some(image),
        _ => None,
    })
}

/// Everything that is not passed on as an image, as text. A result without content is its structured content.
fn text(result: &CallToolResult, is_passed_on: impl Fn(&MediaContent) -> bool) -> String {
    let blocks = result.content.iter().filter_map(|block| match block {
        Content::Image(image) if is_passed_on(image) => None,
        Content::Text(text) => Some(text.text.clone()),
        Content::Image(media) => Some(named("image", media)),
        Content::Audio(media) => Some(named("audio", media)),
        Content::ResourceLink(link) => Some(format!("[resource {}: {}]", link.name, link.uri)),
        Content::Resource(embedded) => Some(resource(&embedded.resource)),
        Content::Unknown(block) => {
            Some(format!("[content of the type {}, which cannot be shown]", block.kind()))
        }
    });
    let texts: Vec<String> = blocks.collect();
    match &result.structured_content {
        Some(json) if result.content.is_empty() => json.get().to_owned(),
        _ => texts.join("\n"),
    }
}

fn named(what: &str, media: &MediaContent) -> String {
    format!("[{what}, {}, {} bytes, which cannot be shown]", media.mime_type, media.data.len() / 4 * 3)
}

fn resource(resource: &ResourceContents) -> String {
    match (&resource.text, &resource.blob) {
        (Some(text), _) => text.clone(),
        (None, blob) => {
            let size = blob.as_deref().map_or(0, |blob| blob.len() / 4 * 3);
            format!("[resource {}, {size} bytes, which cannot be shown]", resource.uri)
        }
    }
}
