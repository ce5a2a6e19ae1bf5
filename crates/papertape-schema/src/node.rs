//! Compiled schemas.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::assertion::Assertion;
use crate::pattern::Pattern;

/// The index of a node.
pub(crate) type NodeId = usize;

/// A schema.
#[derive(Debug)]
pub(crate) struct Node {
    /// What its `type` says.
    pub(crate) types: Types,
    /// Its other keywords without schemas in them.
    pub(crate) assertions: Vec<Assertion>,
    pub(crate) keywords: Vec<Keyword>,
    /// The resource it is part of, which is its place in the dynamic scope.
    pub(crate) resource: usize,
    /// Whether one of its keywords depends on what the others have evaluated.
    pub(crate) has_unevaluated: bool,
    /// How many steps it takes, without those of other nodes.
    pub(crate) steps: u64,
}

impl Node {
    pub(crate) fn new(resource: usize) -> Self {
        let (assertions, keywords) = (Vec::new(), Vec::new());
        Self { types: Types::ALL, assertions, keywords, resource, has_unevaluated: false, steps: 0 }
    }

    /// Fills it.
    pub(crate) fn fill(&mut self, types: Types, assertions: Vec<Assertion>, keywords: Vec<Keyword>) {
        let own = u64::from(!keywords.is_empty());
        self.steps = own + assertions.iter().map(Assertion::steps).sum::<u64>();
        self.has_unevaluated = keywords.iter().any(|keyword| {
            matches!(
                keyword,
                Keyword::Array(ArrayKeyword::UnevaluatedItems(_))
                    | Keyword::Object(ObjectKeyword::UnevaluatedProperties(_))
            )
        });
        (self.types, self.assertions, self.keywords) = (types, assertions, keywords);
    }

    /// Whether its assertions hold for a value.
    #[inline]
    pub(crate) fn asserts(&self, value: &Value) -> bool {
        self.types.contain(value) && self.assertions.iter().all(|assertion| assertion.holds(value))
    }
}

/// A keyword with subschemas, or with several possible errors.
#[derive(Debug)]
pub(crate) enum Keyword {
    Array(ArrayKeyword),
    Object(ObjectKeyword),
    InPlace(InPlaceKeyword),
}

/// Keywords for arrays.
#[derive(Debug)]
pub(crate) enum ArrayKeyword {
    Items(Items),
    Contains(Box<Contains>),
    UnevaluatedItems(Rest),
}

/// Keywords for objects.
#[derive(Debug)]
pub(crate) enum ObjectKeyword {
    Required(Vec<String>),
    Members(Box<Members>),
    PropertyNames(NodeId),
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, NodeId)>),
    UnevaluatedProperties(Rest),
}

/// Keywords whose schemas are for the same value.
#[derive(Debug)]
pub(crate) enum InPlaceKeyword {
    Ref(NodeId),
    DynamicRef(DynamicRef),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If(Box<If>),
}

/// The rule for members or items without a schema of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rest {
    /// Not specified: they are allowed, and count as not evaluated.
    Free,
    /// There must be none.
    Refused,
    Schema(NodeId),
}

/// `prefixItems` and `items`, or what they were in draft-07.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) first: Vec<NodeId>,
    pub(crate) rest: Rest,
}

/// `contains`, `minContains` and `maxContains`.
#[derive(Debug)]
pub(crate) struct Contains {
    pub(crate) schema: NodeId,
    pub(crate) least: u64,
    pub(crate) most: u64,
    /// Whether the items that fit count as evaluated.
    pub(crate) evaluates: bool,
}

/// `properties`, `patternProperties` and `additionalProperties`.
#[derive(Debug)]
pub(crate) struct Members {
    named: Vec<(String, NodeId)>,
    pub(crate) patterns: Vec<(Pattern, NodeId)>,
    pub(crate) rest: Rest,
}

/// Up to this number, names are looked for one by one.
const FEW: usize = 8;

impl Members {
    /// Few names are as the schema has them, many in their order.
    pub(crate) fn new(
        mut named: Vec<(String, NodeId)>,
        patterns: Vec<(Pattern, NodeId)>,
        rest: Rest,
    ) -> Self {
        if named.len() > FEW {
            named.sort_unstable();
        }
        Self { named, patterns, rest }
    }

    /// The schema of a member. The members of most values come in the order of the schema, so that `from`, which is moved
    /// on, is where to look first.
    #[inline]
    pub(crate) fn named(&self, name: &str, from: &mut usize) -> Option<NodeId> {
        if self.named.len() > FEW {
            let at = self.named.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
            return self.named.get(at).map(|(_, id)| *id);
        }
        let (before, after) = self.named.split_at_checked(*from)?;
        let is_it = |(known, _): &&(String, NodeId)| known == name;
        let at = match after.iter().position(|named| is_it(&named)) {
            Some(at) => *from + at,
            None => before.iter().position(|named| is_it(&named))?,
        };
        *from = at + 1;
        self.named.get(at).map(|(_, id)| *id)
    }
}

/// Whether an object has a member.
pub(crate) fn has_member(members: &Map<String, Value>, name: &str) -> bool {
    match members.len() {
        ..=FEW => members.keys().any(|known| known == name),
        _ => members.contains_key(name),
    }
}

/// `$dynamicRef`.
#[derive(Debug)]
pub(crate) struct DynamicRef {
    /// The target if no resource of the dynamic scope has its name.
    pub(crate) initial: NodeId,
    pub(crate) name: usize,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
pub(crate) struct If {
    pub(crate) condition: NodeId,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
}

/// A type of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// `array`
    Array = 1,
    /// `boolean`
    Boolean = 2,
    /// `integer`: a number without a fraction
    Integer = 4,
    /// `null`
    Null = 8,
    /// `number`
    Number = 16,
    /// `object`
    Object = 32,
    /// `string`
    String = 64,
}

impl JsonType {
    const ALL: [Self; 7] =
        [Self::Array, Self::Boolean, Self::Integer, Self::Null, Self::Number, Self::Object, Self::String];

    fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Null => "null",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    /// All of them.
    pub(crate) const ALL: Self = Self(u8::MAX);

    /// The types of a `type` keyword.
    pub(crate) fn read(keyword: &Value) -> Self {
        let names = match keyword {
            Value::Array(names) => &names[..],
            name => std::slice::from_ref(name),
        };
        let is_named = |kind: &JsonType| names.iter().any(|name| name == kind.name());
        Self(JsonType::ALL.into_iter().filter(is_named).fold(0, |bits, kind| bits | kind as u8))
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = JsonType> {
        JsonType::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// The type, if it is the only one.
    #[must_use]
    pub fn only(self) -> Option<JsonType> {
        JsonType::ALL.into_iter().find(|kind| *kind as u8 == self.0)
    }

    fn contains(self, kind: JsonType) -> bool {
        self.0 & kind as u8 != 0
    }

    #[inline]
    pub(crate) fn contain(self, value: &Value) -> bool {
        let fitting = match value {
            Value::Null => JsonType::Null as u8,
            Value::Bool(_) => JsonType::Boolean as u8,
            Value::String(_) => JsonType::String as u8,
            Value::Array(_) => JsonType::Array as u8,
            Value::Object(_) => JsonType::Object as u8,
            Value::Number(number) if is_integer(number) => JsonType::Number as u8 | JsonType::Integer as u8,
            Value::Number(_) => JsonType::Number as u8,
        };
        self.0 & fitting != 0
    }
}

#[inline]
fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}
