//! Prompts: templates of messages to a model, with arguments.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Once};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::protocol::{self, Completion, PromptArgument, PromptMessage, PromptResult, Revision, project};
use crate::schema;
use crate::server::catalog::registry::Listed;
use crate::server::features::completion::{Completers, CompletionRequest};
use crate::server::features::presentation::presentation_methods;
use crate::server::features::text_values;
use crate::server::features::warning;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::handler::middleware::{self, Middleware};
use crate::server::pipeline::run::{Output, Pace, Run};
use crate::wire::error::excerpt;

/// A prompt: its name, descriptions, completion and scopes. A plain name is often enough.
///
/// ```
/// use papertape::server::Prompt;
/// let prompt = Prompt::new("explain_tense").title("Explain a tense");
/// ```
pub struct Prompt {
    definition: protocol::PromptDefinition,
    arguments: ArgumentsFrom,
    completers: Completers,
    scopes: Vec<String>,
}

/// Where the arguments of a prompt are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentsFrom {
    /// The type that its handler takes.
    Type,
    /// Its definition.
    Definition,
    /// The client: any will do.
    Client,
}

impl Prompt {
    /// A prompt of that name.
    pub fn new(name: impl Into<String>) -> Self {
        let definition =
            protocol::PromptDefinition { name: name.into(), ..protocol::PromptDefinition::default() };
        Self {
            definition,
            arguments: ArgumentsFrom::Type,
            completers: Completers::default(),
            scopes: Vec::new(),
        }
    }

    /// A prompt that takes any arguments.
    pub(crate) fn of_any_arguments() -> Self {
        Self { arguments: ArgumentsFrom::Client, ..Self::new("fallback") }
    }

    presentation_methods!("What it is for. Without this, the doc comment of the arguments' type is used.");

    /// The handler that completes the values of an argument.
    #[must_use]
    pub fn complete<F, Fut>(mut self, argument: impl Into<String>, complete: F) -> Self
    where
        F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, ToolError>> + Send + 'static,
    {
        self.completers.add(argument.into(), complete);
        self
    }

    /// The same with a handler that gives the result as it goes to the client, with the total of values.
    #[must_use]
    pub fn complete_raw<F, Fut>(mut self, argument: impl Into<String>, complete: F) -> Self
    where
        F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Completion, ToolError>> + Send + 'static,
    {
        self.completers.add_raw(argument.into(), complete);
        self
    }
}

/// A prompt that is defined already, with its arguments: by another server, for example. Its handler takes a map of strings, or
/// a type with these arguments.
impl From<protocol::PromptDefinition> for Prompt {
    fn from(definition: protocol::PromptDefinition) -> Self {
        let name = definition.name.clone();
        Self { definition, arguments: ArgumentsFrom::Definition, ..Self::new(name) }
    }
}

impl From<&str> for Prompt {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Prompt {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

/// What the handler of a prompt can return.
#[diagnostic::on_unimplemented(
    message = "the handler of a prompt cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return text (`String`), which is one message of the user's, or `Vec<PromptMessage>`"
)]
pub trait PromptOutput: Send + 'static {
    /// The messages as they go to the client.
    fn into_prompt(self) -> PromptResult;
}

/// One message of the user's.
impl PromptOutput for String {
    fn into_prompt(self) -> PromptResult {
        vec![PromptMessage::user(self)].into_prompt()
    }
}

/// One message of the user's.
impl PromptOutput for &'static str {
    fn into_prompt(self) -> PromptResult {
        self.to_owned().into_prompt()
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_prompt(self) -> PromptResult {
        PromptResult { messages: self, ..PromptResult::default() }
    }
}

impl PromptOutput for PromptResult {
    fn into_prompt(self) -> PromptResult {
        self
    }
}

type Fill = dyn Fn(&BTreeMap<String, String>, Cx) -> Result<Run, String> + Send + Sync;

/// A prompt ready to be filled in.
#[derive(Clone)]
pub(crate) struct RegisteredPrompt {
    definition: protocol::PromptDefinition,
    /// It takes others than those that it is defined with.
    any_arguments: bool,
    /// The middleware of the servers that it was mounted with.
    pub(crate) middleware: Vec<Middleware>,
    pub(crate) completers: Completers,
    scopes: Vec<String>,
    fill: Arc<Fill>,
    pace: Arc<Pace>,
}

