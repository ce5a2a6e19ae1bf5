//! What rules look for. A rule of `hosts.toml` names one of these; the rest of it is data.

use papertape::client::model_api::ModelApi;
use papertape::protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::Value;

use crate::definitions::Lists;
use crate::definitions::entry::{Entries, Entry};
use crate::definitions::hits::Hits;
use crate::definitions::walk::{self, Part};

/// The longest name that model APIs accept.
const LONGEST_NAME: usize = 64;
/// A host that puts the server's name in front has ten characters left of sixty for it.
const LONGEST_WITHOUT_SERVER: usize = 50;
/// The most tools of a request to OpenAI's API.
const MOST_TOOLS: usize = 128;

/// A pattern in definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// The name of a tool has other characters than letters, digits, `_` and `-`.
    NameCharacters,
    /// The name of a tool has more than 64 characters.
    NameLength,
    /// The name of a tool is too long with that of a server in front.
    LongWithServer,
    /// `type` is a list.
    TypeList,
    /// `enum` has `null` in it.
    NullInEnum,
    /// `enum` has something else in it than strings, or an empty one.
    EnumNotOfStrings,
    /// `$ref`.
    Reference,
    /// `anyOf`, `oneOf`, `allOf`, `not` or `enum` at the top.
    RootCombinator,
    /// OpenAI's strict mode does not accept the schema as it is.
    NotStrict,
    /// An array without `items`.
    NoItems,
    /// `items` is a list.
    ItemsList,
    /// The schema of an argument is `true` or `false`.
    BooleanArgument,
    /// The name of an argument is not `^[a-zA-Z0-9_.-]{1,64}$`.
    ArgumentName,
    /// An argument without a type.
    NoType,
    /// No `properties` at the top.
    NoProperties,
    /// `additionalProperties: false`.
    Closed,
    /// More tools than a request may have.
    ManyTools,
}

impl Pattern {
    /// The places that match.
    pub(crate) fn find<'a>(self, lists: &Lists, entries: &Entries<'a>) -> Hits<'a> {
        let mut hits = Hits::default();
        for tool in &entries.tools {
            match self {
                Self::NameCharacters | Self::NameLength | Self::LongWithServer => {
                    self.find_name(*tool, &mut hits)
                }
                Self::NoProperties
                | Self::RootCombinator
                | Self::BooleanArgument
                | Self::ArgumentName
                | Self::NoType => {
                    self.find_at_root(*tool, &mut hits);
                }
                Self::NotStrict => find_not_strict(*tool, &mut hits),
                Self::ManyTools if lists.tools.len() > MOST_TOOLS => hits.push(*tool, String::new(), None),
                Self::ManyTools => {}
                _ => self.find_in_parts(*tool, &mut hits),
            }
        }
        hits
    }

    fn find_name<'a>(self, tool: Entry<'a>, hits: &mut Hits<'a>) {
        let Some(name) = tool.key() else { return };
        let length = name.chars().count();
        match self {
            Self::NameCharacters if !has_only(name, "_-") => {
                hits.push(tool, "/name".to_owned(), tool.get("name"))
            }
            Self::NameLength if length > LONGEST_NAME => {
                hits.explain(tool, "/name".to_owned(), format!("{length} characters"));
            }
            Self::LongWithServer if (LONGEST_WITHOUT_SERVER + 1..=LONGEST_NAME).contains(&length) => {
                hits.explain(tool, "/name".to_owned(), format!("{length} characters"));
            }
            _ => {}
        }
    }

    fn find_at_root<'a>(self, tool: Entry<'a>, hits: &mut Hits<'a>) {
        let Some(schema) = tool.get("inputSchema").and_then(Value::as_object) else { return };
        if self == Self::NoProperties {
            if schema.get("type").is_some_and(|kind| kind == "object") && !schema.contains_key("properties") {
                hits.push(tool, "/inputSchema".to_owned(), tool.get("inputSchema"));
            }
            return;
        }
        if self == Self::RootCombinator {
            for keyword in ["anyOf", "oneOf", "allOf", "not", "enum"] {
                if let Some(value) = schema.get(keyword) {
                    hits.push(tool, format!("/inputSchema/{keyword}"), Some(value));
                }
            }
            return;
        }
        for (name, argument) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_found = match self {
                Self::BooleanArgument => argument.is_boolean(),
                Self::ArgumentName => !is_made_of(name, "_.-"),
                _ => argument.is_object() && !says_type(argument),
            };
            if is_found {
                hits.push(
                    tool,
                    format!("/inputSchema/properties/{}", papertape_schema::pointer_step(name)),
                    Some(argument),
                );
            }
        }
    }

    fn find_in_parts<'a>(self, tool: Entry<'a>, hits: &mut Hits<'a>) {
        let Some(schema) = tool.get("inputSchema").filter(|schema| schema.is_object()) else { return };
        for part in walk::parts(schema) {
            if let Some((keyword, value)) = self.matches(&part) {
                hits.push(tool, format!("/inputSchema{}", part.at(keyword)), Some(value));
            }
        }
    }

    /// The keyword of a schema that matches, and its value.
    fn matches<'a>(self, part: &Part<'a>) -> Option<(&'static str, &'a Value)> {
        let members = part.members()?;
        let keyword = match self {
            // That of the root is invalid.
            Self::TypeList if part.pointer.is_empty() => return None,
            Self::TypeList | Self::NoItems => "type",
            Self::NullInEnum | Self::EnumNotOfStrings => "enum",
            Self::Reference => "$ref",
            Self::ItemsList => "items",
            Self::Closed => "additionalProperties",
            _ => return None,
        };
        let value = members.get(keyword)?;
        let list = value.as_array();
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let is_match = match self {
            Self::TypeList | Self::ItemsList => list.is_some(),
            Self::NullInEnum => list.is_some_and(|values| values.contains(&Value::Null)),
            Self::EnumNotOfStrings => {
                list.is_some_and(|values| !values.iter().all(|value| value.is_null() || is_text(value)))
            }
            Self::NoItems => {
                let is_array =
                    value == "array" || list.is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"));
                is_array && !members.contains_key("items") && !members.contains_key("prefixItems")
            }
            Self::Closed => value == &Value::Bool(false),
            _ => true,
        };
        is_match.then_some((keyword, value))
    }
}

/// What OpenAI's strict mode does not accept, by the conversion that the SDK makes for it.
fn find_not_strict<'a>(tool: Entry<'a>, hits: &mut Hits<'a>) {
    if !tool.get("inputSchema").is_some_and(Value::is_object)
        || !tool.key().is_some_and(|name| is_made_of(name, "_-"))
    {
        return;
    }
    let Ok(definition) = ToolDefinition::deserialize(tool.value) else { return };
    let declared = ModelApi::OpenAiResponses.declare_strict([&definition]);
    for loss in declared.losses() {
        let pointer = if loss.path.is_empty() { String::new() } else { format!("/{}", loss.path) };
        hits.explain(tool, pointer, loss.problem.clone());
    }
}

/// Whether a name has up to 64 letters, digits and these characters.
fn is_made_of(name: &str, others: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && has_only(name, others)
}

fn has_only(name: &str, others: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Whether the schema of an argument says of which type it is, in one way or another.
fn says_type(schema: &Value) -> bool {
    ["type", "enum", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|keyword| schema.get(keyword).is_some())
}
