//! Requests: tools, resources, prompts, completion, ping, and any other method.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::Client;
use super::error::{ClientError, ErrorKind, NOT_SENT};
use super::input_rounds::RawOutcome;
use super::options::{CallOptions, OnProgress, OnStatus, Timeouts};
use super::session::{Failure, OWN_ID, OutgoingRequest, Params, result_type};
use super::tasks::TaskWait;
use crate::protocol::error_code::HEADER_MISMATCH;
use crate::protocol::meta::LOG_LEVEL;
use crate::protocol::{
    CallToolResult, Completion, PromptResult, RawJson, Reference, ResourceContents, method, project,
};
use crate::schema;
use crate::sync::lock;
use crate::wire::RpcError;
use crate::wire::error::excerpt;

impl Client {
    /// Calls a tool. If the call becomes a task, waits for its result; [`Client::call_task`] does not.
    ///
    /// The arguments are `json!({..})` or another [`Value`], or [`RawJson`] if they have numbers that no `Value` can hold;
    /// [`Client::call_as`] takes a type of your own. A tool that ran and failed is a result too: see
    /// [`CallToolResult::is_error`]. If the future is dropped, the call or its task is cancelled.
    ///
    /// # Errors
    /// If no result arrived; see [`ClientError`].
    pub async fn call(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
    ) -> Result<CallToolResult, ClientError> {
        self.call_with(tool, arguments, CallOptions::new()).await
    }

