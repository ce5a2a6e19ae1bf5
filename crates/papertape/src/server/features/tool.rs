//! Tools: definition, validated schemas, handler, and what that may return.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use papertape_schema::Validator;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::protocol::apps::{APP_SCHEME, ToolUi, UI, is_page_uri};
use crate::protocol::tools::{CallToolResult, ToolAnnotations, ToolDefinition};
use crate::protocol::{Content, RawJson, Revision, param_headers, project};
use crate::schema::{self, Explain, Input, Violation};
use crate::server::catalog::registry::{ForApps, Listed};
use crate::server::features::integers::{has_fractions, without_fractions};
use crate::server::features::presentation::presentation_methods;
use crate::server::features::warning;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::handler::middleware::{self, Middleware};
use crate::server::pipeline::prepare::Arguments;
use crate::server::pipeline::run::{Output, Pace, Run};

/// A tool: its name, descriptions, annotations and scopes. A plain name is often enough.
///
/// ```
/// use papertape::server::Tool;
/// let tool = Tool::new("word_count").title("Word count").read_only();
/// ```
pub struct Tool {
    definition: ToolDefinition,
    explain: Option<Box<Explain>>,
    task_mode: TaskMode,
    scopes: Vec<String>,
    /// The page that it was given here, which must be there.
    page: Option<String>,
    unchecked: bool,
}

/// Whether the calls of a tool become tasks.
#[derive(Debug, Clone, Default)]
struct TaskMode {
    /// They do, for clients that support tasks.
    enabled: bool,
    /// Clients that do not are refused.
    only: bool,
    /// The input requests that are made before there is a task.
    after: Vec<String>,
    /// Its handler decides, while it runs.
    late: bool,
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
        Self {
            definition,
            explain: None,
            task_mode: TaskMode::default(),
            scopes: Vec::new(),
            page: None,
            unchecked: false,
        }
    }

    presentation_methods!("What it does. Without this, the doc comment of the arguments' type is used.");

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

    /// It does not modify its environment (`readOnlyHint`).
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint(|hints| {
            hints.read_only_hint = Some(true);
            hints.destructive_hint = Some(false);
        })
    }

    /// Its changes are only additive (`destructiveHint: false`).
    #[must_use]
    pub fn additive(self) -> Self {
        self.hint(|hints| hints.destructive_hint = Some(false))
    }

    /// Repeating the call with the same arguments has no further effect (`idempotentHint`).
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint = Some(true))
    }

    /// It does not interact with external entities (`openWorldHint: false`).
    #[must_use]
    pub fn closed_world(self) -> Self {
        self.hint(|hints| hints.open_world_hint = Some(false))
    }

    /// Its schemas are shown to clients as they are, and neither arguments nor results are validated against them: for a tool of
    /// another server, which does that itself and whose schemas may be invalid.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// The tool's own error message for invalid arguments; `None` leaves it to the general one.
    #[must_use]
    pub fn explain(
        mut self,
        words: impl Fn(&Violation<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.explain = Some(Box::new(words));
        self
    }

    /// It may take long: for clients that support tasks, its calls become tasks.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.task_mode.enabled = true;
        self
    }

    /// Its handler may turn a call into a task while it runs: [`Cx::become_task`].
    #[must_use]
    pub fn may_become_task(mut self) -> Self {
        self.task_mode.late = true;
        self
    }

    /// It takes so long that no client can wait for its response: its calls become tasks, and clients without tasks are
    /// refused.
    #[must_use]
    pub fn task_only(mut self) -> Self {
        self.task_mode.only = true;
        self.long_running()
    }

    /// The name of an input request that is made before there is a task: the call becomes one when it has its response. Other
    /// input is requested by the task itself.
    #[must_use]
    pub fn task_after(mut self, request: impl Into<String>) -> Self {
        self.task_mode.after.push(request.into());
        self.long_running()
    }

    /// The page (`ui://…`, see [`App`](crate::server::App)) in which hosts with MCP Apps show its results.
    ///
    /// Other clients are not told of the page and get the result alone, so it must be complete without the page. A handler can
    /// tell them apart with [`Cx::client_supports_apps`].
    #[must_use]
    pub fn ui(mut self, page: impl Into<String>) -> Self {
        let page = page.into();
        self.page = Some(page.clone());
        self.change_ui(|ui| ui.resource_uri = Some(page))
    }

    /// It is for pages only: hosts do not offer it to models, and it is not listed for clients without MCP Apps.
    #[must_use]
    pub fn app_only(self) -> Self {
        self.change_ui(|ui| ui.visibility = Some(vec!["app".to_owned()]))
    }

    /// It is for models only: hosts reject calls from pages.
    #[must_use]
    pub fn model_only(self) -> Self {
        self.change_ui(|ui| ui.visibility = Some(vec!["model".to_owned()]))
    }

    fn change_ui(self, change: impl FnOnce(&mut ToolUi)) -> Self {
        let mut ui = self.definition.ui().unwrap_or_default();
        change(&mut ui);
        self.meta(UI, serde_json::to_value(ui).unwrap_or_default())
    }

    fn hint(mut self, change: impl FnOnce(&mut ToolAnnotations)) -> Self {
        change(self.definition.annotations.get_or_insert_default());
        self
    }
}

