//! Questions a handler has: for the user, for the client's model, for the user's files.
//!
//! A question is answered or stops the handler, which runs again from the beginning once there is an answer; so one way of
//! writing a handler serves both eras. Modern clients carry the question and the answers so far; legacy clients are asked
//! by requests of the server's own.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::context::Cx;
use super::error::{Failure, ToolError};
use crate::protocol::capabilities::Abilities;
use crate::protocol::{
    ElicitAction, ElicitResult, Revision, Root, SamplingRequest, SamplingResult, method, project,
};
use crate::schema;
use crate::wire::error::excerpt;

/// Something a handler can ask with [`Cx::ask`].
pub trait Question {
    /// What comes back.
    type Answer;

    /// The question as it goes to the client.
    #[doc(hidden)]
    fn into_asked(self) -> Result<Asked, ToolError>;

    /// What the client's answer means.
    #[doc(hidden)]
    fn read(answer: Value) -> Result<Self::Answer, ToolError>;
}

/// A question as it goes to the client.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) needs: Ability,
}

/// What a client must be able to do to be asked.
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
            Ability::Form => "show a form to its user",
            Ability::Url => "send its user to a page",
            Ability::Sampling => "ask a model",
            Ability::SamplingTools => "ask a model that uses tools",
            Ability::Roots => "tell its roots",
        }
    }
}

/// What the user did about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elicited<T> {
    /// Answered it.
    Accepted(T),
    /// Said no.
    Declined,
    /// Closed it without a word.
    Cancelled,
}

impl<T> Elicited<T> {
    /// The answer, if there is one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Elicited::Accepted(answer) => Some(answer),
            Elicited::Declined | Elicited::Cancelled => None,
        }
    }
}

/// A form for the user: a struct of strings, numbers, booleans and enums without data; of a `Vec` of such an enum the user
/// may choose several, if the client knows how (since 2025-11-25).
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

impl<T: DeserializeOwned + JsonSchema> Question for Form<T> {
    type Answer = Elicited<T>;

    fn into_asked(self) -> Result<Asked, ToolError> {
        let schema =
            schema::of_form::<T>().map_err(|problem| ToolError::internal(format!("a form: {problem}")))?;
        let params = json!({"mode": "form", "message": self.message, "requestedSchema": schema});
        Ok(Asked { method: method::ELICIT, params, needs: Ability::Form })
    }

    fn read(answer: Value) -> Result<Self::Answer, ToolError> {
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

/// What a client says that its user has filled in is not taken on trust.
fn check_form<T: JsonSchema>(content: &Value) -> Result<(), ToolError> {
    let schema = schema::of_form::<T>().and_then(|form| schema::compile(&form));
    let schema = schema.map_err(|problem| ToolError::internal(format!("a form: {problem}")))?;
    match schema::first_violation(&schema, content) {
        None => Ok(()),
        Some(violation) => Err(ToolError::failed(format!("the answer does not fit the form: {violation}"))),
    }
}

/// A page for the user to visit. That it was accepted means that the user agreed, not that the visit is over.
#[derive(Debug)]
pub struct Visit {
    message: String,
    url: String,
}

impl Visit {
    /// A page, and why to go there.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), url: url.into() }
    }
}

impl Question for Visit {
    type Answer = Elicited<()>;

    fn into_asked(self) -> Result<Asked, ToolError> {
        let params = json!({"mode": "url", "message": self.message, "url": self.url});
        Ok(Asked { method: method::ELICIT, params, needs: Ability::Url })
    }

    fn read(answer: Value) -> Result<Self::Answer, ToolError> {
        let answer: ElicitResult = read(answer)?;
        Ok(match answer.action {
            ElicitAction::Accept => Elicited::Accepted(()),
            ElicitAction::Decline => Elicited::Declined,
            ElicitAction::Cancel => Elicited::Cancelled,
        })
    }
}

/// Something for the client's model. Sampling is deprecated in 2026-07-28: see [`SamplingRequest`].
impl Question for SamplingRequest {
    type Answer = SamplingResult;

    fn into_asked(self) -> Result<Asked, ToolError> {
        let needs = if self.tools.is_empty() { Ability::Sampling } else { Ability::SamplingTools };
        let params = serde_json::to_value(self).map_err(ToolError::internal)?;
        Ok(Asked { method: method::SAMPLE, params, needs })
    }

    fn read(answer: Value) -> Result<Self::Answer, ToolError> {
        read(answer)
    }
}

/// Where the user's files are.
///
/// Roots are deprecated in 2026-07-28 (SEP-2577) and still work in every revision. Instead, take files and folders as
/// arguments of the tool, as resource URIs, or from the server's own configuration.
#[derive(Debug, Clone, Copy)]
pub struct Roots;

impl Question for Roots {
    type Answer = Vec<Root>;

    fn into_asked(self) -> Result<Asked, ToolError> {
        Ok(Asked { method: method::ROOTS_LIST, params: json!({}), needs: Ability::Roots })
    }

