//! Preparation: a target and the request's parameters to a handler that has been started, but not polled.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::resolve::{self, CompletionTarget, ResourceMatch, Target};
use super::run::{Call, Feature, Flags, Output, PreparedCall, Run, panicked};
use super::{DecodedRequest, RequestMeta};
use super::{builtin, exact};
use crate::protocol::capabilities::Abilities;
use crate::protocol::raw_json::InexactNumber;
use crate::protocol::tools::CallToolResult;
use crate::schema;
use crate::server::elicitation::request_state::{self, RequestState};
use crate::server::features::completion::{CompletedArgument, Completer, CompletionRequest};
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::context::Cx;
use crate::server::service::Service;
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
    service: &Arc<Service>,
    request: &DecodedRequest<'_>,
    target: Target,
) -> Result<Prepared, RpcError> {
    match target {
        Target::Tool(tool) => tool_call(service, request, tool),
        Target::Resource(uri, found) => resource_read(service, request, &uri, found).map(Prepared::Call),
        Target::Prompt(prompt) => prompt_get(service, request, prompt).map(Prepared::Call),
        Target::Completion(target) => completion(service, request, target).map(Prepared::Call),
        Target::Task(operation, id) => {
            let call = new_call(service, request, "", Feature::Task)?;
            tasks::requests::prepare(call, request, operation, id).map(Prepared::Call)
        }
        builtin => builtin::answer(service, request, builtin).map(|()| Prepared::Answered),
    }
}

/// `tools/call`
fn tool_call(
    service: &Arc<Service>,
    request: &DecodedRequest<'_>,
    tool: Arc<RegisteredTool>,
) -> Result<Prepared, RpcError> {
    let arguments = read_exactly("params.arguments", request.params.arguments, service.limits.tree)?;
    let call = new_call(service, request, &tool.definition.name, Feature::Tool(Arc::clone(&tool)))?;
    let bytes = request.bytes;
    let as_task = tool.is_long_running() && tasks::becomes_task(&call, &tool)?;
    // A handler that elicits input is run again with the same arguments.
    let kept = (as_task || asks_by_request(&call)).then(|| arguments.clone());
    match start(&call, |cx| tool.start(arguments, bytes, cx))? {
        Ok(run) => {
            let again = kept.map(|kept| move |cx: Cx| tool.start(kept.clone(), bytes, cx));
            Ok(Prepared::Call(match again {
                None => PreparedCall::new(call, run),
                Some(again) if as_task => tasks::create(call, run, again),
                Some(again) => {
                    let run = request_state::repeated(&call, run, again);
                    PreparedCall::new(call, run)
                }
            }))
        }
        Err(problem) if request.revision.invalid_arguments_are_results() => {
            Ok(Prepared::Output(call, Output::Tool(CallToolResult::failed(problem))))
        }
        Err(problem) => Err(RpcError::invalid_params(problem)),
    }
}

/// `resources/read`
fn resource_read(
    service: &Arc<Service>,
    request: &DecodedRequest<'_>,
    uri: &str,
    found: ResourceMatch,
) -> Result<PreparedCall, RpcError> {
    let templates = match found {
        ResourceMatch::Resource(resource) => {
            let call = new_call(service, request, uri, Feature::Resource(Arc::clone(&resource)))?;
            let read = move |cx: Cx| Ok(resource.read(cx));
            return repeatable(&call, read)?.map_err(RpcError::invalid_params);
        }
        ResourceMatch::Templates(templates) => templates,
    };
    let mut reason = None;
    for (template, values) in templates {
        let feature = Feature::Template(Arc::clone(&template), uri.to_owned());
        let call = new_call(service, request, uri, feature)?;
        let read_uri = uri.to_owned();
        match repeatable(&call, move |cx: Cx| template.read(read_uri.clone(), &values, cx))? {
            Ok(prepared) => return Ok(prepared),
            // The next template may read its values. If none does, the first reason is given.
            Err(problem) => reason = reason.or(Some(problem)),
        }
    }
    let unknown = resolve::unknown_resource(uri, request.revision);
    let message = match reason {
        Some(reason) => format!("{}: {reason}", unknown.message),
        None => unknown.message.clone(),
    };
    Err(RpcError { message, ..unknown })
}

