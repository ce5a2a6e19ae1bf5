//! A tool: its definition, its checked schemas, and the function that does the work.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use jsonschema::Validator;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::Arguments;
use super::around::{self, Hook};
use super::call::{Output, Run};
use super::check;
use super::context::Cx;
use super::error::{SetupError, ToolError};
use super::output::ToolOutput;
use super::pace::Pace;
use super::registry::Offer;
use super::whole::{has_fractions, without_fractions};
use crate::link::Kind;
use crate::protocol::content::Icon;
use crate::protocol::tools::{CallToolResult, ToolAnnotations, ToolDefinition};
use crate::protocol::{Revision, mirror, project};
use crate::schema::{self, Explain, Input, Violation};

/// What a tool is called and how it presents itself; a plain name will often do.
///
/// ```
/// use papertape::Tool;
/// let tool = Tool::new("word_count").title("Word count").read_only();
/// ```
pub struct Tool {
    definition: ToolDefinition,
    explain: Option<Box<Explain>>,
    promise: Promise,
    scopes: Vec<String>,
}

/// Whether the calls of a tool become tasks.
#[derive(Debug, Clone, Default)]
struct Promise {
    /// They do, for clients that can wait.
    made: bool,
    /// Clients that cannot are refused.
    only: bool,
    /// The questions that are asked before there is a task.
    after: Vec<String>,
}

impl Tool {
    /// A tool of that name.
    pub fn new(name: impl Into<String>) -> Self {
        let definition = ToolDefinition {
            name: name.into(),
            title: None,
            description: None,
            input_schema: Value::Null,
            output_schema: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        };
        Self { definition, explain: None, promise: Promise::default(), scopes: Vec::new() }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What it does. Without this, the doc comment of the arguments' type is used.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// The arguments' JSON Schema, in place of the one made from a type.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.definition.input_schema = schema;
        self
    }

    /// The structured result's JSON Schema, in place of the one made from a type.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.definition.output_schema = Some(schema);
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint(|hints| {
            hints.read_only_hint = Some(true);
            hints.destructive_hint = Some(false);
        })
    }

    /// It adds, but destroys nothing.
    #[must_use]
    pub fn additive(self) -> Self {
        self.hint(|hints| hints.destructive_hint = Some(false))
    }

    /// Twice is as good as once.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint = Some(true))
    }

    /// It does not reach into the world outside.
    #[must_use]
    pub fn closed_world(self) -> Self {
        self.hint(|hints| hints.open_world_hint = Some(false))
    }

    /// A picture of it.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// A `_meta` entry, passed on untouched.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: Value) -> Self {
        self.definition.meta.get_or_insert_default().insert(key.into(), value);
        self
    }

    /// The tool's own words for arguments its schema does not allow; `None` leaves it to the general ones.
    #[must_use]
    pub fn explain(
        mut self,
        words: impl Fn(&Violation<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.explain = Some(Box::new(words));
        self
    }

    /// It may take so long that a client would rather ask for its result later: for clients that can, its calls become
    /// tasks.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.promise.made = true;
        self
    }

    /// What whoever asks must be allowed to do, where a server asks who they are (on HTTP); others are refused with 403.
    ///
    /// Where nobody is asked who they are (stdio, or HTTP without authorization), scopes stop nobody.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// It takes so long that no client can wait for its answer: its calls become tasks, and clients that know none are
    /// refused.
    #[must_use]
    pub fn task_only(mut self) -> Self {
        self.promise.only = true;
        self.long_running()
    }

    /// A question that is asked before there is a task: the call becomes one when it has been answered. Other questions
    /// are asked by the task itself.
    #[must_use]
    pub fn task_after(mut self, question: impl Into<String>) -> Self {
        self.promise.after.push(question.into());
        self.long_running()
    }

    fn hint(mut self, change: impl FnOnce(&mut ToolAnnotations)) -> Self {
        change(self.definition.annotations.get_or_insert_default());
        self
    }
}

impl From<&str> for Tool {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Tool {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

/// Starts a call with arguments that the schema allows; the error says why the tool cannot read them all the same.
type Start = dyn Fn(Arguments, Cx) -> Result<Run, String> + Send + Sync;

/// A tool ready to be called.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) definition: ToolDefinition,
    /// Those of the servers within which it is mounted.
    pub(crate) hooks: Vec<Hook>,
    work: Arc<Work>,
}

/// What a tool does, under whatever name.
struct Work {
    input: Input,
    output: Option<Validator>,
    start: Box<Start>,
    promise: Promise,
    scopes: Vec<String>,
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has headers"))]
    mirrored: Vec<(String, Vec<String>)>,
    pace: Pace,
}

impl Registered {
    /// A tool whose schemas come from the types of its function.
    pub(crate) fn typed<A, F, Fut, O>(mut tool: Tool, handler: F) -> Result<Self, SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let mut checked = None;
        if tool.definition.input_schema.is_null() {
            let mut schema = schema::of_arguments::<A>();
            // The doc comment of the arguments' type describes the tool.
            if let Some(Value::String(text)) =
                schema.as_object_mut().and_then(|root| root.shift_remove("description"))
            {
                tool.definition.description.get_or_insert(text);
            }
            checked = Some(schema::refuse_unknown(&schema));
            tool.definition.input_schema = schema;
        }
        let handler = Arc::new(handler);
        Self::new::<O>(
            tool,
            checked,
            Box::new(move |arguments: Arguments, cx| {
                let arguments = arguments.read(read_arguments)?;
                let handler = Arc::clone(&handler);
                // All of the author's code runs within the call, where it is timed and its panics are caught.
                Ok(Box::pin(async move { handler(arguments, cx).await?.into_result().map(Output::Tool) }))
            }),
        )
    }

