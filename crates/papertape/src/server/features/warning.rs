//! What is offered to what known hosts reject of it.
//!
//! A schema can be right and still cost a user the whole server: frameworks turn it into types of their own, and models'
//! APIs know a part of JSON Schema. What is written here was measured with the versions that are named, or is in the
//! documentation of the API or in the errors that it answers with.

use std::fmt;

use serde_json::{Map, Value};

use crate::protocol::tools::ToolDefinition;
use crate::protocol::{Content, PromptResult};

/// Something that a server offers and that a known host rejects, or cannot use.
///
/// [`Server::check`](crate::Server::check) returns those of tools, [`Warning::of_prompt`] those of prompts; `Display` has the
/// cause and the remedy.
///
/// ```
/// use papertape::server::{Tool, WarningKind};
/// use papertape::{Cx, Server};
///
/// let tool = Tool::new("search notes").description("Search the notes.");
/// let server = Server::new("notes", "1.0.0").tool(tool, async |_: (), _: Cx| Ok("none"));
/// let warnings = server.check().unwrap();
/// assert_eq!(warnings[0].kind, WarningKind::Name);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// `"tool"` or `"prompt"`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// Where in a tool's input schema or in a prompt's result, as a JSON pointer; empty if it is about the whole.
    pub pointer: String,
    /// What it is.
    pub kind: WarningKind,
}

/// What a known host rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// A name that models' APIs refuse.
    Name,
    /// No description.
    NoDescription,
    /// A member's name that Anthropic's API refuses.
    MemberName,
    /// `type` is a list.
    TypeList,
    /// `enum` has a `null` in it.
    NullInEnum,
    /// `enum` has something else in it than strings.
    EnumNotOfStrings,
    /// `$ref`.
    Reference,
    /// This keyword at the root.
    AtRoot(&'static str),
    /// `oneOf`.
    OneOf,
    /// `const`.
    Const,
    /// This keyword, which models' APIs do not know.
    Unknown(&'static str),
    /// `additionalProperties: false`.
    Closed,
    /// An array without `items`.
    NoItems,
    /// Arguments without `properties`.
    NoProperties,
    /// A member whose schema does not say of which type it is.
    NoType,
    /// A schema that is `true` or `false`.
    Boolean,
    /// A prompt whose first message has no text.
    NoText,
    /// A prompt's message that is not text.
    NotText,
}

impl WarningKind {
    /// What is rejected, by which host, and what to do about it.
    fn explanation(self) -> &'static str {
        match self {
            Self::Name => {
                "OpenAI's API or Gemini's refuses its name: use up to 64 of A-Z, a-z, 0-9, _ and -, with a letter or _ first"
            }
            Self::NoDescription => {
                "a model cannot know what it does: write a doc comment on the type of its arguments, or use \
                 `Tool::description`"
            }
            Self::MemberName => {
                "Anthropic's API refuses the member's name: use up to 64 of A-Z, a-z, 0-9, _, . and -"
            }
            Self::TypeList => {
                "AutoGen 0.7 and Semantic Kernel 1.45 cannot load a server that has a list of types: write one `type`, and \
                 leave an optional member out of `required`; or write `anyOf`"
            }
            Self::NullInEnum => {
                "Semantic Kernel 1.45 and langchain-google-genai 4.4 fail on null in an `enum`: leave it out, and an \
                 optional member out of `required`"
            }
            Self::EnumNotOfStrings => {
                "Gemini's API takes only strings in the `enum` of a function's `parameters`: write strings, or say in the \
                 description what is allowed"
            }
            Self::Reference => {
                "VS Code and Claude Desktop drop `$defs`, so that `$ref` leads to nothing: write the part where it is used"
            }
            Self::AtRoot(_) => {
                "OpenAI's API refuses a tool with such a keyword at the root, and Anthropic's one with `anyOf`, `oneOf` or \
                 `allOf` there: make the choice a member of its arguments"
            }
            Self::OneOf => "OpenAI's strict mode does not know `oneOf`: write `anyOf`",
            Self::Const => {
                "Gemini's API does not know `const` in a function's `parameters`: write an `enum` of one"
            }
            Self::Unknown(_) => {
                "OpenAI's strict mode does not know the keyword, nor do most other models' APIs: say it in a description, \
                 and check it in the tool"
            }
            Self::Closed => {
                "google-genai 3.1 fails on `additionalProperties: false`: leave it out (where arguments are read as a \
                 type, unknown ones are refused all the same)"
            }
            Self::NoItems => {
                "OpenAI's and Gemini's APIs refuse an array without `items`: say what it consists of"
            }
            Self::NoProperties => {
                "OpenAI's API refuses arguments without `properties`: write `\"properties\": {}`"
            }
            Self::NoType => {
                "AutoGen 0.7 cannot load a server with a member of no `type`: give it one, or write `anyOf` with those that \
                 it may have"
            }
            Self::Boolean => "many frameworks read no schema but objects: write one with a `type`",
            Self::NoText => {
                "Gemini CLI reads the text of a prompt's first message and nothing else: put all that is needed there"
            }
            Self::NotText => "LangChain refuses a prompt with a message that is not text: put its text in",
        }
    }
}

