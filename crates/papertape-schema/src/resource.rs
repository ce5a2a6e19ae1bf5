//! Documents and the schema resources in them: their URIs, their anchors, and the targets of references.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::Draft;
use crate::error::SchemaError;
use crate::subschemas::subschemas;
use crate::{metaschema, uri};

/// The URI of a schema that has none. References to other documents are resolved against it, and not found.
const ROOT: &str = "schema:///";

/// A schema with a URI of its own: a document, or a part of one that has an `$id`.
pub(crate) struct Resource<'s> {
    uri: String,
    root: &'s Value,
    pub(crate) draft: Draft,
    /// Whether its dialect has keywords such as `type` and `minimum`.
    pub(crate) has_assertions: bool,
    anchors: HashMap<&'s str, &'s Value>,
    dynamic_anchors: HashMap<&'s str, &'s Value>,
}

impl<'s> Resource<'s> {
    pub(crate) fn dynamic_anchor(&self, name: &str) -> Option<&'s Value> {
        self.dynamic_anchors.get(name).copied()
    }
}

/// A schema, and the resource it is part of.
#[derive(Clone, Copy)]
pub(crate) struct LocatedSchema<'s> {
    pub(crate) schema: &'s Value,
    pub(crate) resource: usize,
}

/// The target of a reference.
pub(crate) struct Target<'s> {
    pub(crate) place: LocatedSchema<'s>,
    /// The name, if the target is a `$dynamicAnchor`.
    pub(crate) dynamic: Option<&'s str>,
}

/// All resources that a schema may refer to.
pub(crate) struct Registry<'s> {
    resources: Vec<Resource<'s>>,
    by_uri: HashMap<String, usize>,
    /// Documents that are read when a reference refers to them.
    documents: &'s HashMap<String, Value>,
}

impl<'s> Registry<'s> {
    /// The resources of a schema, and the schema.
    pub(crate) fn new(
        schema: &'s Value,
        draft: Draft,
        documents: &'s HashMap<String, Value>,
    ) -> Result<(Self, LocatedSchema<'s>), SchemaError> {
        let mut new = Self { resources: Vec::new(), by_uri: HashMap::new(), documents };
        let resource = new.add_document(ROOT, schema, draft)?;
        Ok((new, LocatedSchema { schema, resource }))
    }

    pub(crate) fn resource(&self, at: usize) -> Option<&Resource<'s>> {
        self.resources.get(at)
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = (usize, &Resource<'s>)> {
        self.resources.iter().enumerate()
    }

    /// Adds a document with all resources in it.
    fn add_document(&mut self, address: &str, root: &'s Value, draft: Draft) -> Result<usize, SchemaError> {
        let first = self.add_resource(address.to_owned(), root, draft)?;
        let mut todo = vec![(root, first)];
        while let Some((schema, resource)) = todo.pop() {
            let Value::Object(members) = schema else { continue };
            let resource = self.enter(schema, members, resource)?;
            todo.extend(subschemas(schema).into_iter().map(|(_, part)| (part, resource)));
        }
        // The address is that of the document, whatever its `$id` is.
        let inner = self.inner(root, first);
        self.by_uri.insert(address.to_owned(), inner);
        Ok(inner)
    }

    fn add_resource(&mut self, uri: String, root: &'s Value, draft: Draft) -> Result<usize, SchemaError> {
        let (draft, has_assertions) = self.dialect(root, draft)?;
        let at = self.resources.len();
        self.by_uri.entry(uri.clone()).or_insert(at);
        let (anchors, dynamic_anchors) = (HashMap::new(), HashMap::new());
        self.resources.push(Resource { uri, root, draft, has_assertions, anchors, dynamic_anchors });
        Ok(at)
    }

    /// The dialect of a resource, and whether that has assertions.
    fn dialect(&self, root: &Value, inherited: Draft) -> Result<(Draft, bool), SchemaError> {
        let Some(dialect) = root.get("$schema").and_then(Value::as_str) else { return Ok((inherited, true)) };
        if let Some(draft) = Draft::of(dialect) {
            return Ok((draft, true));
        }
        let own = self.documents.get(dialect);
        let own = own.ok_or_else(|| SchemaError::new(format!("the dialect \"{dialect}\" is not known")))?;
        let vocabulary = own.get("$vocabulary");
        let validation = "https://json-schema.org/draft/2020-12/vocab/validation";
        Ok((Draft::Draft202012, vocabulary.is_none_or(|known| known.get(validation).is_some())))
    }

