//! Tables: a schema, and what each API gets.

use papertape::client::model_api::ModelApi;
use serde_json::{Value, json};

use super::{declared, losses, parameters, strict, tool};

fn arguments(argument: &Value) -> Value {
    json!({"type": "object", "properties": {"a": argument}, "required": ["a"]})
}

/// What becomes of a required argument.
fn argument(api: ModelApi, schema: &Value) -> Value {
    parameters(&declared(api, &arguments(schema)))["properties"]["a"].clone()
}

#[test]
fn what_gemini_gets() {
    for (schema, right) in [
        (json!({"type": "string"}), json!({"type": "STRING"})),
        (json!({"type": ["string", "null"]}), json!({"type": "STRING", "nullable": true})),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!({"type": "INTEGER", "nullable": true}),
        ),
        (json!({"type": ["string", "integer"]}), json!({"anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]})),
        (json!({"enum": ["x", "y", null]}), json!({"type": "STRING", "enum": ["x", "y"], "nullable": true})),
        (json!({"const": "x"}), json!({"type": "STRING", "enum": ["x"]})),
        (
            json!({"type": "integer", "enum": [1, 2], "description": "How many."}),
            json!({"type": "INTEGER", "description": "How many. (one of: 1, 2)"}),
        ),
        (
            json!({"oneOf": [{"const": "x", "description": "Ex."}, {"const": "y", "description": "Why."}]}),
            json!({"type": "STRING", "enum": ["x", "y"], "description": "Ex. \"y\": Why."}),
        ),
        (
            json!({"type": "string", "format": "email", "minLength": 1}),
            json!({"type": "STRING", "minLength": 1, "description": "(format: email)"}),
        ),
        (json!({"type": "string", "format": "date-time"}), json!({"type": "STRING", "format": "date-time"})),
        (
            json!({"type": "integer", "exclusiveMinimum": 0, "default": 3}),
            json!({"type": "INTEGER", "minimum": 1, "description": "(default: 3)"}),
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false}),
            json!({"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}}),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "OBJECT", "description": "(Members of other names are valid, too.)"}),
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
                {"properties": {"y": {"type": "string"}}}], "additionalProperties": false}),
            json!({"type": "OBJECT", "required": ["x"],
                "properties": {"x": {"type": "STRING"}, "y": {"type": "STRING"}}}),
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "string"}},
                "oneOf": [{"required": ["x"], "properties": {"k": {"const": "p"}}}, {"properties": {"k": {"const": "q"}}}]}),
            json!({"anyOf": [
                {"type": "OBJECT", "required": ["x"],
                    "properties": {"k": {"type": "STRING", "enum": ["p"]}, "x": {"type": "STRING"}}},
                {"type": "OBJECT", "properties": {"k": {"type": "STRING", "enum": ["q"]}, "x": {"type": "STRING"}}},
            ]}),
        ),
    ] {
        assert_eq!(argument(ModelApi::Gemini, &schema), right, "{schema}");
    }
    assert_eq!(parameters(&declared(ModelApi::Gemini, &json!({"type": "object"}))), Value::Null);
}

#[test]
fn losses_name_the_keyword() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "enum": [1, 2]}}});
    let declared = declared(ModelApi::Gemini, &schema);
    let losses = losses(&declared);
    assert!(losses[0].ends_with("argument \"n\": `enum` was moved to the description"), "{losses:?}");
}

#[test]
fn what_openai_and_anthropic_get() {
    for (schema, right) in [
        (
            json!({"type": "string", "maxLength": 3, "pattern": "^a"}),
            json!({"type": "string", "maxLength": 3, "pattern": "^a"}),
        ),
        (json!(true), json!({})),
        (
            json!({"type": ["string", "null"], "description": "D"}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "D"}),
        ),
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        ),
    ] {
        for api in [ModelApi::OpenAiChat, ModelApi::OpenAiResponses, ModelApi::Anthropic] {
            assert_eq!(argument(api, &schema), right, "{schema}");
        }
    }
}

