//! Input that a handler needs from the client: of its user (elicitation), its model (sampling), or its roots.
//!
//! An input request has a response or ends the handler, which runs again from the beginning once there is one; so one way of
//! writing a handler serves every revision. Clients of stateless revisions repeat the request with the responses so far;
//! clients of session-based ones get requests of the server's own.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::protocol::capabilities::Abilities;
use crate::protocol::{
    ElicitAction, ElicitResult, FormRequest, Revision, Root, SamplingRequest, SamplingResult, UrlRequest,
    method, project,
};
use crate::schema;
use crate::server::elicitation::request_state;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{Failure, ToolError};
use crate::wire::RpcError;
use crate::wire::error::excerpt;

/// Input that a handler can request with [`Cx::ask`]: a [`Form`], a [`UrlElicitation`], a [`SamplingRequest`] or [`Roots`].
pub trait InputRequest {
    /// The type of the response.
    type Response;

    /// The request as it goes to the client.
    #[doc(hidden)]
    fn into_request(self) -> Result<ClientRequest, ToolError>;

    /// Reads the client's response.
    #[doc(hidden)]
    fn read(answer: Value) -> Result<Self::Response, ToolError>;
}

/// An input request as it goes to the client.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) needs: Ability,
}

/// The capability that an input request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ability {
    Form,
    Url,
    Sampling,
    SamplingTools,
    Roots,
}

impl Ability {
    pub(crate) fn is_among(self, abilities: &Abilities) -> bool {
        match self {
            Ability::Form => abilities.form,
            Ability::Url => abilities.url,
            Ability::Sampling => abilities.sampling,
            Ability::SamplingTools => abilities.sampling_tools,
            Ability::Roots => abilities.roots,
        }
    }

    /// The capability that a client would have to declare.
    pub(crate) fn required(self) -> Value {
        match self {
            Ability::Form => json!({"elicitation": {"form": {}}}),
            Ability::Url => json!({"elicitation": {"url": {}}}),
            Ability::Sampling => json!({"sampling": {}}),
            Ability::SamplingTools => json!({"sampling": {"tools": {}}}),
            Ability::Roots => json!({"roots": {}}),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Ability::Form => "elicitation in form mode",
            Ability::Url => "elicitation in URL mode",
            Ability::Sampling => "sampling",
            Ability::SamplingTools => "sampling with tools",
            Ability::Roots => "roots",
        }
    }
}

/// What the user did about an elicitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elicited<T> {
    /// The user submitted it.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user dismissed it.
    Cancelled,
}

impl<T> Elicited<T> {
    /// What was submitted, if anything was.
    pub fn accepted(self) -> Option<T> {
        match self {
            Elicited::Accepted(answer) => Some(answer),
            Elicited::Declined | Elicited::Cancelled => None,
        }
    }
}

/// A form for the user (elicitation in form mode): a struct of strings, numbers, booleans and enums without data; of a `Vec` of such an enum the user
/// may choose several, if the client knows how (since 2025-11-25).
///
/// ```
/// use papertape::server::{Elicited, Form};
/// use papertape::{Cx, ToolError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Seat {
///     /// The row, from the front.
///     row: u8,
/// }
///
/// async fn book(_: (), cx: Cx) -> Result<String, ToolError> {
///     match cx.ask("seat", Form::<Seat>::new("Where do you want to sit?"))? {
///         Elicited::Accepted(seat) => Ok(format!("row {}", seat.row)),
///         Elicited::Declined | Elicited::Cancelled => Ok("nothing was booked".to_owned()),
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Form<T> {
    message: String,
    answer: PhantomData<fn() -> T>,
}

impl<T> Form<T> {
    /// A form with a message above it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), answer: PhantomData }
    }
}

impl<T: DeserializeOwned + JsonSchema> InputRequest for Form<T> {
    type Response = Elicited<T>;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        let schema =
            schema::of_form::<T>().map_err(|problem| ToolError::internal(format!("a form: {problem}")))?;
        let params = json!({"mode": "form", "message": self.message, "requestedSchema": schema});
        Ok(ClientRequest { method: method::ELICIT, params, needs: Ability::Form })
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        let answer: ElicitResult = read(answer)?;
        Ok(match answer.action {
            ElicitAction::Accept => {
                let mut content = Value::Object(answer.content.unwrap_or_default());
                schema::spell_numbers_alike(&mut content);
                check_form::<T>(&content)?;
                Elicited::Accepted(read(content)?)
            }
            ElicitAction::Decline => Elicited::Declined,
            ElicitAction::Cancel => Elicited::Cancelled,
        })
    }
}

