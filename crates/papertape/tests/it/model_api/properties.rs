//! What holds for the schemas of any server, hostile ones included.

use papertape::client::model_api::ModelApi;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Map, Value, json};

use super::{APIS, accepted, declarations_of, tool};

/// Any JSON of a small size.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..3).prop_map(object),
        ]
    })
}

fn object(members: Vec<(String, Value)>) -> Value {
    members.into_iter().collect::<Map<_, _>>().into()
}

/// A keyword whose value is one of its own kind, or anything.
fn keyword() -> impl Strategy<Value = (String, Value)> {
    const SCALARS: [&str; 24] = [
        "type",
        "enum",
        "const",
        "required",
        "$ref",
        "default",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
        "minItems",
        "uniqueItems",
        "properties",
        "anyOf",
        "oneOf",
        "allOf",
        "items",
        "$defs",
        "description",
        "additionalProperties",
    ];
    let fitting = prop_oneof![
        prop::sample::select(vec!["string", "integer", "number", "boolean", "array", "object", "null", "x"])
            .prop_map(|kind| ("type".to_owned(), kind.into())),
        prop::sample::subsequence(vec!["string", "integer", "number", "array", "object", "null"], 0..4)
            .prop_map(|kinds| ("type".to_owned(), kinds.into())),
        prop::collection::vec(json_value(), 0..4).prop_map(|values| ("enum".to_owned(), values.into())),
        prop::sample::select(vec![
            "#",
            "#/$defs/a",
            "#/properties/a",
            "#/$defs/b",
            "https://x/y",
            "#/x",
            "a"
        ])
        .prop_map(|reference| ("$ref".to_owned(), reference.into())),
        prop::collection::vec("[ab]", 0..3).prop_map(|names| ("required".to_owned(), names.into())),
        ".{0,4}".prop_map(|text| ("description".to_owned(), text.into())),
        any::<u64>().prop_map(|n| ("maxLength".to_owned(), n.into())),
    ];
    prop_oneof![3 => fitting, 1 => (prop::sample::select(SCALARS.to_vec()).prop_map(str::to_owned), json_value())]
}

/// A schema, or what a broken server takes for one.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => prop::collection::vec(keyword(), 0..4).prop_map(object),
        1 => json_value(),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let named = prop::collection::vec(("[abé$. ]{0,3}", inner.clone()), 0..4).prop_map(object);
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let of_schemas = prop_oneof![
            (prop::sample::select(vec!["properties", "$defs", "patternProperties"]), named),
            (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items"]), list),
            (prop::sample::select(vec!["items", "additionalProperties", "not", "if"]), inner),
        ];
        let of_schemas = of_schemas.prop_map(|(name, value)| (name.to_owned(), value));
        (prop::collection::vec(keyword(), 0..3), prop::collection::vec(of_schemas, 0..4))
            .prop_map(|(keywords, schemas)| object(keywords.into_iter().chain(schemas).collect()))
    })
}

proptest! {
    #[test]
    fn any_schema_becomes_one_that_the_api_accepts(schema in schema()) {
        let tool = tool("t", &schema);
        for api in APIS {
            for parameters in declarations_of(&api.declare([&tool]).tools()) {
                match api {
                    ModelApi::Gemini => accepted::gemini(&parameters),
                    ModelApi::Anthropic => accepted::anthropic(&parameters),
                    _ => accepted::plain(&parameters),
                }
            }
        }
        let declared = ModelApi::OpenAiChat.declare_strict([&tool]);
        let tools = declared.tools();
        let parameters = &declarations_of(&tools)[0];
        if tools[0]["function"]["strict"] == true {
            accepted::strict(parameters);
        } else {
            accepted::plain(parameters);
        }
    }

    #[test]
    fn any_name_becomes_one_that_the_api_accepts_and_is_found_again(names in prop::collection::vec(".{0,70}", 0..6)) {
        let tools: Vec<_> = names.iter().map(|name| tool(name, &json!({}))).collect();
        for api in APIS {
            let declared = api.declare(&tools);
            let json = declared.tools();
            let list = json.pointer("/0/functionDeclarations").unwrap_or(&json).as_array().unwrap().clone();
            let mut distinct = names.clone();
            distinct.sort();
            distinct.dedup();
            assert_eq!(list.len(), distinct.len());
            for one in list {
                let name = one.pointer("/function/name").unwrap_or(&one["name"]).as_str().unwrap();
                assert!((1..=64).contains(&name.len()));
                let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
                assert!(api != ModelApi::Gemini || name.starts_with(is_start), "{name}");
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
                let call = declared.call(&super::calls::item(api, name, &json!({}))).unwrap();
                assert!(names.contains(&call.name), "{name} is not {}", call.name);
            }
        }
    }

    #[test]
    fn a_response_is_read_whatever_it_is(response in json_value(), schema in schema(), arguments in json_value()) {
        for api in APIS {
            let declared = api.declare([&tool("t", &schema)]);
            drop(declared.calls(&response));
            drop(declared.call(&super::calls::item(api, "t", &arguments)));
        }
        let declared = ModelApi::OpenAiChat.declare_strict([&tool("t", &schema)]);
        drop(declared.call(&super::calls::item(ModelApi::OpenAiChat, "t", &arguments)));
    }
}

