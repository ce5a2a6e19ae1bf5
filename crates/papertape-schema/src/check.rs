//! A value against a node.

mod array;
mod in_place;
mod object;

use serde_json::Value;

use crate::Validator;
use crate::error::{ErrorKind, ValidationError};
use crate::marks::Marks;
use crate::node::{Keyword, Node, NodeId};
use crate::subschemas::pointer_step;

/// How many steps one validation may take: an untrusted schema can be made to take very long. A value of a node without
/// subschemas takes none.
const MOST_STEPS: u64 = 5_000_000;
/// How many nodes may be checked within each other. JSON of the depth that parsers allow takes a few hundred.
const DEEPEST: usize = 1_024;
/// How many errors are collected.
const MOST_ERRORS: usize = 1_000;

/// One validation.
pub(crate) struct Run<'v> {
    validator: &'v Validator,
    /// The errors so far; none are collected if it is enough to know that there is one.
    errors: Option<Vec<ValidationError<'v>>>,
    collected: usize,
    steps: u64,
    depth: usize,
    /// Whether a limit was reached. Nothing is valid then, not even under `not`.
    gave_up: bool,
}

/// Where a value is.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Path::Root => String::new(),
            Path::Member(parent, name) => {
                format!("{}/{}", parent.pointer(), pointer_step(name))
            }
            Path::Item(parent, at) => format!("{}/{at}", parent.pointer()),
        }
    }
}

/// The resources that have been entered on the way to a node, the innermost first.
struct Scope<'p> {
    resource: usize,
    outer: Option<&'p Scope<'p>>,
}

/// The value that is checked, where it is, and in which dynamic scope.
#[derive(Clone, Copy)]
struct At<'p> {
    value: &'p Value,
    path: &'p Path<'p>,
    scope: &'p Scope<'p>,
}

impl<'v> Run<'v> {
    pub(crate) fn new(validator: &'v Validator, collects: bool) -> Self {
        Self { validator, errors: collects.then(Vec::new), collected: 0, steps: 0, depth: 0, gave_up: false }
    }

    pub(crate) fn check_root(&mut self, value: &Value) -> bool {
        let root = self.validator.root;
        let resource = self.validator.nodes.get(root).map_or(0, |node| node.resource);
        let scope = Scope { resource, outer: None };
        self.check(root, &At { value, path: &Path::Root, scope: &scope }, None) && !self.gave_up
    }

    pub(crate) fn errors(mut self, value: &Value) -> Vec<ValidationError<'v>> {
        self.check_root(value);
        let mut errors = self.errors.unwrap_or_default();
        if self.gave_up {
            errors.push(ValidationError { pointer: String::new(), kind: ErrorKind::TooComplex });
        }
        errors
    }

    /// Notes an error.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, at: &At<'_>, kind: impl FnOnce() -> ErrorKind<'v>) -> bool {
        if let Some(errors) = &mut self.errors
            && self.collected < MOST_ERRORS
        {
            self.collected += 1;
            errors.push(ValidationError { pointer: at.path.pointer(), kind: kind() });
        }
        false
    }

    #[inline]
    fn holds(&mut self, holds: bool, at: &At<'_>, kind: impl FnOnce() -> ErrorKind<'v>) -> bool {
        holds || self.fail(at, kind)
    }

    /// Whether there may be more errors to find.
    fn goes_on(&self) -> bool {
        self.errors.is_some()
    }

    /// Whether a value is valid by a node without subschemas, which is the common case.
    #[inline]
    fn passes(&mut self, id: NodeId, value: &Value) -> bool {
        let Some(node) = self.validator.nodes.get(id) else { return true };
        self.steps += node.steps;
        node.keywords.is_empty() && node.asserts(value) && self.steps <= MOST_STEPS
    }

    /// Whether a value is valid by a node. `marks` notes what was evaluated if it is.
    fn check(&mut self, id: NodeId, at: &At<'_>, marks: Option<&mut Marks>) -> bool {
        let Some(node) = self.validator.nodes.get(id) else { return true };
        self.steps += node.steps;
        if self.steps > MOST_STEPS || self.depth == DEEPEST {
            // All that is left to check ends here too.
            self.steps = MOST_STEPS;
            self.gave_up = true;
            return false;
        }
        let mut valid = node.asserts(at.value);
        if !valid {
            if !self.goes_on() {
                return false;
            }
            if !node.types.contain(at.value) {
                self.fail(at, || ErrorKind::Type(node.types));
            }
            for assertion in node.assertions.iter().filter(|assertion| !assertion.holds(at.value)) {
                self.fail(at, || assertion.error());
            }
        }
        self.depth += 1;
        if node.resource == at.scope.resource {
            valid &= self.check_keywords(node, at, marks);
        } else if !node.keywords.is_empty() {
            let scope = Scope { resource: node.resource, outer: Some(at.scope) };
            valid &= self.check_keywords(node, &At { scope: &scope, ..*at }, marks);
        }
        self.depth -= 1;
        valid
    }

    fn check_keywords(&mut self, node: &'v Node, at: &At<'_>, marks: Option<&mut Marks>) -> bool {
        if !node.has_unevaluated {
            return self.check_each(node, at, marks);
        }
        let mut own = Marks::of(at.value);
        let valid = self.check_each(node, at, Some(&mut own));
        if let Some(marks) = marks.filter(|_| valid) {
            marks.add(&own);
        }
        valid
    }

    #[inline]
    fn check_each(&mut self, node: &'v Node, at: &At<'_>, mut marks: Option<&mut Marks>) -> bool {
        let mut valid = true;
        for keyword in &node.keywords {
            let marks = marks.as_deref_mut();
            valid &= match (keyword, at.value) {
                (Keyword::Array(keyword), Value::Array(items)) => self.check_array(keyword, items, at, marks),
                (Keyword::Object(keyword), Value::Object(members)) => {
                    self.check_object(keyword, members, at, marks)
                }
                (Keyword::InPlace(keyword), _) => self.check_in_place(keyword, at, marks),
                // A keyword for values of another type.
                _ => true,
            };
            if !valid && !self.goes_on() {
                return false;
            }
        }
        valid
    }
}
