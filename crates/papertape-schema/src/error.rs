//! Errors of schemas and of values.

use std::error::Error;
use std::fmt;

use serde_json::{Number, Value};

use crate::node::Types;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    message: String,
    pointer: Option<String>,
}

impl SchemaError {
    pub(crate) fn new(message: String) -> Self {
        Self { message, pointer: None }
    }

    pub(crate) fn at(message: String, pointer: &str) -> Self {
        Self { message, pointer: Some(pointer.to_owned()) }
    }

    /// The part of the schema that is invalid, as a JSON pointer, if it is known.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for SchemaError {}

/// A keyword that a value violates. It displays as a sentence about "value".
#[derive(Clone, Debug)]
pub struct ValidationError<'v> {
    pub(crate) pointer: String,
    pub(crate) kind: ErrorKind<'v>,
}

impl<'v> ValidationError<'v> {
    /// The location of the invalid value, as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The violated keyword and its value.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind<'v> {
        &self.kind
    }

    /// The sentence with another subject than "value".
    #[must_use]
    pub fn about(&self, subject: &str) -> String {
        self.kind.about(subject)
    }
}

impl fmt::Display for ValidationError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.about("value"))
    }
}

/// A keyword and its value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorKind<'v> {
    /// `type`
    Type(Types),
    /// `enum`: these values are allowed
    Enum(&'v [Value]),
    /// `const`: this value is allowed
    Const(&'v Value),
    /// `minimum`
    Minimum(&'v Number),
    /// `maximum`
    Maximum(&'v Number),
    /// `exclusiveMinimum`
    ExclusiveMinimum(&'v Number),
    /// `exclusiveMaximum`
    ExclusiveMaximum(&'v Number),
    /// `multipleOf`
    MultipleOf(&'v Number),
    /// `minLength`
    MinLength(u64),
    /// `maxLength`
    MaxLength(u64),
    /// `pattern`
    Pattern(&'v str),
    /// `minItems`
    MinItems(u64),
    /// `maxItems`, or `items` that allows no more than these
    MaxItems(u64),
    /// `uniqueItems`
    UniqueItems,
    /// `contains`, with the least number of items
    Contains(u64),
    /// `maxContains`
    MaxContains(u64),
    /// `unevaluatedItems`, with the number of items that are not allowed
    UnevaluatedItems(usize),
    /// `minProperties`
    MinProperties(u64),
    /// `maxProperties`
    MaxProperties(u64),
    /// `required`, `dependentRequired` or `dependencies`, with one missing member each
    Required(&'v str),
    /// `propertyNames`: a name, and its errors
    PropertyNames(String, Vec<ValidationError<'v>>),
    /// `additionalProperties`, with the members that are not allowed
    AdditionalProperties(Vec<String>),
    /// `unevaluatedProperties`, with the members that are not allowed
    UnevaluatedProperties(Vec<String>),
    /// `anyOf`: the errors of each alternative
    AnyOf(Vec<Vec<ValidationError<'v>>>),
    /// `oneOf`, no alternative matches: the errors of each
    OneOf(Vec<Vec<ValidationError<'v>>>),
    /// `oneOf`, several alternatives match
    OneOfSeveral,
    /// `not`
    Not,
    /// A schema that allows nothing
    False,
    /// The validation would take more steps, or go deeper, than the limits allow
    TooComplex,
}

impl ErrorKind<'_> {
    /// The name of the keyword.
    #[must_use]
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Enum(_) => "enum",
            Self::Const(_) => "const",
            Self::Minimum(_) => "minimum",
            Self::Maximum(_) => "maximum",
            Self::ExclusiveMinimum(_) => "exclusiveMinimum",
            Self::ExclusiveMaximum(_) => "exclusiveMaximum",
            Self::MultipleOf(_) => "multipleOf",
            Self::MinLength(_) => "minLength",
            Self::MaxLength(_) => "maxLength",
            Self::Pattern(_) => "pattern",
            Self::MinItems(_) => "minItems",
            Self::MaxItems(_) => "maxItems",
            Self::UniqueItems => "uniqueItems",
            Self::Contains(_) => "contains",
            Self::MaxContains(_) => "maxContains",
            Self::UnevaluatedItems(_) => "unevaluatedItems",
            Self::MinProperties(_) => "minProperties",
            Self::MaxProperties(_) => "maxProperties",
            Self::Required(_) => "required",
            Self::PropertyNames(..) => "propertyNames",
            Self::AdditionalProperties(_) => "additionalProperties",
            Self::UnevaluatedProperties(_) => "unevaluatedProperties",
            Self::AnyOf(_) => "anyOf",
            Self::OneOf(_) | Self::OneOfSeveral => "oneOf",
            Self::Not => "not",
            Self::False => "false",
            Self::TooComplex => "$ref",
        }
    }

    fn about(&self, subject: &str) -> String {
        match self {
            Self::Type(types) => {
                let names: Vec<String> = types.iter().map(|kind| format!("\"{kind}\"")).collect();
                let types = if names.len() == 1 { "type" } else { "types" };
                format!("{subject} is not of {types} {}", names.join(", "))
            }
            Self::Enum(options) => {
                let options: Vec<String> = options.iter().map(ToString::to_string).collect();
                format!("{subject} is not one of {}", options.join(", "))
            }
            Self::Const(value) => format!("{value} was expected"),
            Self::Minimum(limit) => format!("{subject} is less than the minimum of {limit}"),
            Self::Maximum(limit) => format!("{subject} is greater than the maximum of {limit}"),
            Self::ExclusiveMinimum(limit) => format!("{subject} is not greater than {limit}"),
            Self::ExclusiveMaximum(limit) => format!("{subject} is not less than {limit}"),
            Self::MultipleOf(number) => format!("{subject} is not a multiple of {number}"),
            Self::MinLength(limit) => {
                format!("{subject} is shorter than {}", count(*limit, "character", "characters"))
            }
            Self::MaxLength(limit) => {
                format!("{subject} is longer than {}", count(*limit, "character", "characters"))
            }
            Self::Pattern(pattern) => format!("{subject} does not match \"{pattern}\""),
            Self::MinItems(limit) => format!("{subject} has less than {}", count(*limit, "item", "items")),
            Self::MaxItems(limit) => format!("{subject} has more than {}", count(*limit, "item", "items")),
            Self::UniqueItems => format!("{subject} has non-unique elements"),
            Self::Contains(1) => format!("no item of {subject} is valid under the schema of `contains`"),
            Self::Contains(limit) => {
                format!("less than {limit} items of {subject} are valid under the schema of `contains`")
            }
            Self::MaxContains(limit) => {
                format!("more than {limit} items of {subject} are valid under the schema of `contains`")
            }
            Self::UnevaluatedItems(number) => {
                format!("Unevaluated items are not allowed ({})", count(*number as u64, "item", "items"))
            }
            Self::MinProperties(limit) => {
                format!("{subject} has less than {}", count(*limit, "property", "properties"))
            }
            Self::MaxProperties(limit) => {
                format!("{subject} has more than {}", count(*limit, "property", "properties"))
            }
            Self::Required(name) => format!("\"{name}\" is a required property"),
            Self::PropertyNames(name, errors) => match errors.first() {
                Some(error) => error.about(&format!("the name {}", Value::from(name.as_str()))),
                None => format!("the name {} is not allowed", Value::from(name.as_str())),
            },
            Self::AdditionalProperties(names) => {
                format!("Additional properties are not allowed ({})", unexpected(names))
            }
            Self::UnevaluatedProperties(names) => {
                format!("Unevaluated properties are not allowed ({})", unexpected(names))
            }
            Self::AnyOf(_) => {
                format!("{subject} is not valid under any of the schemas listed in the 'anyOf' keyword")
            }
            Self::OneOf(_) => {
                format!("{subject} is not valid under any of the schemas listed in the 'oneOf' keyword")
            }
            Self::OneOfSeveral => {
                format!("{subject} is valid under more than one of the schemas listed in the 'oneOf' keyword")
            }
            Self::Not => format!("{subject} is valid under the schema of `not`"),
            Self::False => format!("{subject} is not allowed here"),
            Self::TooComplex => format!("{subject} takes too many steps to be checked against the schema"),
        }
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn unexpected(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("{} {} unexpected", quoted.join(", "), if names.len() == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Draft, Validator};

    #[test]
    fn a_limit_that_is_excluded_is_not_called_a_minimum() {
        let schema = json!({"exclusiveMinimum": 0, "exclusiveMaximum": 9});
        let validator = Validator::new(&schema, Draft::Draft202012).unwrap();
        assert_eq!(validator.errors(&json!(0))[0].to_string(), "value is not greater than 0");
        assert_eq!(validator.errors(&json!(9))[0].to_string(), "value is not less than 9");
    }
}
