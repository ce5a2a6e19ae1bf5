//! Schemas to nodes.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use crate::assertion::Assertion;
use crate::cycle;
use crate::error::SchemaError;
use crate::node::{
    ArrayKeyword, Contains, DynamicRef, If, InPlaceKeyword, Items, Keyword, Members, Node, NodeId,
    ObjectKeyword, Rest, Types,
};
use crate::pattern::Pattern;
use crate::resource::{LocatedSchema, Registry};
use crate::{Draft, Validator};

/// Compiles a schema, with the documents that it may refer to.
pub(crate) fn compile(
    schema: &Value,
    draft: Draft,
    documents: &HashMap<String, Value>,
) -> Result<Validator, SchemaError> {
    let (registry, place) = Registry::new(schema, draft, documents)?;
    let mut compiler = Compiler::new(registry);
    let root = compiler.node(place);
    compiler.finish()?;
    if let Some(reference) = cycle::find(&compiler.nodes, &compiler.references) {
        return Err(SchemaError::new(format!("the `$ref` \"{reference}\" leads back to itself")));
    }
    Ok(Validator { nodes: compiler.nodes, root, dynamic: compiler.dynamic })
}

struct Compiler<'s> {
    registry: Registry<'s>,
    nodes: Vec<Node>,
    /// The nodes there are, by the addresses of their schemas and by their resources.
    known: HashMap<(*const Value, usize), NodeId>,
    /// Nodes that are not filled yet.
    todo: Vec<(NodeId, LocatedSchema<'s>)>,
    /// The names of dynamic references.
    names: Vec<&'s str>,
    dynamic: HashMap<(usize, usize), NodeId>,
    /// What is written in a `$ref`, by the node that has it.
    references: HashMap<NodeId, &'s str>,
}

impl<'s> Compiler<'s> {
    fn new(registry: Registry<'s>) -> Self {
        let (known, dynamic, references) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (nodes, todo, names) = (Vec::new(), Vec::new(), Vec::new());
        Self { registry, nodes, known, todo, names, dynamic, references }
    }

    /// The node of a schema.
    fn node(&mut self, place: LocatedSchema<'s>) -> NodeId {
        let new = self.nodes.len();
        let id = *self.known.entry((std::ptr::from_ref(place.schema), place.resource)).or_insert(new);
        if id == new {
            self.nodes.push(Node::new(place.resource));
            self.todo.push((id, place));
        }
        id
    }

    /// Fills all nodes.
    fn finish(&mut self) -> Result<(), SchemaError> {
        loop {
            while let Some((id, place)) = self.todo.pop() {
                let (types, assertions, keywords) = self.keywords(id, place)?;
                if let Some(node) = self.nodes.get_mut(id) {
                    node.fill(types, assertions, keywords);
                }
            }
            self.add_dynamic_anchors();
            if self.todo.is_empty() {
                return Ok(());
            }
        }
    }

    /// Every resource may turn out to be in the dynamic scope of a dynamic reference.
    fn add_dynamic_anchors(&mut self) {
        let mut found = Vec::new();
        for (name, text) in self.names.iter().enumerate() {
            for (resource, anchors) in self.registry.resources() {
                let is_new = !self.dynamic.contains_key(&(resource, name));
                if let Some(schema) = anchors.dynamic_anchor(text).filter(|_| is_new) {
                    found.push(((resource, name), LocatedSchema { schema, resource }));
                }
            }
        }
        for (key, place) in found {
            let id = self.node(place);
            self.dynamic.insert(key, id);
        }
    }

    fn keywords(
        &mut self,
        id: NodeId,
        place: LocatedSchema<'s>,
    ) -> Result<(Types, Vec<Assertion>, Vec<Keyword>), SchemaError> {
        let (mut types, mut assertions, mut keywords) = (Types::ALL, Vec::new(), Vec::new());
        let members = match place.schema {
            Value::Object(members) => members,
            Value::Bool(false) => return Ok((types, vec![Assertion::False], keywords)),
            _ => return Ok((types, assertions, keywords)),
        };
        let Some(resource) = self.registry.resource(place.resource) else {
            return Ok((types, assertions, keywords));
        };
        let (draft, has_assertions) = (resource.draft, resource.has_assertions);
        let mut schema = Schema { compiler: self, members, resource: place.resource, draft };
        let reference = schema.reference(id)?;
        // In draft-07, what stands beside a `$ref` does not count.
        if draft == Draft::Draft7 && reference.is_some() {
            keywords.extend(reference);
            return Ok((types, assertions, keywords));
        }
        if has_assertions {
            types = members.get("type").map_or(types, Types::read);
            assertions = schema.assertions()?;
            schema.required(&mut keywords);
        }
        schema.array(&mut keywords);
        schema.object(&mut keywords)?;
        keywords.extend(reference);
        schema.composition(&mut keywords)?;
        // These come last: they depend on what the others have evaluated.
        if draft == Draft::Draft202012 {
            let items = schema.rest("unevaluatedItems");
            let properties = schema.rest("unevaluatedProperties");
            keywords.extend(items.map(ArrayKeyword::UnevaluatedItems).map(Keyword::Array));
            keywords.extend(properties.map(ObjectKeyword::UnevaluatedProperties).map(Keyword::Object));
        }
        Ok((types, assertions, keywords))
    }
}

