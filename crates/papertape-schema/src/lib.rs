//! A JSON Schema validator for the two dialects that MCP hosts and servers use: 2020-12 and draft-07.
//!
//! ```
//! use papertape_schema::{Draft, Validator};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}});
//! let validator = Validator::new(&schema, Draft::Draft202012).unwrap();
//! assert!(validator.is_valid(&json!({"count": 3})));
//! let errors = validator.errors(&json!({"count": 0}));
//! assert_eq!(errors[0].pointer(), "/count");
//! assert_eq!(errors[0].to_string(), "value is less than the minimum of 1");
//! ```
//!
//! Schemas may be untrusted. No reference is ever fetched, patterns run in linear time or within a limit of steps, a
//! cyclic reference is rejected, and a validation that takes too many steps ends with an error.
//! `format`, `contentEncoding` and `contentMediaType` are annotations: they are not checked.
//!
//! A schema becomes a list of nodes, each with the keywords that must hold; references between nodes are indices.
//!
//! - `resource`: documents, their `$id`s and anchors, and the targets of references; `uri` resolves them
//! - `compile`: schemas to nodes, once `metaschema` has validated them; `cycle`: references that never end
//! - `node`: what nodes consist of; `assertion`: their keywords without schemas in them; `pattern`: regular expressions
//! - `check`: validates a value against a node; `marks`: which members and items have been evaluated
//! - `subschemas`: which keywords contain schemas
//! - `equal`: equality and order of JSON values
//! - `error`: errors of schemas and of values

#![cfg_attr(docsrs, feature(doc_cfg))]

mod assertion;
mod check;
mod compile;
mod cycle;
mod equal;
mod error;
mod marks;
mod metaschema;
mod node;
mod pattern;
mod resource;
mod subschemas;
mod uri;

use std::collections::HashMap;

use serde_json::Value;

pub use error::{ErrorKind, SchemaError, ValidationError};
pub use node::{JsonType, Types};
pub use subschemas::{change_subschemas, pointer_step, subschemas};

use check::Run;
use node::{Node, NodeId};

/// A dialect of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Draft {
    /// <https://json-schema.org/draft-07>
    Draft7,
    /// <https://json-schema.org/draft/2020-12>
    Draft202012,
}

impl Draft {
    /// The dialect that a `$schema` names.
    #[must_use]
    pub fn of(dialect: &str) -> Option<Self> {
        match dialect.trim_end_matches('#') {
            "https://json-schema.org/draft/2020-12/schema" => Some(Self::Draft202012),
            "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => {
                Some(Self::Draft7)
            }
            _ => None,
        }
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Validator {
    nodes: Vec<Node>,
    root: NodeId,
    /// By resource and name: the target of a `$dynamicRef` of that name if the resource is in the dynamic scope.
    dynamic: HashMap<(usize, usize), NodeId>,
}

impl Validator {
    /// Compiles a schema, which is of this dialect unless its `$schema` names another one.
    ///
    /// # Errors
    /// If it is not a schema, or refers to one that is not part of it.
    pub fn new(schema: &Value, draft: Draft) -> Result<Self, SchemaError> {
        Self::with_documents(schema, draft, &HashMap::new())
    }

    /// Compiles a schema that may refer to these documents by their URIs.
    ///
    /// # Errors
    /// If it is not a schema, or refers to one that is neither part of it nor among the documents.
    pub fn with_documents(
        schema: &Value,
        draft: Draft,
        documents: &HashMap<String, Value>,
    ) -> Result<Self, SchemaError> {
        metaschema::check(schema, draft)?;
        compile::compile(schema, draft, documents)
    }

    /// Whether a value is valid.
    #[must_use]
    pub fn is_valid(&self, value: &Value) -> bool {
        Run::new(self, false).check_root(value)
    }

    /// All errors of a value, up to a limit of a thousand; none if it is valid.
    #[must_use]
    pub fn errors(&self, value: &Value) -> Vec<ValidationError<'_>> {
        Run::new(self, true).errors(value)
    }
}

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
