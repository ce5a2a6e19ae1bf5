//! `NAME=VALUE` arguments, and the JSON that is sent.

use papertape::protocol::RawJson;
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::build;
use crate::exact_json::{ExactJson, Members};
use crate::schema::{Schema, shown};

fn typed(schema: &Value, words: &[&str]) -> Result<Value, String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    build(Schema::new(schema), &words, None).map(tree)
}

fn tree(arguments: Members) -> Value {
    ExactJson::Object(arguments).to_value().unwrap()
}

/// What is sent for one argument `x`.
fn sent(schema: &Value, word: &str) -> String {
    let whole = json!({"type": "object", "properties": {"x": schema}});
    let arguments = build(Schema::new(&whole), &[word.to_owned()], None).unwrap();
    RawJson::from(ExactJson::Object(arguments)).get().to_owned()
}

#[test]
fn every_digit_that_was_typed_is_sent() {
    const LARGE: &str = "340282366920938463463374607431768211455";
    const LONG: &str = "3.14159265358979323846264338327950288";
    for schema in [json!({}), json!({"type": "number"}), json!({"type": ["string", "number"]})] {
        for number in [LARGE, LONG, "1e400", "0.10", "-0.0", "1E5"] {
            assert_eq!(sent(&schema, &format!("x={number}")), format!("{{\"x\":{number}}}"));
        }
    }
    let list = json!({"type": "array", "items": {"type": "integer"}});
    for (schema, word, right) in [
        (json!({"type": "integer"}), format!("x={LARGE}"), LARGE.to_owned()),
        (json!({"type": "string"}), format!("x:={{\"n\": [{LARGE}]}}"), format!("{{\"n\": [{LARGE}]}}")),
        (list.clone(), format!("x={LARGE}"), format!("[{LARGE}]")),
        (list, format!("x=[1,{LARGE}]"), format!("[1,{LARGE}]")),
        (
            json!({"enum": [18_446_744_073_709_551_615_u64]}),
            "x=18446744073709551615".to_owned(),
            u64::MAX.to_string(),
        ),
    ] {
        assert_eq!(sent(&schema, &word), format!("{{\"x\":{right}}}"));
    }
    // A rounded number would be one of those allowed.
    refused(&json!({"enum": [18_446_744_073_709_552_000.0]}), "18446744073709551617", &["always"]);
}

/// One argument `x` of a schema.
fn one(schema: &Value, words: &[&str]) -> Result<Value, String> {
    let whole = json!({"type": "object", "properties": {"x": schema}, "additionalProperties": false});
    typed(&whole, words).map(|arguments| arguments["x"].clone())
}

#[track_caller]
fn check(schema: &Value, text: &str, right: &Value) {
    assert_eq!(one(schema, &[&format!("x={text}")]).as_ref(), Ok(right), "{schema} {text}");
}

#[track_caller]
fn refused(schema: &Value, text: &str, words: &[&str]) {
    let error = one(schema, &[&format!("x={text}")]).unwrap_err();
    assert!(error.starts_with(&format!("x={text} does not fit")), "{error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is missing: {error}");
    }
}

#[test]
fn text_is_parsed_by_the_schema_type() {
    for text in ["", "5", "true", "null", " a b ", "{\"a\":1}", "[1]", "é=ü", "\"quoted\""] {
        check(&json!({"type": "string"}), text, &json!(text));
    }
    check(&json!({"type": "integer"}), "-5", &json!(-5));
    check(&json!({"type": "integer"}), "18446744073709551615", &json!(u64::MAX));
    check(&json!({"type": "integer"}), "1e3", &json!(1000.0));
    check(&json!({"type": "number"}), "2.50", &json!(2.5));
    check(&json!({"type": "boolean"}), "false", &json!(false));
    check(&json!({"type": "null"}), "null", &json!(null));
    check(&json!({"type": "object"}), "{\"a\":[1]}", &json!({"a": [1]}));
    check(&json!({"type": "array"}), "[1, \"2\"]", &json!([1, "2"]));
    check(&json!({}), "5", &json!(5));
    check(&json!({}), "five", &json!("five"));
    check(&json!(true), "[]", &json!([]));
}

#[test]
fn an_invalid_value_is_rejected_with_the_allowed_ones() {
    refused(&json!({"type": "integer", "minimum": 1, "maximum": 9}), "five", &["x: integer from 1 to 9"]);
    for text in ["1.5", "", "+5", "0x10", "true"] {
        refused(&json!({"type": "integer"}), text, &["integer"]);
    }
    refused(&json!({"type": "number"}), "NaN", &["number"]);
    refused(&json!({"type": "boolean"}), "yes", &["true or false"]);
    refused(&json!({"type": "object"}), "[1]", &["object"]);
    refused(&json!({"type": ["integer", "null"]}), "none", &["integer, or null"]);
    refused(
        &json!({"enum": ["past", "present"]}),
        "pasd",
        &["did you mean \"past\"?", "one of: past, present"],
    );
    refused(&json!(false), "1", &["nothing"]);
}