    /// The resource that a schema is part of or begins, with its anchors noted.
    fn enter(
        &mut self,
        schema: &'s Value,
        members: &'s Map<String, Value>,
        resource: usize,
    ) -> Result<usize, SchemaError> {
        let Some(outer) = self.resources.get(resource) else { return Ok(resource) };
        let draft = outer.draft;
        let id = id(members, draft);
        let (address, fragment) = id.map(uri::split_fragment).unwrap_or_default();
        let resource = if address.is_empty() {
            resource
        } else {
            let uri = uri::resolve(&outer.uri, address);
            // The `$id` of a document is often the address it was found at.
            let is_known = uri == outer.uri && std::ptr::eq(outer.root, schema);
            if is_known { resource } else { self.add_resource(uri, schema, draft)? }
        };
        let Some(inner) = self.resources.get_mut(resource) else { return Ok(resource) };
        let text = |keyword: &str| members.get(keyword).and_then(Value::as_str);
        if inner.draft == Draft::Draft7 {
            if !fragment.is_empty() {
                inner.anchors.entry(fragment).or_insert(schema);
            }
        } else {
            let dynamic = text("$dynamicAnchor");
            for name in text("$anchor").into_iter().chain(dynamic) {
                inner.anchors.entry(name).or_insert(schema);
            }
            if let Some(name) = dynamic {
                inner.dynamic_anchors.entry(name).or_insert(schema);
            }
        }
        Ok(resource)
    }

    /// The resource that a schema begins, or else the one it is part of.
    fn inner(&self, schema: &Value, resource: usize) -> usize {
        let inner = || {
            let outer = self.resources.get(resource)?;
            let (address, _) = uri::split_fragment(id(schema.as_object()?, outer.draft)?);
            let at = *self.by_uri.get(&uri::resolve(&outer.uri, address))?;
            self.resources.get(at).filter(|found| std::ptr::eq(found.root, schema)).map(|_| at)
        };
        inner().unwrap_or(resource)
    }

    /// A part of a schema.
    pub(crate) fn part(&self, schema: &'s Value, resource: usize) -> LocatedSchema<'s> {
        LocatedSchema { schema, resource: self.inner(schema, resource) }
    }

    /// The target of a reference.
    pub(crate) fn resolve(&mut self, reference: &str, from: usize) -> Result<Target<'s>, SchemaError> {
        let (address, fragment) = uri::split_fragment(reference);
        let (base, draft) = self
            .resources
            .get(from)
            .map_or(("", Draft::Draft202012), |resource| (&resource.uri, resource.draft));
        let resource = match address {
            "" => from,
            address => self.find(&uri::resolve(base, address), reference, draft)?,
        };
        let nowhere =
            || SchemaError::new(format!("the `$ref` \"{reference}\" does not lead to a part of the schema"));
        let found = self.resources.get(resource).ok_or_else(nowhere)?;
        let decoded = percent_encoding::percent_decode_str(fragment).decode_utf8().map_err(|_| nowhere())?;
        if decoded.is_empty() {
            return Ok(Target { place: LocatedSchema { schema: found.root, resource }, dynamic: None });
        }
        if let Some(pointer) = decoded.strip_prefix('/') {
            let place =
                self.walk(pointer, LocatedSchema { schema: found.root, resource }).ok_or_else(nowhere)?;
            return Ok(Target { place, dynamic: None });
        }
        let (_, schema) = found.anchors.get_key_value(&*decoded).ok_or_else(nowhere)?;
        let dynamic = found.dynamic_anchors.get_key_value(&*decoded).map(|(name, _)| *name);
        Ok(Target { place: LocatedSchema { schema, resource }, dynamic })
    }

    /// The resource of an address.
    fn find(&mut self, address: &str, reference: &str, draft: Draft) -> Result<usize, SchemaError> {
        if let Some(known) = self.by_uri.get(address) {
            return Ok(*known);
        }
        let document = self.documents.get(address).or_else(|| metaschema::document(address));
        let Some(document) = document else {
            return Err(SchemaError::new(format!(
                "the `$ref` \"{reference}\" is not fetched: a schema may only refer to its own parts"
            )));
        };
        self.add_document(address, document, draft)
    }

    /// The schema at a JSON pointer.
    fn walk(&self, pointer: &str, from: LocatedSchema<'s>) -> Option<LocatedSchema<'s>> {
        pointer.split('/').try_fold(from, |place, step| {
            let step = step.replace("~1", "/").replace("~0", "~");
            let schema = match place.schema {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                value => value.get(&step)?,
            };
            Some(self.part(schema, place.resource))
        })
    }
}

/// The `$id` of a schema. In draft-07, a `$ref` beside it hides it.
fn id(members: &Map<String, Value>, draft: Draft) -> Option<&str> {
    let is_hidden = draft == Draft::Draft7 && members.contains_key("$ref");
    members.get("$id").and_then(Value::as_str).filter(|_| !is_hidden)
}
