//! A request for a tool, a resource, a prompt or a completion to a function that is ready to run.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::arguments::{self, Arguments};
use super::ask::Dialogue;
use super::call::{Answer, Begun, Output, Run, panicked};
use super::completion::{Completer, Completers, Completing};
use super::context::{Call, Completed, Cx, Flags, Target};
use super::dispatch::{LONGEST_URI, Params, Service};
use super::registry::{Offer, Registry};
use crate::link::{Link, ReplyTo};
use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::RequestMeta;
use crate::protocol::tools::CallToolResult;
use crate::protocol::{Reference, Revision, method};
use crate::schema;
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// A request that somebody's function is to answer.
pub(super) struct Asking<'a> {
    pub(super) to: &'a ReplyTo,
    pub(super) params: &'a Params<'a>,
    /// The size of its parameters.
    pub(super) bytes: usize,
    pub(super) revision: Revision,
    pub(super) link: &'a Arc<Link>,
    pub(super) span: &'a tracing::Span,
}

impl Service {
    /// `tools/call`
    pub(super) fn begin_call(self: &Arc<Self>, asking: &Asking<'_>) -> Result<Option<Begun>, RpcError> {
        let Some(name) = asking.params.name.and_then(message::string) else {
            return Err(RpcError::invalid_params("`tools/call` needs `params.name`, a string"));
        };
        let tool = self.tools.find(&name).ok_or_else(|| unknown(&self.tools, &name))?;
        let arguments =
            arguments::read_exactly("params.arguments", asking.params.arguments, self.limits.tree)?;
        let call = self.call(asking, method::TOOLS_CALL, &name, Target::Tool(Arc::clone(&tool)))?;
        let bytes = asking.bytes;
        let as_task = call.becomes_task(&tool)?;
        // A function that asks is run again, with the same arguments.
        let kept = (as_task || call.can_ask_back()).then(|| arguments.clone());
        let started = guarded(&call, |cx| tool.start(arguments, bytes, cx))?;
        match started {
            Ok(run) => {
                let again = kept.map(|kept| move |cx: Cx| tool.start(kept.clone(), bytes, cx));
                if let (true, Some(again)) = (as_task, again.clone()) {
                    return Ok(Some(self.begin_task(&call, run, again)));
                }
                Ok(Some(Begun::new(Arc::clone(&call), call.asking_back(run, again))))
            }
            Err(problem) if asking.revision.invalid_arguments_are_results() => {
                let failed = Answer::Complete(Output::Tool(CallToolResult::failed(problem)));
                call.write_answer(failed, |reply| asking.link.reply(asking.to, reply));
                Ok(None)
            }
            Err(problem) => Err(RpcError::invalid_params(problem)),
        }
    }

