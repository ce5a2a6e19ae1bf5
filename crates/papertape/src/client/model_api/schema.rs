//! The part of JSON Schema that all model APIs have some form for.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A schema without references, `allOf` and lists of types.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schema {
    pub(super) description: Option<String>,
    /// Whether `null` is valid, too.
    pub(super) nullable: bool,
    /// The only valid values, of a scalar; `null` is not among them.
    pub(super) values: Option<Vec<Value>>,
    /// `default`, and the constraints of the shape, with values of the right type.
    pub(super) constraints: Map<String, Value>,
    pub(super) shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array(Box<Schema>),
    Object(Members),
    /// Alternatives, none of which is one itself, or nullable.
    Union(Vec<Schema>),
}

/// The members of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Members {
    pub(super) properties: Vec<(String, Schema)>,
    pub(super) required: BTreeSet<String>,
    pub(super) others: Others,
}

/// What members besides the properties are valid (`additionalProperties`).
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Others {
    /// It does not say.
    #[default]
    Unspecified,
    Forbidden,
    Valid(Box<Schema>),
}

impl Schema {
    pub(super) fn new(shape: Shape) -> Self {
        Self { description: None, nullable: false, values: None, constraints: Map::new(), shape }
    }

    /// Everything is valid.
    pub(super) fn any() -> Self {
        Self { nullable: true, ..Self::new(Shape::Any) }
    }

    /// How many schemas it consists of.
    pub(super) fn size(&self) -> usize {
        1 + match &self.shape {
            Shape::Array(items) => items.size(),
            Shape::Object(members) => members.size(),
            Shape::Union(alternatives) => alternatives.iter().map(Schema::size).sum(),
            _ => 0,
        }
    }

    /// How much text it has, in bytes.
    pub(super) fn text(&self) -> usize {
        let length = |value: &Value| value.as_str().map_or(8, str::len);
        let values: usize = self.values.iter().flatten().map(length).sum();
        let constraints: usize = self.constraints.values().map(length).sum();
        let within = match &self.shape {
            Shape::Array(items) => items.text(),
            Shape::Object(members) => members.text(),
            Shape::Union(alternatives) => alternatives.iter().map(Schema::text).sum(),
            _ => 0,
        };
        self.description.as_ref().map_or(0, String::len) + values + constraints + within
    }

    /// The alternatives as one schema: nested ones as their own, scalars with values as one with all of the values.
    pub(super) fn union(alternatives: Vec<Schema>) -> Self {
        let mut flat: Vec<Schema> = Vec::new();
        let mut nullable = false;
        for mut schema in alternatives {
            nullable |= std::mem::take(&mut schema.nullable);
            match schema.shape {
                Shape::Null => nullable = true,
                Shape::Any => return Self::any(),
                Shape::Union(nested) => nested.into_iter().for_each(|schema| push(&mut flat, schema)),
                _ => push(&mut flat, schema),
            }
        }
        match flat.len() {
            0 => Self::new(Shape::Null),
            1 => Self { nullable, ..flat.remove(0) },
            _ => Self { nullable, ..Self::new(Shape::Union(flat)) },
        }
    }

    /// Appends a sentence to the description.
    pub(super) fn describe(description: &mut Option<String>, more: &str) {
        match description {
            Some(text) if !text.is_empty() => {
                text.push(if text.contains('\n') { '\n' } else { ' ' });
                text.push_str(more);
            }
            _ => *description = Some(more.to_owned()),
        }
    }
}

/// Adds an alternative to those before, or its values to one that is the same but for its values.
fn push(flat: &mut Vec<Schema>, mut schema: Schema) {
    if flat.contains(&schema) {
        return;
    }
    let same = flat.iter_mut().find(|other| {
        other.shape == schema.shape
            && other.constraints == schema.constraints
            && other.values.is_some()
            && schema.values.is_some()
    });
    let Some(other) = same else {
        flat.push(schema);
        return;
    };
    let values = schema.values.take().unwrap_or_default();
    if let Some(text) = schema.description.take()
        && other.description.as_deref() != Some(&text)
    {
        let names: Vec<String> = values.iter().map(Value::to_string).collect();
        Schema::describe(&mut other.description, &format!("{}: {text}", names.join(", ")));
    }
    let all = other.values.get_or_insert_default();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
}

impl Members {
    pub(super) fn size(&self) -> usize {
        let others = match &self.others {
            Others::Valid(schema) => schema.size(),
            _ => 0,
        };
        others + self.properties.iter().map(|(_, schema)| schema.size()).sum::<usize>()
    }

    fn text(&self) -> usize {
        let others = match &self.others {
            Others::Valid(schema) => schema.text(),
            _ => 0,
        };
        others + self.properties.iter().map(|(name, schema)| name.len() + schema.text()).sum::<usize>()
    }

    /// The names of the required properties, in the order of these.
    pub(super) fn required_names(&self) -> Vec<Value> {
        let required = self.properties.iter().filter(|(name, _)| self.required.contains(name));
        required.map(|(name, _)| name.as_str().into()).collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Schema> {
        self.properties.iter().find_map(|(other, schema)| (other == name).then_some(schema))
    }

    /// Adds an alternative: what is a member of any is one of all, and required if it is in each.
    pub(super) fn widen(&mut self, other: Members) {
        for (name, schema) in other.properties {
            match self.properties.iter_mut().find(|(known, _)| *known == name) {
                None => self.properties.push((name, schema)),
                Some((_, known)) if *known == schema => {}
                Some((_, known)) => {
                    let before = std::mem::replace(known, Schema::any());
                    let description = before.description.clone().or(schema.description.clone());
                    *known = Schema::union(vec![before, schema]);
                    known.description = known.description.take().or(description);
                }
            }
        }
        self.required.retain(|name| other.required.contains(name));
        if self.others != other.others {
            self.others = Others::Unspecified;
        }
    }
}
