//! A JSON Schema as a user reads it: the arguments, and a description of the type of each.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// The longest chain of references that is followed.
const MOST_HOPS: usize = 12;

/// The most parts of a schema that are described: one that refers to itself has infinitely many.
const MOST_PARTS: usize = 200;

/// The deepest nesting of objects that is described.
const DEEPEST_WORDS: usize = 2;

/// The most allowed values that are listed.
const MOST_NAMED: usize = 40;

/// An object within an argument is spelled out if it has this many members or fewer.
const MOST_MEMBERS: usize = 20;

/// The most subschemas of `allOf` that are considered.
const MOST_ALL_OF: usize = 50;

/// A schema, or a place within one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    /// What `#` refers to.
    root: &'a Value,
    node: &'a Value,
    /// The alternative that is chosen, of an object that has members besides them.
    form: Option<&'a Value>,
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: bool,
    pub(crate) schema: Schema<'a>,
    pub(crate) description: Option<&'a str>,
    pub(crate) default: Option<&'a Value>,
}

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl<'a> Schema<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, node: root, form: None }.followed()
    }

    fn at(self, node: &'a Value) -> Self {
        Self { node, form: None, ..self }.followed()
    }

    fn get(self, keyword: &str) -> Option<&'a Value> {
        self.node.get(keyword)
    }

    fn text(self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Value::as_str)
    }

    /// Follows references within the schema. One that cannot be resolved, or is external, allows anything.
    fn followed(mut self) -> Self {
        for _ in 0..MOST_HOPS {
            let next = match (self.text("$ref"), self.get("allOf").and_then(Value::as_array)) {
                (Some(reference), _) => self.referred(reference),
                // Some generators wrap a reference to give it a description.
                (None, Some(all)) if self.get("type").is_none() && self.get("properties").is_none() => {
                    match all.as_slice() {
                        [only] => Some(only),
                        _ => None,
                    }
                }
                _ => None,
            };
            match next {
                Some(node) => self.node = node,
                None => break,
            }
        }
        self
    }

    fn referred(self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// The properties of an object: the required ones in the order of `required`, then the others in that of the schema.
    pub(crate) fn arguments(self) -> Vec<Argument<'a>> {
        let mut found: Vec<Argument<'a>> = Vec::new();
        let (mut known, mut places) = (HashSet::new(), HashMap::new());
        for part in self.parts() {
            for name in strings(part.get("required")) {
                let next = places.len();
                places.entry(name).or_insert(next);
            }
            for (name, node) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if known.insert(name) {
                    found.push(part.argument(name, node));
                }
            }
        }
        for argument in &mut found {
            argument.required = places.contains_key(argument.name);
        }
        found.sort_by_key(|argument| places.get(argument.name).copied().unwrap_or(usize::MAX));
        found
    }

    /// Keywords beside a `$ref` take precedence over those of its target.
    fn argument(self, name: &'a str, node: &'a Value) -> Argument<'a> {
        let (near, far) = (Schema { node, ..self }, self.at(node));
        Argument {
            name,
            required: false,
            schema: far,
            description: near.text("description").or_else(|| far.text("description")),
            default: near.get("default").or_else(|| far.get("default")),
        }
    }

    /// The schema itself, its chosen form, and the subschemas of their `allOf`.
    fn parts(self) -> Vec<Self> {
        let all = |part: Self| {
            let all = part.get("allOf").and_then(Value::as_array).into_iter().flatten();
            std::iter::once(part).chain(all.take(MOST_ALL_OF).map(move |node| self.at(node)))
        };
        // The form is more specific: it has the value of a tag whose values the schema lists.
        self.form.map(|node| self.at(node)).into_iter().chain([self]).flat_map(all).collect()
    }

    /// How many properties it names, at most.
    fn members(self) -> usize {
        let named =
            |part: &Self| part.get("properties").and_then(Value::as_object).map_or(0, |named| named.len());
        self.parts().iter().map(named).sum()
    }

    /// The schema of additional properties, if they are allowed.
    pub(crate) fn additional(self) -> Option<Self> {
        const ANYTHING: &Value = &Value::Bool(true);
        let of_form = self.form.and_then(|form| form.get("additionalProperties"));
        match of_form.or_else(|| self.get("additionalProperties")) {
            Some(Value::Bool(false)) => None,
            Some(node) => Some(self.at(node)),
            // Not specified. Most authors who name properties mean only these.
            None if self.get("patternProperties").is_none() && self.members() > 0 => None,
            None => Some(self.at(ANYTHING)),
        }
    }

    /// Whether no value at all is allowed.
    pub(crate) fn takes_nothing(self) -> bool {
        self.node == &Value::Bool(false)
    }

    /// The only values allowed, if they are listed.
    pub(crate) fn allowed(self) -> Option<&'a [Value]> {
        match (self.get("const"), self.get("enum")) {
            (Some(only), _) => Some(std::slice::from_ref(only)),
            (None, Some(values)) => values.as_array().map(Vec::as_slice),
            (None, None) => None,
        }
    }

    /// The values that are listed, here or in the alternatives: generators write an enumeration with descriptions as `oneOf`.
    pub(crate) fn values(self) -> Vec<&'a Value> {
        self.flat(|schema| schema.allowed()).into_iter().flat_map(|(_, values)| values).collect()
    }

    /// The forms of an object that are allowed: itself, or those of its alternatives that are objects.
    pub(crate) fn objects(self) -> Vec<Self> {
        let is_object = |schema: Self| {
            let named = schema.members() > 0 || schema.kinds().contains(&SchemaType::Object);
            named.then_some(())
        };
        self.flat(is_object).into_iter().flat_map(|(schema, ())| schema.forms()).collect()
    }

    /// An object whose alternatives add members, such as those of a flattened enumeration, in each of its forms.
    fn forms(self) -> Vec<Self> {
        let alternatives = self.alternatives().take(MOST_PARTS).filter(|form| form.members() > 0);
        let forms: Vec<Self> = alternatives.map(|form| Self { form: Some(form.node), ..self }).collect();
        if forms.is_empty() { vec![self] } else { forms }
    }

    /// The forms of a list that are allowed.
    pub(crate) fn lists(self) -> Vec<Self> {
        let is_list = |schema: Self| schema.kinds().contains(&SchemaType::Array).then_some(());
        self.flat(is_list).into_iter().map(|(schema, ())| schema).collect()
    }

    /// The schema and its alternatives, theirs too, as far as `choose` takes them. What it takes is not searched further.
    fn flat<T>(self, choose: impl Fn(Self) -> Option<T>) -> Vec<(Self, T)> {
        let (mut found, mut waiting, mut parts) = (Vec::new(), vec![self], MOST_PARTS);
        while let Some(schema) = waiting.pop() {
            let Some(left) = parts.checked_sub(1) else { break };
            parts = left;
            match choose(schema) {
                Some(chosen) => found.push((schema, chosen)),
                None => {
                    let alternatives: Vec<Self> = schema.alternatives().take(MOST_PARTS).collect();
                    waiting.extend(alternatives.into_iter().rev());
                }
            }
        }
        found
    }

    /// The types named, in the schema's order; none if it names none.
    pub(crate) fn kinds(self) -> Vec<SchemaType> {
        let types = self.get("type");
        strings(types).chain(types.and_then(Value::as_str)).filter_map(SchemaType::parse).collect()
    }

    /// The alternatives of `anyOf` and `oneOf`.
    pub(crate) fn alternatives(self) -> impl Iterator<Item = Self> {
        let of = move |keyword| self.get(keyword).and_then(Value::as_array).into_iter().flatten();
        of("anyOf").chain(of("oneOf")).map(move |node| self.at(node))
    }

    /// The schema of the items of a list.
    pub(crate) fn items(self) -> Option<Self> {
        self.get("items").filter(|items| !items.is_array()).map(|items| self.at(items))
    }

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