#[test]
fn a_hostile_schema_is_bounded() {
    // 2^40 paths, a chain of 20,000 references, 100 levels, 20,000 members.
    let doubling: Map<String, Value> = (0..40)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"type": "object", "properties": {"a": next, "b": next}}))
        })
        .collect();
    let alternatives: Map<String, Value> = (0..40)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (
                format!("d{n}"),
                json!({"anyOf": [next, next], "allOf": [next, {"anyOf": [next, {"type": "string"}]}]}),
            )
        })
        .collect();
    let chain: Map<String, Value> =
        (0..20_000).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
    let wide: Map<String, Value> =
        (0..20_000).map(|n| (format!("m{n}"), json!({"type": "string"}))).collect();
    let many: Vec<Value> = (0..20_000).map(Value::from).collect();
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let argument = json!({"a": {"$ref": "#/$defs/d0"}});
    for schema in [
        json!({"type": "object", "properties": argument, "$defs": doubling}),
        json!({"type": "object", "properties": argument, "$defs": alternatives}),
        json!({"type": "object", "properties": argument, "$defs": chain}),
        json!({"type": "object", "properties": wide}),
        json!({"type": "object", "properties": {"a": {"enum": many}}, "required": many}),
        deep,
    ] {
        for api in APIS {
            let declared = super::declared(api, &schema);
            let size = declared.tools().to_string().len();
            assert!(size < 400_000, "{size} bytes: {:?}", super::losses(&declared));
            assert!(!declared.losses().is_empty() && declared.losses().len() <= 51);
        }
        super::strict(&schema);
    }
}

#[test]
fn text_that_references_repeat_is_bounded() {
    let long = "x".repeat(2_000);
    let values: Vec<String> = (0..200).map(|n| format!("{n} {long}")).collect();
    let some: Vec<String> = (0..50).map(|n| format!("{n} {long}")).collect();
    let alternatives: Vec<Value> = (0..1_000).map(|n| json!({"type": "string", "minLength": n})).collect();
    let members = json!({"properties": {(long.clone()): {"type": "string"}}, "required": [long]});
    for repeated in [
        json!({"type": "string", "description": long}),
        json!({"type": "string", "pattern": long}),
        json!({"enum": some}),
        json!({"enum": values}),
        json!({"enum": some, "anyOf": alternatives}),
        members,
    ] {
        let properties: Map<String, Value> =
            (0..1_000).map(|n| (format!("m{n}"), json!({"$ref": "#/$defs/a"}))).collect();
        let schema = json!({"type": "object", "properties": properties, "$defs": {"a": repeated}});
        for api in APIS {
            let declared = super::declared(api, &schema);
            let size = declared.tools().to_string().len();
            assert!(size < 800_000, "{size} bytes: {:?}", super::losses(&declared));
            let problem = |text: &str| text.contains("too much text") || text.contains("too many");
            assert!(super::losses(&declared).iter().any(|loss| problem(loss)));
        }
        super::strict(&schema);
    }
}

#[test]
fn strict_mode_has_limits_of_text() {
    let texts = |count: usize, length: usize| -> Vec<String> {
        (0..count).map(|n| format!("{n:0length$}")).collect()
    };
    for (values, is_strict) in
        [(texts(251, 60), false), (texts(251, 50), true), (texts(250, 479), true), (texts(250, 481), false)]
    {
        let schema = json!({"type": "object", "properties": {"a": {"enum": values}}});
        let declared = super::strict(&schema);
        assert_eq!(
            declared.tools()[0]["function"]["strict"] == true,
            is_strict,
            "{:?}",
            super::losses(&declared)
        );
    }
}
