use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::schema::{Input, compile, of_arguments, of_result, refuse_unknown};

/// The text, so that the order of members counts too.
fn check<T: JsonSchema>(expected: &Value) {
    let schema = of_arguments::<T>();
    assert_eq!(
        serde_json::to_string_pretty(&schema).unwrap(),
        serde_json::to_string_pretty(expected).unwrap()
    );
}

fn input<T: JsonSchema>() -> Input {
    Input::new(refuse_unknown(&of_arguments::<T>()), None).unwrap()
}

/// What is left of arguments that are taken.
fn taken<T: JsonSchema>(mut arguments: Value) -> Result<Value, String> {
    let input = input::<T>();
    input.leave_out_nulls(&mut arguments);
    if input.validator.is_valid(&arguments) {
        return Ok(arguments);
    }
    Err(input.violations("t", &arguments, 0).replace("invalid arguments for tool \"t\": ", ""))
}

/// How a thing moves.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Way {
    /// On
    /// foot.
    Walk,
    /// By train.
    Train,
    Boat,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    /// Round.
    Circle {
        radius: f64,
    },
    Square {
        side: f64,
        turned: Option<bool>,
    },
}

/// One
/// sentence.
///
/// Another.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Trip {
    to: String,
    /// At
    /// most so many.
    count: Option<u8>,
    /// How to go.
    way: Option<Way>,
    #[serde(default)]
    back: Option<Box<Part>>,
    always: Way,
    #[schemars(length(max = 5))]
    description: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    zebra: Option<String>,
    apple: Vec<Option<i32>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Several {
    shapes: Vec<Shape>,
    by_name: BTreeMap<String, Part>,
    anything: Option<Value>,
}

#[derive(JsonSchema)]
struct Nothing {}

#[test]
fn optional_members_are_plain_and_in_their_order() {
    let way = |said: &str| {
        let description = format!("{said}\n\n- walk: On foot.\n- train: By train.");
        json!({"description": description, "type": "string", "enum": ["boat", "walk", "train"]})
    };
    check::<Trip>(&json!({
        "description": "One sentence.\n\nAnother.",
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "count": {"description": "At most so many.", "type": "integer", "minimum": 0, "maximum": 255},
            "way": way("How to go."),
            "back": {
                "type": "object",
                "properties": {
                    "zebra": {"type": "string"},
                    "apple": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
                },
                "required": ["apple"],
            },
            "always": way("How a thing moves."),
            "description": {"type": "string", "maxLength": 5},
        },
        "required": ["to", "always"],
    }));
}

#[test]
fn a_null_for_what_is_optional_counts_as_absent() {
    let part = json!({"zebra": null, "apple": [1, null]});
    let given =
        json!({"to": "x", "count": null, "way": null, "back": part, "always": "walk", "description": null});
    let left = json!({"to": "x", "back": {"apple": [1, null]}, "always": "walk"});
    assert_eq!(taken::<Trip>(given.clone()), Ok(left.clone()));
    assert!(serde_json::from_value::<Trip>(left).is_ok());
    let mut bad = given;
    bad["to"] = Value::Null;
    assert_eq!(taken::<Trip>(bad), Err("\"to\" is null: value is not of type \"string\"".to_owned()));
    let square = json!({"kind": "square", "side": 1, "turned": null});
    let given = json!({"shapes": [square], "by_name": {"a": {"zebra": null, "apple": []}}, "anything": null});
    let left =
        json!({"shapes": [{"kind": "square", "side": 1}], "by_name": {"a": {"apple": []}}, "anything": null});
    assert_eq!(taken::<Several>(given), Ok(left));
}

#[test]
fn variants_are_discriminated_by_an_enum_of_one() {
    check::<Shape>(&json!({
        "type": "object",
        "anyOf": [
            {
                "description": "Round.",
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["circle"]},
                    "radius": {"type": "number"},
                },
                "required": ["kind", "radius"],
            },
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["square"]},
                    "side": {"type": "number"},
                    "turned": {"type": "boolean"},
                },
                "required": ["kind", "side"],
            },
        ],
    }));
}

#[test]
fn only_recursive_types_have_references() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Tree {
        leaf: Part,
        same: Part,
        children: Vec<Tree>,
        next: Option<Box<Tree>>,
    }
    let part = of_arguments::<Part>();
    check::<Tree>(&json!({
        "type": "object",
        "properties": {
            "leaf": part,
            "same": part,
            "children": {"type": "array", "items": {"$ref": "#"}},
            "next": {"$ref": "#"},
        },
        "required": ["leaf", "same", "children"],
    }));
    let leaf = json!({"apple": []});
    let tree = |children: Value| json!({"leaf": leaf, "same": leaf, "children": children, "next": null});
    assert!(taken::<Tree>(tree(json!([tree(json!([]))]))).is_ok());
    let problem = taken::<Tree>(tree(json!([{"leaf": leaf, "same": leaf, "childern": []}]))).unwrap_err();
    assert!(
        problem.contains("\"childern\" in \"/children/0\" is unknown: did you mean \"children\"?"),
        "{problem}"
    );
}

#[test]
fn unknown_members_are_rejected() {
    let trip = json!({"to": "x", "always": "walk", "cuont": 1});
    assert_eq!(taken::<Trip>(trip), Err("\"cuont\" is unknown: did you mean \"count\"?".to_owned()));
    assert_eq!(taken::<Nothing>(json!({"x": 1})), Err("\"x\" is unknown".to_owned()));
    assert_eq!(taken::<()>(json!({"x": 1})), Err("\"x\" is unknown".to_owned()));
}

#[test]
fn results_may_be_null_where_their_type_is() {
    let schema = of_result::<Trip>();
    assert_eq!(schema["properties"]["count"]["anyOf"][1], json!({"type": "null"}));
    assert_eq!(schema["properties"]["count"]["anyOf"][0]["type"], "integer");
    assert_eq!(schema["properties"]["count"]["description"], "At most so many.");
    assert!(!schema.to_string().contains("[\"integer\",\"null\"]"), "{schema}");
    let trip = Trip {
        to: "x".into(),
        count: None,
        way: Some(Way::Boat),
        back: None,
        always: Way::Walk,
        description: None,
    };
    let validator = compile(&schema).unwrap();
    assert!(validator.is_valid(&serde_json::to_value(&trip).unwrap()));
    assert!(!validator.is_valid(&json!({"to": "x"})));
    assert_eq!(of_result::<Shape>()["type"], "object");
}

#[test]
fn a_part_that_is_used_very_often_is_written_once() {
    macro_rules! twice_as_many {
        ($($name:ident of $part:ty),*) => {$(
            #[derive(JsonSchema)]
            #[expect(dead_code, reason = "only its schema matters")]
            struct $name { a: $part, b: $part, c: $part, d: $part, e: $part, f: $part, g: $part, h: $part }
        )*};
    }
    twice_as_many!(A of u8, B of A, C of B, D of C, E of D);
    let schema = of_arguments::<E>();
    assert!(compile(&schema).is_ok());
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 4);
}