impl Warning {
    /// The warnings about the messages of a rendered prompt: for tests.
    #[must_use]
    pub fn of_prompt(name: &str, result: &PromptResult) -> Vec<Self> {
        let texts = result.messages.iter().map(|message| match &message.content {
            Content::Text(text) => Some(text.text.trim()),
            _ => None,
        });
        let mut found = Vec::new();
        for (number, text) in texts.enumerate() {
            let kind = match text {
                None => WarningKind::NotText,
                Some("") if number == 0 => WarningKind::NoText,
                Some(_) => continue,
            };
            found.push((format!("/messages/{number}"), kind));
        }
        if result.messages.is_empty() {
            found.push((String::new(), WarningKind::NoText));
        }
        let warning = |(pointer, kind)| Self { what: "prompt", name: name.to_owned(), pointer, kind };
        found.into_iter().map(warning).collect()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.what, self.name)?;
        if !self.pointer.is_empty() {
            let of = if self.what == "tool" { "input schema" } else { "result" };
            write!(f, ", {} of its {of}", self.pointer)?;
        }
        write!(f, ": {}", self.kind.explanation())
    }
}

/// One line for the author of the server.
pub(crate) fn log(warnings: &[Warning]) {
    if let Some((first, others)) = warnings.split_first() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" (and {more} more: see `Server::check`)"),
        };
        tracing::warn!("{first}{more}");
    }
}

/// What known hosts reject of a tool.
pub(crate) fn tool(definition: &ToolDefinition) -> Vec<Warning> {
    let mut found = Vec::new();
    if !is_name(&definition.name) {
        found.push((String::new(), WarningKind::Name));
    }
    if definition.description.is_none() {
        found.push((String::new(), WarningKind::NoDescription));
    }
    schema(&definition.input_schema, &mut found);
    let warning = |(pointer, kind)| Warning { what: "tool", name: definition.name.clone(), pointer, kind };
    found.into_iter().map(warning).collect()
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && is_made_of(name, "_-")
}

