//! Definitions that are valid, and not portable.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Pattern, inspect_prompts};
use crate::code::Code;
use crate::definitions::{Lists, inspect};
use crate::finding::{Finding, Severity};
use crate::hosts;

fn of_schemas(schemas: &[Value]) -> Vec<Finding> {
    let tools = schemas
        .iter()
        .enumerate()
        .map(|(at, schema)| json!({"name": format!("tool_{at}"), "description": "d", "inputSchema": schema}));
    let lists = Lists { tools: tools.collect::<Vec<_>>().into(), ..Lists::default() };
    inspect(&lists).into_iter().filter(|finding| finding.code.name().starts_with("PT05")).collect()
}

/// The codes of an argument, besides those of strict mode.
fn codes(argument: &Value) -> Vec<&'static str> {
    let schema = json!({"type": "object", "properties": {"a": argument}});
    let found = of_schemas(&[schema]).into_iter().map(|finding| finding.code.name());
    found.filter(|code| *code != "PT0507").collect()
}

#[test]
fn every_code_has_a_rule_and_says_who_is_affected() {
    let ruled: Vec<&str> = hosts::rules().iter().map(|rule| rule.code.as_str()).collect();
    let patterns: HashSet<String> = hosts::rules().iter().map(|rule| format!("{:?}", rule.pattern)).collect();
    assert_eq!(patterns.len(), ruled.len(), "a rule for each pattern");
    let (_, codes) = Code::groups().into_iter().find(|(group, _)| *group == "portability").unwrap();
    for code in codes {
        assert!(ruled.contains(&code.name()) || code.name() == "PT0514", "{code} has no rule");
        assert!(!hosts::affected(code.name()).is_empty(), "{code} affects nothing");
    }
}

#[test]
fn arguments_that_are_not_portable_are_found() {
    for (argument, expected) in [
        (json!({"type": ["string", "null"]}), vec!["PT0503"]),
        (json!({"type": ["string", "null"], "enum": ["a", null]}), vec!["PT0503", "PT0504"]),
        (json!({"anyOf": [{"enum": ["a", null]}]}), vec!["PT0504"]),
        (json!({"type": "integer", "enum": [1, 2]}), vec!["PT0512"]),
        (json!({"type": "string", "enum": ["a", ""]}), vec!["PT0512"]),
        (json!({"type": "array"}), vec!["PT0508"]),
        (json!({"type": "array", "items": {"type": "array"}}), vec!["PT0508"]),
        (json!({"type": "array", "prefixItems": [{"type": "string"}]}), vec![]),
        (json!({"type": "array", "items": {}}), vec![]),
        (json!(true), vec!["PT0510"]),
        (json!({"description": "anything"}), vec!["PT0515"]),
        (json!({"type": "object", "additionalProperties": false}), vec!["PT0513"]),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}), vec![]),
        (json!({"type": "string", "enum": ["a"]}), vec![]),
    ] {
        assert_eq!(codes(&argument), expected, "{argument}");
    }
}

#[test]
fn schemas_that_are_not_portable_are_found() {
    let of =
        |schema: Value| of_schemas(&[schema]).iter().map(|finding| finding.code.name()).collect::<Vec<_>>();
    let text = json!({"type": "string"});
    assert_eq!(of(json!({"type": "object"})), ["PT0517"]);
    assert_eq!(of(json!({"type": "object", "properties": {"a b": text}})), ["PT0511"]);
    let choice = json!({"type": "object", "properties": {"a": text, "b": text}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(of(choice).contains(&"PT0506"));
    let reference =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": text}});
    assert_eq!(of(reference), ["PT0505"]);
    let tuple = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"window": {"type": "array", "items": [text, text]}},
    });
    assert!(of(tuple).contains(&"PT0509"));
    assert_eq!(
        of(json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}})),
        ["PT0507"]
    );
}

#[test]
fn a_tuple_is_one_finding_whatever_the_dialect() {
    let schema =
        json!({"type": "object", "properties": {"window": {"type": "array", "items": [{"type": "string"}]}}});
    let tool = json!({"name": "a", "description": "d", "inputSchema": schema});
    let found = inspect(&Lists { tools: vec![tool].into(), ..Lists::default() });
    let breaks: Vec<&str> = found
        .iter()
        .filter(|it| it.severity == Severity::Breaks)
        .map(|finding| finding.code.name())
        .collect();
    assert_eq!(breaks, ["PT0509"]);
}

#[test]
fn names_that_are_not_portable_are_found() {
    let of = |name: &str| {
        let tool =
            json!({"name": name, "description": "d", "inputSchema": {"type": "object", "properties": {}}});
        let found = inspect(&Lists { tools: vec![tool].into(), ..Lists::default() });
        let codes = found.into_iter().map(|finding| finding.code.name());
        codes.filter(|code| code.starts_with("PT05")).collect::<Vec<_>>()
    };
    assert_eq!(of("get_weather-2"), [""; 0]);
    assert_eq!(of("notes.search"), ["PT0501"]);
    assert_eq!(of(&"a".repeat(65)), ["PT0501"]);
    assert_eq!(of(&"a".repeat(64)), ["PT0502"]);
    assert_eq!(of(&"a".repeat(50)), [""; 0]);
}

#[test]
fn a_rule_lists_its_tools_in_one_finding() {
    let optional = json!({"type": "object", "properties": {
        "a": {"type": ["string", "null"]}, "b": {"type": ["integer", "null"]},
    }});
    let found = of_schemas(&vec![optional; 30]);
    let lists: Vec<&Finding> = found.iter().filter(|finding| finding.code.name() == "PT0503").collect();
    assert_eq!(lists.len(), 1);
    assert_eq!(lists[0].subject.as_deref(), Some("30 tools"));
    assert_eq!(lists[0].severity, Severity::Warning);
    assert!(lists[0].message.ends_with("\"tool_19\" and 10 more"), "{}", lists[0].message);
    assert!(lists[0].affects.iter().any(|affected| affected.name.contains("Semantic Kernel")));
}

#[test]
fn more_than_128_tools_are_a_warning() {
    let schema = json!({"type": "object", "properties": {}});
    let codes = |number| {
        of_schemas(&vec![schema.clone(); number]).iter().map(|it| it.code.name()).collect::<Vec<_>>()
    };
    assert_eq!(codes(128), [""; 0]);
    assert_eq!(codes(129), ["PT0516"]);
}

#[test]
fn prompts_that_are_not_text_are_found() {
    let text = json!({"role": "user", "content": {"type": "text", "text": "Hello"}});
    let resource = json!({"role": "user", "content": {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}}});
    let prompt = |name: &str, messages: Value| (json!({"name": name}), json!({"messages": messages}));
    assert_eq!(inspect_prompts(&[prompt("plain", json!([text]))]), []);
    let found = inspect_prompts(&[prompt("plain", json!([text])), prompt("notes", json!([text, resource]))]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].subject.as_deref(), Some("prompt \"notes\""));
}

#[test]
fn patterns_are_named_in_kebab_case() {
    assert_eq!(serde_json::from_value::<Pattern>(json!("null-in-enum")).unwrap(), Pattern::NullInEnum);
}
