//! Members whose values are of the wrong type.

use serde_json::Value;

use super::entry::{Entries, Entry, Kind};
use super::hits::Hits;
use crate::code::definitions::PT0409;
use crate::finding::Finding;

/// What the value of a member must be.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Number,
    Object,
    List,
}

impl Form {
    fn holds(self, value: &Value) -> bool {
        match self {
            Form::Text => value.is_string(),
            Form::Flag => value.is_boolean(),
            Form::Number => value.is_number(),
            Form::Object => value.is_object(),
            Form::List => value.is_array(),
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Form::Text => "a string",
            Form::Flag => "a boolean",
            Form::Number => "a number",
            Form::Object => "an object",
            Form::List => "an array",
        }
    }
}

/// Members of every entry; those that identify it are inspected elsewhere.
const SHARED: [(&str, Form); 4] =
    [("/title", Form::Text), ("/description", Form::Text), ("/icons", Form::List), ("/_meta", Form::Object)];
const OF_TOOLS: [(&str, Form); 6] = [
    ("/annotations", Form::Object),
    ("/annotations/title", Form::Text),
    ("/annotations/readOnlyHint", Form::Flag),
    ("/annotations/destructiveHint", Form::Flag),
    ("/annotations/idempotentHint", Form::Flag),
    ("/annotations/openWorldHint", Form::Flag),
];
const OF_RESOURCES: [(&str, Form); 6] = [
    ("/mimeType", Form::Text),
    ("/size", Form::Number),
    ("/annotations", Form::Object),
    ("/annotations/audience", Form::List),
    ("/annotations/priority", Form::Number),
    ("/annotations/lastModified", Form::Text),
];

/// One finding for each member that is of the wrong type somewhere.
pub(super) fn inspect(entries: &Entries<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for list in entries.lists() {
        let Some(first) = list.first() else { continue };
        let own: &[(&str, Form)] = match first.kind {
            Kind::Tool => &OF_TOOLS,
            Kind::Resource | Kind::Template => &OF_RESOURCES,
            Kind::Prompt => &[],
        };
        found.extend(SHARED.iter().chain(own).filter_map(|(pointer, form)| wrong(list, pointer, *form)));
    }
    found
}

fn wrong(list: &[Entry<'_>], pointer: &str, form: Form) -> Option<Finding> {
    let mut hits = Hits::default();
    for entry in list {
        if let Some(value) = entry.value.pointer(pointer).filter(|value| !form.holds(value)) {
            hits.push(*entry, pointer.to_owned(), Some(value));
        }
    }
    let name = pointer.trim_start_matches('/').replace('/', ".");
    let remedy = format!("make `{name}` {}, or leave it out (`null` is not the same)", form.noun());
    hits.finding(PT0409, &format!("`{name}` is not {}", form.noun()), &remedy)
}
