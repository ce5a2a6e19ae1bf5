//! Preparation: a target and the request's parameters to a handler that has been started, but not polled.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::method_call::{method_call, method_params};
use super::resolve::{self, CompletionTarget, List, ResourceMatch, Target};
use super::run::{Call, Feature, Flags, Output, PreparedCall, Run, panicked};
use super::{DecodedRequest, RequestMeta};
use super::{builtin, exact, resource_list};
use crate::protocol::raw_json::InexactNumber;
use crate::protocol::tools::CallToolResult;
use crate::protocol::{RawJson, Revision};
use crate::schema;
use crate::server::elicitation::request_state::{self, RequestState};
use crate::server::features::completion::{CompletedArgument, Completer, CompletionRequest};
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{Failure, ToolError};
use crate::server::handler::middleware;
use crate::server::handler::request_context::RequestContext;
use crate::server::service::ServiceCore;
use crate::server::tasks;
use crate::wire::error::shortened;
use crate::wire::{RpcError, message, number};

/// What a request has come to before its handler runs.
pub(crate) enum Prepared {
    /// A handler is ready to run.
    Call(PreparedCall),
    /// The output is known without the handler, which its arguments do not fit.
    Output(Arc<Call>, Output),
    /// The server has answered by itself.
    Answered,
}

/// Reads the parameters that the target needs and starts its handler, or answers what needs none.
pub(super) fn prepare(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    target: Target,
) -> Result<Prepared, RpcError> {
    match target {
        Target::Tool(tool) => tool_call(service, request, tool),
        Target::Resource(uri, found) => resource_read(service, request, &uri, found).map(Prepared::Call),
        Target::Prompt(prompt) => prompt_get(service, request, prompt).map(Prepared::Call),
        Target::Completion(target) => completion(service, request, target).map(Prepared::Call),
        Target::Method(method) => {
            let call = new_call(service, request, method.name(), Feature::Method(Arc::clone(&method)))?;
            let run = method_call(&call, request, &method)?;
            Ok(Prepared::Call(PreparedCall::new(call, run)))
        }
        Target::Task(operation, id) => {
            let call = new_call(service, request, "", Feature::Task(operation))?;
            tasks::requests::prepare(call, request, operation, id).map(Prepared::Call)
        }
        Target::List(List::Resources) if resource_list::has_handlers(service) => {
            resource_list::prepare(service, request).map(Prepared::Call)
        }
        builtin => builtin::answer(service, request, builtin).map(|()| Prepared::Answered),
    }
}

/// `tools/call`
fn tool_call(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    tool: Arc<RegisteredTool>,
) -> Result<Prepared, RpcError> {
    let arguments = read_exactly("params.arguments", request.params.arguments, service.limits.tree)?;
    let call = new_call(service, request, &tool.definition.name, Feature::Tool(Arc::clone(&tool)))?;
    let bytes = request.bytes;
    let as_task = tool.is_long_running() && tasks::becomes_task(&call, &tool)?;
    if call.has_middleware() {
        // A task is created for valid arguments only, whatever middleware makes of them.
        let checked = as_task.then(|| start(&call, |cx| tool.start(arguments.clone(), bytes, cx)));
        if let Some(Err(problem)) = checked.transpose()? {
            return rejected(call, problem);
        }
        let called = Arc::clone(&call);
        let run = move || around_tool(&called, &tool, arguments.clone(), bytes, as_task);
        let first = run();
        return Ok(Prepared::Call(if as_task {
            tasks::create(call, first, run)
        } else {
            PreparedCall::new(call, first)
        }));
    }
    // A handler that elicits input is run again with the same arguments.
    let late = !as_task && tool.may_become_task() && call.abilities.tasks;
    let kept = (as_task || late || asks_by_request(&call)).then(|| arguments.clone());
    match start(&call, |cx| tool.start(arguments, bytes, cx))? {
        Ok(run) => {
            let again = kept.map(|kept| move |cx: Cx| tool.start(kept.clone(), bytes, cx));
            Ok(Prepared::Call(match again {
                None => PreparedCall::new(call, run),
                Some(again) if as_task => {
                    let called = Arc::clone(&call);
                    tasks::create(call, run, move || started(&called, again(Cx::new(&called))))
                }
                Some(again) if late => {
                    let called = Arc::clone(&call);
                    tasks::create_late(call, run, move || started(&called, again(Cx::new(&called))))
                }
                Some(again) => {
                    let run = request_state::repeated(&call, run, again);
                    PreparedCall::new(call, run)
                }
            }))
        }
        Err(problem) => rejected(call, problem),
    }
}

