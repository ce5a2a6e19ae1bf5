//! A JSON Schema as a user reads it: the arguments, the values that each may have, and (`words`) their description.

mod words;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

pub(crate) use words::shown;

/// The longest chain of references that is followed.
const MOST_HOPS: usize = 12;

/// The most parts of a schema that are described: one that refers to itself has infinitely many.
const MOST_PARTS: usize = 200;

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

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Schema;

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
    fn required_arguments_come_first_and_in_order() {
        let schema = json!({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["c", "b"]});
        let names: Vec<_> =
            Schema::new(&schema).arguments().iter().map(|found| (found.name, found.required)).collect();
        assert_eq!(names, [("c", true), ("b", true), ("a", false)]);
    }
}
