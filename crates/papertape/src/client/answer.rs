//! What a server asks back to what the caller's handlers answer: the same handlers in both eras.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protocol::capabilities::{ClientCapabilities, ElicitationCapability, Nothing, SamplingCapability};
use crate::protocol::{
    ElicitResult, FormRequest, Revision, Root, SamplingRequest, SamplingResult, UrlRequest, method,
};
use crate::wire::RpcError;

type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Handler<Q, A> = Arc<dyn Fn(Q) -> Answer<A> + Send + Sync>;

/// Whom to ask.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    form: Option<Handler<FormRequest, ElicitResult>>,
    url: Option<Handler<UrlRequest, ElicitResult>>,
    sampling: Option<Handler<SamplingRequest, Result<SamplingResult, RpcError>>>,
    /// The model can use tools.
    sampling_tools: bool,
    roots: Option<Arc<[Root]>>,
}

impl Handlers {
    pub(crate) fn set_form<F>(&mut self, answer: impl Fn(FormRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.form = Some(Arc::new(move |question| Box::pin(answer(question))));
    }

    pub(crate) fn set_url<F>(&mut self, answer: impl Fn(UrlRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.url = Some(Arc::new(move |question| Box::pin(answer(question))));
    }

    pub(crate) fn set_sampling<F>(&mut self, answer: impl Fn(SamplingRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<SamplingResult, RpcError>> + Send + 'static,
    {
        self.sampling = Some(Arc::new(move |question| Box::pin(answer(question))));
    }

    pub(crate) fn set_sampling_tools(&mut self) {
        self.sampling_tools = true;
    }

    pub(crate) fn set_roots(&mut self, roots: Vec<Root>) {
        self.roots = Some(roots.into());
    }

    /// What the server may ask: what there is a handler for.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let there = |there: bool| there.then_some(Nothing {});
        let elicitation = (self.form.is_some() || self.url.is_some()).then(|| ElicitationCapability {
            form: there(self.form.is_some()),
            url: there(self.url.is_some()),
        });
        ClientCapabilities {
            roots: there(self.roots.is_some()),
            sampling: self
                .sampling
                .is_some()
                .then(|| SamplingCapability { tools: there(self.sampling_tools) }),
            elicitation,
        }
    }

    /// The answer to one question, if it is one of those that the revision knows.
    pub(crate) async fn answer(
        &self,
        asked: &str,
        params: Option<&RawValue>,
        revision: Revision,
    ) -> Result<Value, RpcError> {
        match asked {
            method::ELICIT if !revision.has_elicitation() => Err(RpcError::method_not_found(asked)),
            method::ELICIT => match mode(params) {
                Mode::Url if !revision.elicitation_has_modes() => {
                    Err(RpcError::invalid_params(format!("revision {revision} knows no pages to visit")))
                }
                Mode::Form => answer_with(self.form.as_ref(), "forms", params).await,
                Mode::Url => answer_with(self.url.as_ref(), "pages to visit", params).await,
                Mode::Other(mode) => Err(RpcError::invalid_params(format!(
                    "the elicitation mode {} is not known here",
                    crate::wire::error::excerpt(&mode)
                ))),
            },
            method::SAMPLE => {
                let Some(handler) = &self.sampling else { return Err(RpcError::method_not_found(asked)) };
                to_json(&handler(read(params)?).await?)
            }
            method::ROOTS_LIST => {
                let Some(roots) = &self.roots else { return Err(RpcError::method_not_found(asked)) };
                to_json(&json!({"roots": &roots[..]}))
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }
}

async fn answer_with<Q: DeserializeOwned>(
    handler: Option<&Handler<Q, ElicitResult>>,
    what: &str,
    params: Option<&RawValue>,
) -> Result<Value, RpcError> {
    let Some(handler) = handler else {
        return Err(RpcError::invalid_params(format!(
            "this client takes no {what}, and has not said it would"
        )));
    };
    to_json(&handler(read(params)?).await)
}

/// How the user is to be asked.
enum Mode {
    Form,
    Url,
    Other(String),
}

fn mode(params: Option<&RawValue>) -> Mode {
    #[derive(serde::Deserialize)]
    struct Asked {
        mode: Option<String>,
    }
    let asked = params.and_then(|params| serde_json::from_str::<Asked>(params.get()).ok());
    match asked.and_then(|asked| asked.mode) {
        None => Mode::Form,
        Some(mode) if mode == "form" => Mode::Form,
        Some(mode) if mode == "url" => Mode::Url,
        Some(mode) => Mode::Other(mode),
    }
}

fn read<Q: DeserializeOwned>(params: Option<&RawValue>) -> Result<Q, RpcError> {
    let params = params.map_or("{}", RawValue::get);
    serde_json::from_str(params)
        .map_err(|error| RpcError::invalid_params(format!("the question makes no sense: {error}")))
}

fn to_json<T: Serialize>(answer: &T) -> Result<Value, RpcError> {
    serde_json::to_value(answer).map_err(|error| RpcError::internal(error.to_string()))
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handlers").field(&self.capabilities()).finish()
    }
}