/// A tool with the middleware around it, which may change the arguments.
fn around_tool(
    call: &Arc<Call>,
    tool: &Arc<RegisteredTool>,
    arguments: Arguments,
    bytes: usize,
    as_task: bool,
) -> Run {
    let (called, tool) = (Arc::clone(call), Arc::clone(tool));
    let handler = move |arguments: Arguments| {
        let tool = Arc::clone(&tool);
        let start = move |cx: Cx| tool.start(arguments.clone(), bytes, cx);
        let run = start(Cx::new(&called));
        match run {
            Ok(run) if !as_task && asks_by_request(&called) => request_state::repeated(&called, run, start),
            run => started(&called, run),
        }
    };
    middleware::wrap(call, arguments, Arc::new(handler))
}

/// A handler that was started, or the error for arguments that it cannot read.
pub(super) fn started(call: &Call, run: Result<Run, String>) -> Run {
    run.unwrap_or_else(|problem| {
        let invalid = invalid_arguments(call, problem).map_err(|error| ToolError(Failure::Rpc(error)));
        Box::pin(std::future::ready(invalid))
    })
}

/// What a call comes to whose arguments are invalid.
fn rejected(call: Arc<Call>, problem: String) -> Result<Prepared, RpcError> {
    let output = invalid_arguments(&call, problem)?;
    Ok(Prepared::Output(call, output))
}

/// The result or error of a call whose arguments are invalid.
fn invalid_arguments(call: &Call, problem: String) -> Result<Output, RpcError> {
    match &call.feature {
        Feature::Tool(_) if call.revision.invalid_arguments_are_results() => {
            Ok(Output::Tool(CallToolResult::failed(problem)))
        }
        Feature::Template(_, uri) => Err(unreadable_uri(uri, call.revision, Some(problem))),
        _ => Err(RpcError::invalid_params(problem)),
    }
}

/// The error for a URI whose values no template can read.
fn unreadable_uri(uri: &str, revision: Revision, reason: Option<String>) -> RpcError {
    let unknown = resolve::unknown_resource(uri, revision);
    match reason {
        Some(reason) => RpcError { message: format!("{}: {reason}", unknown.message), ..unknown },
        None => unknown,
    }
}

/// `resources/read`
fn resource_read(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    uri: &str,
    found: ResourceMatch,
) -> Result<PreparedCall, RpcError> {
    let templates = match found {
        ResourceMatch::Resource(resource) => {
            let call = new_call(service, request, uri, Feature::Resource(Arc::clone(&resource)))?;
            let read = move |_: &Values, cx: Cx| Ok(resource.read(cx));
            return repeatable(&call, Values::new(), read)?.map_err(RpcError::invalid_params);
        }
        ResourceMatch::Templates(templates) => templates,
    };
    let mut reason = None;
    for (template, values) in templates {
        let feature = Feature::Template(Arc::clone(&template), uri.to_owned());
        let call = new_call(service, request, uri, feature)?;
        let read_uri = uri.to_owned();
        // Middleware may change the values, but not which template they are read by.
        let checked =
            call.has_middleware().then(|| start(&call, |cx| template.read(uri.to_owned(), &values, cx)));
        let read = move |values: &Values, cx: Cx| template.read(read_uri.clone(), values, cx);
        let prepared = match checked.transpose()? {
            Some(Err(problem)) => Err(problem),
            _ => repeatable(&call, values, read)?,
        };
        match prepared {
            Ok(prepared) => return Ok(prepared),
            // The next template may read its values. If none does, the first reason is given.
            Err(problem) => reason = reason.or(Some(problem)),
        }
    }
    Err(unreadable_uri(uri, request.revision, reason))
}

