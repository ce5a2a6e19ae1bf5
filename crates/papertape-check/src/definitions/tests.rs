//! Definitions as libraries write them, and what is found in them.

use serde_json::{Value, json};

use super::{Lists, inspect, inspect_both};
use crate::finding::{Finding, Severity};

fn tool(name: &str, schema: &Value) -> Value {
    json!({"name": name, "description": "What it does", "inputSchema": schema})
}

fn of_tools(tools: Vec<Value>) -> Vec<Finding> {
    inspect(&Lists { tools: tools.into(), ..Lists::default() })
}

/// The codes of what is found that is more than a note.
fn codes(lists: &Lists) -> Vec<(&'static str, Severity)> {
    let found = inspect(lists).into_iter().filter(|finding| finding.severity < Severity::Note);
    found.map(|finding| (finding.code.name(), finding.severity)).collect()
}

fn codes_of_tool(tool: Value) -> Vec<(&'static str, Severity)> {
    codes(&Lists { tools: vec![tool].into(), ..Lists::default() })
}

/// In the style of server-everything, with schemas by zod, pydantic and schemars.
fn healthy() -> Lists {
    let zod = json!({
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "First number"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "options": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "additionalProperties": false},
        },
        "required": ["a"],
        "additionalProperties": false,
        "$schema": "http://json-schema.org/draft-07/schema#",
    });
    let pydantic = json!({
        "$defs": {
            "Priority": {"enum": ["low", "high"], "title": "Priority", "type": "string"},
            "Task": {
                "type": "object",
                "title": "Task",
                "properties": {
                    "title": {"type": "string", "title": "Title"},
                    "subtasks": {"type": "array", "items": {"$ref": "#/$defs/Task"}, "default": []},
                },
                "required": ["title"],
            },
        },
        "type": "object",
        "title": "add_taskArguments",
        "properties": {
            "task": {"$ref": "#/$defs/Task"},
            "priority": {"$ref": "#/$defs/Priority", "default": "low"},
            "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": null, "title": "Due"},
            "labels": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": null},
            "extra": {"type": "object", "additionalProperties": true, "title": "Extra"},
        },
        "required": ["task"],
    });
    let schemars = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Args",
        "type": "object",
        "properties": {
            "query": {"description": "What to search for", "type": "string"},
            "limit": {"description": "How many", "type": "integer", "format": "uint32", "minimum": 0, "default": 10},
            "mode": {"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}]},
            "shape": {"oneOf": [
                {"type": "object", "properties": {"circle": {"type": "number"}}, "required": ["circle"], "additionalProperties": false},
                {"type": "object", "properties": {"square": {"type": "number"}}, "required": ["square"], "additionalProperties": false},
            ]},
        },
        "required": ["query", "shape"],
        "$defs": {"Mode": {"oneOf": [
            {"description": "Exact", "type": "string", "const": "exact"},
            {"description": "Fuzzy", "type": "string", "const": "fuzzy"},
        ]}},
    });
    let with_output = json!({
        "name": "structured",
        "title": "Structured content",
        "description": "Returns structured content",
        "inputSchema": {"type": "object"},
        "outputSchema": {
            "type": "object",
            "properties": {"temperature": {"type": "number"}, "shape": {"$ref": "#/$defs/Shape"}},
            "required": ["temperature"],
            "$defs": {"Shape": {"type": "string"}},
        },
        "annotations": {"title": "Structured", "readOnlyHint": true, "openWorldHint": false},
        "icons": [{"src": "data:image/png;base64,AA=="}],
        "_meta": {"example.com/x": 1},
    });
    Lists {
        tools: vec![
            tool("get-weather", &zod),
            tool("add_task", &pydantic),
            tool("search", &schemars),
            tool("ping", &json!({"type": "object", "properties": {}})),
            tool("now", &json!({"type": "object", "additionalProperties": false})),
            with_output,
        ]
        .into(),
        resources: vec![
            json!({"uri": "test://static/resource/1", "name": "Resource 1", "mimeType": "text/plain", "size": 12}),
            json!({"uri": "file:///notes/a%20b.md", "name": "b", "annotations": {"audience": ["user"], "priority": 0.5}}),
            json!({"uri": "urn:isbn:0451450523", "name": "book"}),
            json!({"uri": "ui://drill/page.html", "name": "page"}),
        ],
        templates: vec![
            json!({"uriTemplate": "demo://resource/dynamic/text/{resourceId}", "name": "Dynamic text"}),
            json!({"uriTemplate": "repo://{owner}/contents{/path*}{?ref}", "name": "Contents"}),
        ],
        prompts: vec![
            json!({"name": "simple-prompt", "description": "A prompt"}),
            json!({"name": "args-prompt", "arguments": [{"name": "city", "required": true}, {"name": "state"}]}),
        ],
        bytes: 4_000,
        ..Lists::default()
    }
}