    /// A tool with a schema given as JSON, and arguments handed on as they are.
    pub(crate) fn raw<F, Fut, O>(tool: Tool, handler: F) -> Result<Self, SetupError>
    where
        F: Fn(Value, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let handler = Arc::new(handler);
        Self::new::<O>(
            tool,
            None,
            Box::new(move |arguments: Arguments, cx| {
                let arguments = arguments.into_value()?;
                let handler = Arc::clone(&handler);
                Ok(Box::pin(async move { handler(arguments, cx).await?.into_result().map(Output::Tool) }))
            }),
        )
    }

    /// `checked` is what arguments are held against, if not the schema that clients see.
    fn new<O: ToolOutput>(tool: Tool, checked: Option<Value>, start: Box<Start>) -> Result<Self, SetupError> {
        let Tool { mut definition, explain, promise, scopes } = tool;
        if definition.name.is_empty() {
            return Err(SetupError::EmptyName { what: Self::WHAT });
        }
        let bad = |which, problem| SetupError::Schema { tool: definition.name.clone(), which, problem };
        if definition.input_schema.is_null() {
            return Err(bad("input", "there is none: give it one with `Tool::input_schema`".to_owned()));
        }
        let checked = checked.unwrap_or_else(|| definition.input_schema.clone());
        let input = Input::new(checked, explain).map_err(|problem| bad("input", problem))?;
        if definition.input_schema.get("type") != Some(&Value::from("object")) {
            let problem = "arguments are an object, so its root must have \"type\": \"object\" (make their type a struct)";
            return Err(bad("input", problem.to_owned()));
        }
        let mirrored =
            mirror::annotations(&definition.input_schema).map_err(|problem| bad("input", problem))?;
        let output_schema = definition.output_schema.take().or_else(O::output_schema);
        let output = output_schema
            .as_ref()
            .map(schema::compile)
            .transpose()
            .map_err(|problem| bad("output", problem))?;
        definition.output_schema = output_schema;
        check::log(&check::tool(&definition));
        Ok(Self {
            definition,
            hooks: Vec::new(),
            work: Arc::new(Work { input, output, start, promise, mirrored, scopes, pace: Pace::default() }),
        })
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.work.pace
    }

    /// The arguments that are mirrored in headers on HTTP, each with the members that lead to it.
    #[cfg(feature = "http")]
    pub(crate) fn mirrored(&self) -> &[(String, Vec<String>)] {
        &self.work.mirrored
    }

    /// Whether its calls may become tasks.
    pub(crate) fn is_long_running(&self) -> bool {
        self.work.promise.made
    }

    /// Whether it is for clients alone that can wait for tasks.
    pub(crate) fn is_task_only(&self) -> bool {
        self.work.promise.only
    }

    /// The questions that are asked before there is a task.
    pub(crate) fn asked_first(&self) -> &[String] {
        &self.work.promise.after
    }

    /// The same tool under another name, within a server with hooks.
    pub(crate) fn mounted(&self, name: String, hooks: &[Hook]) -> Self {
        let mut mounted = self.clone();
        mounted.definition.name = name;
        mounted.hooks = around::mounted(hooks, &self.hooks);
        mounted
    }

    /// Checks the arguments (`size` bytes of JSON) and starts the call; the error is what to tell whoever called.
    pub(crate) fn start(&self, mut arguments: Arguments, size: usize, cx: Cx) -> Result<Run, String> {
        let name = &self.definition.name;
        self.work.input.leave_out_nulls(arguments.rounded_mut());
        if let Some(problem) = self.work.input.violations(name, arguments.rounded(), size) {
            return Err(problem);
        }
        (self.work.start)(arguments, cx)
            .map_err(|problem| format!("invalid arguments for tool \"{name}\": {problem}"))
    }

    /// Whether its structured result may be something else than an object.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.definition.output_schema.as_ref().is_some_and(project::is_wrapped)
    }

    /// What is wrong with a result, if anything is.
    pub(crate) fn check_output(&self, result: &CallToolResult) -> Option<String> {
        let validator = self.work.output.as_ref()?;
        // What a failure must look like, no schema says.
        if result.is_error {
            return None;
        }
        let Some(value) = &result.structured_content else {
            return Some("it has an output schema but returned no structured content".to_owned());
        };
        let violation = schema::first_violation(validator, &value.rounded())?;
        Some(format!("its structured content breaks its output schema {violation}"))
    }
}

impl Offer for Registered {
    type Definition = ToolDefinition;
    const WHAT: &'static str = "tool";
    const LIST: &'static str = "tools";
    const KIND: Kind = Kind::Tools;

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn definition(&self, revision: Revision) -> ToolDefinition {
        project::tool(self.definition.clone(), revision)
    }

    fn scopes(&self) -> &[String] {
        &self.work.scopes
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

fn read_arguments<A: DeserializeOwned>(arguments: Value) -> Result<A, String> {
    // A unit type takes no arguments and reads as null.
    if arguments.as_object().is_some_and(serde_json::Map::is_empty) {
        return serde_json::from_value(arguments)
            .or_else(|e| serde_json::from_value(Value::Null).map_err(|_| e.to_string()));
    }
    let spare = has_fractions(&arguments).then(|| arguments.clone());
    serde_json::from_value(arguments).or_else(|e| {
        let Some(mut spare) = spare else { return Err(e.to_string()) };
        without_fractions(&mut spare);
        serde_json::from_value(spare).map_err(|_| e.to_string())
    })
}