    fn read(answer: Value) -> Result<Self::Answer, ToolError> {
        #[derive(serde::Deserialize)]
        struct RootsResult {
            roots: Vec<Root>,
        }
        read(answer).map(|result: RootsResult| result.roots)
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, ToolError> {
    serde_json::from_value(answer).map_err(|error| {
        ToolError::failed(format!("the client's answer to a question makes no sense: {error}"))
    })
}

/// What was asked and answered in the course of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Dialogue {
    pub(crate) answers: Map<String, Value>,
    pub(crate) kept: Map<String, Value>,
}

impl Cx {
    /// Asks the client something. `name` tells this question from others of the same handler.
    ///
    /// If there is no answer yet, this gives an error to be passed on with `?`: the handler ends, the client is asked, and
    /// the handler runs again from the beginning. So what stands before `ask` runs once for each question; keep what must
    /// not change with [`Cx::keep`].
    ///
    /// Clients stop after ten rounds of questions. Progress that is told before a question is told again in each round;
    /// tell it with the question: `cx.ask(..).inspect_err(|_| cx.progress(..))?`.
    ///
    /// ```
    /// use papertape::{Cx, Elicited, Form, ToolError};
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
    /// If there is no answer yet, if the client cannot be asked (see [`Cx::can_ask`]), or if its answer makes no sense.
    pub fn ask<Q: Question>(&self, name: &str, question: Q) -> Result<Q::Answer, ToolError> {
        if let Some(answer) = self.dialogue(|dialogue| dialogue.answers.get(name).cloned()) {
            return Q::read(answer).map_err(|error| self.malformed(name, error));
        }
        Err(ToolError(Failure::Ask(vec![(name.to_owned(), question.into_asked()?)])))
    }

    /// An answer that cannot be read is a fault of the request if it came with it, as a modern client's does.
    fn malformed(&self, name: &str, error: ToolError) -> ToolError {
        match error.0 {
            Failure::Failed(message) if self.answers_come_with_the_request() => {
                ToolError::refused(format!("`params.inputResponses`: {}: {message}", excerpt(name)))
            }
            _ => error,
        }
    }

    /// Asks two things at once.
    ///
    /// # Errors
    /// As with [`Cx::ask`].
    pub fn ask_both<Q: Question, R: Question>(
        &self,
        (first_name, first): (&str, Q),
        (second_name, second): (&str, R),
    ) -> Result<(Q::Answer, R::Answer), ToolError> {
        Cx::together(self.ask(first_name, first), self.ask(second_name, second))
    }

    /// Two answers, or all the questions of which one or both still have none: so any number of things are asked at once.
    ///
    /// ```
    /// # use papertape::{Cx, Elicited, Form, Roots, ToolError, protocol::SamplingRequest};
    /// # fn f(cx: Cx, names: Form<String>, greeting: SamplingRequest) -> Result<(), ToolError> {
    /// let name_and_greeting = Cx::together(cx.ask("name", names), cx.ask("greeting", greeting));
    /// let ((name, greeting), roots) = Cx::together(name_and_greeting, cx.ask("roots", Roots))?;
    /// # Ok(())
    /// # }
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
            (Err(ToolError(Failure::Ask(mut both))), Err(ToolError(Failure::Ask(more)))) => {
                both.extend(more);
                Err(ToolError(Failure::Ask(both)))
            }
            // What failed is told before what could be asked.
            (Err(ToolError(Failure::Ask(_))), Err(error)) | (Err(error), _) | (_, Err(error)) => Err(error),
        }
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
        if let Some(kept) = self.dialogue(|dialogue| dialogue.kept.get(name).cloned()) {
            return serde_json::from_value(kept).map_err(ToolError::internal);
        }
        let value = make();
        let json = serde_json::to_value(&value).map_err(ToolError::internal)?;
        self.dialogue(|dialogue| drop(dialogue.kept.insert(name.to_owned(), json)));
        Ok(value)
    }

    /// Whether the client can show forms to its user.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.abilities().form
    }

    /// Whether the client can send its user to a page.
    #[must_use]
    pub fn can_visit(&self) -> bool {
        self.abilities().url
    }

    /// Whether the client has a model to ask.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.abilities().sampling
    }

    /// Whether the client tells where the user's files are.
    #[must_use]
    pub fn can_tell_roots(&self) -> bool {
        self.abilities().roots
    }
}

/// A question in the shape of an older revision, or what that revision has no way to ask.
pub(crate) fn shaped(asked: &Asked, revision: Revision) -> Result<Value, ToolError> {
    let params = asked.params.clone();
    match asked.needs {
        Ability::Form => project::form(params, revision)
            .map_err(|what| ToolError::failed(format!("this needs a client that lets its user {what}"))),
        Ability::Url => Ok(project::visit(params, revision, random_name)),
        Ability::Sampling | Ability::SamplingTools => project::sampling(params, revision)
            .map_err(|what| ToolError::failed(format!("this needs a client that can give its model {what}"))),
        Ability::Roots => Ok(params),
    }
}

/// A name that nobody else has.
fn random_name() -> String {
    let mut bytes = [0; 16];
    // Without randomness it is a name all the same, and only has to differ from others of this conversation.
    if getrandom::fill(&mut bytes).is_err() {
        return format!("{:?}", std::time::Instant::now());
    }
    data_encoding::HEXLOWER.encode(&bytes)
}
