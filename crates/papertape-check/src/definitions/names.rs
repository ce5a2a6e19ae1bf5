//! Names and URIs by which entries are addressed.

use std::collections::HashMap;

use super::entry::{Entries, Entry, Kind};
use super::hits::Hits;
use crate::code::definitions::{PT0401, PT0407, PT0411, PT0413};
use crate::finding::{Finding, Severity};

/// Entries without a name, or with one that another entry has.
pub(super) fn inspect(entries: &Entries<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for list in entries.lists() {
        let Some(first) = list.first() else { continue };
        found.extend(nameless(first.kind, list));
        found.extend(duplicates(first.kind, list));
    }
    found
}

fn nameless(kind: Kind, list: &[Entry<'_>]) -> Vec<Finding> {
    let code = if matches!(kind, Kind::Tool | Kind::Prompt) { PT0401 } else { PT0411 };
    let (mut not_objects, mut unnamed, mut empty) = (Hits::default(), Hits::default(), Hits::default());
    let mut without_name = Hits::default();
    for entry in list {
        let key = entry.get(kind.key());
        if entry.members().is_none() {
            not_objects.entry(*entry);
        } else if key.is_some_and(|key| key == "") {
            empty.entry(*entry);
        } else if !key.is_some_and(serde_json::Value::is_string) {
            unnamed.entry(*entry);
        } else if !entry.get("name").is_some_and(serde_json::Value::is_string) {
            without_name.entry(*entry);
        }
    }
    let (noun, key) = (kind.noun(), kind.key());
    let remedy = match code.name() {
        "PT0401" => {
            "give each a `name` that is a string: letters, digits, `_` and `-`, up to 64 of them".to_owned()
        }
        _ => format!("give each a `{key}` and a `name`, which are strings"),
    };
    let findings = [
        not_objects.finding(code, &format!("an entry of the list of {noun}s is not an object"), &remedy),
        unnamed.finding(code, &format!("`{key}` is missing or not a string"), &remedy),
        without_name.finding(code, "`name` is missing or not a string", &remedy),
        // SDKs accept an empty one.
        empty.finding(code, &format!("`{key}` is empty"), &remedy).map(|it| it.severity(Severity::Warning)),
    ];
    findings.into_iter().flatten().collect()
}

fn duplicates(kind: Kind, list: &[Entry<'_>]) -> Option<Finding> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut hits = Hits::default();
    for entry in list {
        let Some(key) = entry.key() else { continue };
        if first.insert(key, entry.at).is_some() {
            hits.push(*entry, format!("/{}", kind.key()), entry.get(kind.key()));
        }
    }
    match kind {
        Kind::Tool => hits.finding(
            PT0407,
            "two tools have the same name",
            "give each tool a name of its own: a host calls one of them, and which one is up to the host",
        ),
        Kind::Prompt => hits
            .finding(PT0407, "two prompts have the same name", "give each prompt a name of its own")
            .map(|finding| finding.affects(Vec::new()).severity(Severity::Warning)),
        Kind::Resource | Kind::Template => hits.finding(
            PT0413,
            &format!("two {}s have the same `{}`", kind.noun(), kind.key()),
            "list each once: hosts read by URI, so that the second cannot be read",
        ),
    }
}