/// `prompts/get`
fn prompt_get(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    prompt: Arc<RegisteredPrompt>,
) -> Result<PreparedCall, RpcError> {
    let values = strings("arguments", request.params.arguments)?;
    let call = new_call(service, request, prompt.name(), Feature::Prompt(Arc::clone(&prompt)))?;
    let fill = move |values: &Values, cx: Cx| prompt.fill(values, cx);
    repeatable(&call, values, fill)?.map_err(RpcError::invalid_params)
}

/// `completion/complete`
fn completion(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    target: CompletionTarget,
) -> Result<PreparedCall, RpcError> {
    #[derive(Deserialize)]
    struct Argument {
        name: String,
        value: String,
    }
    #[derive(Deserialize)]
    struct Context<'a> {
        #[serde(borrow, default)]
        arguments: Option<&'a RawValue>,
    }
    let argument = request.params.argument.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let argument: Argument = argument.ok_or_else(|| {
        let needed = "`params.argument`, with strings `name` and `value`";
        RpcError::invalid_params(format!("`completion/complete` needs {needed}"))
    })?;
    let given = request.params.context.map_or("{}", RawValue::get);
    let given = if given == "null" { "{}" } else { given };
    let context = serde_json::from_str::<Context<'_>>(given).ok().filter(|_| given.starts_with('{'));
    let context = context.ok_or_else(|| RpcError::invalid_params("`params.context` must be an object"))?;
    let known = strings("context.arguments", context.arguments)?;
    let CompletionTarget { name, completers, middleware, .. } = target;
    let completer = completers.find(&argument.name).cloned().unwrap_or_else(Completer::empty);
    let completed = CompletedArgument { completer: completer.clone(), name, middleware };
    let call = new_call(service, request, "", Feature::Completion(Arc::new(completed)))?;
    if call.has_middleware() {
        let arguments = json!({
            "argument": {"name": argument.name, "value": argument.value},
            "context": {"arguments": known},
        });
        let called = Arc::clone(&call);
        let handler = move |arguments: Arguments| {
            let so_far = completion_request(arguments.rounded(), Cx::new(&called));
            so_far.map_or_else(|problem| started(&called, Err(problem)), |so_far| completer.complete(so_far))
        };
        let run = middleware::wrap(&call, Arguments::from(RawJson::from(arguments)), Arc::new(handler));
        return Ok(PreparedCall::new(call, run));
    }
    let complete = |cx: Cx| Ok(completer.complete(CompletionRequest::of_call(argument.value, known, cx)));
    let run = start(&call, complete)?.map_err(RpcError::invalid_params)?;
    Ok(PreparedCall::new(call, run))
}

/// What is to be completed, from arguments that middleware may have changed.
fn completion_request(arguments: &Value, cx: Cx) -> Result<CompletionRequest, String> {
    let value = arguments.pointer("/argument/value").and_then(Value::as_str);
    let value = value.ok_or("`argument.value` must be a string")?.to_owned();
    let known = arguments.pointer("/context/arguments").cloned().unwrap_or_else(|| json!({}));
    let known =
        serde_json::from_value(known).map_err(|_| "`context.arguments` must be an object of strings")?;
    Ok(CompletionRequest::of_call(value, known, cx))
}