#[test]
fn listed_values_are_matched_as_text_first() {
    let schema = json!({"enum": ["a", "1", 1, 2, null, true]});
    check(&schema, "a", &json!("a"));
    check(&schema, "1", &json!("1"));
    check(&schema, "2", &json!(2));
    check(&schema, "null", &json!(null));
    check(&schema, "true", &json!(true));
    check(&json!({"const": 7}), "7", &json!(7));
}

#[test]
fn the_most_specific_of_several_types_is_used() {
    for schema in [
        json!({"type": ["string", "integer", "null"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        json!({"oneOf": [{"type": "null"}, {"$ref": "#/properties/x/oneOf/2"}, {"type": ["integer", "string"]}]}),
    ] {
        check(&schema, "5", &json!(5));
        check(&schema, "five", &json!("five"));
        check(&schema, "null", &json!("null"));
    }
    check(&json!({"type": ["integer", "null"]}), "null", &json!(null));
    check(&json!({"type": ["string", "boolean"]}), "true", &json!(true));
    check(
        &json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        "a",
        &json!("a"),
    );
    check(&json!({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}), "auto", &json!("auto"));
}

#[test]
fn a_list_grows_with_every_word() {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!(one(&texts, &["x=1"]), Ok(json!(["1"])));
    assert_eq!(one(&texts, &["x=1", "x=b", "x=[c"]), Ok(json!(["1", "b", "[c"])));
    assert_eq!(one(&texts, &["x=[\"a\", \"b\"]", "x=c"]), Ok(json!(["a", "b", "c"])));
    assert_eq!(one(&texts, &["x:=[]"]), Ok(json!([])));
    let numbers = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]});
    assert_eq!(one(&numbers, &["x=1", "x=2"]), Ok(json!([1, 2])));
    assert!(one(&numbers, &["x=1", "x=b"]).unwrap_err().contains("x=b does not fit"));
    let either = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
    assert_eq!(one(&either, &["x=a", "x=b"]), Ok(json!(["a", "b"])));
    let error = one(&json!({"type": "string"}), &["x=a", "x=b"]).unwrap_err();
    assert_eq!(error, "x is given twice, but takes one value: text");
}

#[test]
fn a_dot_addresses_a_member() {
    let schema = json!({
        "properties": {
            "at": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}},
            "a.b": {"type": "string"},
            "a": {"type": "object"},
        },
    });
    assert_eq!(typed(&schema, &["at.x=1", "at.y=2"]), Ok(json!({"at": {"x": 1, "y": "2"}})));
    assert_eq!(typed(&schema, &["at={\"x\":1}", "at.y=2"]), Ok(json!({"at": {"x": 1, "y": "2"}})));
    assert_eq!(typed(&schema, &["at.x:=\"one\""]), Ok(json!({"at": {"x": "one"}})));
    assert_eq!(typed(&schema, &["a.b=1"]), Ok(json!({"a.b": "1"})));
    assert_eq!(typed(&schema, &["a.c.d=1"]), Ok(json!({"a": {"c.d": 1}})));
    assert!(typed(&schema, &["at.z=1"]).unwrap_err().contains("no argument \"at.z\""));
}

#[test]
fn a_dot_addresses_a_member_of_an_optional_object() {
    let schema = json!({
        "properties": {
            "at": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
            "box": {"type": ["object", "null"], "properties": {"corner": {"$ref": "#/properties/at"}}},
        },
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}}},
    });
    assert_eq!(typed(&schema, &["at.x=1", "at.y=2"]), Ok(json!({"at": {"x": 1, "y": "2"}})));
    assert_eq!(typed(&schema, &["box.corner.y=2"]), Ok(json!({"box": {"corner": {"y": "2"}}})));
    assert!(typed(&schema, &["at=null", "at.x=1"]).unwrap_err().contains("cannot be added to at"));
    let right = "there is no argument \"at.yy\": did you mean \"at.y\"?\n  its arguments: at.x, at.y";
    assert_eq!(typed(&schema, &["at.yy=1"]).unwrap_err(), right);
    assert!(typed(&schema, &["at.x=one"]).unwrap_err().starts_with("at.x=one does not fit"));
}

