//! The newest shape to an older revision's shape: no field of a newer revision reaches an older peer.
//!
//! Everything is made in the newest shape and passes here on its way out.
//! What an older revision has no place for is put where its peers can still read it, or left out if it is only a hint.

mod questions;

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::capabilities::{Implementation, ServerCapabilities};
use super::content::{Annotations, Content, EmbeddedResource, ResourceContents, ResourceLink};
use super::meta::SERVER_INFO;
use super::prompts::{Prompt, PromptResult};
use super::resources::{Resource, ResourceTemplate};
use super::revision::Revision;
use super::tools::{CallToolResult, ToolDefinition};

pub use questions::{abilities, client_capabilities, form, sampling, visit};

/// How long a result may be kept, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHint {
    /// For how many milliseconds; 0 is not at all.
    pub ttl_ms: u64,
    /// By whom.
    pub cache_scope: CacheScope,
}

impl CacheHint {
    /// For a time, by somebody.
    #[must_use]
    pub fn new(time: Duration, cache_scope: CacheScope) -> Self {
        Self { ttl_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX), cache_scope }
    }
}

/// Who may share a kept result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only who asked.
    Private,
}

/// Appends a result's JSON: `body` as it is, and for revisions whose results describe themselves also what kind of
/// result it is, its cache hint and who gave it.
///
/// `body` must be an object in the shape of `revision` and must not have any of those members; `identity` is who gave it,
/// as JSON. A result with a `_meta` of its own gets the identity through [`call_result`].
///
/// # Errors
/// If `body` cannot be written as JSON.
pub fn write_result<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    revision: Revision,
    body: &T,
    hint: Option<CacheHint>,
    identity: Option<&RawValue>,
) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *out, body)?;
    if !revision.results_describe_themselves() {
        return Ok(());
    }
    out.pop();
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(b"\"resultType\":\"complete\"");
    if let Some(hint) = hint {
        out.extend_from_slice(b",\"ttlMs\":");
        serde_json::to_writer(&mut *out, &hint.ttl_ms)?;
        out.extend_from_slice(b",\"cacheScope\":");
        serde_json::to_writer(&mut *out, &hint.cache_scope)?;
    }
    if let Some(identity) = identity {
        out.extend_from_slice(b",\"_meta\":{\"");
        out.extend_from_slice(SERVER_INFO.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(identity.get().as_bytes());
        out.push(b'}');
    }
    out.push(b'}');
    Ok(())
}

/// Who a server or client is.
#[must_use]
pub fn implementation(mut info: Implementation, revision: Revision) -> Implementation {
    if !revision.has_structured_output() {
        info.title = None;
    }
    if !revision.has_icons() {
        info.description = None;
        info.website_url = None;
        info.icons.clear();
    }
    info
}

/// The arguments that are known already when another one is completed.
#[must_use]
pub fn completion_context(context: Option<Value>, revision: Revision) -> Option<Value> {
    context.filter(|_| revision.has_structured_output())
}

/// What a server offers.
#[must_use]
pub fn server_capabilities(mut offered: ServerCapabilities, revision: Revision) -> ServerCapabilities {
    if !revision.announces_completions() {
        offered.completions = None;
    }
    if revision.opens_with_handshake() {
        offered.extensions = None;
    }
    offered
}

