use serde_json::{Value, json};

use super::{call_result, implementation, tool};
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
fn a_non_object_output_is_wrapped_for_older_peers() {
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
        let result =
            CallToolResult { structured_content: Some(value.clone().into()), ..CallToolResult::new("null") };
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
    let shaped =
        |revision| serde_json::to_value(call_result(rich_result(), revision, &identity(), false)).unwrap();
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
