use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::json_diff;
use crate::Volatile;

#[track_caller]
fn assert_diff(old: &Value, new: &Value, right: &[&str]) {
    let found: Vec<_> = json_diff(old, new, &Volatile::new()).iter().map(ToString::to_string).collect();
    assert_eq!(found, right);
}

#[test]
fn changed_missing_and_new_members_are_named() {
    assert_diff(
        &json!({"result": {"a": 1, "b": [1, {"x/y": null}], "c": "x"}}),
        &json!({"result": {"c": "x", "b": [1, {"x/y": true}], "a": "1", "d": {}}}),
        &[r#"/result/a: 1 -> "1""#, "/result/b/1/x~1y: null -> true", "/result/d: {} is new"],
    );
    assert_diff(&json!({"a": 1}), &json!({}), &["/a: 1 is missing"]);
    assert_diff(&json!(1), &json!(2), &["/: 1 -> 2"]);
}

#[test]
fn numbers_are_compared_by_value() {
    assert_diff(&json!([1, 0.5, -0.0]), &json!([1.0, 0.5, 0]), &[]);
    assert_diff(
        &json!(9_007_199_254_740_993_u64),
        &json!(9_007_199_254_740_992.0),
        &["/: 9007199254740993 -> 9007199254740992.0"],
    );
}

#[test]
fn elements_are_aligned_by_name() {
    let tool = |name: &str, title: &str| json!({"name": name, "title": title});
    assert_diff(
        &json!({"tools": [tool("a", "A"), tool("b", "B"), tool("c", "C")]}),
        &json!({"tools": [tool("b", "Bee"), tool("d", "D"), tool("c", "C")]}),
        &[
            r#"/tools/0 (a): {"name":"a","title":"A"} is missing"#,
            r#"/tools/1/title (b): "B" -> "Bee""#,
            r#"/tools/1 (d): {"name":"d","title":"D"} is new"#,
        ],
    );
    let two = |a: &str, b: &str| json!({"tools": [tool(a, ""), tool(b, "")]});
    assert_diff(&two("a", "b"), &two("b", "a"), &["/tools: the order differs"]);
    // Names that are not unique do not identify.
    assert_diff(&two("a", "a"), &two("a", "b"), &[r#"/tools/1/name: "a" -> "b""#]);
}

#[test]
fn elements_without_names_are_aligned_by_equality() {
    assert_diff(&json!([1, 2, 3, 4]), &json!([1, 3, 4]), &["/1: 2 is missing"]);
    assert_diff(&json!([1, 3, 4]), &json!([0, 1, 3, 5, 4]), &["/0: 0 is new", "/3: 5 is new"]);
    assert_diff(&json!([1, 2, 3]), &json!([1, 9, 3]), &["/1: 2 -> 9"]);
    assert_diff(&json!([{"t": "a"}, {"t": "b"}]), &json!([{"t": "c"}, {"t": "b"}]), &[r#"/0/t: "a" -> "c""#]);
}

#[test]
fn long_lists_are_compared_by_position() {
    let list = |first: usize| Value::from((first..first + 2_000).collect::<Vec<_>>());
    assert_eq!(json_diff(&list(0), &list(1), &Volatile::new()).len(), 2_000);
}

#[test]
fn volatile_values_are_equal_within_lists() {
    let at = |time: &str| json!({"content": [{"at": time}, {"at": "never"}]});
    assert_diff(&at("2026-09-21T12:00:00Z"), &at("2026-09-22T12:00:00Z"), &[]);
    let volatile = Volatile::new().ignore("/content/*/at").unwrap();
    assert!(json_diff(&at("a"), &at("b"), &volatile).is_empty());
    let volatile = Volatile::new().ignore("/content/1/at").unwrap();
    assert_eq!(json_diff(&at("a"), &json!({"content": [{"at": "b"}, {"at": 1}]}), &volatile).len(), 1);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[a-c]|name", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn equal_values_and_only_those_have_no_differences(old in values(), new in values()) {
        prop_assert_eq!(json_diff(&old, &old, &Volatile::new()), []);
        let differences = json_diff(&old, &new, &Volatile::nothing());
        prop_assert_eq!(differences.is_empty(), old == new);
        for difference in differences {
            let (at, value) = match (difference.old, difference.new) {
                (Some(value), _) => (&old, value),
                (None, Some(value)) => (&new, value),
                (None, None) => continue,
            };
            // An element that is new within one that has moved has the pointer of the old one on its way.
            if let Some(found) = at.pointer(&difference.pointer) {
                prop_assert!(*found == value || at == &new);
            }
        }
    }
}
