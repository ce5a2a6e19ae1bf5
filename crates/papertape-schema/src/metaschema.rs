//! The metaschemas of both dialects, made from tables of their keywords.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::error::SchemaError;
use crate::{Draft, Validator, compile};

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema";
const DRAFT_2020_12: &str = "https://json-schema.org/draft/2020-12/schema";

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum Form {
    Anything,
    Array,
    Boolean,
    Count,
    Number,
    Positive,
    Text,
    /// A URI without a fragment.
    Id,
    /// A plain name.
    Anchor,
    /// The names of one or several types.
    Types,
    /// Different names.
    Names,
    Schema,
    /// At least one schema.
    Schemas,
    SchemaOrSchemas,
    SchemaByName,
    NamesByName,
    SchemaOrNamesByName,
    BooleanByName,
}

use Form::{
    Anchor, Anything, Array, Boolean, BooleanByName, Count, Id, Names, NamesByName, Number, Positive, Schema,
    SchemaByName, SchemaOrNamesByName, SchemaOrSchemas, Schemas, Text, Types,
};

/// The keywords of draft-07.
const KEYWORDS_7: &[(Form, &[&str])] = &[
    (Text, &["$id", "$schema", "$ref", "$comment", "title", "description", "pattern", "format"]),
    (Text, &["contentMediaType", "contentEncoding"]),
    (Anything, &["default", "const"]),
    (Array, &["examples", "enum"]),
    (Boolean, &["readOnly", "writeOnly", "uniqueItems"]),
    (Positive, &["multipleOf"]),
    (Number, &["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"]),
    (Count, &["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"]),
    (Types, &["type"]),
    (Names, &["required"]),
    (
        Schema,
        &[
            "additionalItems",
            "contains",
            "additionalProperties",
            "propertyNames",
            "if",
            "then",
            "else",
            "not",
        ],
    ),
    (SchemaOrSchemas, &["items"]),
    (Schemas, &["allOf", "anyOf", "oneOf"]),
    (SchemaByName, &["definitions", "properties", "patternProperties"]),
    (SchemaOrNamesByName, &["dependencies"]),
];

/// A vocabulary of 2020-12: its name and its keywords.
type Vocabulary = (&'static str, &'static [(Form, &'static [&'static str])]);

const VOCABULARIES: [Vocabulary; 7] = [
    (
        "core",
        &[
            (Id, &["$id"]),
            (Text, &["$schema", "$ref", "$dynamicRef", "$comment"]),
            (Anchor, &["$anchor", "$dynamicAnchor"]),
            (BooleanByName, &["$vocabulary"]),
            (SchemaByName, &["$defs"]),
        ],
    ),
    (
        "applicator",
        &[
            (
                Schema,
                &["items", "contains", "additionalProperties", "propertyNames", "if", "then", "else", "not"],
            ),
            (Schemas, &["prefixItems", "allOf", "anyOf", "oneOf"]),
            (SchemaByName, &["properties", "patternProperties", "dependentSchemas"]),
        ],
    ),
    ("unevaluated", &[(Schema, &["unevaluatedItems", "unevaluatedProperties"])]),
    (
        "validation",
        &[
            (Types, &["type"]),
            (Anything, &["const"]),
            (Array, &["enum"]),
            (Positive, &["multipleOf"]),
            (Number, &["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"]),
            (Count, &["maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains"]),
            (Count, &["maxProperties", "minProperties"]),
            (Text, &["pattern"]),
            (Boolean, &["uniqueItems"]),
            (Names, &["required"]),
            (NamesByName, &["dependentRequired"]),
        ],
    ),
    (
        "meta-data",
        &[
            (Text, &["title", "description"]),
            (Anything, &["default"]),
            (Boolean, &["deprecated", "readOnly", "writeOnly"]),
            (Array, &["examples"]),
        ],
    ),
    ("format-annotation", &[(Text, &["format"])]),
    ("content", &[(Text, &["contentEncoding", "contentMediaType"]), (Schema, &["contentSchema"])]),
];

/// Keywords of earlier drafts that 2020-12 still describes.
const DEPRECATED: &[(Form, &[&str])] = &[
    (SchemaByName, &["definitions"]),
    (SchemaOrNamesByName, &["dependencies"]),
    (Anchor, &["$recursiveAnchor"]),
    (Text, &["$recursiveRef"]),
];

impl Form {
    /// The schema of such values; `this` is a reference to the metaschema itself.
    fn schema(self, this: &Value) -> Value {
        const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
        match self {
            Anything => json!(true),
            Array => json!({"type": "array"}),
            Boolean => json!({"type": "boolean"}),
            Count => json!({"type": "integer", "minimum": 0}),
            Number => json!({"type": "number"}),
            Positive => json!({"type": "number", "exclusiveMinimum": 0}),
            Text => json!({"type": "string"}),
            Id => json!({"type": "string", "pattern": "^[^#]*#?$"}),
            Anchor => json!({"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"}),
            Types => {
                let list =
                    json!({"type": "array", "items": {"enum": TYPES}, "minItems": 1, "uniqueItems": true});
                json!({"anyOf": [{"enum": TYPES}, list]})
            }
            Names => json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            Schema => this.clone(),
            Schemas => json!({"type": "array", "minItems": 1, "items": this}),
            SchemaOrSchemas => json!({"anyOf": [this, Schemas.schema(this)]}),
            SchemaByName => json!({"type": "object", "additionalProperties": this}),
            NamesByName => json!({"type": "object", "additionalProperties": Names.schema(this)}),
            SchemaOrNamesByName => {
                json!({"type": "object", "additionalProperties": {"anyOf": [this, Names.schema(this)]}})
            }
            BooleanByName => json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        }
    }
}

