//! An entry of a list, and what it is called in findings.

use papertape::wire::error::excerpt;
use serde_json::{Map, Value};

use super::Lists;

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Template,
    Prompt,
}

impl Kind {
    /// What it is called in sentences.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Kind::Tool => "tool",
            Kind::Resource => "resource",
            Kind::Template => "resource template",
            Kind::Prompt => "prompt",
        }
    }

    /// The member that identifies an entry.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Kind::Tool | Kind::Prompt => "name",
            Kind::Resource => "uri",
            Kind::Template => "uriTemplate",
        }
    }
}

/// An entry of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: Kind,
    /// Where it is in its list.
    pub(crate) at: usize,
    pub(crate) value: &'a Value,
}

impl<'a> Entry<'a> {
    /// Its members; nothing if it is not an object.
    pub(crate) fn members(self) -> Option<&'a Map<String, Value>> {
        self.value.as_object()
    }

    /// A member of it.
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.value.get(name)
    }

    /// What identifies it, if it has that.
    pub(crate) fn key(self) -> Option<&'a str> {
        self.get(self.kind.key()).and_then(Value::as_str).filter(|key| !key.is_empty())
    }

    /// Its name in quotes, or else its index.
    pub(crate) fn shown(self) -> String {
        let key =
            self.key().or_else(|| self.get("name").and_then(Value::as_str).filter(|key| !key.is_empty()));
        key.map_or_else(|| format!("at index {}", self.at), excerpt)
    }
}

/// All entries.
pub(crate) struct Entries<'a> {
    pub(crate) tools: Vec<Entry<'a>>,
    pub(crate) resources: Vec<Entry<'a>>,
    pub(crate) templates: Vec<Entry<'a>>,
    pub(crate) prompts: Vec<Entry<'a>>,
}

impl<'a> Entries<'a> {
    pub(crate) fn of(lists: &'a Lists) -> Self {
        let entries = |kind, list: &'a [Value]| {
            let numbered = list.iter().enumerate();
            numbered.map(|(at, value)| Entry { kind, at, value }).collect()
        };
        Self {
            tools: entries(Kind::Tool, &lists.tools),
            resources: entries(Kind::Resource, &lists.resources),
            templates: entries(Kind::Template, &lists.templates),
            prompts: entries(Kind::Prompt, &lists.prompts),
        }
    }

    /// The lists, one after the other.
    pub(crate) fn lists(&self) -> [&[Entry<'a>]; 4] {
        [&self.tools, &self.resources, &self.templates, &self.prompts]
    }

    /// All entries.
    pub(crate) fn all(&self) -> impl Iterator<Item = Entry<'a>> {
        self.lists().into_iter().flatten().copied()
    }
}
