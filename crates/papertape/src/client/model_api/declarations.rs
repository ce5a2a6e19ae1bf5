//! Tools as they are declared to a model, and the way back from its calls.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::losses::{Loss, Losses};
use super::schema::Members;
use super::{ModelApi, gemini, plain, reader, strict};
use crate::client::names::{self, LONGEST};
use crate::guess;
use crate::protocol::ToolDefinition;
use crate::wire::error::excerpt;

/// The longest description of a tool that OpenAI accepts, in characters.
const OPENAI_DESCRIPTION: usize = 1_024;

/// How many tools a model is told of that has called one that does not exist.
const MOST_NAMES: usize = 20;

/// Tools as they are declared to a model: what the request has as its `tools`, and the way back from the model's calls.
///
/// See [`ModelApi`] for an example.
#[derive(Debug, Clone)]
pub struct Declarations {
    pub(super) api: ModelApi,
    declared: Vec<Value>,
    tools: HashMap<String, DeclaredTool>,
    losses: Vec<Loss>,
}

/// What a tool is on its server.
#[derive(Debug, Clone)]
pub(super) struct DeclaredTool {
    pub(super) name: String,
    /// The arguments that have another name there.
    pub(super) renamed: HashMap<String, String>,
    /// The members of the arguments, if they are declared in strict mode.
    pub(super) strict: Option<Members>,
}

