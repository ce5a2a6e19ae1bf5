//! Handlers of what a server may request from its client: elicitation, sampling and roots. They are the same whether the
//! server sends a request (session-based revisions) or returns `input_required` (stateless ones).

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::error::ErrorKind;
use super::log_message::LogMessage;
use crate::callback::{self, unless_it_panics};
use crate::protocol::apps::{APPS, client_settings};
use crate::protocol::capabilities::{
    ClientCapabilities, ElicitationCapability, EmptyObject, SamplingCapability, TASKS,
};
use crate::protocol::{
    ElicitResult, FormRequest, RawJson, Revision, Root, SamplingRequest, SamplingResult, UrlRequest, method,
};
use crate::server::pipeline::run::drop_guarded;
use crate::wire::RpcError;
use crate::wire::error::{excerpt, shortened};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Handler<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<A> + Send + Sync>;

/// The handlers of a client; each that is set declares a capability.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    form: Option<Handler<FormRequest, ElicitResult>>,
    url: Option<Handler<UrlRequest, ElicitResult>>,
    sampling: Option<Handler<SamplingRequest, Result<SamplingResult, RpcError>>>,
    /// Whether the model can use tools.
    sampling_tools: bool,
    roots: Option<Arc<[Root]>>,
    apps: bool,
    /// The tasks extension is not declared.
    without_tasks: bool,
    on_log: Option<OnLog>,
    on_notification: Option<OnNotification>,
    /// Takes every request that has no handler of its own, and the capabilities that it declares.
    on_request: Option<(ClientCapabilities, OnRequest)>,
}

type OnRequest = Arc<dyn Fn(String, RawJson) -> BoxFuture<Result<Value, RpcError>> + Send + Sync>;
type OnLog = Arc<dyn Fn(LogMessage) + Send + Sync>;
type OnNotification = Arc<dyn Fn(&str, RawJson) + Send + Sync>;