/// The content that a client sends for a form is validated against the form's schema.
fn check_form<T: JsonSchema>(content: &Value) -> Result<(), ToolError> {
    let schema = schema::of_form::<T>().and_then(|form| schema::compile(&form));
    let schema = schema.map_err(|problem| ToolError::internal(format!("a form: {problem}")))?;
    match schema::first_violation(&schema, content) {
        None => Ok(()),
        Some(violation) => {
            Err(ToolError::failed(format!("the content does not match the form: {violation}")))
        }
    }
}

/// A URL for the user to open (elicitation in URL mode). `Accepted` means that the user agreed to open it, not that they are
/// done there.
///
/// ```
/// use papertape::server::UrlElicitation;
/// use papertape::{Cx, ToolError};
///
/// async fn sign_in(_: (), cx: Cx) -> Result<String, ToolError> {
///     let visit = cx.ask("sign-in", UrlElicitation::new("Please sign in.", "https://example.com/sign-in"))?;
///     Ok(if visit.accepted().is_some() { "on the way" } else { "not today" }.to_owned())
/// }
/// ```
#[derive(Debug)]
pub struct UrlElicitation {
    message: String,
    url: String,
}

impl UrlElicitation {
    /// A message that says why, and the URL.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), url: url.into() }
    }
}

impl InputRequest for UrlElicitation {
    type Response = Elicited<()>;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        let params = json!({"mode": "url", "message": self.message, "url": self.url});
        Ok(ClientRequest { method: method::ELICIT, params, needs: Ability::Url })
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        let answer: ElicitResult = read(answer)?;
        Ok(match answer.action {
            ElicitAction::Accept => Elicited::Accepted(()),
            ElicitAction::Decline => Elicited::Declined,
            ElicitAction::Cancel => Elicited::Cancelled,
        })
    }
}

/// A form as another server has requested it: what the user did is not checked against its schema.
impl InputRequest for FormRequest {
    type Response = ElicitResult;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        let params =
            json!({"mode": "form", "message": self.message, "requestedSchema": self.requested_schema});
        Ok(ClientRequest { method: method::ELICIT, params, needs: Ability::Form })
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        read(answer)
    }
}

/// A URL as another server has requested it.
impl InputRequest for UrlRequest {
    type Response = ElicitResult;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        let params = json!({"mode": "url", "message": self.message, "url": self.url});
        Ok(ClientRequest { method: method::ELICIT, params, needs: Ability::Url })
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        read(answer)
    }
}

/// A request to the client's model. Sampling is deprecated in 2026-07-28: see [`SamplingRequest`].
impl InputRequest for SamplingRequest {
    type Response = SamplingResult;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        let needs = if self.tools.is_empty() { Ability::Sampling } else { Ability::SamplingTools };
        let params = serde_json::to_value(self).map_err(ToolError::internal)?;
        Ok(ClientRequest { method: method::SAMPLE, params, needs })
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        read(answer)
    }
}

/// An input request of another server, as it came, for proxies: its response is passed back as the client sends it.
///
/// ```
/// use papertape::server::RawInputRequest;
/// use papertape::{Cx, ToolError};
/// use serde_json::json;
///
/// async fn relayed(_: (), cx: Cx) -> Result<String, ToolError> {
///     let roots = RawInputRequest::new("roots/list", json!({})).ok_or("not an input request")?;
///     if !cx.supports(&roots) {
///         return Ok("the client has no roots".to_owned());
///     }
///     Ok(cx.ask("roots", roots)?.to_string())
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RawInputRequest(ClientRequest);

impl RawInputRequest {
    /// The method and the params of the request; `None` if it is neither elicitation nor sampling nor roots.
    ///
    /// What belongs to the session of the other server is left out: `_meta`, `task` and the id of an elicitation.
    #[must_use]
    pub fn new(requested: &str, params: Value) -> Option<Self> {
        let Value::Object(mut params) = params else { return None };
        for name in ["_meta", "task", "elicitationId"] {
            params.shift_remove(name);
        }
        let (method, needs) = match requested {
            method::ELICIT => {
                let needs = match params.entry("mode").or_insert_with(|| "form".into()).as_str() {
                    Some("form") => Ability::Form,
                    Some("url") => Ability::Url,
                    _ => return None,
                };
                (method::ELICIT, needs)
            }
            method::SAMPLE if params.get("tools").is_some_and(|tools| *tools != json!([])) => {
                (method::SAMPLE, Ability::SamplingTools)
            }
            method::SAMPLE => (method::SAMPLE, Ability::Sampling),
            method::ROOTS_LIST => (method::ROOTS_LIST, Ability::Roots),
            _ => return None,
        };
        Some(Self(ClientRequest { method, params: Value::Object(params), needs }))
    }