fn is_made_of(name: &str, others: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Keywords that say of which schemas the arguments are composed.
const COMPOSED: [&str; 5] = ["anyOf", "oneOf", "allOf", "not", "enum"];

/// Keywords that models' APIs do not know.
const UNKNOWN: [&str; 13] = [
    "allOf",
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "contains",
    "minProperties",
    "maxProperties",
];

fn schema(root: &Value, found: &mut Vec<(String, WarningKind)>) {
    for keyword in COMPOSED {
        if root.get(keyword).is_some() {
            found.push((format!("/{keyword}"), WarningKind::AtRoot(keyword)));
        }
    }
    if root.get("properties").is_none() && root.get("anyOf").is_none() {
        found.push((String::new(), WarningKind::NoProperties));
    }
    let mut todo = vec![(String::new(), root)];
    while let Some((pointer, schema)) = todo.pop() {
        part(schema, &pointer, found);
        let parts = papertape_schema::subschemas(schema).into_iter().rev();
        todo.extend(parts.map(|(steps, part)| (format!("{pointer}{steps}"), part)));
    }
}

fn part(schema: &Value, pointer: &str, found: &mut Vec<(String, WarningKind)>) {
    let mut warn = |steps: &str, kind: WarningKind| found.push((format!("{pointer}{steps}"), kind));
    if schema.is_boolean() && !pointer.ends_with("/additionalProperties") {
        warn("", WarningKind::Boolean);
    }
    let Some(members) = schema.as_object() else { return };
    let is_root = pointer.is_empty();
    for (keyword, value) in members {
        let steps = format!("/{keyword}");
        match (keyword.as_str(), value) {
            ("type", Value::Array(_)) => warn(&steps, WarningKind::TypeList),
            ("type", kind) if kind == "array" && !members.contains_key("items") => {
                warn("", WarningKind::NoItems);
            }
            ("enum", Value::Array(values)) if values.contains(&Value::Null) => {
                warn(&steps, WarningKind::NullInEnum);
            }
            ("enum", Value::Array(values)) if !values.iter().all(Value::is_string) => {
                warn(&steps, WarningKind::EnumNotOfStrings);
            }
            ("$ref" | "$dynamicRef", _) => warn(&steps, WarningKind::Reference),
            ("oneOf", _) if !is_root => warn(&steps, WarningKind::OneOf),
            ("const", _) => warn(&steps, WarningKind::Const),
            ("additionalProperties", Value::Bool(false)) => warn(&steps, WarningKind::Closed),
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let steps = format!("/properties/{}", papertape_schema::pointer_step(name));
                    if !is_made_of(name, "_.-") {
                        warn(&steps, WarningKind::MemberName);
                    }
                    if property.as_object().is_some_and(|property| !says_type(property)) {
                        warn(&steps, WarningKind::NoType);
                    }
                }
            }
            (keyword, _) if is_root && COMPOSED.contains(&keyword) => {}
            (keyword, _) => {
                if let Some(keyword) = UNKNOWN.into_iter().find(|unknown| *unknown == keyword) {
                    warn(&steps, WarningKind::Unknown(keyword));
                }
            }
        }
    }
}

/// Whether the schema of a member says of which type it is, in one way or another.
fn says_type(members: &Map<String, Value>) -> bool {
    ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"]
        .iter()
        .any(|word| members.contains_key(*word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{WarningKind, schema};

    #[test]
    fn each_keyword_is_reported_with_its_location() {
        for (property, place, kind) in [
            (json!({"type": ["string", "null"]}), "/type", WarningKind::TypeList),
            (json!({"enum": ["a", null]}), "/enum", WarningKind::NullInEnum),
            (json!({"enum": [1]}), "/enum", WarningKind::EnumNotOfStrings),
            (json!({"$ref": "#"}), "/$ref", WarningKind::Reference),
            (json!({"oneOf": []}), "/oneOf", WarningKind::OneOf),
            (json!({"const": "a"}), "/const", WarningKind::Const),
            (json!({"type": "string", "not": {}}), "/not", WarningKind::Unknown("not")),
            (json!({"description": "anything"}), "", WarningKind::NoType),
            (
                json!({"type": "object", "patternProperties": {}}),
                "/patternProperties",
                WarningKind::Unknown("patternProperties"),
            ),
            (
                json!({"type": "object", "additionalProperties": false}),
                "/additionalProperties",
                WarningKind::Closed,
            ),
            (json!({"type": "array"}), "", WarningKind::NoItems),
            (json!({"type": "array", "items": {"const": 1}}), "/items/const", WarningKind::Const),
            (json!(true), "", WarningKind::Boolean),
        ] {
            let mut found = Vec::new();
            schema(&json!({"type": "object", "properties": {"a": property}}), &mut found);
            assert_eq!(found, [(format!("/properties/a{place}"), kind)], "{property}");
        }
        for (root, place, kind) in [
            (
                json!({"type": "object", "anyOf": [{"type": "object"}]}),
                "/anyOf",
                WarningKind::AtRoot("anyOf"),
            ),
            (
                json!({"type": "object", "properties": {"a b": {"type": "string"}}}),
                "/properties/a b",
                WarningKind::MemberName,
            ),
        ] {
            let mut found = Vec::new();
            schema(&root, &mut found);
            assert_eq!(found, [(place.to_owned(), kind)], "{root}");
        }
        let fine = json!({"type": "object", "properties": {
            "a": {"anyOf": [{"type": "string", "enum": ["x"], "maxLength": 3}, {"type": "null"}]},
            "const": {"type": "array", "items": {"type": "object", "additionalProperties": true}},
        }});
        let mut found = Vec::new();
        schema(&fine, &mut found);
        assert_eq!(found, []);
    }
}