impl Handlers {
    pub(crate) fn set_form<F>(&mut self, handler: impl Fn(FormRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.form = Some(Arc::new(move |request| Box::pin(handler(request))));
    }

    pub(crate) fn set_url<F>(&mut self, handler: impl Fn(UrlRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.url = Some(Arc::new(move |request| Box::pin(handler(request))));
    }

    pub(crate) fn set_sampling<F>(&mut self, handler: impl Fn(SamplingRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<SamplingResult, RpcError>> + Send + 'static,
    {
        self.sampling = Some(Arc::new(move |request| Box::pin(handler(request))));
    }

    pub(crate) fn set_sampling_tools(&mut self) {
        self.sampling_tools = true;
    }

    pub(crate) fn set_roots(&mut self, roots: Vec<Root>) {
        self.roots = Some(roots.into());
    }

    pub(crate) fn set_apps(&mut self) {
        self.apps = true;
    }

    pub(crate) fn set_tasks(&mut self, declared: bool) {
        self.without_tasks = !declared;
    }

    /// Whether the tasks extension is declared.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.without_tasks
    }

    pub(crate) fn set_log(&mut self, callback: impl Fn(LogMessage) + Send + Sync + 'static) {
        self.on_log = Some(Arc::new(callback));
    }

    pub(crate) fn set_notification(&mut self, callback: impl Fn(&str, RawJson) + Send + Sync + 'static) {
        self.on_notification = Some(Arc::new(callback));
    }

    pub(crate) fn set_request<F>(
        &mut self,
        capabilities: ClientCapabilities,
        handler: impl Fn(String, RawJson) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Value, RpcError>> + Send + 'static,
    {
        let handler: OnRequest = Arc::new(move |method, params| Box::pin(handler(method, params)));
        self.on_request = Some((capabilities, handler));
    }

    /// Takes the params of a log message.
    pub(super) fn log(&self, params: &str) {
        let Some(on_log) = &self.on_log else {
            return tracing::debug!("log message of the server: {}", shortened(params));
        };
        match serde_json::from_str(params) {
            Ok(message) => unless_it_panics("on_log", || on_log(message)),
            Err(error) => {
                tracing::info!(%error, "ignored an invalid log message: {}", shortened(params));
            }
        }
    }

    /// Takes a notification that nothing else handles.
    pub(super) fn notification(&self, method: &str, params: Option<&RawValue>) {
        let Some(on_notification) = &self.on_notification else {
            return tracing::debug!("ignored the notification {}", excerpt(method));
        };
        let params = params.map_or_else(|| json!({}).into(), |params| params.to_owned().into());
        unless_it_panics("on_notification", || on_notification(method, params));
    }

    /// The capabilities that have a handler.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let declared = |is_set: bool| is_set.then_some(EmptyObject {});
        let elicitation = (self.form.is_some() || self.url.is_some()).then(|| ElicitationCapability {
            form: declared(self.form.is_some()),
            url: declared(self.url.is_some()),
        });
        let mut extensions = Map::new();
        if self.apps {
            extensions.insert(APPS.to_owned(), client_settings());
        }
        if self.has_tasks() {
            extensions.insert(TASKS.to_owned(), json!({}));
        }
        let sampling =
            self.sampling.is_some().then(|| SamplingCapability { tools: declared(self.sampling_tools) });
        let given = self.on_request.as_ref().map(|(given, _)| given.clone()).unwrap_or_default();
        for (name, settings) in given.extensions.unwrap_or_default() {
            extensions.entry(name).or_insert(settings);
        }
        ClientCapabilities {
            roots: declared(self.roots.is_some()).or(given.roots),
            sampling: sampling.or(given.sampling),
            elicitation: elicitation.or(given.elicitation),
            extensions: (!extensions.is_empty()).then_some(extensions),
        }
    }

    /// Whether a request has a handler of its own.
    fn has_own(&self, requested: &str, params: Option<&RawValue>) -> bool {
        match requested {
            method::ELICIT => match mode(params) {
                Mode::Form => self.form.is_some(),
                Mode::Url => self.url.is_some(),
                Mode::Other(_) => false,
            },
            method::SAMPLE => self.sampling.is_some(),
            method::ROOTS_LIST => self.roots.is_some(),
            _ => false,
        }
    }

    /// The response to one request, if the revision has its method.
    pub(crate) async fn handle(
        &self,
        requested: &str,
        params: Option<&RawValue>,
        revision: Revision,
        within: Within,
    ) -> Result<Value, Unhandled> {
        let unknown = || RpcError::method_not_found(requested);
        if let Some((_, on_request)) = &self.on_request
            && !self.has_own(requested, params)
        {
            let params = params.map_or_else(|| json!({}).into(), |params| params.to_owned().into());
            return Ok(
                run("on_request", async { on_request(requested.to_owned(), params).await }, within).await??
            );
        }
        match requested {
            method::ELICIT if !revision.has_elicitation() => Err(unknown().into()),
            method::ELICIT => match mode(params) {
                Mode::Url if !revision.elicitation_has_modes() => {
                    let what = format!("revision {revision} has no URL elicitation");
                    Err(RpcError::invalid_params(what).into())
                }
                Mode::Form => elicit(self.form.as_ref(), ("form", "on_form"), params, within).await,
                Mode::Url => elicit(self.url.as_ref(), ("URL", "on_url"), params, within).await,
                Mode::Other(mode) => {
                    let what = format!("unknown elicitation mode {}", excerpt(&mode));
                    Err(RpcError::invalid_params(what).into())
                }
            },
            method::SAMPLE => {
                let handler = self.sampling.as_ref().ok_or_else(unknown)?;
                let request = read(params)?;
                Ok(to_json(&run("on_sampling", async { handler(request).await }, within).await??)?)
            }
            method::ROOTS_LIST => {
                let roots = self.roots.as_ref().ok_or_else(unknown)?;
                Ok(to_json(&json!({"roots": &roots[..]}))?)
            }
            _ => Err(unknown().into()),
        }
    }
}

/// The time that the handlers of one message have.
#[derive(Clone, Copy)]
pub(crate) struct Within {
    limit: Duration,
    deadline: Instant,
}

impl Within {
    /// This long, from now.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, deadline: Instant::now() + limit }
    }
}

/// Why a request of the server has no result.
#[derive(Debug)]
pub(crate) enum Unhandled {
    /// It has no handler, is invalid, or was refused by its handler.
    Refused(RpcError),
    /// Its handler panicked or was too slow: which handler, and what happened.
    Failed(String),
}

impl From<RpcError> for Unhandled {
    fn from(error: RpcError) -> Self {
        Unhandled::Refused(error)
    }
}

impl Unhandled {
    /// For the server.
    pub(crate) fn into_rpc(self) -> RpcError {
        match self {
            Unhandled::Refused(error) => error,
            Unhandled::Failed(what) => RpcError::internal(format!("the client's handler {what}")),
        }
    }

    /// For the caller of the request during which the server sent its own.
    pub(crate) fn into_kind(self, requested: &str) -> ErrorKind {
        match self {
            Unhandled::Refused(error) => {
                ErrorKind::Refused(format!("{} ({})", excerpt(requested), error.message))
            }
            Unhandled::Failed(what) => ErrorKind::HandlerFailed(what),
        }
    }
}

/// Runs a handler of the program, which may panic or never return.
async fn run<T>(
    handler: &'static str,
    handling: impl Future<Output = T> + Send,
    within: Within,
) -> Result<T, Unhandled> {
    let mut handling = Box::pin(handling);
    let caught = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    });
    let ended = timeout_at(within.deadline, caught).await;
    drop_guarded(handling);
    match ended {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(panic)) => {
            tracing::error!("the handler `{handler}` panicked: {}", callback::message(&*panic));
            drop_guarded(panic);
            Err(Unhandled::Failed(format!("`{handler}` panicked")))
        }
        Err(_) => {
            let seconds = within.limit.as_secs_f64();
            tracing::error!("the handler `{handler}` did not return within {seconds} s");
            Err(Unhandled::Failed(format!(
                "`{handler}` did not return within {seconds} s (`handler_timeout`)"
            )))
        }
    }
}