impl Declarations {
    pub(super) fn new<'a>(
        api: ModelApi,
        strict: bool,
        tools: impl IntoIterator<Item = &'a ToolDefinition>,
    ) -> Self {
        let mut declarations = Self { api, declared: Vec::new(), tools: HashMap::new(), losses: Vec::new() };
        // Tools for the pages of MCP Apps only are not for models.
        let is_for_model = |tool: &&ToolDefinition| tool.ui().is_none_or(|ui| ui.for_model());
        let tools: Vec<&ToolDefinition> = tools.into_iter().filter(is_for_model).collect();
        // A name that needs no change has precedence over one that would become the same.
        let begins = |name: &str| {
            api != ModelApi::Gemini || !name.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        };
        let fits = |name: &str| names::is_plain(name) && name.len() <= LONGEST && begins(name);
        let taken: HashMap<&str, ()> = tools.iter().map(|tool| (&*tool.name, ())).collect();
        for tool in tools {
            let name = if fits(&tool.name) {
                tool.name.clone()
            } else {
                let known = &declarations.tools;
                let is_other = |fitted: &str| {
                    taken.contains_key(fitted)
                        || known.get(fitted).is_some_and(|other| other.name != tool.name)
                };
                // Gemini's begin with a letter or an underscore.
                let start = if begins(&tool.name) { "" } else { "_" };
                names::fitted(&format!("{start}{}", tool.name), LONGEST, is_other)
            };
            declarations.add(name, tool, strict);
        }
        declarations
    }

    fn add(&mut self, declared: String, tool: &ToolDefinition, strict: bool) {
        let mut losses = Losses::default();
        if self.tools.contains_key(&declared) {
            losses.add("there are several tools of this name, and only the first was declared");
            self.losses.extend(losses.of(&tool.name));
            return;
        }
        let mut members = reader::read_arguments(&tool.input_schema, &mut losses);
        let renamed = self.rename(&mut members, &mut losses);
        let description = self.description(tool, &mut losses);
        let (parameters, is_strict) = self.parameters(&members, strict, &mut losses);
        self.declared.push(self.declaration(&declared, description, parameters, is_strict));
        let strict = is_strict.then_some(members);
        self.tools.insert(declared, DeclaredTool { name: tool.name.clone(), renamed, strict });
        self.losses.extend(losses.of(&tool.name));
    }

    fn parameters(&self, members: &Members, strict: bool, losses: &mut Losses) -> (Option<Value>, bool) {
        match self.api {
            ModelApi::Gemini => (gemini::arguments(members, losses), false),
            ModelApi::OpenAiChat | ModelApi::OpenAiResponses if strict => {
                match strict::arguments(members, losses) {
                    Ok(parameters) => (Some(parameters), true),
                    Err(why) => {
                        losses.add(format!("it is declared without strict mode: {why}"));
                        (Some(plain::arguments(members)), false)
                    }
                }
            }
            _ => (Some(plain::arguments(members)), false),
        }
    }

    fn declaration(
        &self,
        name: &str,
        description: Option<String>,
        parameters: Option<Value>,
        strict: bool,
    ) -> Value {
        let mut function = Map::new();
        let mut put = |key: &str, value: Value| drop(function.insert(key.to_owned(), value));
        if self.api == ModelApi::OpenAiResponses {
            put("type", "function".into());
        }
        put("name", name.into());
        if let Some(description) = description {
            put("description", description.into());
        }
        if let Some(parameters) = parameters {
            put(if self.api == ModelApi::Anthropic { "input_schema" } else { "parameters" }, parameters);
        }
        match self.api {
            // Responses is strict unless it is told not to be.
            ModelApi::OpenAiResponses => put("strict", strict.into()),
            ModelApi::OpenAiChat if strict => put("strict", true.into()),
            _ => {}
        }
        match self.api {
            ModelApi::OpenAiChat => json!({"type": "function", "function": function}),
            _ => Value::Object(function),
        }
    }

    /// What the model reads about the tool.
    fn description(&self, tool: &ToolDefinition, losses: &mut Losses) -> Option<String> {
        let text = [&tool.description, &tool.title].into_iter().flatten().find(|text| !text.is_empty())?;
        let is_openai = matches!(self.api, ModelApi::OpenAiChat | ModelApi::OpenAiResponses);
        if !is_openai || text.chars().count() <= OPENAI_DESCRIPTION {
            return Some(text.clone());
        }
        losses.add(format!("its description was shortened to {OPENAI_DESCRIPTION} characters"));
        Some(text.chars().take(OPENAI_DESCRIPTION - 1).chain(['…']).collect())
    }

    /// Renames the arguments whose names the API does not accept.
    fn rename(&self, members: &mut Members, losses: &mut Losses) -> HashMap<String, String> {
        let mut renamed = HashMap::new();
        if matches!(self.api, ModelApi::OpenAiChat | ModelApi::OpenAiResponses) {
            return renamed;
        }
        let taken: Vec<String> = members.properties.iter().map(|(name, _)| name.clone()).collect();
        for (name, _) in &mut members.properties {
            if names::is_plain(&name.replace('.', "_")) && name.len() <= LONGEST {
                continue;
            }
            let is_taken = |fitted: &str| taken.iter().any(|it| it == fitted) || renamed.contains_key(fitted);
            let fitted = names::fitted(name, LONGEST, is_taken);
            losses.enter(name);
            losses.add(format!("it is declared as {fitted}"));
            losses.leave();
            if members.required.remove(name) {
                members.required.insert(fitted.clone());
            }
            renamed.insert(fitted.clone(), std::mem::replace(name, fitted));
        }
        renamed
    }

    /// The value of the request's `tools`. The APIs do not accept an empty list: without tools, leave `tools` out.
    #[must_use]
    pub fn tools(&self) -> Value {
        match self.api {
            ModelApi::Gemini if self.declared.is_empty() => json!([]),
            ModelApi::Gemini => json!([{"functionDeclarations": self.declared}]),
            _ => self.declared.clone().into(),
        }
    }

    /// What a model is told that has called a tool that is not declared.
    pub(super) fn undeclared(&self, called: &str) -> String {
        let mut names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        names.sort_unstable();
        let called = (excerpt(called), guess::nearest(called, names.iter().copied()));
        names.truncate(MOST_NAMES);
        match called {
            (called, Some(nearest)) => format!("there is no tool {called}: did you mean \"{nearest}\"?"),
            (called, None) if names.is_empty() => format!("there is no tool {called}, nor any other"),
            (called, None) => format!("there is no tool {called}; these are some: {}", names.join(", ")),
        }
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// What the API does not accept and was left out, moved to a description, or renamed; the server still checks it. At
    /// most 51 for each tool.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// The tool that is declared by this name.
    pub(super) fn tool(&self, declared: &str) -> Option<&DeclaredTool> {
        self.tools.get(declared)
    }
}
