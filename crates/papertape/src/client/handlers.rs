//! Handlers of what a server may request from its client: elicitation, sampling and roots. They are the same whether the
//! server sends a request (session-based revisions) or returns `input_required` (stateless ones).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protocol::capabilities::{
    ClientCapabilities, ElicitationCapability, EmptyObject, SamplingCapability,
};
use crate::protocol::{
    ElicitResult, FormRequest, Revision, Root, SamplingRequest, SamplingResult, UrlRequest, method,
};
use crate::wire::RpcError;

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
}

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

    /// The capabilities that have a handler.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let declared = |is_set: bool| is_set.then_some(EmptyObject {});
        let elicitation = (self.form.is_some() || self.url.is_some()).then(|| ElicitationCapability {
            form: declared(self.form.is_some()),
            url: declared(self.url.is_some()),
        });
        ClientCapabilities {
            roots: declared(self.roots.is_some()),
            sampling: self
                .sampling
                .is_some()
                .then(|| SamplingCapability { tools: declared(self.sampling_tools) }),
            elicitation,
        }
    }

    /// The response to one request, if the revision has its method.
    pub(crate) async fn handle(
        &self,
        requested: &str,
        params: Option<&RawValue>,
        revision: Revision,
    ) -> Result<Value, RpcError> {
        match requested {
            method::ELICIT if !revision.has_elicitation() => Err(RpcError::method_not_found(requested)),
            method::ELICIT => match mode(params) {
                Mode::Url if !revision.elicitation_has_modes() => {
                    Err(RpcError::invalid_params(format!("revision {revision} has no URL elicitation")))
                }
                Mode::Form => elicit(self.form.as_ref(), "form", params).await,
                Mode::Url => elicit(self.url.as_ref(), "URL", params).await,
                Mode::Other(mode) => Err(RpcError::invalid_params(format!(
                    "unknown elicitation mode {}",
                    crate::wire::error::excerpt(&mode)
                ))),
            },
            method::SAMPLE => {
                let Some(handler) = &self.sampling else { return Err(RpcError::method_not_found(requested)) };
                to_json(&handler(read(params)?).await?)
            }
            method::ROOTS_LIST => {
                let Some(roots) = &self.roots else { return Err(RpcError::method_not_found(requested)) };
                to_json(&json!({"roots": &roots[..]}))
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }
}

async fn elicit<Q: DeserializeOwned>(
    handler: Option<&Handler<Q, ElicitResult>>,
    mode: &str,
    params: Option<&RawValue>,
) -> Result<Value, RpcError> {
    let Some(handler) = handler else {
        return Err(RpcError::invalid_params(format!(
            "this client does not support {mode} elicitation, and has not declared it"
        )));
    };
    to_json(&handler(read(params)?).await)
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