    /// What the client has to support, in words.
    #[must_use]
    pub fn needs(&self) -> &'static str {
        self.0.needs.name()
    }
}

impl InputRequest for RawInputRequest {
    type Response = Value;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        Ok(self.0)
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        Ok(answer)
    }
}

/// The client's roots: where the user's files are.
///
/// Roots are deprecated in 2026-07-28 (SEP-2577) and still work in every revision. Instead, take files and directories as
/// arguments of the tool, as resource URIs, or from the server's own configuration.
///
/// ```
/// use papertape::server::Roots;
/// use papertape::{Cx, ToolError};
///
/// async fn first_root(_: (), cx: Cx) -> Result<String, ToolError> {
///     let roots = cx.ask("roots", Roots)?;
///     Ok(roots.first().ok_or("the client has no roots")?.uri.clone())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Roots;

impl InputRequest for Roots {
    type Response = Vec<Root>;

    fn into_request(self) -> Result<ClientRequest, ToolError> {
        Ok(ClientRequest { method: method::ROOTS_LIST, params: json!({}), needs: Ability::Roots })
    }

    fn read(answer: Value) -> Result<Self::Response, ToolError> {
        #[derive(serde::Deserialize)]
        struct RootsResult {
            roots: Vec<Root>,
        }
        read(answer).map(|result: RootsResult| result.roots)
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, ToolError> {
    serde_json::from_value(answer)
        .map_err(|error| ToolError::failed(format!("the client's response cannot be read: {error}")))
}

impl<S> Cx<S> {
    /// Requests input from the client. `name` distinguishes this request from others of the same handler.
    ///
    /// If there is no response yet, this gives an error to be passed on with `?`: the handler ends, the client gets the request, and
    /// the handler runs again from the beginning. So what comes before `ask` runs once for each request; keep what must
    /// not change with [`Cx::keep`].
    ///
    /// Clients stop after ten rounds. Progress that is sent before a request is sent again in each round; send it with the
    /// request: `cx.ask(..).inspect_err(|_| cx.progress(..))?`.
    ///
    /// ```
    /// use papertape::{Cx, ToolError};
    /// use papertape::server::{Elicited, Form};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Seat {
    ///     /// Such as 12A.
    ///     seat: String,
    /// }
    ///
    /// async fn book(_: (), cx: Cx) -> Result<String, ToolError> {
    ///     match cx.ask("seat", Form::<Seat>::new("Which seat?"))? {
    ///         Elicited::Accepted(answer) => Ok(format!("booked {}", answer.seat)),
    ///         Elicited::Declined | Elicited::Cancelled => Ok("nothing was booked".to_owned()),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// If there is no response yet, if the client lacks the capability (see [`Cx::can_ask`]), or if its response is invalid.
    pub fn ask<Q: InputRequest>(&self, name: &str, request: Q) -> Result<Q::Response, ToolError> {
        if let Some(answer) = self.request_state(|request_state| request_state.answers.get(name).cloned()) {
            return Q::read(answer).map_err(|error| self.malformed(name, error));
        }
        Err(ToolError(Failure::InputRequired(vec![(name.to_owned(), request.into_request()?)])))
    }

    /// An invalid response is an error of the request if it came with it, as in stateless revisions.
    fn malformed(&self, name: &str, error: ToolError) -> ToolError {
        match error.0 {
            Failure::Failed(message) if self.input_comes_with_the_request() => {
                ToolError::refused(format!("`params.inputResponses`: {}: {message}", excerpt(name)))
            }
            _ => error,
        }
    }

    /// Sends a request of another server to the client at once, while the handler goes on: an error of the client is its own.
    /// `None` if the client's revision has no requests of servers (2026-07-28): then the request goes with [`Cx::ask`].
    ///
    /// The request is cancelled if the future is dropped before the response has come.
    #[must_use]
    pub fn request(
        &self,
        request: RawInputRequest,
    ) -> Option<impl Future<Output = Result<Value, RpcError>> + Send + use<S>> {
        let call = Arc::clone(&self.call);
        (!self.input_comes_with_the_request()).then(|| request_state::ask_now(call, request.0))
    }

    /// Requests two inputs at once.
    ///
    /// # Errors
    /// As with [`Cx::ask`].
    pub fn ask_both<Q: InputRequest, R: InputRequest>(
        &self,
        (first_name, first): (&str, Q),
        (second_name, second): (&str, R),
    ) -> Result<(Q::Response, R::Response), ToolError> {
        Cx::together(self.ask(first_name, first), self.ask(second_name, second))
    }

    /// A value that stays the same when the handler runs again: made the first time, kept from then on.
    ///
    /// # Errors
    /// If it cannot be written as JSON and read back.
    pub fn keep<T: serde::Serialize + DeserializeOwned>(
        &self,
        name: &str,
        make: impl FnOnce() -> T,
    ) -> Result<T, ToolError> {
        if let Some(kept) = self.request_state(|request_state| request_state.kept.get(name).cloned()) {
            return serde_json::from_value(kept).map_err(ToolError::internal);
        }
        let value = make();
        let json = serde_json::to_value(&value).map_err(ToolError::internal)?;
        self.request_state(|request_state| drop(request_state.kept.insert(name.to_owned(), json)));
        Ok(value)
    }

    /// Whether the client supports elicitation in form mode.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.abilities().form
    }

    /// Whether the client supports elicitation in URL mode.
    #[must_use]
    pub fn can_open_url(&self) -> bool {
        self.abilities().url
    }

    /// Whether the client supports sampling.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.abilities().sampling
    }

