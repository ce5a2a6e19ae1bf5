//! JSON Schema, whatever a server sends as that, to a [`Schema`] of bounded size.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::losses::Losses;
use super::schema::{Members, Others, Schema, Shape};
use crate::wire::error::excerpt;

/// The most schemas that a tool's arguments consist of.
const LARGEST: usize = 3_000;

/// The most text that they have: names, descriptions, values of enumerations, constraints. In bytes, counted each time that
/// a reference repeats it.
const MOST_TEXT: usize = 200_000;

/// What a number or boolean counts of that.
const SCALAR: usize = 8;

/// How deep schemas are nested at most: the first limit with which they are not too many is used.
const DEPTHS: [usize; 6] = [24, 14, 9, 6, 4, 3];

/// How often a reference may be followed within itself.
const MOST_TURNS: usize = 2;

/// The longest chain of references.
const MOST_REFERENCES: usize = 48;

/// The longest reference.
const LONGEST_REFERENCE: usize = 1_024;

/// The most values of an enumeration.
const MOST_VALUES: usize = 1_000;

/// The largest default value in bytes of JSON.
const LARGEST_DEFAULT: usize = 500;

/// Constraints that no model API has a form for. The server checks them.
const DROPPED: [&str; 17] = [
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "contentEncoding",
    "contentMediaType",
    "$dynamicRef",
];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The members of a tool's arguments.
pub(super) fn read_arguments(schema: &Value, losses: &mut Losses) -> Members {
    for depth in DEPTHS {
        let (losses_here, references) = (Losses::default(), Vec::new());
        let mut reader =
            Reader { root: schema, losses: losses_here, left: LARGEST, text: MOST_TEXT, depth, references };
        let read = reader.read(schema);
        let fits = reader.left > 0;
        if fits || Some(&depth) == DEPTHS.last() {
            *losses = reader.losses;
            return members(read, losses);
        }
    }
    Members::default()
}

/// The arguments are an object, in all APIs without alternatives.
fn members(schema: Schema, losses: &mut Losses) -> Members {
    match schema.shape {
        Shape::Object(members) => members,
        Shape::Any => Members::default(),
        Shape::Union(alternatives) => {
            losses.add("the alternatives of its arguments were merged into one object");
            let mut objects = alternatives.into_iter().filter_map(|schema| match schema.shape {
                Shape::Object(members) => Some(members),
                _ => None,
            });
            let mut all = objects.next().unwrap_or_default();
            objects.for_each(|members| all.widen(members));
            all
        }
        _ => {
            losses.add("its arguments are not an object; it is declared without arguments");
            Members::default()
        }
    }
}