impl RegisteredPrompt {
    pub(crate) fn new<A, F, Fut, O>(prompt: Prompt, fill: F) -> Result<Self, SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        let Prompt { mut definition, arguments: arguments_from, completers, scopes } = prompt;
        if definition.name.is_empty() {
            return Err(SetupError::EmptyName { what: Self::KIND });
        }
        let bad = |problem| SetupError::Prompt { prompt: definition.name.clone(), problem };
        let schema = schema::of_arguments::<A>();
        if arguments_from == ArgumentsFrom::Type {
            definition.arguments = arguments(&schema).map_err(bad)?;
        }
        if let Some(name) =
            completers.names().find(|name| !definition.arguments.iter().any(|known| known.name == *name))
        {
            return Err(bad(format!("{name:?} is completed, but is not one of its arguments")));
        }
        if let Some(Value::String(text)) = schema.get("description") {
            definition.description.get_or_insert_with(|| text.clone());
        }
        let (name, description) = (definition.name.clone(), definition.description.clone());
        let (fill, logged) = (Arc::new(fill), Arc::new(Once::new()));
        let fill = Arc::new(move |values: &BTreeMap<String, String>, cx: Cx| {
            let values: A = text_values::read(values)?;
            let (fill, name, description) = (Arc::clone(&fill), name.clone(), description.clone());
            let logged = Arc::clone(&logged);
            let run: Run = Box::pin(async move {
                let mut result = fill(values, cx).await?.into_prompt();
                result.description = result.description.or(description);
                logged.call_once(|| warning::log(&warning::Warning::of_prompt(&name, &result)));
                Ok(Output::Prompt(result))
            });
            Ok(run)
        });
        let any_arguments = arguments_from == ArgumentsFrom::Client;
        Ok(Self {
            definition,
            any_arguments,
            middleware: Vec::new(),
            completers,
            scopes,
            fill,
            pace: Arc::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.definition.name
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The same prompt under another name, within a server with middleware of its own.
    pub(crate) fn mounted(&self, name: String, middleware: &[Middleware]) -> Self {
        let mut mounted = self.clone();
        mounted.definition.name = name;
        mounted.middleware = middleware::mounted(middleware, &self.middleware);
        mounted
    }

    /// Fills it in; the error says which argument is wrong.
    pub(crate) fn fill(&self, values: &BTreeMap<String, String>, cx: Cx) -> Result<Run, String> {
        let name = &self.definition.name;
        let known = &self.definition.arguments;
        if let Some(missing) =
            known.iter().find(|argument| argument.required && !values.contains_key(&argument.name))
        {
            return Err(format!("prompt \"{name}\": the argument \"{}\" is missing", missing.name));
        }
        let is_odd = |given: &&String| !known.iter().any(|argument| argument.name == **given);
        if let Some(odd) = values.keys().find(is_odd).filter(|_| !self.any_arguments) {
            let names: Vec<&str> = known.iter().map(|argument| argument.name.as_str()).collect();
            return Err(format!(
                "prompt \"{name}\" has no argument {}, but {}",
                excerpt(odd),
                names.join(", ")
            ));
        }
        (self.fill)(values, cx).map_err(|problem| format!("prompt \"{name}\": {problem}"))
    }
}

/// Whether it can be written as one string.
fn is_plain(schema: &Value) -> bool {
    let kinds = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.clone(),
        Some(kind) => vec![kind.clone()],
        None => Vec::new(),
    };
    let ways =
        ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|way| schema.get(way)?.as_array()).flatten();
    !kinds.iter().any(|kind| kind == "object" || kind == "array")
        && schema.get("$ref").is_none()
        && ways.into_iter().all(is_plain)
}

/// The arguments that a type has, from its schema.
fn arguments(schema: &Value) -> Result<Vec<PromptArgument>, String> {
    if schema.get("type") != Some(&Value::from("object")) || schema.get("anyOf").is_some() {
        return Err("its arguments must be a struct, or `()`".to_owned());
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, property)| {
            if !is_plain(property) {
                return Err(format!(
                    "the argument {name:?} is not a plain value, and the arguments of prompts are strings"
                ));
            }
            Ok(PromptArgument {
                name: name.clone(),
                title: None,
                description: property.get("description").and_then(Value::as_str).map(str::to_owned),
                required: required.contains(&name.as_str()),
            })
        })
        .collect()
}

impl Listed for RegisteredPrompt {
    type Definition = protocol::PromptDefinition;
    const KIND: &'static str = "prompt";
    const LIST: &'static str = "prompts";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn definition(&self, revision: Revision) -> protocol::PromptDefinition {
        project::prompt(self.definition.clone(), revision)
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }
}

impl fmt::Debug for RegisteredPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}