impl SchemaType {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "null" => SchemaType::Null,
            "boolean" => SchemaType::Boolean,
            "integer" => SchemaType::Integer,
            "number" => SchemaType::Number,
            "string" => SchemaType::String,
            "array" => SchemaType::Array,
            "object" => SchemaType::Object,
            _ => return None,
        })
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

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
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
    fn references_are_followed_within_the_schema_only() {
        let schema = json!({
            "properties": {
                "tree": {"$ref": "#/$defs/Node", "description": "nearest", "default": {}},
                "far": {"$ref": "http://127.0.0.1:1/x"},
                "wrapped": {"allOf": [{"$ref": "#/$defs/Colour"}]},
                "loop": {"$ref": "#/$defs/Loop"},
            },
            "$defs": {
                "Node": {"type": "object", "description": "far", "properties": {"child": {"$ref": "#/$defs/Node"}}},
                "Colour": {"enum": ["red", "blue"], "description": "a colour"},
                "Loop": {"$ref": "#/$defs/Loop"},
            },
        });
        let said: Vec<_> = Schema::new(&schema)
            .arguments()
            .iter()
            .map(|argument| (argument.name, argument.schema.words(), argument.description))
            .collect();
        let right = [
            ("tree", "{child?: {child?: object}}".to_owned(), Some("nearest")),
            ("far", "anything".to_owned(), None),
            ("wrapped", "one of: red, blue".to_owned(), Some("a colour")),
            ("loop", "anything".to_owned(), None),
        ];
        assert_eq!(said, right);
        let tree = Schema::new(&schema).arguments().into_iter().find(|argument| argument.name == "tree");
        assert_eq!(tree.and_then(|tree| tree.default), Some(&json!({})));
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

    #[test]
    fn required_arguments_come_first_and_in_order() {
        let schema = json!({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["c", "b"]});
        let names: Vec<_> =
            Schema::new(&schema).arguments().iter().map(|found| (found.name, found.required)).collect();
        assert_eq!(names, [("c", true), ("b", true), ("a", false)]);
    }
}