/// A tool that is defined already: by another server, for example. Its handler takes a
/// [`RawJson`], or what its input schema describes.
impl From<ToolDefinition> for Tool {
    fn from(definition: ToolDefinition) -> Self {
        Self {
            definition,
            explain: None,
            task_mode: TaskMode::default(),
            scopes: Vec::new(),
            page: None,
            unchecked: false,
        }
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

/// Something a tool can return.
#[diagnostic::on_unimplemented(
    message = "the handler of a tool cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return `Json({Self})`, for which `{Self}` must implement `serde::Serialize` and `schemars::JsonSchema`",
    note = "or text (`String`), content (`Vec<Content>`), a `CallToolResult`, or nothing (`()`)"
)]
pub trait ToolOutput: Send + 'static {
    /// The JSON Schema of the structured result, if there is one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result as it goes to the client.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    fn into_result(self) -> Result<CallToolResult, ToolError>;
}

/// A structured result: any serialisable value, with a schema made from its type.
///
/// The client gets it as structured content and, for those that only read text, as the same JSON in a text block.
///
/// ```
/// use papertape::{Cx, Json, ToolError};
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Size {
///     width: u32,
///     height: u32,
/// }
///
/// async fn size(_: (), _: Cx) -> Result<Json<Size>, ToolError> {
///     Ok(Json(Size { width: 4, height: 3 }))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> ToolOutput for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(schema::of_result::<T>())
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        // Written from the value itself, so that it keeps the order of its fields and every digit of its numbers.
        let json = RawJson::write(&self.0).map_err(ToolError::internal)?;
        let text = json.get().to_owned();
        Ok(CallToolResult { structured_content: Some(json), ..CallToolResult::new(text) })
    }
}

impl ToolOutput for String {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(self))
    }
}

impl ToolOutput for &'static str {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(self))
    }
}

/// No content.
impl ToolOutput for () {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::default())
    }
}

impl ToolOutput for Content {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult { content: vec![self], ..CallToolResult::default() })
    }
}

impl ToolOutput for Vec<Content> {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult { content: self, ..CallToolResult::default() })
    }
}

impl ToolOutput for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

/// Starts a call with arguments that the schema allows; the error says why the tool cannot read them all the same.
type Start = dyn Fn(Arguments, Cx) -> Result<Run, String> + Send + Sync;

/// A tool ready to be called.
#[derive(Clone)]
pub(crate) struct RegisteredTool {
    pub(crate) definition: ToolDefinition,
    /// The middleware of the servers that it was mounted with.
    pub(crate) middleware: Vec<Middleware>,
    work: Arc<Work>,
}

/// The handler of a tool and its schemas, under whatever name.
struct Work {
    input: Input,
    output: Option<Validator>,
    start: Box<Start>,
    task_mode: TaskMode,
    /// The page that it was given here, which must be there.
    page: Option<String>,
    scopes: Vec<String>,
    #[cfg_attr(not(feature = "http-server"), expect(dead_code, reason = "only HTTP has headers"))]
    mirrored: Vec<(String, Vec<String>)>,
    pace: Pace,
}

impl RegisteredTool {
    /// A tool whose schemas come from the types of its handler.
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