/// `prompts/get`
fn prompt_get(
    service: &Arc<Service>,
    request: &DecodedRequest<'_>,
    prompt: Arc<RegisteredPrompt>,
) -> Result<PreparedCall, RpcError> {
    let values = strings("arguments", request.params.arguments)?;
    let call = new_call(service, request, prompt.name(), Feature::Prompt(Arc::clone(&prompt)))?;
    repeatable(&call, move |cx: Cx| prompt.fill(&values, cx))?.map_err(RpcError::invalid_params)
}

/// `completion/complete`
fn completion(
    service: &Arc<Service>,
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
    let so_far = CompletionRequest { value: argument.value, known };
    let run = start(&call, |_| Ok(completer.complete(so_far)))?.map_err(RpcError::invalid_params)?;
    Ok(PreparedCall::new(call, run))
}

/// What is known of a request before its handler runs. `name` is the name or URI of the feature.
fn new_call(
    service: &Arc<Service>,
    request: &DecodedRequest<'_>,
    name: &str,
    feature: Feature,
) -> Result<Arc<Call>, RpcError> {
    let DecodedRequest { method, params, to, bytes, revision, session, span, .. } = request;
    let meta = params.meta.as_ref();
    let progress_token = meta.map_or(Ok(None), RequestMeta::progress_token)?;
    if progress_token.as_ref().is_some_and(|token| session.has_progress_token(token)) {
        let message = "`_meta.progressToken` is in use by a request that is still running";
        return Err(RpcError::invalid_params(message));
    }
    let stateless = !revision.opens_with_handshake();
    // Most clients of stateless revisions have no capabilities, and say so in two bytes.
    let declared = meta.filter(|_| stateless).and_then(|meta| meta.client_capabilities().ok());
    let declared = declared.map(RawValue::get).filter(|declared| *declared != "{}");
    let abilities = match declared {
        Some(declared) => Abilities::read(declared),
        None if stateless => Abilities::default(),
        None => session.abilities(),
    };
    let purpose = if declared.is_some() && abilities.can_be_asked() {
        let arguments = read_exactly("params.arguments", params.arguments, service.limits.tree)?;
        let principal = session.principal().map(|principal| &*principal.name);
        state_purpose(principal, &service.identity.name, method, name, &arguments)
    } else {
        Vec::new()
    };
    let resumes = stateless && (params.input_responses.is_some() || params.request_state.is_some());
    let request_state =
        if resumes { request_state::resume(service, params, &purpose)? } else { RequestState::default() };
    Ok(Arc::new(Call {
        service: Arc::clone(service),
        feature,
        session: Arc::clone(session),
        to: (*to).clone(),
        bytes: *bytes,
        revision: *revision,
        progress_token,
        span: (*span).clone(),
        trace: meta.and_then(RequestMeta::trace),
        log_level: if stateless { meta.map_or(Ok(None), RequestMeta::log_level)? } else { None },
        abilities,
        request_state: Mutex::new(request_state),
        purpose,
        flags: Flags::default(),
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

/// Starts a handler that can be started again, which happens each time it elicits input from a session-based client.
fn repeatable<F>(call: &Arc<Call>, handler: F) -> Result<Result<PreparedCall, String>, RpcError>
where
    F: Fn(Cx) -> Result<Run, String> + Send + Sync + 'static,
{
    Ok(start(call, &handler)?.map(|run| {
        let run = if asks_by_request(call) { request_state::repeated(call, run, handler) } else { run };
        PreparedCall::new(Arc::clone(call), run)
    }))
}

/// Whether input is requested by requests of the server's own, so that the handler may be run again here.
fn asks_by_request(call: &Call) -> bool {
    call.revision.opens_with_handshake() && call.abilities.can_be_asked()
}

/// Starts a handler of the author's. A panic in it is the error of this request alone.
fn start(
    call: &Arc<Call>,
    start: impl FnOnce(Cx) -> Result<Run, String>,
) -> Result<Result<Run, String>, RpcError> {
    catch_unwind(AssertUnwindSafe(|| start(Cx { call: Arc::clone(call) })))
        .map_err(|panic| panicked(&call.feature, panic))
}

/// An object whose values are strings; none is an empty one.
fn strings(member: &str, raw: Option<&RawValue>) -> Result<BTreeMap<String, String>, RpcError> {
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

/// The arguments of a call, empty if absent, whose tree takes at most `tree` bytes or not much more than its JSON.
fn read_exactly(what: &str, raw: Option<&RawValue>, tree: usize) -> Result<Arguments, RpcError> {
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