#[test]
fn a_dot_addresses_a_member_of_a_tagged_object() {
    let form = |kind: &str, value: &str| {
        json!({
            "type": "object",
            "properties": {"kind": {"const": kind}, "value": {"type": value}, kind: {"type": "string"}},
            "required": ["kind"],
        })
    };
    for keyword in ["oneOf", "anyOf"] {
        let schema =
            json!({"properties": {"x": {keyword: [form("number", "integer"), form("text", "string")]}}});
        for (words, right) in [
            (["x.kind=number", "x.value=5"], json!({"kind": "number", "value": 5})),
            (["x.kind=text", "x.value=5"], json!({"kind": "text", "value": "5"})),
            // The tag may come last.
            (["x.value=5", "x.kind=text"], json!({"kind": "text", "value": "5"})),
            (["x.value=5", "x.text=a"], json!({"value": "5", "text": "a"})),
        ] {
            assert_eq!(typed(&schema, &words), Ok(json!({"x": right})), "{words:?}");
        }
        let error = typed(&schema, &["x.kind=text", "x.value=a", "x.number=1"]).unwrap_err();
        assert!(error.starts_with("there is no argument \"x.number\""), "{error}");
        let error = typed(&schema, &["x.kind=number", "x.value=a"]).unwrap_err();
        assert!(error.contains("does not fit"), "{error}");
        // The tag decides which form is meant, although the first one takes as much.
        let error = typed(&schema, &["x.kind=text", "x.number=1"]).unwrap_err();
        assert_eq!(error, "there is no argument \"x.number\"\n  its arguments: x.kind, x.value, x.text");
        let error = typed(&schema, &["x.kind=txt", "x.value=a"]).unwrap_err();
        assert_eq!(error, "x.kind=txt does not fit: did you mean \"text\"?\n  x.kind: one of: number, text");
    }
}

#[test]
fn a_flattened_enumeration_adds_arguments() {
    let object = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}, "kind": {"enum": ["circle", "label"]}},
        "required": ["id"],
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "size": {"type": "number"}}, "required": ["kind", "size"]},
            {"$ref": "#/$defs/Label"},
        ],
        "$defs": {"Label": {"properties": {"kind": {"const": "label"}, "size": {"type": "string"}}, "required": ["kind"]}},
    });
    let right = json!({"id": 1, "kind": "label", "size": "5"});
    assert_eq!(typed(&object, &["id=1", "size=5", "kind=label"]), Ok(right));
    let right = json!({"id": 1, "kind": "circle", "size": 5});
    assert_eq!(typed(&object, &["id=1", "size=5", "kind=circle"]), Ok(right.clone()));
    assert!(typed(&object, &["kind=circle", "size=5"]).unwrap_err().contains("missing:\n  id: integer"));
    assert!(typed(&object, &["id=1", "sise=5"]).unwrap_err().contains("did you mean \"size\"?"));
    let nested = json!({"properties": {"x": {"$ref": "#/$defs/Shape"}}, "$defs": {"Shape": object, "Label": object["$defs"]["Label"]}});
    assert_eq!(typed(&nested, &["x.id=1", "x.size=5", "x.kind=circle"]), Ok(json!({"x": right})));
    // Alternatives that only require members are not forms.
    let either = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(typed(&either, &["a=1"]), Ok(json!({"a": "1"})));
}

#[test]
fn a_value_of_a_documented_enumeration_gets_a_suggestion() {
    let schema = json!({"oneOf": [{"const": "past", "description": "Then."}, {"const": "present"}]});
    let error = one(&schema, &["x=presnt"]).unwrap_err();
    assert_eq!(error, "x=presnt does not fit: did you mean \"present\"?\n  x: one of: past, present");
}

#[test]
fn raw_json_is_sent_as_it_is() {
    let schema = json!({"type": "integer"});
    assert_eq!(one(&schema, &["x:=\"five\""]), Ok(json!("five")));
    assert!(one(&schema, &["x:=five"]).unwrap_err().contains("x:=five is not JSON"));
    assert_eq!(typed(&json!({"properties": {"x": {}}}), &["y:=1"]), Ok(json!({"y": 1})));
}

#[test]
fn an_unknown_argument_is_rejected_with_the_known_ones() {
    let schema = json!({"properties": {"verb": {"type": "string"}, "tense": {"type": "string"}}});
    let right = "there is no argument \"verv\": did you mean \"verb\"?\n  its arguments: verb, tense";
    assert_eq!(typed(&schema, &["verv=eat"]).unwrap_err(), right);
    assert!(
        typed(&schema, &["eat"]).unwrap_err().starts_with("\"eat\" is not an argument: write NAME=VALUE")
    );
    assert!(typed(&schema, &["=eat"]).unwrap_err().contains("has no name"));
    let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert!(typed(&none, &["a=b"]).unwrap_err().ends_with("it takes no arguments"));
}

