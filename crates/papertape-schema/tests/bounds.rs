//! Schemas that a peer could send to do harm: all of them end, and none panics.

#![expect(clippy::unwrap_used, reason = "tests")]

use papertape_schema::{Draft, ErrorKind, Validator};
use serde_json::{Map, Value, json};

fn compiled(schema: &Value) -> Validator {
    Validator::new(schema, Draft::Draft202012).unwrap()
}

fn problem(schema: &Value) -> String {
    Validator::new(schema, Draft::Draft202012).unwrap_err().to_string()
}

/// Thirty definitions, each of which refers twice to the next.
fn doubling(keyword: &str) -> Value {
    let next = |at: usize| json!({"$ref": format!("#/$defs/d{}", at + 1)});
    let mut defs: Map<String, Value> =
        (0..30).map(|at| (format!("d{at}"), json!({keyword: [next(at), next(at)]}))).collect();
    defs.insert("d30".to_owned(), json!({"type": "string"}));
    json!({"$defs": defs, "$ref": "#/$defs/d0"})
}

#[test]
fn a_schema_that_doubles_its_work_is_given_up() {
    for (keyword, value) in [("allOf", json!("x")), ("anyOf", json!(1)), ("oneOf", json!("x"))] {
        let validator = compiled(&doubling(keyword));
        assert!(!validator.is_valid(&value), "{keyword}");
        let errors = validator.errors(&value);
        assert!(matches!(errors.last().unwrap().kind(), ErrorKind::TooComplex), "{keyword}: {errors:?}");
        assert!(errors.len() <= 1_001, "{keyword}");
    }
}

#[test]
fn an_exceeded_limit_is_not_valid_under_not() {
    let mut schema = doubling("allOf");
    schema["not"] = json!({"$ref": schema["$ref"]});
    schema.as_object_mut().unwrap().remove("$ref");
    assert!(!compiled(&schema).is_valid(&json!("x")));
}

#[test]
fn a_reference_that_leads_back_to_itself_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"allOf": [{"anyOf": [{"not": {"$ref": "#"}}]}]}),
        json!({"if": {"$ref": "#"}}),
        json!({"then": {"$ref": "#"}, "if": true}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
    ] {
        let problem = problem(&schema);
        assert!(problem.contains("leads back to itself"), "{schema}: {problem}");
    }
}

#[test]
fn a_reference_into_the_value_is_fine() {
    let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "type": "object"});
    let validator = compiled(&tree);
    assert!(validator.is_valid(&json!({"left": {"right": {}}})));
    assert!(!validator.is_valid(&json!({"left": {"right": 1}})));
}

#[test]
fn a_dynamic_reference_to_itself_ends() {
    let schema = json!({"$dynamicAnchor": "a", "anyOf": [{"$dynamicRef": "#a"}]});
    let validator = compiled(&schema);
    assert!(!validator.is_valid(&json!(1)));
    assert!(matches!(validator.errors(&json!(1)).last().unwrap().kind(), ErrorKind::TooComplex));
}

#[test]
fn values_as_deep_as_parsers_allow_are_checked() {
    let schema = json!({
        "allOf": [{"$ref": "#/$defs/node"}],
        "$defs": {"node": {
            "anyOf": [{"type": "integer"}, {"items": {"$ref": "#/$defs/node"}, "type": "array"}],
        }},
    });
    let validator = compiled(&schema);
    let nested = |leaf: &str| -> Value {
        serde_json::from_str(&format!("{}{leaf}{}", "[".repeat(126), "]".repeat(126))).unwrap()
    };
    assert!(validator.is_valid(&nested("1")));
    assert!(!validator.is_valid(&nested("\"x\"")));
    assert!(!validator.errors(&nested("\"x\"")).is_empty());
}

#[test]
fn patterns_take_bounded_time() {
    let text = "a".repeat(40) + "!";
    for pattern in ["^(a+)+$", "^(a|aa)+$", "(?=a)^(a+)+$", r"^(a+)+\1$"] {
        assert!(!compiled(&json!({"pattern": pattern})).is_valid(&json!(text)), "{pattern}");
    }
    for pattern in ["(", "a{2,1}", "[z-a]", "(?<name", "(a{1000}){1000}", "(?=a)(a{1000}){1000}"] {
        let problem = problem(&json!({"pattern": pattern}));
        assert!(problem.contains(pattern), "{problem}");
    }
}

#[test]
fn long_arrays_are_compared_in_linear_time() {
    let validator = compiled(&json!({"uniqueItems": true}));
    let mut items: Vec<Value> = (0..200_000).map(|at| json!({"id": at, "kind": "x"})).collect();
    assert!(validator.is_valid(&Value::Array(items.clone())));
    items.push(json!({"kind": "x", "id": 5.0}));
    assert!(!validator.is_valid(&Value::Array(items)));
}

#[test]
fn nothing_is_fetched() {
    for reference in
        ["http://127.0.0.1:1/schema", "other.json", "file:///etc/passwd", "#/$defs/missing", "#missing"]
    {
        let problem = problem(&json!({"$ref": reference}));
        assert!(problem.contains(reference), "{problem}");
    }
}