/// What is known of a request before its handler runs. `name` is the name or URI of the feature.
pub(super) fn new_call(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    name: &str,
    feature: Feature,
) -> Result<Arc<Call>, RpcError> {
    let DecodedRequest { method, params, to, bytes, revision, session, observed, .. } = request;
    let meta = params.meta.as_ref();
    let meta_of_request = meta.filter(|_| !feature.is_notification());
    let progress_token = meta_of_request.map_or(Ok(None), RequestMeta::progress_token)?;
    if progress_token.as_ref().is_some_and(|token| session.has_progress_token(token)) {
        let message = "`_meta.progressToken` is in use by a request that is still running";
        return Err(RpcError::invalid_params(message));
    }
    let stateless = !revision.opens_with_handshake();
    let abilities = request.abilities();
    let purpose = if stateless && abilities.can_be_asked() {
        let arguments = match feature {
            Feature::Method(_) => method_params(service, request)?,
            _ => read_exactly("params.arguments", params.arguments, service.limits.tree)?,
        };
        let principal = session.principal().map(|principal| &*principal.name);
        state_purpose(principal, &service.identity.name, method, name, &arguments)
    } else {
        Vec::new()
    };
    let resumes = stateless && (params.input_responses.is_some() || params.request_state.is_some());
    let request_state =
        if resumes { request_state::resume(service, params, &purpose)? } else { RequestState::default() };
    let flags = Flags::new(progress_token.is_some());
    Ok(Arc::new(Call {
        service: Arc::clone(service),
        feature,
        session: Arc::clone(session),
        to: (*to).clone(),
        bytes: *bytes,
        revision: *revision,
        progress_token,
        observed: (*observed).clone(),
        trace: meta.and_then(RequestMeta::trace),
        log_level: if stateless { meta.map_or(Ok(None), RequestMeta::log_level)? } else { None },
        abilities,
        request_state: Mutex::new(request_state),
        purpose,
        context: RequestContext::new(request),
        flags,
    }))
}

/// What elicitation state is sealed for: it is not accepted with another request.
fn state_purpose(
    principal: Option<&str>,
    server: &str,
    method: &str,
    name: &str,
    arguments: &Arguments,
) -> Vec<u8> {
    let mut value = arguments.rounded().clone();
    // The client may write the same arguments another way when it repeats the request.
    schema::spell_numbers_alike(&mut value);
    value.sort_all_objects();
    // Numbers that were rounded must be the same too.
    let inexact = arguments.inexact();
    serde_json::to_vec(&(principal, server, method, name, value, inexact)).unwrap_or_default()
}

/// The values of a prompt's arguments, or of a template's variables.
type Values = BTreeMap<String, String>;

/// Starts a handler that can be started again, which happens each time it elicits input from a session-based client. With
/// middleware around it, it is started by that, and reads the values then.
fn repeatable<F>(
    call: &Arc<Call>,
    values: Values,
    handler: F,
) -> Result<Result<PreparedCall, String>, RpcError>
where
    F: Fn(&Values, Cx) -> Result<Run, String> + Send + Sync + 'static,
{
    let handler = Arc::new(handler);
    let with = move |values: Values| {
        let handler = Arc::clone(&handler);
        move |cx: Cx| handler(&values, cx)
    };
    let looped = |call: &Arc<Call>, run, again| {
        if asks_by_request(call) { request_state::repeated(call, run, again) } else { run }
    };
    if !call.has_middleware() {
        let handler = with(values);
        let run = start(call, &handler)?;
        return Ok(run.map(|run| PreparedCall::new(Arc::clone(call), looped(call, run, handler))));
    }
    let called = Arc::clone(call);
    let around = move |arguments: Arguments| -> Run {
        let Ok(values) = serde_json::from_value(arguments.rounded().clone()) else {
            return started(&called, Err(NOT_STRINGS.to_owned()));
        };
        let handler = with(values);
        match handler(Cx::new(&called)) {
            Ok(run) => looped(&called, run, handler),
            rejected => started(&called, rejected),
        }
    };
    let arguments = Arguments::from(RawJson::from(json!(values)));
    let run = middleware::wrap(call, arguments, Arc::new(around));
    Ok(Ok(PreparedCall::new(Arc::clone(call), run)))
}

const NOT_STRINGS: &str = "`params.arguments` must be an object of strings";

