//! What a schema allows, in words: "integer from 1 to 10".

use serde_json::Value;

use super::{MOST_PARTS, Schema, SchemaType};

/// The deepest nesting of objects that is described.
const DEEPEST_WORDS: usize = 2;

/// The most allowed values that are listed.
const MOST_NAMED: usize = 40;

/// An object within an argument is spelled out if it has this many members or fewer.
const MOST_MEMBERS: usize = 20;

impl Schema<'_> {
    /// A description of what is allowed: "integer from 1 to 10", "one of: past, present".
    pub(crate) fn words(self) -> String {
        self.words_at(0, &mut MOST_PARTS.clone())
    }

    fn words_at(self, depth: usize, parts: &mut usize) -> String {
        match parts.checked_sub(1) {
            Some(left) => *parts = left,
            None => return "...".to_owned(),
        }
        if let Some(values) = self.allowed() {
            return match values {
                [only] => format!("always {}", shown(only)),
                values => named(&values.iter().collect::<Vec<_>>()),
            };
        }
        let mut several: Vec<String> = Vec::new();
        let mut listed: Vec<&Value> = Vec::new();
        for alternative in self.alternatives() {
            if *parts == 0 {
                break;
            }
            match alternative.allowed() {
                Some(values) => {
                    *parts -= 1;
                    listed.extend(values);
                }
                None => several.push(alternative.words_at(depth, parts)),
            }
        }
        match listed.as_slice() {
            [] => {}
            [only] => several.insert(0, format!("always {}", shown(only))),
            values => several.insert(0, named(values)),
        }
        if several.is_empty() {
            several.extend(self.kinds().into_iter().map(|kind| self.kind_words(kind, depth, parts)));
        }
        several.dedup();
        match several.as_slice() {
            [] if self.members() > 0 => self.kind_words(SchemaType::Object, depth, parts),
            [] if self.takes_nothing() => "nothing".to_owned(),
            [] => "anything".to_owned(),
            several => several.join(", or "),
        }
    }

    fn kind_words(self, kind: SchemaType, depth: usize, parts: &mut usize) -> String {
        match kind {
            SchemaType::Null => "null".to_owned(),
            SchemaType::Boolean => "true or false".to_owned(),
            SchemaType::Integer => format!("integer{}", self.range()),
            SchemaType::Number => format!("number{}", self.range()),
            SchemaType::String => self.string_words(),
            SchemaType::Array => {
                let items = match self.items() {
                    Some(items) => format!("list of {}", items.words_at(depth, parts)),
                    None => "list".to_owned(),
                };
                items + &self.count("minItems", "maxItems", "of them")
            }
            SchemaType::Object => self.object_words(depth, parts),
        }
    }

    fn string_words(self) -> String {
        let mut words = "text".to_owned();
        if let Some(format) = self.text("format") {
            words += &format!(" ({format})");
        }
        if let Some(pattern) = self.text("pattern") {
            words += &format!(" that matches {pattern}");
        }
        words + &self.count("minLength", "maxLength", "characters")
    }

    fn object_words(self, depth: usize, parts: &mut usize) -> String {
        match self.members() {
            0 => return "object".to_owned(),
            _ if depth >= DEEPEST_WORDS => return "object".to_owned(),
            count if count > MOST_MEMBERS => return format!("object of {count} members"),
            _ => {}
        }
        let mut words = Vec::new();
        for member in self.arguments() {
            if *parts == 0 {
                words.push("...".to_owned());
                break;
            }
            let mark = if member.required { "" } else { "?" };
            words.push(format!("{}{mark}: {}", member.name, member.schema.words_at(depth + 1, parts)));
        }
        format!("{{{}}}", words.join(", "))
    }

    /// " from 1 to 10", " of at least 1", " over 0".
    fn range(self) -> String {
        let number = |keyword| self.get(keyword).filter(|value| value.is_number()).map(ToString::to_string);
        let (least, most) = (number("minimum"), number("maximum"));
        let (above, below) = (number("exclusiveMinimum"), number("exclusiveMaximum"));
        let mut words = match (least, most) {
            (Some(least), Some(most)) => format!(" from {least} to {most}"),
            (Some(least), None) => format!(", {least} or more"),
            (None, Some(most)) => format!(", {most} or less"),
            (None, None) => String::new(),
        };
        if let Some(above) = above {
            words += &format!(", over {above}");
        }
        if let Some(below) = below {
            words += &format!(", under {below}");
        }
        if let Some(step) = number("multipleOf") {
            words += &format!(", a multiple of {step}");
        }
        words
    }

    /// Whether a number, or the length of a text or a list, is within the limits that [`Schema::words`] names.
    pub(crate) fn is_within_limits(self, value: &Value) -> bool {
        let limit = |keyword| self.get(keyword).and_then(Value::as_f64);
        let within = |size: f64, least, most| {
            limit(least).is_none_or(|least| size >= least) && limit(most).is_none_or(|most| size <= most)
        };
        let count = |count: usize| u32::try_from(count).map_or(f64::INFINITY, f64::from);
        match value {
            Value::Number(number) => number.as_f64().is_none_or(|number| {
                within(number, "minimum", "maximum")
                    && limit("exclusiveMinimum").is_none_or(|above| number > above)
                    && limit("exclusiveMaximum").is_none_or(|below| number < below)
            }),
            Value::String(text) => within(count(text.chars().count()), "minLength", "maxLength"),
            Value::Array(items) => within(count(items.len()), "minItems", "maxItems"),
            _ => true,
        }
    }

    fn count(self, least: &str, most: &str, what: &str) -> String {
        let number = |keyword| self.get(keyword).and_then(Value::as_u64);
        match (number(least).filter(|&least| least > 0), number(most)) {
            (Some(least), Some(most)) if least == most => format!(", exactly {least} {what}"),
            (Some(least), Some(most)) => format!(", {least} to {most} {what}"),
            (Some(least), None) => format!(", at least {least} {what}"),
            (None, Some(most)) => format!(", at most {most} {what}"),
            (None, None) => String::new(),
        }
    }
}