#[test]
fn additional_properties_are_accepted_where_the_schema_allows_them() {
    let any = json!({"type": "object"});
    assert_eq!(typed(&any, &["a=1", "b=c"]), Ok(json!({"a": 1, "b": "c"})));
    let texts = json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}});
    assert_eq!(typed(&texts, &["a=1", "b=1"]), Ok(json!({"a": 1, "b": "1"})));
}

#[test]
fn a_missing_argument_is_reported_with_its_type() {
    let schema = json!({
        "properties": {
            "verb": {"type": "string", "description": "The verb."},
            "tense": {"enum": ["past", "present"]},
        },
        "required": ["verb", "tense"],
    });
    assert_eq!(
        typed(&schema, &[]).unwrap_err(),
        "2 arguments are missing:\n  verb: text\n    The verb.\n  tense: one of: past, present"
    );
    assert_eq!(
        typed(&schema, &["tense=past"]).unwrap_err(),
        "an argument is missing:\n  verb: text\n    The verb."
    );
}

#[test]
fn arguments_override_the_json_document() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]});
    let document = ExactJson::from(&json!({"a": "no integer", "c": 1})).members().unwrap().clone();
    let build = |words: &[String]| build(Schema::new(&schema), words, Some(document.clone()));
    assert_eq!(tree(build(&[]).unwrap()), json!({"a": "no integer", "c": 1}));
    assert_eq!(tree(build(&["a=1".to_owned()]).unwrap()), json!({"a": 1, "c": 1}));
}

#[test]
fn a_recursive_schema_terminates() {
    let branches: Vec<Value> = vec![json!({"$ref": "#/properties/x"}); 20];
    assert!(one(&json!({"anyOf": branches}), &["x=1"]).is_err());
    assert!(one(&json!({"type": "array", "items": {"$ref": "#/properties/x"}}), &["x=1"]).is_err());
    let form = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/x"}}});
    let forms = json!({"anyOf": vec![form; 50]});
    assert!(one(&forms, &[&format!("x{}.b=1", ".a".repeat(100))]).is_err());
}

/// A schema and a value of it that is not ambiguous as text.
fn values() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        any::<String>().prop_map(|text| (json!({"type": "string"}), json!(text))),
        any::<i64>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        any::<u64>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        any::<i32>().prop_map(|number| (json!({"type": "number"}), json!(f64::from(number) / 8.0))),
        any::<bool>().prop_map(|truth| (json!({"type": "boolean"}), json!(truth))),
        Just((json!({"type": "null"}), json!(null))),
    ];
    let list = |(schema, value): (Value, Value)| (json!({"type": "array", "items": schema}), json!([value]));
    let object = |(schema, value): (Value, Value)| {
        (json!({"type": "object", "properties": {"member": schema}}), json!({"member": value}))
    };
    let nullable = |(schema, value): (Value, Value)| (json!({"anyOf": [schema, {"type": "null"}]}), value);
    let listed = |(_, value): (Value, Value)| (json!({"enum": ["another", value]}), value);
    leaf.prop_recursive(3, 8, 1, move |inner| {
        prop_oneof![
            inner.clone().prop_map(list),
            inner.clone().prop_map(object),
            inner.clone().prop_map(nullable),
            inner.prop_map(listed),
        ]
    })
}

#[test]
fn members_are_named_as_they_are_typed() {
    let period =
        json!({"type": "object", "properties": {"from": {"type": "string"}, "until": {"type": "string"}}});
    let error = one(&period, &["x.form=a"]).unwrap_err();
    assert!(error.contains("did you mean \"x.from\"?\n  its arguments: x.from, x.until"), "{error}");
    let error = one(&json!({"type": "integer"}), &["x:=a"]).unwrap_err();
    assert!(!error.contains("text"), "{error}");
}

proptest! {
    #[test]
    fn a_value_of_the_schemas_type_survives_being_typed((schema, value) in values()) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        prop_assert_eq!(one(&schema, &[&format!("x={text}")]), Ok(value.clone()));
        prop_assert_eq!(one(&schema, &[&format!("x:={value}")]), Ok(value));
    }

    #[test]
    fn allowed_values_are_accepted_as_displayed((_, value) in values()) {
        let schema = json!({"enum": [value]});
        let text = shown(&value);
        prop_assert_eq!(one(&schema, &[&format!("x={text}")]), Ok(value));
    }

    #[test]
    fn any_arguments_are_accepted_or_rejected(words in prop::collection::vec(any::<String>(), 0..4), (schema, _) in values()) {
        drop(build(Schema::new(&json!({"properties": {"x": schema}})), &words, None));
    }
}