    /// [`Client::call`] with options.
    ///
    /// # Errors
    /// If no result arrived.
    pub async fn call_with(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<CallToolResult, ClientError> {
        self.call_raw(tool, arguments, options).await.map(|(result, _)| result)
    }

    /// [`Client::call_with`] that also returns the JSON of the result as it was received, with every member and every digit.
    ///
    /// # Errors
    /// If no result arrived.
    pub async fn call_raw(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<(CallToolResult, RawJson), ClientError> {
        let (operation, wait) = (calling(tool), TaskWait::new(self, &options));
        match self.begin_call(&operation, tool, arguments.into(), options).await? {
            (RawOutcome::Complete(raw), _) => self.read_tool_result(&operation, Some(tool), raw),
            (RawOutcome::Task(raw), on_status) => {
                // In a box, so that the futures of ordinary calls are no larger.
                let waited = Box::pin(wait.for_created(self, &raw, on_status)).await;
                let raw = waited.map_err(|failure| self.session().error(&operation, failure))?;
                self.read_tool_result(&operation, Some(tool), raw)
            }
        }
    }

    /// Sends a tool call: its complete result or the task that it has become, and the callback for the states of that.
    pub(super) async fn begin_call(
        &self,
        operation: &str,
        tool: &str,
        arguments: RawJson,
        options: CallOptions,
    ) -> Result<(RawOutcome, Option<OnStatus>), ClientError> {
        let timeouts = options.timeouts(self.timeouts());
        let mut params = Params::new([("name", tool.into())]);
        params.push_raw("arguments", arguments);
        params.push_meta(options.meta);
        let called = self.call_tool(params, timeouts, options.on_progress).await;
        let outcome = called.map_err(|failure| self.session().error(operation, failure))?;
        Ok((outcome, options.on_status))
    }

    /// The result of a call, validated against the tool's output schema if the tool is known and listed.
    pub(super) fn read_tool_result(
        &self,
        operation: &str,
        tool: Option<&str>,
        raw: Box<RawValue>,
    ) -> Result<(CallToolResult, RawJson), ClientError> {
        let result: CallToolResult = self.read_result(operation, &raw)?;
        match tool.and_then(|tool| self.output_violation(tool, &result)) {
            None => Ok((result, raw.into())),
            Some(problem) => {
                Err(self.session().error(operation, Failure::protocol(problem, raw.get().as_bytes())))
            }
        }
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// If the server does not return its contents.
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, ClientError> {
        self.read_with(uri, CallOptions::new()).await
    }

    /// [`Client::read`] with options.
    ///
    /// # Errors
    /// If the server does not return its contents.
    pub async fn read_with(
        &self,
        uri: &str,
        options: CallOptions,
    ) -> Result<Vec<ResourceContents>, ClientError> {
        #[derive(Deserialize)]
        struct ReadResult {
            contents: Vec<ResourceContents>,
        }
        let operation = format!("reading the resource {}", excerpt(uri));
        let params = Params::new([("uri", uri.into())]);
        let raw = self
            .request_with_input(method::RESOURCES_READ, params, options)
            .await
            .map_err(|failure| self.session().error(&operation, failure))?;
        self.read_result(&operation, &raw).map(|result: ReadResult| result.contents)
    }

    /// Gets a prompt with its arguments filled in. The values of arguments are strings: `json!({"file": "main.rs"})`.
    ///
    /// # Errors
    /// If the server does not return it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
    ) -> Result<PromptResult, ClientError> {
        self.prompt_with(name, arguments, CallOptions::new()).await
    }

    /// [`Client::prompt`] with options.
    ///
    /// # Errors
    /// If the server does not return it.
    pub async fn prompt_with(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<PromptResult, ClientError> {
        let operation = format!("getting the prompt {}", excerpt(name));
        let mut params = Params::new([("name", name.into())]);
        let arguments = arguments.into();
        if arguments.get() != "{}" {
            params.push_raw("arguments", arguments);
        }
        let raw = self
            .request_with_input(method::PROMPTS_GET, params, options)
            .await
            .map_err(|failure| self.session().error(&operation, failure))?;
        self.read_result(&operation, &raw)
    }

    /// Completes the value of an argument, given its beginning; `known` are the values of other arguments.
    ///
    /// # Errors
    /// If the server does not return a completion.
    pub async fn complete(
        &self,
        of: Reference,
        argument: &str,
        value: &str,
        known: Map<String, Value>,
    ) -> Result<Completion, ClientError> {
        self.complete_with(of, argument, value, known, CallOptions::new()).await
    }

    /// [`Client::complete`] with options.
    ///
    /// # Errors
    /// If the server does not return a completion.
    pub async fn complete_with(
        &self,
        of: Reference,
        argument: &str,
        value: &str,
        known: Map<String, Value>,
        options: CallOptions,
    ) -> Result<Completion, ClientError> {
        #[derive(Deserialize)]
        struct CompleteResult {
            completion: Completion,
        }
        let operation = format!("completing the argument {}", excerpt(argument));
        let reference = serde_json::to_value(&of).unwrap_or_default();
        let mut params =
            Params::new([("ref", reference), ("argument", json!({"name": argument, "value": value}))]);
        let context = (!known.is_empty()).then(|| json!({"arguments": known}));
        if let Some(context) = project::completion_context(context, self.revision()) {
            params.push("context", context);
        }
        let raw = self
            .request_once(method::COMPLETE, params, options)
            .await
            .map_err(|failure| self.session().error(&operation, failure))?;
        self.read_result(&operation, &raw).map(|result: CompleteResult| result.completion)
    }

    /// Checks that the server responds: with `ping`, or with `server/discover` in revisions without `ping`.
    ///
    /// # Errors
    /// If it does not.
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.ping_with(CallOptions::new()).await
    }

    /// [`Client::ping`] with options.
    ///
    /// # Errors
    /// If the server does not respond.
    pub async fn ping_with(&self, options: CallOptions) -> Result<(), ClientError> {
        let method = if self.revision().opens_with_handshake() { method::PING } else { method::DISCOVER };
        self.request_once(method, Params::default(), options)
            .await
            .map(drop)
            .map_err(|failure| self.session().error("pinging the server", failure))
    }

    /// Sends a notification of one's own, or of an extension: nothing responds to it. In session-based revisions it may also be
    /// `notifications/roots/list_changed`.
    ///
    /// # Errors
    /// If it is another notification of MCP, `params` are not an object, or the server does not read what it is sent.
    pub fn notify(&self, method: &str, params: impl Into<RawJson>) -> Result<(), ClientError> {
        let failed = |failure| self.session().error(format!("the notification {}", excerpt(method)), failure);
        let is_roots = method == method::ROOTS_CHANGED && self.revision().opens_with_handshake();
        if method::is_standard(method) && !is_roots {
            let kind =
                ErrorKind::NotOffered("notifications of MCP, which the client sends itself".to_owned());
            return Err(failed(Failure::new(kind, NOT_SENT)));
        }
        let Some(mut params) = Params::from_json(&params.into()) else {
            let kind = ErrorKind::InvalidArguments("`params` must be an object".to_owned());
            return Err(failed(Failure::new(kind, NOT_SENT)));
        };
        if !self.revision().opens_with_handshake() {
            params.push_meta(self.meta(false));
        }
        if self.session().notify_if_room(method, &params) {
            return Ok(());
        }
        Err(failed(Failure::new(ErrorKind::Closed, "the session has ended, or the server does not read")))
    }

    /// Sends any request and returns its `result`. `params` must be an object; `_meta` is added where the revision requires
    /// it. The result is returned as it is: in 2026-07-28 with its `resultType` and `_meta`, and also if it requests input or is a
    /// task. [`Client::request_as`] is the same in all revisions.
    ///
    /// # Errors
    /// If no result arrived, or one with a number that no [`Value`] can hold; [`Client::request_raw`] returns that.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.request_with(method, params, CallOptions::new()).await
    }

    /// [`Client::request`] with options. A `_meta` in `params` takes precedence over [`CallOptions::meta`].
    ///
    /// # Errors
    /// If no result arrived, or one with a number that no [`Value`] can hold.
    pub async fn request_with(
        &self,
        method: &str,
        params: Value,
        options: CallOptions,
    ) -> Result<Value, ClientError> {
        let result = self.request_raw_with(method, params, options).await?;
        result.to_value().map_err(|inexact| {
            let failure = Failure::new(ErrorKind::Inexact(inexact), "the response arrived");
            self.session().error(format!("the request {}", excerpt(method)), failure)
        })
    }

    /// [`Client::request`] with JSON as text, in which numbers have any size.
    ///
    /// # Errors
    /// If no result arrived.
    pub async fn request_raw(
        &self,
        method: &str,
        params: impl Into<RawJson>,
    ) -> Result<RawJson, ClientError> {
        self.request_raw_with(method, params, CallOptions::new()).await
    }

    /// [`Client::request_raw`] with options.
    ///
    /// # Errors
    /// If no result arrived.
    pub async fn request_raw_with(
        &self,
        method: &str,
        params: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<RawJson, ClientError> {
        let failed = |failure| self.session().error(format!("the request {}", excerpt(method)), failure);
        let Some(mut params) = Params::from_json(&params.into()) else {
            let error = RpcError::invalid_params("`params` must be an object");
            return Err(failed(Failure::new(ErrorKind::Rpc(error), "the request was not sent")));
        };
        let timeouts = options.timeouts(self.timeouts());
        params.push_meta(options.meta);
        let deadline = Instant::now() + timeouts.total;
        let raw = self
            .request_any_result(method, params, timeouts, deadline, options.on_progress)
            .await
            .map_err(failed)?;
        if !self.revision().opens_with_handshake() {
            result_type::check_known(&raw).map_err(|failure| failed(*failure))?;
        }
        Ok(raw.into())
    }

    /// One request and its complete result.
    pub(super) async fn request_once(
        &self,
        method: &str,
        mut params: Params,
        options: CallOptions,
    ) -> Result<Box<RawValue>, Failure> {
        let timeouts = options.timeouts(self.timeouts());
        params.push_meta(options.meta);
        let deadline = Instant::now() + timeouts.total;
        self.request_complete_result(method, params, timeouts, deadline, options.on_progress).await
    }

    /// A tool call. On HTTP, a server that rejects the parameter headers may have changed its tools since they were listed:
    /// then they are listed again, and the call is repeated once.
    async fn call_tool(
        &self,
        params: Params,
        timeouts: Timeouts,
        on_progress: Option<OnProgress>,
    ) -> Result<RawOutcome, Failure> {
        let on_progress = on_progress.map(|on_progress| Arc::new(Mutex::new(on_progress)));
        let called =
            self.request_in_rounds(method::TOOLS_CALL, params.clone(), timeouts, on_progress.clone()).await;
        match &called {
            Err(Failure { kind: ErrorKind::Rpc(error), .. })
                if error.code == HEADER_MISMATCH
                    && self.sends_param_headers()
                    && self.tools_with(CallOptions::new().fresh()).await.is_ok() =>
            {
                self.request_in_rounds(method::TOOLS_CALL, params, timeouts, on_progress).await
            }
            _ => called,
        }
    }

    /// Whether arguments that are annotated with `x-mcp-header` are repeated in HTTP headers.
    pub(super) fn sends_param_headers(&self) -> bool {
        self.session().is_http() && !self.revision().opens_with_handshake()
    }

    /// One request and its result, which must be complete.
    pub(super) async fn request_complete_result(
        &self,
        method: &str,
        params: Params,
        timeouts: Timeouts,
        deadline: Instant,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, Failure> {
        let raw = self.request_any_result(method, params, timeouts, deadline, on_progress).await?;
        if !self.revision().opens_with_handshake() {
            result_type::check_complete(&raw).map_err(|failure| *failure)?;
        }
        Ok(raw)
    }

    /// One request and its result, of any `resultType`.
    pub(super) async fn request_any_result(
        &self,
        method: &str,
        mut params: Params,
        timeouts: Timeouts,
        deadline: Instant,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, Failure> {
        // Progress notifications are requested if the caller wants them, or if they extend the timeout.
        let progress = on_progress.is_some() || timeouts.idle < timeouts.total;
        if progress || !self.revision().opens_with_handshake() {
            // The members that the caller has set take precedence.
            params.push_meta(self.meta(progress));
        }
        self.session().request(OutgoingRequest { method, params, timeouts, deadline, on_progress }).await
    }

    /// The `_meta` of a request, if its revision requires one or progress is requested.
    pub(super) fn meta(&self, progress: bool) -> Map<String, Value> {
        let mut meta = self.shared.meta.clone();
        if !self.revision().opens_with_handshake()
            && let Some(level) = self.session().log_level.get()
        {
            meta.insert(LOG_LEVEL.to_owned(), serde_json::to_value(level).unwrap_or_default());
        }
        if progress {
            meta.insert("progressToken".to_owned(), OWN_ID.into());
        }
        meta
    }

    pub(super) fn read_result<T: DeserializeOwned>(
        &self,
        operation: &str,
        raw: &RawValue,
    ) -> Result<T, ClientError> {
        serde_json::from_str(raw.get()).map_err(|error| {
            let problem = format!("the result is invalid: {error}");
            self.session().error(operation, Failure::protocol(problem, raw.get().as_bytes()))
        })
    }

    /// How a result violates the tool's output schema, if that has been listed.
    fn output_violation(&self, tool: &str, result: &CallToolResult) -> Option<String> {
        if result.is_error || !self.revision().has_structured_output() {
            return None;
        }
        let mut schemas = lock(&self.shared.output_schemas);
        if self.session().take_tools_changed() {
            schemas.clear();
        }
        let validator = Arc::clone(schemas.get(tool)?);
        drop(schemas);
        match &result.structured_content {
            None => {
                Some("the tool has an output schema, but the result has no `structuredContent`".to_owned())
            }
            Some(json) => schema::first_violation(&validator, &json.rounded())
                .map(|violation| format!("the result violates the tool's output schema: {violation}")),
        }
    }
}

pub(super) fn calling(tool: &str) -> String {
    format!("calling the tool {}", excerpt(tool))
}