/// "one of: past, present".
fn named(values: &[&Value]) -> String {
    let mut names: Vec<String> = values.iter().take(MOST_NAMED).map(|value| shown(value)).collect();
    if values.len() > MOST_NAMED {
        names.push(format!("and {} more", values.len() - MOST_NAMED));
    }
    format!("one of: {}", names.join(", "))
}

/// A value as it would be typed: a string without quotes, unless it is ambiguous.
pub(crate) fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let edges = text.trim() == text && !text.is_empty();
    edges && !text.contains([',', '"', '\n']) && serde_json::from_str::<Value>(text).is_err()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Schema;

    #[track_caller]
    fn check(schema: &Value, words: &str) {
        assert_eq!(Schema::new(schema).words(), words, "{schema}");
    }

    #[test]
    fn allowed_values_are_described() {
        check(&json!({"type": "string"}), "text");
        check(&json!({"type": "string", "format": "date-time"}), "text (date-time)");
        check(
            &json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"}),
            "text that matches ^a, 1 to 9 characters",
        );
        check(&json!({"type": "integer", "minimum": 1, "maximum": 10}), "integer from 1 to 10");
        check(&json!({"type": "integer", "minimum": 0, "format": "uint32"}), "integer, 0 or more");
        check(&json!({"type": "number", "exclusiveMinimum": 0}), "number, over 0");
        check(&json!({"type": "boolean"}), "true or false");
        check(&json!({"enum": ["a", "b c", "1", 1, null]}), "one of: a, b c, \"1\", 1, null");
        check(&json!({"const": "x"}), "always x");
        check(
            &json!({"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
            "list of integer, at most 3 of them",
        );
        check(&json!({"type": "array"}), "list");
        let documented = json!({"oneOf": [
            {"const": "asc", "type": "string", "description": "Up."},
            {"const": "desc", "type": "string", "description": "Down."},
            {"enum": ["random", "none"]},
        ]});
        check(&documented, "one of: asc, desc, random, none");
        check(&json!({"anyOf": [{"type": "null"}, {"const": "a"}, {"const": "b"}]}), "one of: a, b, or null");
        check(&json!({"type": ["string", "null"]}), "text, or null");
        check(&json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "integer, or null");
        check(&json!({}), "anything");
        check(&json!(true), "anything");
        check(&json!(false), "nothing");
        check(&json!({"type": "object"}), "object");
        check(
            &json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {}}, "required": ["b"]}),
            "{b: text, a?: anything}",
        );
    }

    #[test]
    fn limits_are_those_that_are_described() {
        let within = |schema: Value, value: Value| Schema::new(&schema).is_within_limits(&value);
        let row = || json!({"type": "integer", "minimum": 1, "maximum": 40});
        assert!(within(row(), json!(1)) && within(row(), json!(40)));
        assert!(!within(row(), json!(0)) && !within(row(), json!(41)));
        let share = || json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1});
        assert!(within(share(), json!(0.5)) && !within(share(), json!(0)) && !within(share(), json!(1)));
        let code = || json!({"type": "string", "minLength": 2, "maxLength": 3});
        assert!(
            within(code(), json!("äöü")) && !within(code(), json!("a")) && !within(code(), json!("abcd"))
        );
        let tags = || json!({"type": "array", "minItems": 1, "maxItems": 1});
        assert!(within(tags(), json!(["a"])) && !within(tags(), json!([])) && !within(tags(), json!([1, 2])));
    }

    #[test]
    fn a_recursive_schema_terminates() {
        let schema = json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]});
        assert!(Schema::new(&schema).words().len() < 10_000);
        let schema = json!({"type": "array", "items": {"$ref": "#"}});
        assert!(Schema::new(&schema).words().ends_with("list of ..."));
        let members: serde_json::Map<String, Value> =
            (0..1_000).map(|number| (number.to_string(), json!({"$ref": "#"}))).collect();
        let schema = json!({ "properties": members });
        assert!(
            Schema::new(&schema).arguments().iter().all(|it| it.schema.words() == "object of 1000 members")
        );
        let schema = json!({"anyOf": vec![json!({"$ref": "#"}); 100]});
        assert!(Schema::new(&schema).words().len() < 10_000);
    }
}