#[test]
fn healthy_definitions_have_notes_at_most() {
    assert_eq!(codes(&healthy()), []);
    assert_eq!(codes(&Lists { is_modern: true, ..healthy() }), []);
    assert_eq!(codes(&Lists::default()), []);
}

#[tokio::test]
async fn the_bundled_servers_have_notes_at_most() {
    for server in [papertape_servers::grammar::server(), papertape_servers::text::server()] {
        let client = papertape::memory::connect(server).await.unwrap();
        let raw = |json: &papertape::protocol::RawJson| serde_json::from_str::<Value>(json.get()).unwrap();
        let lists = Lists {
            tools: client
                .tools()
                .await
                .unwrap()
                .iter()
                .map(|entry| raw(&entry.raw))
                .collect::<Vec<_>>()
                .into(),
            prompts: match client.capabilities().prompts {
                Some(_) => client.prompts().await.unwrap().iter().map(|entry| raw(&entry.raw)).collect(),
                None => Vec::new(),
            },
            ..Lists::default()
        };
        assert!(!lists.tools.is_empty());
        assert_eq!(codes(&lists), []);
    }
}

#[test]
fn tools_without_a_type_are_one_finding() {
    // As @modelcontextprotocol/server-filesystem 2025.8.21 lists them with zod 4.
    let mut tools: Vec<Value> = (1..=13)
        .map(|number| {
            tool(&format!("tool_{number}"), &json!({"$schema": "http://json-schema.org/draft-07/schema#"}))
        })
        .collect();
    tools.push(tool("list_allowed_directories", &json!({"type": "object", "properties": {}})));
    let found = of_tools(tools);
    let of_shape: Vec<&Finding> = found.iter().filter(|finding| finding.code.name() == "PT0402").collect();
    assert_eq!(of_shape.len(), 1, "{found:?}");
    let finding = of_shape[0];
    assert_eq!(finding.severity, Severity::Breaks);
    assert_eq!(finding.subject.as_deref(), Some("13 tools"));
    assert!(finding.message.starts_with("`inputSchema` has no `type`: the tools \"tool_1\", \"tool_2\", "));
    assert!(finding.message.ends_with("\"tool_12\" and \"tool_13\""), "{}", finding.message);
    assert!(finding.affects.iter().any(|affected| affected.name.contains("Inspector")));
    assert_eq!(finding.evidence.len(), 6, "five places, and how many more");
}

#[test]
fn faults_of_tools_are_found() {
    use Severity::{Breaks, Warning};
    let good = json!({"type": "object", "properties": {}});
    let property = |schema: Value| tool("a", &json!({"type": "object", "properties": {"p": schema}}));
    let with = |member: &str, value: Value| {
        let mut tool = tool("a", &good);
        tool[member] = value;
        tool
    };
    let cases = [
        (json!("text"), vec![("PT0401", Breaks)]),
        (json!({"description": "d", "inputSchema": good}), vec![("PT0401", Breaks)]),
        (json!({"name": 5, "description": "d", "inputSchema": good}), vec![("PT0401", Breaks)]),
        (json!({"name": "", "description": "d", "inputSchema": good}), vec![("PT0401", Warning)]),
        (json!({"name": "a", "description": "d"}), vec![("PT0402", Breaks)]),
        (tool("a", &Value::Null), vec![("PT0402", Breaks)]),
        (tool("a", &json!(true)), vec![("PT0402", Breaks)]),
        (tool("a", &json!({"type": "objekt"})), vec![("PT0402", Breaks)]),
        (tool("a", &json!({"type": ["object"]})), vec![("PT0402", Breaks)]),
        (tool("a", &json!({"jsonSchema": {"type": "object"}})), vec![("PT0402", Breaks)]),
        (property(json!({"type": "int"})), vec![("PT0403", Breaks)]),
        (property(json!("string")), vec![("PT0403", Breaks)]),
        (
            property(json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true})),
            vec![("PT0403", Breaks)],
        ),
        (tool("a", &json!({"type": "object", "properties": null})), vec![("PT0403", Breaks)]),
        (property(json!({"type": "string", "pattern": "(["})), vec![("PT0403", Warning)]),
        (property(json!({"$ref": "#/components/schemas/Order"})), vec![("PT0404", Breaks)]),
        (property(json!({"$ref": "https://example.com/order.json"})), vec![("PT0404", Breaks)]),
        (property(json!({"$ref": "#/properties/p"})), vec![("PT0404", Warning)]),
        (property(json!({"type": "string", "required": true})), vec![("PT0405", Breaks)]),
        (
            tool(
                "a",
                &json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["town"]}),
            ),
            vec![("PT0406", Warning)],
        ),
        (json!({"name": "a", "inputSchema": good}), vec![("PT0408", Warning)]),
        (with("description", json!(" ")), vec![("PT0408", Warning)]),
        (with("description", Value::Null), vec![("PT0409", Breaks)]),
        (with("title", json!(5)), vec![("PT0409", Breaks)]),
        (with("annotations", json!([])), vec![("PT0409", Breaks)]),
        (with("annotations", json!({"readOnlyHint": "yes"})), vec![("PT0409", Breaks)]),
        (with("icons", json!({})), vec![("PT0409", Breaks)]),
        (with("outputSchema", Value::Null), vec![("PT0410", Breaks)]),
        (with("outputSchema", json!({"type": "array", "items": {}})), vec![("PT0410", Breaks)]),
        (with("outputSchema", json!({"properties": {}})), vec![("PT0410", Breaks)]),
        (
            with(
                "outputSchema",
                json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}),
            ),
            vec![("PT0410", Breaks)],
        ),
        (
            with("outputSchema", json!({"type": "object", "properties": {"a": {"type": "int"}}})),
            vec![("PT0410", Breaks)],
        ),
        (
            with("outputSchema", json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}})),
            vec![("PT0410", Breaks)],
        ),
    ];
    for (tool, expected) in cases {
        assert_eq!(codes_of_tool(tool.clone()), expected, "{tool}");
    }
}