/// Whether input is requested by requests of the server's own, so that the handler may be run again here.
pub(super) fn asks_by_request(call: &Call) -> bool {
    call.revision.opens_with_handshake() && call.abilities.can_be_asked() && !call.feature.is_notification()
}

/// Starts a handler of the author's. A panic in it is the error of this request alone.
pub(super) fn start(
    call: &Arc<Call>,
    start: impl FnOnce(Cx) -> Result<Run, String>,
) -> Result<Result<Run, String>, RpcError> {
    catch_unwind(AssertUnwindSafe(|| start(Cx::new(call)))).map_err(|panic| panicked(&call.feature, panic))
}

/// An object whose values are strings; none is an empty one.
fn strings(member: &str, raw: Option<&RawValue>) -> Result<Values, RpcError> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(BTreeMap::new()),
        Some(text) => serde_json::from_str(text)
            .map_err(|_| RpcError::invalid_params(format!("`params.{member}` must be an object of strings"))),
    }
}

/// The arguments of a call.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    /// As a tree, which is what schemas are held against.
    value: Value,
    /// As they came, if the tree does not have their numbers as they were written.
    exact: Option<Box<str>>,
    /// Their JSON has the word `null`, if only in a string.
    null: bool,
}

impl Arguments {
    /// The tree, in which numbers that it cannot hold are rounded: to be looked at, and not to be handed on.
    pub(crate) fn rounded(&self) -> &Value {
        &self.value
    }

    /// The same, to leave out what counts as absent. What is read from the text still has it.
    pub(crate) fn rounded_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// The same after its tree was changed: what was not changed keeps its numbers as they were written.
    pub(crate) fn changed(mut self) -> Self {
        self.null = true;
        self.exact = self.exact.map(|text| changed_text(&text, &self.value).into());
        self
    }

    /// Whether a value may be `null`.
    pub(crate) fn may_have_null(&self) -> bool {
        self.null
    }

    /// The numbers that the tree does not have, as they were written.
    pub(crate) fn inexact(&self) -> Vec<&str> {
        self.exact.as_deref().map(|text| number::inexact(text).collect()).unwrap_or_default()
    }

    /// The tree, if it has everything.
    pub(crate) fn into_value(self) -> Result<Value, String> {
        match self.inexact().first() {
            None => Ok(self.value),
            Some(number) => Err(InexactNumber((*number).to_owned()).to_string()),
        }
    }

    /// Reads a type: straight from the text if the tree does not have everything, otherwise with `read`.
    pub(crate) fn read<A: DeserializeOwned>(
        self,
        read: impl FnOnce(Value) -> Result<A, String>,
    ) -> Result<A, String> {
        match &self.exact {
            None => read(self.value),
            Some(text) => exact::read(text).map_err(|error| error.to_string()),
        }
    }
}

impl From<RawJson> for Arguments {
    fn from(json: RawJson) -> Self {
        let exact = json.inexact().map(|_| json.get().into());
        Self { value: json.rounded(), exact, null: true }
    }
}