struct Reader<'a> {
    /// What `#` refers to.
    root: &'a Value,
    losses: Losses,
    /// How many more schemas may be read.
    left: usize,
    /// How much more text.
    text: usize,
    /// How deep they may still be nested.
    depth: usize,
    /// The references that are being followed.
    references: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, node: &'a Value) -> Schema {
        let Value::Object(map) = node else {
            match node {
                Value::Bool(true) => {}
                Value::Bool(false) => self.losses.add("nothing is valid for it, which cannot be declared"),
                _ => self.losses.add("its schema is not one, and was left out"),
            }
            return Schema::any();
        };
        if self.left == 0 || self.depth == 0 {
            self.losses.add("the schema is too large or nested too deep; the rest of it was left out");
            return Schema::any();
        }
        self.left -= 1;
        self.depth -= 1;
        let schema = self.read_object(map);
        self.depth += 1;
        schema
    }

    /// A schema within another one, at a place that has a name.
    fn within(&mut self, name: &str, node: &'a Value) -> Schema {
        self.losses.enter(name);
        let schema = self.read(node);
        self.losses.leave();
        schema
    }

    fn read_object(&mut self, map: &'a Map<String, Value>) -> Schema {
        for keyword in DROPPED.iter().filter(|keyword| map.contains_key(**keyword)) {
            self.losses.add(format!("`{keyword}` was left out"));
        }
        let mut schema = self.own(map);
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let referred = self.referred(reference);
            schema = self.both(schema, referred);
        }
        for part in list(map.get("allOf")) {
            if self.left == 0 {
                break;
            }
            let part = self.read(part);
            schema = self.both(schema, part);
        }
        for keyword in ["anyOf", "oneOf"] {
            let mut alternatives: Vec<Schema> = Vec::new();
            for alternative in list(map.get(keyword)) {
                if self.left == 0 {
                    break;
                }
                alternatives.push(self.read(alternative));
            }
            if !alternatives.is_empty() {
                schema = self.both(schema, Schema::union(alternatives));
            }
        }
        schema.description = self.description(map).or(schema.description);
        schema
    }

    fn description(&mut self, map: &Map<String, Value>) -> Option<String> {
        let text = map.get("description").and_then(Value::as_str).filter(|text| !text.is_empty())?;
        self.has_room(text.len()).then(|| text.to_owned())
    }

    /// Counts text; false if there is no room for it.
    fn has_room(&mut self, bytes: usize) -> bool {
        let left = self.text.checked_sub(bytes);
        match left {
            Some(left) => self.text = left,
            None => self.losses.add("the schema has too much text; some of it was left out"),
        }
        left.is_some()
    }

    /// What a schema says besides references and combinations.
    fn own(&mut self, map: &'a Map<String, Value>) -> Schema {
        let values = self.values(map);
        let types = types(map, values.as_deref());
        let allows_null = |values: &[Value]| values.iter().any(Value::is_null);
        let nullable = types.contains("null") && values.as_deref().is_none_or(allows_null);
        let mut alternatives = Vec::new();
        for kind in types.iter().filter(|kind| !kind.is_empty() && **kind != "null") {
            // Every integer is a number, too.
            if *kind == "integer" && types.contains("number") {
                continue;
            }
            alternatives.extend(self.one_type(kind, map, values.as_deref()));
        }
        let mut schema = match (types.is_empty(), alternatives.is_empty()) {
            (true, _) => Schema::any(),
            (false, true) if nullable => Schema::new(Shape::Null),
            (false, true) => {
                self.losses.add("none of the values of `enum` is of its type; it was left out");
                Schema::any()
            }
            (false, false) => {
                let schema = Schema::union(alternatives);
                Schema { nullable: nullable || schema.nullable, ..schema }
            }
        };
        if let Some(default) = map.get("default")
            && !default.is_null()
            && let Some(size) = size(default, LARGEST_DEFAULT)
            && self.has_room(size)
        {
            schema.constraints.insert("default".to_owned(), default.clone());
        }
        schema
    }

    /// The schema as one of this type; `None` if none of the values is of it.
    fn one_type(
        &mut self,
        kind: &str,
        map: &'a Map<String, Value>,
        values: Option<&[Value]>,
    ) -> Option<Schema> {
        let mut schema = Schema::new(match kind {
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" => Shape::String,
            "array" => Shape::Array(Box::new(self.items(map))),
            "object" => Shape::Object(self.members(map)),
            _ => return None,
        });
        if let Some(values) = values {
            let fitting: Vec<Value> = values.iter().filter(|value| is_of(kind, value)).cloned().collect();
            if fitting.is_empty() {
                return None;
            }
            // Those of arrays and objects cannot be declared.
            if matches!(kind, "array" | "object") {
                self.losses.add("`enum` of lists or objects was left out");
            } else {
                schema.values = Some(fitting);
            }
        }
        for (keyword, fits) in constraints(kind) {
            match map.get(*keyword) {
                Some(value) if fits(value) => {
                    if !self.has_room(value.as_str().map_or(SCALAR, str::len)) {
                        continue;
                    }
                    drop(schema.constraints.insert((*keyword).to_owned(), value.clone()))
                }
                Some(_) => self.losses.add(format!("`{keyword}` is invalid, and was left out")),
                None => {}
            }
        }
        Some(schema)
    }

    /// The values of `enum` or `const`.
    fn values(&mut self, map: &Map<String, Value>) -> Option<Vec<Value>> {
        let values = match map.get("const") {
            Some(value) => std::slice::from_ref(value),
            None => map.get("enum")?.as_array()?,
        };
        if values.is_empty() || values.len() > MOST_VALUES {
            self.losses.add(format!("`enum` has {} values, and was left out", values.len()));
            return None;
        }
        if !self.has_room(values.iter().map(|value| value.as_str().map_or(SCALAR, str::len)).sum()) {
            return None;
        }
        let mut distinct: Vec<Value> = Vec::new();
        for value in values {
            // Of lists and objects only the type is needed.
            let value = match value {
                Value::Array(_) => Vec::<Value>::new().into(),
                Value::Object(_) => Map::new().into(),
                scalar => scalar.clone(),
            };
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        Some(distinct)
    }

    fn items(&mut self, map: &'a Map<String, Value>) -> Schema {
        let tuple = map.get("prefixItems").or(map.get("items")).and_then(Value::as_array);
        if let Some(places) = tuple {
            self.losses.add("which item of the list is of which type was left out");
            let mut alternatives: Vec<Schema> = Vec::new();
            for (index, place) in places.iter().enumerate() {
                if self.left == 0 {
                    break;
                }
                alternatives.push(self.within(&index.to_string(), place));
            }
            let rest = if map.contains_key("prefixItems") { "items" } else { "additionalItems" };
            if let Some(rest @ Value::Object(_)) = map.get(rest) {
                alternatives.push(self.read(rest));
            }
            return if alternatives.is_empty() { Schema::any() } else { Schema::union(alternatives) };
        }
        match map.get("items") {
            Some(Value::Bool(_)) | None => Schema::any(),
            Some(items) => self.within("*", items),
        }
    }

    fn members(&mut self, map: &'a Map<String, Value>) -> Members {
        let mut properties: Vec<(String, Schema)> = Vec::new();
        for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.left == 0 {
                self.losses.add("the schema is too large; the rest of it was left out");
                break;
            }
            if !self.has_room(name.len()) {
                break;
            }
            properties.push((name.clone(), self.within(name, property)));
        }
        let known: BTreeSet<String> = properties.iter().map(|(name, _)| name.clone()).collect();
        let wanted: BTreeSet<&str> =
            list(map.get("required")).iter().take(LARGEST).filter_map(Value::as_str).collect();
        let mut required = BTreeSet::new();
        for name in wanted {
            if !known.contains(name) {
                if self.left == 0 || !self.has_room(name.len()) {
                    break;
                }
                self.left -= 1;
                properties.push((name.to_owned(), Schema::any()));
            }
            required.insert(name.to_owned());
        }
        let others = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => Others::Forbidden,
            Some(Value::Bool(true)) => Others::Valid(Box::new(Schema::any())),
            Some(schema @ Value::Object(_)) => Others::Valid(Box::new(self.within("*", schema))),
            _ => Others::Unspecified,
        };
        Members { properties, required, others }
    }

    fn referred(&mut self, reference: &'a str) -> Schema {
        let turns = self.references.iter().filter(|other| **other == reference).count();
        if turns >= MOST_TURNS || self.references.len() >= MOST_REFERENCES {
            self.losses.add(format!("{} refers to itself; deeper levels were left out", excerpt(reference)));
            return Schema::any();
        }
        let Some(target) = reference.strip_prefix('#').and_then(|pointer| self.resolve(pointer)) else {
            let quoted = excerpt(reference);
            self.losses.add(format!("the reference {quoted} cannot be resolved, and was left out"));
            return Schema::any();
        };
        self.references.push(reference);
        let schema = self.read(target);
        self.references.pop();
        schema
    }

    /// What a JSON pointer in a URI fragment points to.
    fn resolve(&self, pointer: &str) -> Option<&'a Value> {
        if pointer.len() > LONGEST_REFERENCE {
            return None;
        }
        let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
        self.root.pointer(&pointer)
    }

    /// What is valid by both schemas.
    fn both(&mut self, one: Schema, two: Schema) -> Schema {
        let (times, other) = match (&one.shape, &two.shape) {
            (Shape::Union(alternatives), _) => (alternatives.len(), &two),
            (_, Shape::Union(alternatives)) => (alternatives.len(), &one),
            _ => (0, &one),
        };
        let size = if times == 0 { 0 } else { times.saturating_mul(other.size()) };
        if size > self.left || times > 0 && !self.has_room(times.saturating_mul(other.text())) {
            self.left = 0;
            self.losses.add("the alternatives are too many; they were left out");
            return if matches!(one.shape, Shape::Union(_)) { two } else { one };
        }
        self.left -= size.min(self.left.saturating_sub(1));
        self.merge(one, two)
    }

    fn merge(&mut self, one: Schema, two: Schema) -> Schema {
        let description = one.description.or(two.description);
        let nullable = one.nullable && two.nullable;
        let mut constraints = two.constraints;
        constraints.extend(one.constraints);
        let values = match (one.values, two.values) {
            (Some(one), Some(two)) => {
                let common: Vec<Value> = one.iter().filter(|value| two.contains(value)).cloned().collect();
                Some(if common.is_empty() { one } else { common })
            }
            (one, two) => one.or(two),
        };
        let shape = match (one.shape, two.shape) {
            (Shape::Any, shape) | (shape, Shape::Any) => shape,
            (Shape::Integer, Shape::Number) | (Shape::Number, Shape::Integer) => Shape::Integer,
            (Shape::Object(one), Shape::Object(two)) => Shape::Object(self.merge_members(one, two)),
            (Shape::Array(one), Shape::Array(two)) => Shape::Array(Box::new(self.merge(*one, *two))),
            (Shape::Union(one), Shape::Union(two)) => {
                if one != two {
                    self.losses.add("one of two lists of alternatives was left out");
                }
                Shape::Union(one)
            }
            (Shape::Union(alternatives), shape) | (shape, Shape::Union(alternatives)) => {
                let base = Schema { constraints, values, ..Schema::new(shape) };
                let merged = self.distribute(&base, alternatives);
                return Schema {
                    description: description.or(merged.description),
                    nullable: nullable || merged.nullable,
                    ..merged
                };
            }
            (one, two) => {
                if one != two {
                    self.losses.add("it must be of two types at once; one was left out");
                }
                one
            }
        };
        let values = values
            .filter(|_| matches!(shape, Shape::Boolean | Shape::Integer | Shape::Number | Shape::String));
        Schema { description, nullable, values, constraints, shape }
    }

    /// Each of the alternatives that fits the base, with what the base says.
    fn distribute(&mut self, base: &Schema, alternatives: Vec<Schema>) -> Schema {
        let fitting: Vec<Schema> =
            alternatives.into_iter().filter(|schema| is_compatible(&base.shape, &schema.shape)).collect();
        if fitting.is_empty() {
            self.losses.add("none of the alternatives is of its type; they were left out");
            return base.clone();
        }
        Schema::union(fitting.into_iter().map(|schema| self.merge(schema, base.clone())).collect())
    }

    fn merge_members(&mut self, one: Members, two: Members) -> Members {
        let Members { mut properties, mut required, others } = one;
        for (name, schema) in two.properties {
            match properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => {
                    let before = std::mem::replace(known, Schema::any());
                    *known = self.merge(before, schema);
                }
                None => properties.push((name, schema)),
            }
        }
        required.extend(two.required);
        let others = match (others, two.others) {
            (Others::Unspecified, others) | (others, Others::Unspecified) => others,
            (Others::Forbidden, _) | (_, Others::Forbidden) => Others::Forbidden,
            (Others::Valid(one), Others::Valid(two)) => Others::Valid(Box::new(self.merge(*one, *two))),
        };
        Members { properties, required, others }
    }
}