async fn elicit<Q: DeserializeOwned + Send>(
    handler: Option<&Handler<Q, ElicitResult>>,
    (mode, name): (&str, &'static str),
    params: Option<&RawValue>,
    within: Within,
) -> Result<Value, Unhandled> {
    let Some(handler) = handler else {
        let what = format!("this client does not support {mode} elicitation, and has not declared it");
        return Err(RpcError::invalid_params(what).into());
    };
    let request = read(params)?;
    Ok(to_json(&run(name, async { handler(request).await }, within).await?)?)
}

/// The mode of an elicitation.
enum Mode {
    Form,
    Url,
    Other(String),
}

fn mode(params: Option<&RawValue>) -> Mode {
    #[derive(serde::Deserialize)]
    struct Params {
        mode: Option<String>,
    }
    let params = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
    match params.and_then(|params| params.mode) {
        None => Mode::Form,
        Some(mode) if mode == "form" => Mode::Form,
        Some(mode) if mode == "url" => Mode::Url,
        Some(mode) => Mode::Other(mode),
    }
}

fn read<Q: DeserializeOwned>(params: Option<&RawValue>) -> Result<Q, RpcError> {
    let params = params.map_or("{}", RawValue::get);
    serde_json::from_str(params).map_err(|error| RpcError::invalid_params(format!("invalid params: {error}")))
}

fn to_json<T: Serialize>(result: &T) -> Result<Value, RpcError> {
    serde_json::to_value(result).map_err(|error| RpcError::internal(error.to_string()))
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handlers").field(&self.capabilities()).finish()
    }
}