    /// `resources/read`
    pub(super) fn begin_read(self: &Arc<Self>, asking: &Asking<'_>) -> Result<Option<Begun>, RpcError> {
        let uri = asking.params.uri(method::RESOURCES_READ)?;
        if let Some(resource) = self.resources.find(&uri).or_else(|| self.skills.file(&uri)) {
            let call =
                self.call(asking, method::RESOURCES_READ, &uri, Target::Resource(Arc::clone(&resource)))?;
            let run = guarded(&call, |cx| Ok(resource.read(cx)))?.map_err(RpcError::invalid_params)?;
            let again = call.can_ask_back().then_some(move |cx: Cx| Ok(resource.read(cx)));
            return Ok(Some(Begun::new(Arc::clone(&call), call.asking_back(run, again))));
        }
        let mut reason = None;
        for template in &self.templates.snapshot().offers {
            let Some(values) = template.match_uri(&uri) else { continue };
            let target = Target::Template(Arc::clone(template), uri.clone());
            let call = self.call(asking, method::RESOURCES_READ, &uri, target)?;
            match guarded(&call, |cx| template.read(uri.clone(), &values, cx))? {
                Ok(run) => {
                    let template = Arc::clone(template);
                    let again =
                        call.can_ask_back().then_some(move |cx: Cx| template.read(uri.clone(), &values, cx));
                    return Ok(Some(Begun::new(Arc::clone(&call), call.asking_back(run, again))));
                }
                // Another template may make more of it. If not, the first reason is told.
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        let unknown = Self::unknown_resource(&uri, asking.revision);
        let message = reason.map_or(unknown.message.clone(), |why| format!("{}: {why}", unknown.message));
        Err(RpcError { message, ..unknown })
    }

    /// `prompts/get`
    pub(super) fn begin_prompt(self: &Arc<Self>, asking: &Asking<'_>) -> Result<Option<Begun>, RpcError> {
        let Some(name) = asking.params.name.and_then(message::string) else {
            return Err(RpcError::invalid_params("`prompts/get` needs `params.name`, a string"));
        };
        let prompt = self.prompts.find(&name).ok_or_else(|| unknown(&self.prompts, &name))?;
        let values = strings("arguments", asking.params.arguments)?;
        let call = self.call(asking, method::PROMPTS_GET, &name, Target::Prompt(Arc::clone(&prompt)))?;
        let run = guarded(&call, |cx| prompt.fill(&values, cx))?.map_err(RpcError::invalid_params)?;
        let again = call.can_ask_back().then_some(move |cx: Cx| prompt.fill(&values, cx));
        Ok(Some(Begun::new(Arc::clone(&call), call.asking_back(run, again))))
    }

    /// `completion/complete`
    pub(super) fn begin_completion(self: &Arc<Self>, asking: &Asking<'_>) -> Result<Option<Begun>, RpcError> {
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
        let params = asking.params;
        let bad =
            |what: &str| RpcError::invalid_params(format!("`completion/complete` needs `params.{what}`"));
        let reference = params.reference.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let reference: Reference = reference.ok_or_else(|| {
            bad("ref`, such as `{\"type\": \"ref/prompt\", \"name\": ..} or {\"type\": \"ref/resource\", \"uri\": ..}")
        })?;
        let argument = params.argument.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let argument: Argument = argument.ok_or_else(|| bad("argument`, with strings `name` and `value"))?;
        let given = params.context.map_or("{}", RawValue::get);
        let given = if given == "null" { "{}" } else { given };
        let context = serde_json::from_str::<Context<'_>>(given).ok().filter(|_| given.starts_with('{'));
        let context =
            context.ok_or_else(|| RpcError::invalid_params("`params.context` must be an object"))?;
        let known = strings("context.arguments", context.arguments)?;
        let (name, completers, hooks) = match &reference {
            Reference::Prompt { name } => {
                let prompt = self.prompts.find(name).ok_or_else(|| unknown(&self.prompts, name))?;
                (name, prompt.completers.clone(), prompt.hooks.clone())
            }
            Reference::Resource { uri } => match self.templates.find(uri) {
                Some(template) => (uri, template.completers.clone(), template.hooks.clone()),
                None if uri.len() <= LONGEST_URI && self.has_resource(uri) => {
                    (uri, Completers::default(), Vec::new())
                }
                None => return Err(unknown(&self.templates, uri)),
            },
        };
        let completer = completers.find(&argument.name).cloned().unwrap_or_else(Completer::nobody);
        let completed = Completed { completer: completer.clone(), name: name.clone(), hooks };
        let call = self.call(asking, method::COMPLETE, "", Target::Completion(completed))?;
        let so_far = Completing { value: argument.value, known };
        let run = guarded(&call, |_| Ok(completer.complete(so_far)))?.map_err(RpcError::invalid_params)?;
        Ok(Some(Begun::new(call, run)))
    }

    /// What is known of a request before its function runs.
    pub(super) fn call(
        self: &Arc<Self>,
        asking: &Asking<'_>,
        name: &str,
        subject: &str,
        target: Target,
    ) -> Result<Arc<Call>, RpcError> {
        let Asking { to, params, bytes, revision, link, span } = *asking;
        let meta = params.meta.as_ref();
        let progress_token = meta.map_or(Ok(None), RequestMeta::progress_token)?;
        if progress_token.as_ref().is_some_and(|token| link.has_progress_token(token)) {
            let message = "`_meta.progressToken` is in use by a request that is still running";
            return Err(RpcError::invalid_params(message));
        }
        let modern = !revision.opens_with_handshake();
        let abilities = if modern {
            // Most clients can do nothing special, and say so in two bytes.
            let declared = meta.and_then(|meta| meta.client_capabilities().ok()).map_or("{}", RawValue::get);
            if declared == "{}" { Abilities::default() } else { Abilities::read(declared) }
        } else {
            link.abilities()
        };
        let purpose = if modern && abilities.can_be_asked() {
            purpose(
                link.principal().map(|principal| &*principal.name),
                &self.identity.name,
                name,
                subject,
                &arguments::read_exactly("params.arguments", params.arguments, self.limits.tree)?,
            )
        } else {
            Vec::new()
        };
        let dialogue = if modern { self.resume(params, &purpose)? } else { Dialogue::default() };
        Ok(Arc::new(Call {
            service: Arc::clone(self),
            target,
            link: Arc::clone(link),
            to: to.clone(),
            bytes,
            revision,
            progress_token,
            span: span.clone(),
            trace: meta.and_then(RequestMeta::trace),
            log_level: if modern { meta.map_or(Ok(None), RequestMeta::log_level)? } else { None },
            abilities,
            dialogue: Mutex::new(dialogue),
            purpose,
            flags: Flags::default(),
        }))
    }

    pub(super) fn has_resource(&self, uri: &str) -> bool {
        let templates = self.templates.snapshot();
        self.resources.find(uri).is_some()
            || self.skills.file(uri).is_some()
            || templates.offers.iter().any(|template| template.match_uri(uri).is_some())
    }

    pub(super) fn unknown_resource(uri: &str, revision: Revision) -> RpcError {
        Self::not_found(uri, format!("unknown resource: {}", excerpt(uri)), revision)
    }

    /// A resource that is not there, as each revision says it.
    pub(super) fn not_found(uri: &str, message: String, revision: Revision) -> RpcError {
        let shown: String = uri.chars().take(1_000).collect();
        RpcError::new(revision.resource_not_found_code(), message)
            .with_data(serde_json::json!({ "uri": shown }))
    }
}

/// What a dialogue is about: it must not be taken up in another request.
fn purpose(
    principal: Option<&str>,
    server: &str,
    method: &str,
    subject: &str,
    arguments: &Arguments,
) -> Vec<u8> {
    let mut value = arguments.rounded().clone();
    // The client may write the same arguments another way when it asks again.
    schema::spell_numbers_alike(&mut value);
    value.sort_all_objects();
    // Numbers that were rounded must be the same too.
    let inexact = arguments.inexact();
    serde_json::to_vec(&(principal, server, method, subject, value, inexact)).unwrap_or_default()
}

/// Starts a function of the author's, whose panic must not be anybody else's.
fn guarded(
    call: &Arc<Call>,
    start: impl FnOnce(Cx) -> Result<Run, String>,
) -> Result<Result<Run, String>, RpcError> {
    catch_unwind(AssertUnwindSafe(|| start(Cx::new(call)))).map_err(|panic| panicked(&call.target, panic))
}

fn unknown<T: Offer>(registry: &Registry<T>, name: &str) -> RpcError {
    let offers = registry.snapshot();
    let names: Vec<&str> = offers.keys().take(50).collect();
    let (what, names) = (T::WHAT, names.join(", "));
    RpcError::invalid_params(format!("unknown {what}: {}; the {what}s are {names}", excerpt(name)))
}

/// An object whose values are strings; none is an empty one.
fn strings(what: &str, raw: Option<&RawValue>) -> Result<BTreeMap<String, String>, RpcError> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(BTreeMap::new()),
        Some(text) => serde_json::from_str(text)
            .map_err(|_| RpcError::invalid_params(format!("`params.{what}` must be an object of strings"))),
    }
}