#[test]
fn alternatives_at_the_root_are_merged() {
    let schema = json!({"type": "object", "oneOf": [
        {"properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
        {"properties": {"by": {"const": "name"}, "name": {"type": "string"}}, "required": ["by", "name"]},
    ]});
    let declared = declared(ModelApi::Anthropic, &schema);
    let right = json!({"type": "object", "required": ["by"], "properties": {
        "by": {"type": "string", "enum": ["id", "name"]}, "id": {"type": "integer"}, "name": {"type": "string"},
    }});
    assert_eq!(parameters(&declared), right);
    assert!(losses(&declared)[0].contains("were merged into one object"), "{:?}", losses(&declared));
}

#[test]
fn references_are_inlined_and_recursive_ones_cut() {
    let schema = json!({
        "type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "A tree."}}, "required": ["tree"],
        "$defs": {"Tree": {"type": "object", "properties": {
            "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}},
    });
    let declared = declared(ModelApi::OpenAiChat, &schema);
    let tree = &parameters(&declared)["properties"]["tree"];
    assert_eq!(tree["description"], "A tree.");
    let inner = &tree["properties"]["children"]["items"];
    assert_eq!(inner["properties"]["name"]["type"], "string");
    assert_eq!(inner["properties"]["children"]["items"], json!({}));
    assert_eq!(
        losses(&declared),
        [
            "the tool \"t\", argument \"tree/children/*/children/*\": \"#/$defs/Tree\" refers to itself; deeper levels were left out"
        ]
    );
    assert!(losses(&strict(&schema))[1].contains("without strict mode: an argument can be anything"));
}

#[test]
fn strict_mode_requires_everything_and_tells_the_rest_in_descriptions() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "maxLength": 5, "pattern": "^x", "format": "email"},
        "b": {"type": "string", "enum": ["x"], "default": "x"},
        "c": {"type": "object", "properties": {"d": {"type": "integer", "minimum": 1}}},
    }});
    let declared = strict(&schema);
    let function = &declared.tools()[0]["function"];
    assert_eq!(function["strict"], true);
    let right = json!({
        "type": "object", "additionalProperties": false, "required": ["a", "b", "c"], "properties": {
            "a": {"type": "string", "pattern": "^x", "format": "email", "description": "(maxLength: 5)"},
            "b": {"type": ["string", "null"], "enum": ["x", null], "description": "(default: x)"},
            "c": {"anyOf": [
                {"type": "object", "additionalProperties": false, "required": ["d"],
                    "properties": {"d": {"type": ["integer", "null"], "minimum": 1}}},
                {"type": "null"},
            ]},
        },
    });
    assert_eq!(function["parameters"], right);
    let responses = ModelApi::OpenAiResponses.declare_strict([&tool("t", &schema)]).tools();
    assert_eq!((&responses[0]["strict"], &responses[0]["parameters"]), (&true.into(), &right));
}

#[test]
fn strict_mode_is_left_where_the_schema_does_not_allow_it() {
    for (schema, why) in [
        (json!({}), "an argument can be anything"),
        (json!({"type": "object"}), "does not say which members"),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), "members of any name"),
    ] {
        let declared = strict(&arguments(&schema));
        assert!(declared.tools()[0]["function"].get("strict").is_none());
        assert!(losses(&declared).iter().any(|loss| loss.contains(why)), "{:?}", losses(&declared));
    }
    // Responses must be told.
    let tools = ModelApi::OpenAiResponses.declare([&tool("t", &json!({"type": "object"}))]).tools();
    assert_eq!(tools[0]["strict"], false);
}

#[test]
fn the_declaration_has_the_form_of_its_api() {
    let tool = tool("t", &json!({"type": "object"}));
    let object = json!({"type": "object", "properties": {}});
    for (api, right) in [
        (
            ModelApi::OpenAiChat,
            json!([{"type": "function", "function": {"name": "t", "description": "A tool.", "parameters": object}}]),
        ),
        (
            ModelApi::OpenAiResponses,
            json!([{"type": "function", "name": "t", "description": "A tool.", "parameters": object, "strict": false}]),
        ),
        (ModelApi::Anthropic, json!([{"name": "t", "description": "A tool.", "input_schema": object}])),
        (ModelApi::Gemini, json!([{"functionDeclarations": [{"name": "t", "description": "A tool."}]}])),
    ] {
        assert_eq!(api.declare([&tool]).tools(), right);
        assert!(api.declare([]).is_empty() && api.declare([]).tools() == json!([]));
    }
    // Two of one name, and a description that OpenAI does not accept.
    let mut long = tool.clone();
    long.description = Some("é".repeat(2_000));
    let declared = ModelApi::OpenAiChat.declare([&long, &tool]);
    let text = declared.tools()[0]["function"]["description"].as_str().unwrap().chars().count();
    assert_eq!((text, declared.tools().as_array().unwrap().len(), declared.losses().len()), (1_024, 1, 2));
}
