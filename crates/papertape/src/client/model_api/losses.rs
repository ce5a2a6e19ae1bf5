//! What a conversion leaves out.

use std::fmt;

use serde_json::Value;

use super::schema::Schema;
use crate::wire::error::excerpt;

/// The most losses that are reported of a tool.
const MOST: usize = 50;

/// The longest value of a constraint that is told in a description.
const LONGEST_NOTE: usize = 300;

/// Something in a tool's definition that a model API does not accept, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The name of the tool.
    pub tool: String,
    /// Where it is in the arguments, such as `order/items`; empty for the tool itself.
    pub path: String,
    /// What it is.
    pub problem: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tool {}", excerpt(&self.tool))?;
        if !self.path.is_empty() {
            write!(f, ", argument {}", excerpt(&self.path))?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// The losses of one tool, and the place that the conversion is at.
#[derive(Debug, Default)]
pub(super) struct Losses {
    path: Vec<String>,
    found: Vec<(String, String)>,
    more: usize,
}

impl Losses {
    pub(super) fn enter(&mut self, segment: &str) {
        self.path.push(segment.to_owned());
    }

    pub(super) fn leave(&mut self) {
        self.path.pop();
    }

    pub(super) fn add(&mut self, problem: impl Into<String>) {
        if self.found.len() >= MOST {
            self.more += 1;
            return;
        }
        let (path, problem) = (self.path.join("/"), problem.into());
        if !self.found.contains(&(path.clone(), problem.clone())) {
            self.found.push((path, problem));
        }
    }

    /// Those of the tool of this name.
    pub(super) fn of(self, tool: &str) -> impl Iterator<Item = Loss> {
        let more = (self.more > 0).then(|| (String::new(), format!("{} further losses", self.more)));
        self.found.into_iter().chain(more).map(move |(path, problem)| Loss {
            tool: tool.to_owned(),
            path,
            problem,
        })
    }
}

/// Tells the model in the description what the schema cannot say.
pub(super) fn note(description: &mut Option<String>, losses: &mut Losses, keyword: &str, value: &Value) {
    note_as(keyword, description, losses, keyword, value);
}

/// The same in other words than the keyword.
pub(super) fn note_as(
    words: &str,
    description: &mut Option<String>,
    losses: &mut Losses,
    keyword: &str,
    value: &Value,
) {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if value.chars().count() <= LONGEST_NOTE {
        losses.add(format!("`{keyword}` was moved to the description"));
        Schema::describe(description, &format!("({words}: {value})"));
    } else {
        losses.add(format!("`{keyword}` was left out"));
    }
}
