//! Tools and the results of their calls.

use serde_json::{Value, json};

use super::content::content;
use super::result::meta;
use crate::protocol::capabilities::Implementation;
use crate::protocol::{CallToolResult, Revision, ToolDefinition};

/// A tool in a list.
#[must_use]
pub(crate) fn tool(mut tool: ToolDefinition, revision: Revision) -> ToolDefinition {
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
        // The title was an annotation before.
        if let Some(title) = tool.title.take() {
            tool.annotations.get_or_insert_default().title.get_or_insert(title);
        }
    }
    if !revision.has_annotations_and_audio() {
        tool.annotations = None;
    }
    tool
}

/// The member that has the result where structured results must be objects.
const RESULT: &str = "result";

/// Whether results of this schema may be something else than an object. Revisions whose structured results must be objects
/// get them as a member of one.
#[must_use]
pub(crate) fn is_wrapped(schema: &Value) -> bool {
    schema.get("type") != Some(&Value::from("object"))
}

/// The schema of an object with such a result in it. References are adapted.
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

/// In older revisions the schema of a property is an object, not `true` (anything) or `false` (nothing).
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

/// The result of a call; in stateless revisions `identity` is added to its `_meta`. `wrapped` says whether the tool's
/// output schema [is](is_wrapped).
#[must_use]
pub(crate) fn call_result(
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
