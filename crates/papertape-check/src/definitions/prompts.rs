//! The arguments of prompts.

use std::collections::HashSet;

use serde_json::Value;

use super::entry::Entry;
use super::hits::Hits;
use crate::code::definitions::PT0415;
use crate::finding::{Finding, Severity};

/// What is wrong with the arguments of prompts.
pub(super) fn inspect(prompts: &[Entry<'_>]) -> Vec<Finding> {
    let (mut not_lists, mut not_objects, mut nameless) = (Hits::default(), Hits::default(), Hits::default());
    let (mut wrong, mut twice) = (Hits::default(), Hits::default());
    for prompt in prompts {
        let Some(arguments) = prompt.get("arguments") else { continue };
        let Some(arguments) = arguments.as_array() else {
            not_lists.push(*prompt, "/arguments".to_owned(), Some(arguments));
            continue;
        };
        let mut names = HashSet::new();
        for (at, argument) in arguments.iter().enumerate() {
            let pointer = format!("/arguments/{at}");
            let Some(members) = argument.as_object() else {
                not_objects.push(*prompt, pointer, Some(argument));
                continue;
            };
            match members.get("name").and_then(Value::as_str) {
                None | Some("") => nameless.push(*prompt, pointer.clone(), Some(argument)),
                Some(name) if !names.insert(name) => twice.push(*prompt, pointer.clone(), Some(argument)),
                Some(_) => {}
            }
            let is_wrong = |member: &str, is_right: fn(&Value) -> bool| {
                members.get(member).is_some_and(|it| !is_right(it))
            };
            let texts = ["title", "description"].iter().any(|member| is_wrong(member, Value::is_string));
            if texts || is_wrong("required", Value::is_boolean) {
                wrong.push(*prompt, pointer, Some(argument));
            }
        }
    }
    let remedy = "write a list of objects: `\"arguments\": [{\"name\": \"topic\", \"required\": true}]`; they have no schema";
    let findings = [
        not_lists.finding(PT0415, "`arguments` is not an array", remedy),
        not_objects.finding(PT0415, "an argument is not an object", remedy),
        nameless.finding(PT0415, "an argument has no `name`", remedy),
        wrong.finding(
            PT0415,
            "`required` is not a boolean, or a text is not a string, in an argument",
            remedy,
        ),
        twice
            .finding(PT0415, "two arguments have the same name", "give each argument a name of its own")
            .map(|finding| finding.severity(Severity::Warning).affects(Vec::new())),
    ];
    findings.into_iter().flatten().collect()
}