/// A schema that becomes keywords.
struct Schema<'c, 's> {
    compiler: &'c mut Compiler<'s>,
    members: &'s Map<String, Value>,
    resource: usize,
    draft: Draft,
}

impl<'s> Schema<'_, 's> {
    fn number(&self, keyword: &str) -> Option<Number> {
        match self.members.get(keyword)? {
            Value::Number(number) => Some(number.clone()),
            _ => None,
        }
    }

    /// A length or count, which may be written as `2.0`.
    fn count(&self, keyword: &str) -> Option<u64> {
        let number = self.members.get(keyword)?;
        number.as_u64().or_else(|| number.as_f64().map(|float| float as u64))
    }

    fn list(&self, keyword: &str) -> Option<&'s Vec<Value>> {
        self.members.get(keyword)?.as_array()
    }

    fn map(&self, keyword: &str) -> Option<&'s Map<String, Value>> {
        self.members.get(keyword)?.as_object()
    }

    fn part(&mut self, schema: &'s Value) -> NodeId {
        let place = self.compiler.registry.part(schema, self.resource);
        self.compiler.node(place)
    }

    fn single(&mut self, keyword: &str) -> Option<NodeId> {
        let schema = self.members.get(keyword)?;
        Some(self.part(schema))
    }

    fn schemas(&mut self, keyword: &str) -> Option<Vec<NodeId>> {
        let schemas = self.list(keyword)?;
        Some(schemas.iter().map(|schema| self.part(schema)).collect())
    }

    fn rest(&mut self, keyword: &str) -> Option<Rest> {
        Some(match self.members.get(keyword)? {
            Value::Bool(false) => Rest::Refused,
            schema => Rest::Schema(self.part(schema)),
        })
    }

    /// What limits a value by itself.
    fn assertions(&self) -> Result<Vec<Assertion>, SchemaError> {
        let members = self.members;
        let mut found = Vec::new();
        found.extend(self.list("enum").cloned().map(Assertion::Enum));
        found.extend(members.get("const").cloned().map(Assertion::Const));
        found.extend(self.number("minimum").map(Assertion::Minimum));
        found.extend(self.number("maximum").map(Assertion::Maximum));
        found.extend(self.number("exclusiveMinimum").map(Assertion::ExclusiveMinimum));
        found.extend(self.number("exclusiveMaximum").map(Assertion::ExclusiveMaximum));
        found.extend(self.number("multipleOf").map(Assertion::MultipleOf));
        found.extend(self.count("minLength").map(Assertion::MinLength));
        found.extend(self.count("maxLength").map(Assertion::MaxLength));
        if let Some(pattern) = members.get("pattern").and_then(Value::as_str) {
            found.push(Assertion::Pattern(Box::new(Pattern::new(pattern)?)));
        }
        found.extend(self.count("minItems").map(Assertion::MinItems));
        found.extend(self.count("maxItems").map(Assertion::MaxItems));
        if members.get("uniqueItems") == Some(&Value::Bool(true)) {
            found.push(Assertion::UniqueItems);
        }
        found.extend(self.count("minProperties").map(Assertion::MinProperties));
        found.extend(self.count("maxProperties").map(Assertion::MaxProperties));
        Ok(found)
    }

    fn required(&self, keywords: &mut Vec<Keyword>) {
        keywords.extend(
            self.list("required").map(|names| Keyword::Object(ObjectKeyword::Required(texts(names)))),
        );
        if let Some(names) = self.map("dependentRequired").filter(|_| self.draft == Draft::Draft202012) {
            let lists = names.iter().filter_map(|(name, list)| Some((name.clone(), texts(list.as_array()?))));
            keywords.push(Keyword::Object(ObjectKeyword::DependentRequired(lists.collect())));
        }
    }

    fn array(&mut self, keywords: &mut Vec<Keyword>) {
        let (first, rest) = match self.draft {
            Draft::Draft202012 => (self.schemas("prefixItems"), self.rest("items")),
            Draft::Draft7 if self.list("items").is_some() => {
                (self.schemas("items"), self.rest("additionalItems"))
            }
            Draft::Draft7 => (None, self.rest("items")),
        };
        if first.is_some() || rest.is_some() {
            let (first, rest) = (first.unwrap_or_default(), rest.unwrap_or(Rest::Free));
            keywords.push(Keyword::Array(ArrayKeyword::Items(Items { first, rest })));
        }
        if let Some(schema) = self.single("contains") {
            let evaluates = self.draft == Draft::Draft202012;
            let limit = |keyword| self.count(keyword).filter(|_| evaluates);
            let (least, most) = (limit("minContains").unwrap_or(1), limit("maxContains").unwrap_or(u64::MAX));
            let contains = Contains { schema, least, most, evaluates };
            keywords.push(Keyword::Array(ArrayKeyword::Contains(Box::new(contains))));
        }
    }

    fn object(&mut self, keywords: &mut Vec<Keyword>) -> Result<(), SchemaError> {
        let named = self.map_of("properties");
        let mut patterns = Vec::new();
        for (pattern, schema) in self.map("patternProperties").into_iter().flatten() {
            patterns.push((Pattern::new(pattern)?, self.part(schema)));
        }
        let rest = self.rest("additionalProperties");
        if !named.is_empty() || !patterns.is_empty() || rest.is_some() {
            let rest = rest.unwrap_or(Rest::Free);
            let members = Members::new(named, patterns, rest);
            keywords.push(Keyword::Object(ObjectKeyword::Members(Box::new(members))));
        }
        keywords.extend(self.single("propertyNames").map(ObjectKeyword::PropertyNames).map(Keyword::Object));
        let mut schemas = match self.draft {
            Draft::Draft202012 => self.map_of("dependentSchemas"),
            Draft::Draft7 => Vec::new(),
        };
        // From draft-07, and still read by most validators of 2020-12.
        let mut lists = Vec::new();
        for (name, dependency) in self.map("dependencies").into_iter().flatten() {
            match dependency {
                Value::Array(names) => lists.push((name.clone(), texts(names))),
                schema => schemas.push((name.clone(), self.part(schema))),
            }
        }
        if !lists.is_empty() {
            keywords.push(Keyword::Object(ObjectKeyword::DependentRequired(lists)));
        }
        if !schemas.is_empty() {
            keywords.push(Keyword::Object(ObjectKeyword::DependentSchemas(schemas)));
        }
        Ok(())
    }

    fn map_of(&mut self, keyword: &str) -> Vec<(String, NodeId)> {
        let schemas = self.map(keyword).into_iter().flatten();
        schemas.map(|(name, schema)| (name.clone(), self.part(schema))).collect()
    }

    fn reference(&mut self, id: NodeId) -> Result<Option<Keyword>, SchemaError> {
        let Some(reference) = self.members.get("$ref").and_then(Value::as_str) else { return Ok(None) };
        let target = self.compiler.registry.resolve(reference, self.resource)?;
        self.compiler.references.insert(id, reference);
        let target = self.compiler.node(target.place);
        Ok(Some(Keyword::InPlace(InPlaceKeyword::Ref(target))))
    }

    fn composition(&mut self, keywords: &mut Vec<Keyword>) -> Result<(), SchemaError> {
        let dynamic = self.members.get("$dynamicRef").and_then(Value::as_str);
        if let Some(reference) = dynamic.filter(|_| self.draft == Draft::Draft202012) {
            let target = self.compiler.registry.resolve(reference, self.resource)?;
            let initial = self.compiler.node(target.place);
            keywords.push(Keyword::InPlace(match target.dynamic {
                Some(name) => InPlaceKeyword::DynamicRef(DynamicRef { initial, name: self.name(name) }),
                None => InPlaceKeyword::Ref(initial),
            }));
        }
        keywords.extend(self.schemas("allOf").map(InPlaceKeyword::AllOf).map(Keyword::InPlace));
        keywords.extend(self.schemas("anyOf").map(InPlaceKeyword::AnyOf).map(Keyword::InPlace));
        keywords.extend(self.schemas("oneOf").map(InPlaceKeyword::OneOf).map(Keyword::InPlace));
        keywords.extend(self.single("not").map(InPlaceKeyword::Not).map(Keyword::InPlace));
        if let Some(condition) = self.single("if") {
            let (then, otherwise) = (self.single("then"), self.single("else"));
            let parts = Box::new(If { condition, then, otherwise });
            keywords.push(Keyword::InPlace(InPlaceKeyword::If(parts)));
        }
        Ok(())
    }

    /// The index of a dynamic reference's name.
    fn name(&mut self, name: &'s str) -> usize {
        let names = &mut self.compiler.names;
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    }
}

fn texts(names: &[Value]) -> Vec<String> {
    names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