#[test]
fn what_may_be_defined_elsewhere_is_not_missing() {
    for schema in [
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"], "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["xb"], "patternProperties": {"^x": {}}}),
        json!({"type": "object", "properties": {"o": {
            "allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}],
        }}}),
        json!({"type": "object", "properties": {"o": {"type": "object", "required": ["any"]}}}),
    ] {
        assert_eq!(codes_of_tool(tool("a", &schema)), [], "{schema}");
    }
    // A property may be called `required` or `items`.
    let schema = json!({"type": "object", "properties": {
        "required": {"type": "boolean"}, "items": {"type": "array", "items": {"type": "string"}}, "$ref": {"type": "string"},
    }, "required": ["required"]});
    assert!(codes_of_tool(tool("a", &schema)).iter().all(|(code, _)| *code == "PT0511"), "{schema}");
}

#[test]
fn an_output_schema_may_be_of_any_type_since_the_modern_revisions() {
    let mut listed = tool("a", &json!({"type": "object", "properties": {}}));
    listed["outputSchema"] = json!({"type": "array", "items": {"type": "string"}});
    let modern = Lists { tools: vec![listed].into(), is_modern: true, ..Lists::default() };
    assert_eq!(codes(&modern), []);
    let legacy = Lists { is_modern: false, ..modern.clone() };
    let breaks = |legacy| {
        let found = inspect_both(&modern, legacy).into_iter().filter(|it| it.severity == Severity::Breaks);
        found.map(|finding| finding.code.name()).collect::<Vec<_>>()
    };
    assert_eq!(breaks(None), [""; 0]);
    assert_eq!(breaks(Some(&legacy)), ["PT0410"]);
    assert_eq!(inspect_both(&legacy, Some(&legacy)), inspect(&legacy), "what is known is not told again");
}

#[test]
fn schemas_of_other_dialects_are_not_judged() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}},
    });
    assert_eq!(codes_of_tool(tool("a", &schema)), []);
}

#[test]
fn names_occur_once() {
    use Severity::{Breaks, Warning};
    let good = json!({"type": "object", "properties": {}});
    let lists = Lists {
        tools: vec![tool("a", &good), tool("b", &good), tool("a", &good)].into(),
        resources: vec![json!({"uri": "a:1", "name": "a"}), json!({"uri": "a:1", "name": "b"})],
        prompts: vec![json!({"name": "p"}), json!({"name": "p"})],
        ..Lists::default()
    };
    assert_eq!(codes(&lists), [("PT0407", Breaks), ("PT0413", Warning), ("PT0407", Warning)]);
}