    /// Whether the client supports a request of another server.
    #[must_use]
    pub fn supports(&self, request: &RawInputRequest) -> bool {
        request.0.needs.is_among(&self.abilities())
    }

    /// Whether the client declares roots.
    #[must_use]
    pub fn can_list_roots(&self) -> bool {
        self.abilities().roots
    }
}

// Not for every state: `Cx::together` could not infer which.
impl Cx {
    /// Two responses, or all the requests that still have none: so any number of inputs are requested at once.
    ///
    /// ```
    /// use papertape::{Cx, ToolError, protocol::SamplingRequest, server::{Form, Roots}};
    ///
    /// fn greet(cx: Cx, names: Form<String>, greeting: SamplingRequest) -> Result<(), ToolError> {
    ///     let name_and_greeting = Cx::together(cx.ask("name", names), cx.ask("greeting", greeting));
    ///     let ((name, greeting), roots) = Cx::together(name_and_greeting, cx.ask("roots", Roots))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As with [`Cx::ask`].
    pub fn together<A, B>(
        first: Result<A, ToolError>,
        second: Result<B, ToolError>,
    ) -> Result<(A, B), ToolError> {
        match (first, second) {
            (Ok(first), Ok(second)) => Ok((first, second)),
            (
                Err(ToolError(Failure::InputRequired(mut both))),
                Err(ToolError(Failure::InputRequired(more))),
            ) => {
                both.extend(more);
                Err(ToolError(Failure::InputRequired(both)))
            }
            // An error comes before what could be requested.
            (Err(ToolError(Failure::InputRequired(_))), Err(error)) | (Err(error), _) | (_, Err(error)) => {
                Err(error)
            }
        }
    }
}

/// An input request in the shape of an older revision, or an error if that revision cannot express it.
pub(crate) fn shaped(request: &ClientRequest, revision: Revision) -> Result<Value, ToolError> {
    let params = request.params.clone();
    match request.needs {
        Ability::Form => project::form(params, revision)
            .map_err(|what| ToolError::failed(format!("this needs a client that lets its user {what}"))),
        Ability::Url => Ok(project::visit(params, revision, random_name)),
        Ability::Sampling | Ability::SamplingTools => project::sampling(params, revision)
            .map_err(|what| ToolError::failed(format!("this needs a client that can give its model {what}"))),
        Ability::Roots => Ok(params),
    }
}

/// A unique name.
fn random_name() -> String {
    let mut bytes = [0; 16];
    // Without randomness it is a name all the same, and only has to differ from others of this session.
    if getrandom::fill(&mut bytes).is_err() {
        return format!("{:?}", std::time::Instant::now());
    }
    data_encoding::HEXLOWER.encode(&bytes)
}