/// A resource in a list.
#[must_use]
pub fn resource(mut resource: Resource, revision: Revision) -> Resource {
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
pub fn resource_template(mut template: ResourceTemplate, revision: Revision) -> ResourceTemplate {
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
pub fn prompt(mut prompt: Prompt, revision: Revision) -> Prompt {
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

/// What a resource holds.
#[must_use]
pub fn contents(mut contents: Vec<ResourceContents>, revision: Revision) -> Vec<ResourceContents> {
    for content in &mut contents {
        content.meta = content.meta.take().filter(|_| revision.has_structured_output());
    }
    contents
}

/// A prompt, filled in; `identity` goes into the `_meta` of revisions that want it there.
#[must_use]
pub fn prompt_result(
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

/// A modern result that says who gave it.
#[must_use]
pub fn described(mut result: Map<String, Value>, identity: &Implementation) -> Map<String, Value> {
    let identity = serde_json::to_value(identity).unwrap_or_default();
    let own = result.entry("_meta").or_insert_with(|| json!({}));
    if let Some(own) = own.as_object_mut() {
        own.entry(SERVER_INFO).or_insert(identity);
    }
    result
}

/// The `_meta` of a result.
fn meta(
    meta: Option<Map<String, Value>>,
    revision: Revision,
    identity: &Implementation,
) -> Option<Map<String, Value>> {
    if !revision.results_describe_themselves() {
        return meta.and_then(legacy_meta);
    }
    meta.map(|mut meta| {
        meta.entry(SERVER_INFO).or_insert_with(|| serde_json::to_value(identity).unwrap_or_default());
        meta
    })
}

/// A block of content; `number` names what needs a name.
fn content(block: &mut Content, revision: Revision, number: usize) {
    // It may be of a newer revision than this one.
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

/// A tool in a list.
#[must_use]
pub fn tool(mut tool: ToolDefinition, revision: Revision) -> ToolDefinition {
    if !revision.has_icons() {
        tool.icons.clear();
    }
    if !revision.structured_output_is_any_json() {
        tool.output_schema =
            tool.output_schema.map(|schema| if is_wrapped(&schema) { wrapped(schema) } else { schema });
    }
    if revision.opens_with_handshake() {
        spell_out_booleans(&mut tool.input_schema);
        tool.output_schema.as_mut().map(spell_out_booleans);
    }
    if !revision.has_structured_output() {
        tool.output_schema = None;
        tool.meta = None;
        // The title's older home.
        if let Some(title) = tool.title.take() {
            tool.annotations.get_or_insert_default().title.get_or_insert(title);
        }
    }
    if !revision.has_annotations_and_audio() {
        tool.annotations = None;
    }
    tool
}

/// The member that holds a result where results must be objects.
const RESULT: &str = "result";

/// Whether results of this schema may be something else than an object, so that revisions whose results must be objects get
/// them as a member of one.
#[must_use]
pub fn is_wrapped(schema: &Value) -> bool {
    schema.get("type") != Some(&Value::from("object"))
}

/// The schema of an object with such a result in it. References go on leading where they led.
fn wrapped(mut schema: Value) -> Value {
    move_references(&mut schema);
    let parts = ["$schema", "$defs"].map(|keyword| {
        let part = schema.as_object_mut().and_then(|members| members.shift_remove(keyword));
        part.map(|part| (keyword.to_owned(), part))
    });
    let mut object = json!({"type": "object", "properties": {RESULT: schema}, "required": [RESULT]});
    if let Some(members) = object.as_object_mut() {
        members.extend(parts.into_iter().flatten());
    }
    object
}

fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(pointer) = reference.strip_prefix('#')
                && (pointer.is_empty() || pointer.starts_with('/'))
                && !pointer.starts_with("/$defs/")
            {
                *reference = format!("#/properties/{RESULT}{pointer}");
            }
            members.values_mut().for_each(move_references);
        }
        Value::Array(items) => items.iter_mut().for_each(move_references),
        _ => {}
    }
}

/// Older revisions know properties whose schema is an object only, not `true` (anything) and `false` (nothing).
fn spell_out_booleans(schema: &mut Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for property in properties.values_mut() {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({"not": {}}),
            _ => {}
        }
    }
}

/// What a call gives back; `identity` goes into the `_meta` of revisions that want it there, and `wrapped` says whether the
/// tool's output schema [is](is_wrapped).
#[must_use]
pub fn call_result(
    mut result: CallToolResult,
    revision: Revision,
    identity: &Implementation,
    wrapped: bool,
) -> CallToolResult {
    result.meta = meta(result.meta, revision, identity);
    if revision.results_describe_themselves() {
        return result;
    }
    let structured = result.structured_content.filter(|_| revision.has_structured_output());
    result.structured_content = structured.map(|value| match value {
        value if value.is_object() && !wrapped => value,
        value => value.member_of_an_object(RESULT),
    });
    for (number, block) in (1..).zip(&mut result.content) {
        content(block, revision, number);
    }
    result
}

/// The message of a progress notification.
#[must_use]
pub fn progress_message(message: Option<String>, revision: Revision) -> Option<String> {
    message.filter(|_| revision.has_annotations_and_audio())
}

/// `_meta` without the keys that only newer revisions know.
fn legacy_meta(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
    meta.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
    (!meta.is_empty()).then_some(meta)
}

/// A block for a revision before structured output; `number` names what needs a name.
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

fn older_annotations(annotations: &mut Option<Annotations>) {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CacheHint, CacheScope, call_result, implementation, tool, write_result};
    use crate::protocol::capabilities::Implementation;
    use crate::protocol::content::{Annotations, Content, Icon, ResourceLink};
    use crate::protocol::revision::Revision;
    use crate::protocol::tools::{CallToolResult, ToolAnnotations, ToolDefinition};

    fn identity() -> Implementation {
        let icons = vec![Icon { src: "data:,".into(), ..Icon::default() }];
        Implementation {
            name: "n".into(),
            version: "1".into(),
            title: Some("N".into()),
            description: Some("d".into()),
            website_url: Some("https://example.com".into()),
            icons,
        }
    }

    fn rich_tool() -> ToolDefinition {
        ToolDefinition {
            name: "t".into(),
            title: Some("T".into()),
            description: Some("d".into()),
            input_schema: json!({"type": "object"}),
            output_schema: Some(json!({"type": "object"})),
            annotations: Some(ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() }),
            icons: vec![Icon { src: "data:,".into(), ..Icon::default() }],
            meta: json!({"a": 1}).as_object().cloned(),
        }
    }

    fn rich_result() -> CallToolResult {
        let dated =
            Annotations { priority: Some(1.0), last_modified: Some("2025-01-01".into()), audience: vec![] };
        CallToolResult {
            content: vec![
                Content::text("x").annotated(dated),
                Content::audio(b"abc", "audio/wav"),
                Content::ResourceLink(ResourceLink {
                    uri: "file:///a".into(),
                    name: "a".into(),
                    icons: vec![Icon::default()],
                    ..ResourceLink::default()
                }),
            ],
            structured_content: Some(json!({"k": 1}).into()),
            is_error: false,
            meta: json!({"mine": 1, "io.modelcontextprotocol/x": 2}).as_object().cloned(),
        }
    }

    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn tools_by_revision() {
        let shaped = |revision| serde_json::to_value(tool(rich_tool(), revision)).unwrap();
        assert_eq!(keys(&shaped(Revision::V2024_11_05)), ["description", "inputSchema", "name"]);
        let march = shaped(Revision::V2025_03_26);
        assert_eq!(keys(&march), ["annotations", "description", "inputSchema", "name"]);
        assert_eq!(march["annotations"], json!({"readOnlyHint": true, "title": "T"}));
        let june = ["_meta", "annotations", "description", "inputSchema", "name", "outputSchema", "title"];
        assert_eq!(keys(&shaped(Revision::V2025_06_18)), june);
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            assert_eq!(shaped(revision), serde_json::to_value(rich_tool()).unwrap());
        }
    }

    #[test]
    fn an_output_that_is_no_object_is_a_member_of_one_for_older_peers() {
        let mut any = rich_tool();
        any.output_schema = Some(json!({
            "type": "array",
            "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": "#/items"}]},
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}},
        }));
        let wrapped = json!({
            "type": "object",
            "properties": {"result": {"type": "array", "items": {"anyOf": [
                {"$ref": "#/properties/result"}, {"$ref": "#/$defs/a"}, {"$ref": "#/properties/result/items"},
            ]}}},
            "required": ["result"],
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}},
        });
        assert_eq!(tool(any.clone(), Revision::V2025_11_25).output_schema, Some(wrapped));
        assert_eq!(tool(any.clone(), Revision::V2025_03_26).output_schema, None);
        assert_eq!(tool(any.clone(), Revision::V2026_07_28), any);
        for (value, is_wrapped) in [(json!(null), true), (json!({"a": 1}), true), (json!([1]), false)] {
            let result = CallToolResult {
                structured_content: Some(value.clone().into()),
                ..CallToolResult::text("null")
            };
            let shaped = |revision| call_result(result.clone(), revision, &identity(), is_wrapped);
            for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
                assert_eq!(shaped(revision).structured_content, Some(json!({"result": value}).into()));
            }
            assert_eq!(shaped(Revision::V2025_03_26).structured_content, None);
            assert_eq!(shaped(Revision::V2026_07_28), result);
        }
    }

    #[test]
    fn older_revisions_know_no_boolean_schemas() {
        let mut any = rich_tool();
        any.input_schema =
            json!({"type": "object", "properties": {"a": true, "b": false, "c": {"type": "string"}}});
        let older = tool(any.clone(), Revision::V2025_11_25).input_schema;
        assert_eq!(older["properties"], json!({"a": {}, "b": {"not": {}}, "c": {"type": "string"}}));
        assert_eq!(tool(any.clone(), Revision::V2026_07_28), any);
    }

    #[test]
    fn results_by_revision() {
        let shaped = |revision| {
            serde_json::to_value(call_result(rich_result(), revision, &identity(), false)).unwrap()
        };
        assert_eq!(
            shaped(Revision::V2024_11_05),
            json!({
                "content": [
                    {"type": "text", "text": "x", "annotations": {"priority": 1.0}},
                    {"type": "resource", "resource": {"uri": "attachment:audio-2", "mimeType": "audio/wav", "blob": "YWJj"}},
                    {"type": "text", "text": "a: file:///a"},
                ],
                "isError": false,
                "_meta": {"mine": 1},
            })
        );
        assert_eq!(shaped(Revision::V2025_03_26)["content"][1]["type"], "audio");
        let june = shaped(Revision::V2025_06_18);
        assert_eq!(june["content"][2], json!({"type": "resource_link", "uri": "file:///a", "name": "a"}));
        assert_eq!(june["structuredContent"], json!({"k": 1}));
        let modern = shaped(Revision::V2026_07_28);
        assert_eq!(modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "n");
        assert_eq!(modern["_meta"]["mine"], 1);
    }

    #[test]
    fn shaping_twice_changes_nothing_more() {
        for revision in Revision::ALL {
            let once = tool(rich_tool(), revision);
            assert_eq!(tool(once.clone(), revision), once);
            let once = call_result(rich_result(), revision, &identity(), false);
            assert_eq!(call_result(once.clone(), revision, &identity(), false), once);
            let once = implementation(identity(), revision);
            assert_eq!(implementation(once.clone(), revision), once);
        }
    }

    #[test]
    fn only_modern_results_describe_themselves() {
        let hint = Some(CacheHint { ttl_ms: 5, cache_scope: CacheScope::Private });
        let write = |revision, body: Value| {
            let mut out = Vec::new();
            let identity = serde_json::value::to_raw_value(&implementation(identity(), revision)).unwrap();
            write_result(&mut out, revision, &body, hint, Some(&identity)).unwrap();
            serde_json::from_slice::<Value>(&out).unwrap()
        };
        assert_eq!(write(Revision::V2025_11_25, json!({})), json!({}));
        let modern = write(Revision::V2026_07_28, json!({}));
        assert_eq!(keys(&modern), ["_meta", "cacheScope", "resultType", "ttlMs"]);
        assert_eq!(keys(&write(Revision::V2026_07_28, json!({"a": 1})))[1], "a");
    }
}
