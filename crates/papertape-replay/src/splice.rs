//! Parts of a JSON text, found and replaced in place: every other byte stays as it was recorded.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::value::RawValue;

/// Where the value at a path of member names is.
pub(crate) fn find(json: &str, path: &[&str]) -> Option<Range<usize>> {
    let mut value = json;
    for name in path {
        let members: HashMap<String, &RawValue> = serde_json::from_str(value).ok()?;
        value = members.get(*name)?.get();
    }
    let start = value.as_ptr().addr().checked_sub(json.as_ptr().addr())?;
    let end = start.checked_add(value.len())?;
    json.get(start..end).map(|_| start..end)
}

/// The text of the value at a path.
pub(crate) fn value<'a>(json: &'a str, path: &[&str]) -> Option<&'a str> {
    json.get(find(json, path)?)
}

/// Replaces the value at a path, if there is one.
pub(crate) fn replace(json: &mut String, path: &[&str], with: &str) {
    if let Some(range) = find(json, path) {
        json.replace_range(range, with);
    }
}

#[cfg(test)]
mod tests {
    use super::{replace, value};

    #[test]
    fn every_other_byte_stays() {
        let mut json = r#" { "a" :{"id":1} , "id" : 7.0,"x":[ ] } "#.to_owned();
        replace(&mut json, &["id"], "\"new\"");
        assert_eq!(json, r#" { "a" :{"id":1} , "id" : "new","x":[ ] } "#);
        replace(&mut json, &["a", "id"], "22");
        replace(&mut json, &["a", "none"], "33");
        replace(&mut json, &["x", "id"], "33");
        assert_eq!(json, r#" { "a" :{"id":22} , "id" : "new","x":[ ] } "#);
        assert_eq!(value(&json, &["a"]), Some(r#"{"id":22}"#));
        assert_eq!(value("[", &["a"]), None);
    }
}