/// The `properties` that describe keywords.
fn properties(keywords: &[(Form, &[&str])], this: &Value) -> Value {
    let each = keywords.iter().flat_map(|(form, names)| names.iter().map(move |name| (*name, *form)));
    each.map(|(name, form)| (name.to_owned(), form.schema(this))).collect::<Map<String, Value>>().into()
}

/// The documents, by their URIs. They are equivalent to those of the standard.
static DOCUMENTS: LazyLock<HashMap<String, Value>> = LazyLock::new(|| {
    let this = json!({"$ref": "#"});
    let draft_7 = json!({
        "$schema": format!("{DRAFT_7}#"), "$id": format!("{DRAFT_7}#"),
        "type": ["object", "boolean"], "properties": properties(KEYWORDS_7, &this),
    });
    let mut documents = HashMap::from([(DRAFT_7.to_owned(), draft_7)]);
    let this = json!({"$dynamicRef": "#meta"});
    let base = DRAFT_2020_12.trim_end_matches("schema");
    for (name, keywords) in VOCABULARIES {
        let (id, vocabulary) = (format!("{base}meta/{name}"), format!("{base}vocab/{name}"));
        let document = json!({
            "$schema": DRAFT_2020_12, "$id": id, "$vocabulary": {vocabulary: true}, "$dynamicAnchor": "meta",
            "type": ["object", "boolean"], "properties": properties(keywords, &this),
        });
        documents.insert(id, document);
    }
    let vocabularies: Map<String, Value> =
        VOCABULARIES.iter().map(|(name, _)| (format!("{base}vocab/{name}"), json!(true))).collect();
    let parts: Vec<Value> =
        VOCABULARIES.iter().map(|(name, _)| json!({"$ref": format!("meta/{name}")})).collect();
    let whole = json!({
        "$schema": DRAFT_2020_12, "$id": DRAFT_2020_12, "$vocabulary": vocabularies, "$dynamicAnchor": "meta",
        "allOf": parts, "type": ["object", "boolean"], "properties": properties(DEPRECATED, &this),
    });
    documents.insert(DRAFT_2020_12.to_owned(), whole);
    documents
});

static OF_DRAFT_7: LazyLock<Option<Validator>> = LazyLock::new(|| compiled(DRAFT_7, Draft::Draft7));
static OF_2020_12: LazyLock<Option<Validator>> =
    LazyLock::new(|| compiled(DRAFT_2020_12, Draft::Draft202012));

fn compiled(address: &str, draft: Draft) -> Option<Validator> {
    compile::compile(DOCUMENTS.get(address)?, draft, &DOCUMENTS).ok()
}

/// The document of an address, if it is that of a metaschema.
pub(crate) fn document(address: &str) -> Option<&'static Value> {
    DOCUMENTS.get(address)
}

/// Validates a schema against its metaschema.
pub(crate) fn check(schema: &Value, draft: Draft) -> Result<(), SchemaError> {
    let dialect = schema.get("$schema").and_then(Value::as_str).and_then(Draft::of);
    let metaschema = match dialect.unwrap_or(draft) {
        Draft::Draft7 => &OF_DRAFT_7,
        Draft::Draft202012 => &OF_2020_12,
    };
    let Some(metaschema) = &**metaschema else {
        return Err(SchemaError::new("the metaschema cannot be compiled".to_owned()));
    };
    if metaschema.is_valid(schema) {
        return Ok(());
    }
    let errors = metaschema.errors(schema);
    let Some(error) = errors.first() else {
        return Err(SchemaError::new("it is too complex to be checked".to_owned()));
    };
    let part = schema.pointer(error.pointer()).unwrap_or(schema);
    let subject = match part {
        Value::Array(_) => "the array".to_owned(),
        Value::Object(_) => "the object".to_owned(),
        plain => plain.to_string(),
    };
    Err(SchemaError::at(error.about(&subject), error.pointer()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Draft, Validator};

    #[test]
    fn metaschemas_are_schemas() {
        assert!(super::OF_DRAFT_7.is_some());
        assert!(super::OF_2020_12.is_some());
        assert_eq!(super::DOCUMENTS.len(), 9);
        for (address, draft) in [(super::DRAFT_7, Draft::Draft7), (super::DRAFT_2020_12, Draft::Draft202012)]
        {
            Validator::new(super::document(address).unwrap(), draft).unwrap();
        }
    }

    #[test]
    fn an_invalid_schema_is_rejected_with_its_location() {
        for (schema, pointer, message) in [
            (json!({"required": "a"}), "/required", "\"a\" is not of type \"array\""),
            (json!({"properties": {"a": {"minLength": -1}}}), "/properties/a/minLength", "-1 is less than"),
            (json!({"type": "objekt"}), "/type", "\"objekt\" is not valid under any"),
            (json!({"not": {"pattern": 5}}), "/not/pattern", "5 is not of type \"string\""),
            (json!(5), "", "5 is not of types \"boolean\", \"object\""),
        ] {
            for draft in [Draft::Draft7, Draft::Draft202012] {
                let error = Validator::new(&schema, draft).unwrap_err();
                assert_eq!(error.pointer(), Some(pointer), "{schema} {draft:?}: {error}");
                assert!(error.to_string().starts_with(message), "{schema} {draft:?}: {error}");
            }
        }
    }
}