/// JSON text after the tree that was read from it has been changed.
fn changed_text(text: &str, now: &Value) -> String {
    if is_of(text, now) {
        return text.to_owned();
    }
    match now {
        Value::Object(now) => {
            let before: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
            let members = now.iter().map(|(name, value)| {
                let raw = before.get(name);
                let member = raw.map_or_else(|| value.to_string(), |raw| changed_text(raw.get(), value));
                format!("{}:{member}", Value::from(name.as_str()))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(now) => {
            let before: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            // What follows an element that was added or removed is what it was, counted from the end.
            let pairs = now.iter().rev().zip(before.iter().rev());
            let tail = pairs.take_while(|(value, raw)| is_of(raw.get(), value)).count();
            let elements = now.iter().enumerate().map(|(at, value)| {
                let from_end = now.len() - at;
                let raw = if from_end <= tail { before.len().checked_sub(from_end) } else { Some(at) };
                let raw = raw.and_then(|at| before.get(at));
                raw.map_or_else(|| value.to_string(), |raw| changed_text(raw.get(), value))
            });
            format!("[{}]", elements.collect::<Vec<_>>().join(","))
        }
        _ => now.to_string(),
    }
}

/// Whether JSON text is that of a tree.
fn is_of(text: &str, tree: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|read| read == *tree)
}

/// The arguments of a call, empty if absent, whose tree takes at most `tree` bytes or not much more than its JSON.
pub(super) fn read_exactly(what: &str, raw: Option<&RawValue>, tree: usize) -> Result<Arguments, RpcError> {
    let Some(text) = object(what, raw, tree)? else {
        return Ok(Arguments { value: Value::Object(Map::new()), exact: None, null: false });
    };
    let inexact = number::first_inexact(text);
    let value = serde_json::from_str(text).map_err(|error| unreadable(what, inexact, &error))?;
    let null = memchr::memmem::find(text.as_bytes(), b"null").is_some();
    Ok(Arguments { value, exact: inexact.map(|_| text.into()), null })
}

/// An object among the parameters. One with a number that a tree cannot hold is refused.
pub(crate) fn read_object(
    what: &str,
    raw: Option<&RawValue>,
    tree: usize,
) -> Result<Map<String, Value>, RpcError> {
    let Some(text) = object(what, raw, tree)? else { return Ok(Map::new()) };
    if let Some(number) = number::first_inexact(text) {
        let inexact = InexactNumber(shortened(number).to_owned());
        return Err(RpcError::invalid_params(format!("`{what}`: {inexact}")));
    }
    serde_json::from_str(text).map_err(|error| unreadable(what, None, &error))
}

/// The JSON of an object that is not too large as a tree; none if it is absent.
fn object<'a>(what: &str, raw: Option<&'a RawValue>, tree: usize) -> Result<Option<&'a str>, RpcError> {
    let Some(text) = raw.map(RawValue::get).filter(|text| *text != "null") else { return Ok(None) };
    if !text.starts_with('{') {
        return Err(RpcError::invalid_params(format!("`{what}` must be a JSON object")));
    }
    let enough = tree.max(ROOM_PER_BYTE * text.len());
    if room_as_a_tree(text.as_bytes(), enough) > enough {
        let message =
            format!("`{what}` has so many arrays and objects that it would take over {enough} bytes");
        return Err(RpcError::invalid_request(message));
    }
    Ok(Some(text))
}

/// The envelope has been read, so that what fails here is a string that no text can hold, or a number that no double can.
fn unreadable(what: &str, inexact: Option<&str>, error: &serde_json::Error) -> RpcError {
    match inexact.filter(|_| error.to_string().starts_with("number out of range")) {
        Some(number) => {
            let number = shortened(number);
            RpcError::invalid_params(format!("`{what}`: the number {number} is beyond what a double can be"))
        }
        None => RpcError::parse(format!("in `{what}`: {error}")),
    }
}

/// No arguments of so few bytes take much room.
const SMALL: usize = 64 * 1024;
/// Bytes that a byte of JSON may take as a tree of values, however many that is.
const ROOM_PER_BYTE: usize = 20;

/// Bytes that JSON takes as a tree of values, about: a small object takes a hundred times its text.
fn room_as_a_tree(json: &[u8], enough: usize) -> usize {
    let room = |objects: usize, arrays: usize, commas: usize| {
        700 * objects + 180 * arrays + size_of::<Value>() * commas
    };
    if json.len() <= SMALL {
        return 0;
    }
    // Brackets within strings are counted too here, which is wrong but fast, and nearly always good enough.
    let count = |byte| memchr::memchr_iter(byte, json).count();
    let at_most = room(count(b'{'), count(b'['), count(b','));
    if at_most <= enough {
        return at_most;
    }
    let [mut objects, mut arrays, mut commas] = [0; 3];
    message::outside_strings(json, |byte| match byte {
        b'{' => objects += 1,
        b'[' => arrays += 1,
        b',' => commas += 1,
        _ => {}
    });
    room(objects, arrays, commas)
}