fn is_compatible(one: &Shape, two: &Shape) -> bool {
    let numeric = |shape: &Shape| matches!(shape, Shape::Integer | Shape::Number);
    matches!(one, Shape::Any)
        || std::mem::discriminant(one) == std::mem::discriminant(two)
        || numeric(one) && numeric(two)
}

/// The approximate size of a value; `None` if it is larger than `most`, however large it is.
fn size(value: &Value, most: usize) -> Option<usize> {
    let add = |sum: Option<usize>, more: usize| sum.map(|sum| sum + more).filter(|sum| *sum <= most);
    match value {
        Value::String(text) => add(Some(2), text.len()),
        Value::Array(list) => {
            list.iter().try_fold(2, |sum, value| add(Some(sum), size(value, most.saturating_sub(sum))? + 1))
        }
        Value::Object(map) => map.iter().try_fold(2, |sum, (name, value)| {
            let sum = add(Some(sum), name.len() + 4)?;
            add(Some(sum), size(value, most.saturating_sub(sum))?)
        }),
        _ => Some(SCALAR),
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The types that a schema names, or that its keywords are for; none if it can be anything.
fn types(map: &Map<String, Value>, values: Option<&[Value]>) -> BTreeSet<&'static str> {
    let known = |name: &str| TYPES.iter().copied().find(|known| *known == name);
    let named: BTreeSet<&str> = match map.get("type") {
        Some(Value::String(name)) => known(name).into_iter().collect(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).filter_map(known).collect(),
        _ => BTreeSet::new(),
    };
    if !named.is_empty() {
        return named;
    }
    if let Some(values) = values {
        return values.iter().map(type_of).collect();
    }
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| map.contains_key(*keyword));
    let implied = [
        ("object", has(&["properties", "required", "additionalProperties"])),
        ("array", has(&["items", "prefixItems", "minItems", "maxItems"])),
        ("string", has(&["pattern", "minLength", "maxLength"])),
        ("number", has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])),
    ];
    implied.into_iter().find_map(|(kind, has)| has.then_some(kind)).into_iter().collect()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    let own = type_of(value);
    own == kind || kind == "number" && own == "integer"
}

type Constraint = (&'static str, fn(&Value) -> bool);

/// The constraints of a type, and which values they may have.
fn constraints(kind: &str) -> &'static [Constraint] {
    const STRING: &[Constraint] = &[
        ("minLength", Value::is_u64),
        ("maxLength", Value::is_u64),
        ("pattern", Value::is_string),
        ("format", Value::is_string),
    ];
    const NUMBER: &[Constraint] = &[
        ("minimum", Value::is_number),
        ("maximum", Value::is_number),
        ("exclusiveMinimum", Value::is_number),
        ("exclusiveMaximum", Value::is_number),
        ("multipleOf", |value| value.as_f64().is_some_and(|step| step > 0.0)),
        ("format", Value::is_string),
    ];
    const ARRAY: &[Constraint] =
        &[("minItems", Value::is_u64), ("maxItems", Value::is_u64), ("uniqueItems", Value::is_boolean)];
    const OBJECT: &[Constraint] = &[("minProperties", Value::is_u64), ("maxProperties", Value::is_u64)];
    match kind {
        "string" => STRING,
        "integer" | "number" => NUMBER,
        "array" => ARRAY,
        "object" => OBJECT,
        _ => &[],
    }
}