#[test]
fn faults_of_resources_and_prompts_are_found() {
    use Severity::{Breaks, Warning};
    for (resource, expected) in [
        (json!({"name": "a"}), vec![("PT0411", Breaks)]),
        (json!({"uri": "a:1"}), vec![("PT0411", Breaks)]),
        (json!({"uri": "/home/a.md", "name": "a"}), vec![("PT0412", Breaks)]),
        (json!({"uri": "file:///a b.md", "name": "a"}), vec![("PT0412", Warning)]),
        (json!({"uri": "file:///100%", "name": "a"}), vec![("PT0412", Warning)]),
        (json!({"uri": "file:///größe", "name": "a"}), vec![("PT0412", Warning)]),
        (json!({"uri": "a:1", "name": "a", "size": "12"}), vec![("PT0409", Breaks)]),
        (json!({"uri": "a:1", "name": "a", "description": null}), vec![("PT0409", Breaks)]),
    ] {
        let lists = Lists { resources: vec![resource.clone()], ..Lists::default() };
        assert_eq!(codes(&lists), expected, "{resource}");
    }
    for (template, expected) in [
        (json!({"name": "a"}), vec![("PT0411", Breaks)]),
        (json!({"uriTemplate": "a://{b", "name": "a"}), vec![("PT0414", Warning)]),
    ] {
        let lists = Lists { templates: vec![template.clone()], ..Lists::default() };
        assert_eq!(codes(&lists), expected, "{template}");
    }
    for (arguments, expected) in [
        (json!({"code": {"type": "string"}}), vec![("PT0415", Breaks)]),
        (Value::Null, vec![("PT0415", Breaks)]),
        (json!(["code"]), vec![("PT0415", Breaks)]),
        (json!([{"description": "code"}]), vec![("PT0415", Breaks)]),
        (json!([{"name": "code", "required": "yes"}]), vec![("PT0415", Breaks)]),
        (json!([{"name": "code"}, {"name": "code"}]), vec![("PT0415", Warning)]),
    ] {
        let lists = Lists { prompts: vec![json!({"name": "p", "arguments": arguments})], ..Lists::default() };
        assert_eq!(codes(&lists), expected, "{arguments}");
    }
}

#[test]
fn a_result_without_its_list_is_found() {
    for (result, message) in [
        (json!({"tools": null}), "the result of tools/list has null as `tools`, which is not an array"),
        (
            json!({"tools": {"add": {}}}),
            "the result of tools/list has {\"add\":{}} as `tools`, which is not an array",
        ),
        (json!([]), "the result of tools/list has no `tools`"),
    ] {
        let found = inspect(&Lists { invalid: vec![("tools/list", result)], ..Lists::default() });
        let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, [message]);
    }
}

#[test]
fn a_wrong_type_is_named() {
    let found = of_tools(vec![tool("a", &json!({"type": "objekt"}))]);
    assert_eq!(found[0].message, "`type` of `inputSchema` is not \"object\" but \"objekt\": the tool \"a\"");
    let found = of_tools(vec![tool("a", &json!({"type": "object", "properties": {"b": {"type": "int"}}}))]);
    assert_eq!(
        found[0].message,
        "`inputSchema` is not a valid JSON Schema: there is no type \"int\": the tool \"a\""
    );
}

#[test]
fn large_definitions_are_a_warning() {
    let text = "x".repeat(120_000);
    let listed =
        json!({"name": "a", "description": text, "inputSchema": {"type": "object", "properties": {}}});
    let found = of_tools(vec![listed]);
    let size = found.iter().find(|finding| finding.code.name() == "PT0416").unwrap();
    assert_eq!(size.severity, Severity::Warning);
    assert!(size.message.contains("about 30000 tokens"), "{}", size.message);
    assert!(size.evidence.len() < 5);
}

#[test]
fn what_is_quoted_is_bounded_and_escaped() {
    let name = format!("\u{1b}[31m\u{202e}{}", "x".repeat(10_000));
    let found = of_tools(vec![json!({"name": name, "title": name, "inputSchema": {"type": name}})]);
    assert!(!found.is_empty());
    for finding in found {
        let shown = format!("{} {:?} {:?}", finding.message, finding.subject, finding.evidence);
        assert!(
            !finding.message.contains('\u{1b}') && !finding.message.contains('\u{202e}'),
            "{}",
            finding.message
        );
        assert!(shown.len() < 3_000, "{}", shown.len());
    }
}

proptest::proptest! {
    /// Whatever a server lists, nothing panics.
    #[test]
    fn any_json_is_inspected(text in "[\\[\\]{}\",:a-z$#/0-9 ]{0,200}", keyword in 0_usize..12) {
        let keywords = [
            "type", "properties", "required", "$ref", "items", "anyOf", "enum", "$schema", "$id", "pattern", "$defs", "not",
        ];
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let schema = json!({"type": "object", "properties": {"a": {keywords[keyword]: value}}, keywords[keyword]: value});
        let tools = vec![tool("a", &schema), tool("b", &value), json!({"name": "c", "outputSchema": schema}), value.clone()];
        let all = vec![json!({"uri": value, "name": value, "uriTemplate": value, "arguments": value}), value];
        inspect(&Lists { tools: tools.into(), resources: all.clone(), templates: all.clone(), prompts: all, ..Lists::default() });
    }
}