    /// `checked` is the schema that arguments are validated against, if not the one that clients see.
    fn new<O: ToolOutput>(tool: Tool, checked: Option<Value>, start: Box<Start>) -> Result<Self, SetupError> {
        let Tool { mut definition, explain, task_mode, scopes, page, unchecked } = tool;
        if definition.name.is_empty() {
            return Err(SetupError::EmptyName { what: Self::KIND });
        }
        if let Some(uri) = page.clone().filter(|uri| !is_page_uri(uri)) {
            let problem = format!(
                "tool \"{}\" names it as its page, but the URI of a page begins with {APP_SCHEME}",
                definition.name
            );
            return Err(SetupError::App { uri, problem });
        }
        let bad = |which, problem| SetupError::Schema { tool: definition.name.clone(), which, problem };
        if unchecked {
            let schema = json!({"type": "object"});
            let input = Input::new(schema.clone(), None).map_err(|problem| bad("input", problem))?;
            if definition.input_schema.is_null() {
                definition.input_schema = schema;
            }
            let mirrored = param_headers::annotations(&definition.input_schema).unwrap_or_default();
            let pace = Pace::default();
            let work = Work { input, output: None, start, task_mode, page, mirrored, scopes, pace };
            return Ok(Self { definition, middleware: Vec::new(), work: Arc::new(work) });
        }
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
            param_headers::annotations(&definition.input_schema).map_err(|problem| bad("input", problem))?;
        let output_schema = definition.output_schema.take().or_else(O::output_schema);
        let output = output_schema
            .as_ref()
            .map(schema::compile)
            .transpose()
            .map_err(|problem| bad("output", problem))?;
        definition.output_schema = output_schema;
        warning::log(&warning::tool(&definition));
        Ok(Self {
            definition,
            middleware: Vec::new(),
            work: Arc::new(Work {
                input,
                output,
                start,
                task_mode,
                page,
                mirrored,
                scopes,
                pace: Pace::default(),
            }),
        })
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.work.pace
    }

    /// The page that must be there. That of a tool of another server may be elsewhere.
    pub(crate) fn page(&self) -> Option<&str> {
        self.work.page.as_deref()
    }

    /// The arguments that are mirrored in headers on HTTP, each with the members that lead to it.
    #[cfg(feature = "http-server")]
    pub(crate) fn mirrored(&self) -> &[(String, Vec<String>)] {
        &self.work.mirrored
    }

    /// Whether its calls may become tasks.
    pub(crate) fn is_long_running(&self) -> bool {
        self.work.task_mode.enabled
    }

    /// Whether its handler may turn a call into a task.
    pub(crate) fn may_become_task(&self) -> bool {
        self.work.task_mode.late
    }

    /// Whether it needs a client that supports tasks.
    pub(crate) fn is_task_only(&self) -> bool {
        self.work.task_mode.only
    }

    /// The input requests that are made before there is a task.
    pub(crate) fn asked_first(&self) -> &[String] {
        &self.work.task_mode.after
    }

    /// The same tool under another name, within a server with middleware of its own.
    pub(crate) fn mounted(&self, name: String, middleware: &[Middleware]) -> Self {
        let mut mounted = self.clone();
        mounted.definition.name = name;
        mounted.middleware = middleware::mounted(middleware, &self.middleware);
        mounted
    }

    /// Checks the arguments (`size` bytes of JSON) and starts the call; the error is for the client.
    pub(crate) fn start(&self, mut arguments: Arguments, size: usize, cx: Cx) -> Result<Run, String> {
        let (name, input) = (&self.definition.name, &self.work.input);
        if arguments.may_have_null() {
            input.leave_out_nulls(arguments.rounded_mut());
        }
        if !input.validator.is_valid(arguments.rounded()) {
            return Err(input.violations(name, arguments.rounded(), size));
        }
        (self.work.start)(arguments, cx)
            .map_err(|problem| format!("invalid arguments for tool \"{name}\": {problem}"))
    }

    /// Whether its structured result may be something else than an object.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.definition.output_schema.as_ref().is_some_and(project::is_wrapped)
    }

    /// The problem with a result, if there is one.
    pub(crate) fn check_output(&self, result: &CallToolResult) -> Option<String> {
        let validator = self.work.output.as_ref()?;
        // An output schema does not describe failures.
        if result.is_error {
            return None;
        }
        let Some(value) = &result.structured_content else {
            return Some("it has an output schema but returned no structured content".to_owned());
        };
        let value = value.rounded();
        if validator.is_valid(&value) {
            return None;
        }
        let violation = schema::first_violation(validator, &value)?;
        Some(format!("its structured content breaks its output schema {violation}"))
    }
}

impl Listed for RegisteredTool {
    type Definition = ToolDefinition;
    const KIND: &'static str = "tool";
    const LIST: &'static str = "tools";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn for_apps(&self) -> ForApps {
        match self.definition.ui() {
            None => ForApps::Same,
            Some(ui) if ui.for_model() => ForApps::Page,
            Some(_) => ForApps::Only,
        }
    }

    fn without_page(mut definition: ToolDefinition) -> ToolDefinition {
        definition.take_ui();
        definition
    }

    fn definition(&self, revision: Revision) -> ToolDefinition {
        project::tool(self.definition.clone(), revision)
    }

    fn scopes(&self) -> &[String] {
        &self.work.scopes
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

pub(crate) fn read_arguments<A: DeserializeOwned>(arguments: Value) -> Result<A, String> {
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
