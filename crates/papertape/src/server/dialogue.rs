//! Questions to the client and back: carried by modern clients, asked of legacy ones.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::arguments;
use super::ask::{Asked, Dialogue, shaped};
use super::call::{Answer, Output, Run};
use super::context::{Call, Cx, Target};
use super::dispatch::{Params, Service};
use super::error::{Failure, ToolError};
use super::seal::Unsealed;
use crate::protocol::method;
use crate::protocol::tools::CallToolResult;
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// A modern client cannot do what is needed.
pub(super) const MISSING_CAPABILITY: i64 = -32021;

/// How often one request may ask.
const MOST_ROUNDS: usize = 10;

/// A dialogue as a modern client carries it.
#[derive(Serialize, Deserialize)]
struct Carried {
    answers: Map<String, Value>,
    kept: Map<String, Value>,
    /// The questions that have no answer yet.
    asked: Vec<String>,
}

impl Service {
    /// The client's answers to what it was asked, each of which is an object.
    pub(super) fn input_responses(&self, params: &Params<'_>) -> Result<Map<String, Value>, RpcError> {
        if params.input_responses.is_some_and(|raw| !raw.get().starts_with('{')) {
            return Err(RpcError::invalid_params("`params.inputResponses` must be a JSON object"));
        }
        let answers = arguments::read("params.inputResponses", params.input_responses, self.limits.tree)?;
        match answers.iter().find(|(_, answer)| !answer.is_object()) {
            Some((name, _)) => {
                let message = format!("`params.inputResponses`: {} must be an object", excerpt(name));
                Err(RpcError::invalid_params(message))
            }
            None => Ok(answers),
        }
    }

    /// Takes a dialogue up where a modern client was asked.
    pub(super) fn resume(&self, params: &Params<'_>, purpose: &[u8]) -> Result<Dialogue, RpcError> {
        let answers = self.input_responses(params)?;
        let Some(raw) = params.request_state else {
            // Whoever knows what will be asked may answer beforehand. Nothing is lost by it: what the user is said to
            // have answered is the client's word in either case.
            return Ok(Dialogue { answers, kept: Map::new() });
        };
        let Some(sealed) = message::string(raw) else {
            return Err(RpcError::invalid_params("`params.requestState` must be a string"));
        };
        let opened =
            self.sealer.as_ref().ok_or(Unsealed::Foreign).and_then(|sealer| sealer.open(&sealed, purpose));
        let state = opened.map_err(|why| {
            RpcError::invalid_params(match why {
                Unsealed::Expired => "`params.requestState` has expired: make the request again without it",
                Unsealed::Foreign => "`params.requestState` was not given for this request: hand it back as it came, with the same parameters",
            })
        })?;
        let carried: Carried = serde_json::from_slice(&state).map_err(|_| {
            RpcError::invalid_params("`params.requestState` is of another version of this server")
        })?;
        let mut all = carried.answers;
        // Answers to what was not asked are none.
        all.extend(answers.into_iter().filter(|(name, _)| carried.asked.contains(name)));
        Ok(Dialogue { answers: all, kept: carried.kept })
    }
}

impl Call {
    /// Whether the function may have to be run again here, because a legacy client was asked.
    pub(super) fn can_ask_back(&self) -> bool {
        self.revision.opens_with_handshake() && self.abilities.can_be_asked()
    }

    /// A function that is run again, with the answers, each time it asks.
    pub(super) fn asking_back<F>(self: &Arc<Self>, run: Run, again: Option<F>) -> Run
    where
        F: Fn(Cx) -> Result<Run, String> + Send + Sync + 'static,
    {
        let Some(again) = again else { return run };
        let call = Arc::clone(self);
        Box::pin(async move {
            let mut outcome = run.await;
            for _ in 0..MOST_ROUNDS {
                let Err(ToolError(Failure::Ask(questions))) = outcome else { return outcome };
                let answers = call.ask_client(&questions).await?;
                call.dialogue
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .answers
                    .extend(answers);
                outcome = again(Cx::new(&call)).map_err(ToolError::failed)?.await;
            }
            outcome
        })
    }

    /// Asks a legacy client all questions at once.
    async fn ask_client(
        self: &Arc<Self>,
        questions: &[(String, Asked)],
    ) -> Result<Map<String, Value>, ToolError> {
        if let Some((_, cannot)) = questions.iter().find(|(_, asked)| !asked.needs.is_among(&self.abilities))
        {
            return Err(cannot_be_asked(cannot));
        }
        let mut waiting = Vec::new();
        for (name, asked) in questions {
            waiting.push((name, asked, self.link.ask(asked.method, &shaped(asked, self.revision)?)));
        }
        let mut answers = Map::new();
        for (name, asked, question) in waiting {
            let answer = timeout(self.service.limits.answer, question.answer()).await;
            let answer = match answer {
                Ok(Some(Ok(answer))) => {
                    let answer = arguments::read("result", Some(&answer), self.service.limits.tree);
                    answer.map_err(|error| ToolError::failed(error.message))?.into()
                }
                Ok(None) => {
                    return Err(ToolError::failed("the client has gone before it answered a question"));
                }
                // Whatever kept the user from answering, the handler may have something to say to it.
                Ok(Some(Err(error))) if asked.method == method::ELICIT => {
                    tracing::info!(%error, "the client did not ask its user");
                    json!({"action": "cancel"})
                }
                Err(_) if asked.method == method::ELICIT => json!({"action": "cancel"}),
                Ok(Some(Err(error))) => {
                    return Err(ToolError::failed(format!("the client did not answer a question: {error}")));
                }
                Err(_) => return Err(ToolError::failed("the client did not answer a question in time")),
            };
            answers.insert(name.clone(), answer);
        }
        Ok(answers)
    }

    /// What a client is told when a function has questions that were not answered here.
    pub(super) fn ask_back(&self, questions: &[(String, Asked)]) -> Result<Answer, RpcError> {
        let cannot = questions.iter().find(|(_, asked)| !asked.needs.is_among(&self.abilities));
        if self.revision.opens_with_handshake() {
            let message = match cannot {
                Some((_, asked)) => cannot_be_asked_text(asked),
                None => format!("the {} asked more than {MOST_ROUNDS} times", self.target.what()),
            };
            return match self.target {
                Target::Tool(_) => Ok(Answer::Complete(Output::Tool(CallToolResult::failed(message)))),
                _ => Err(RpcError::internal(message)),
            };
        }
        self.check_abilities(questions)?;
        let Target::Completion(_) = self.target else { return self.input_required(questions) };
        Err(RpcError::internal("a completion must not ask"))
    }

    /// Refuses questions that a modern client has not said it can be asked.
    pub(super) fn check_abilities(&self, questions: &[(String, Asked)]) -> Result<(), RpcError> {
        let mut cannot =
            questions.iter().filter(|(_, asked)| !asked.needs.is_among(&self.abilities)).peekable();
        let Some((_, first)) = cannot.peek() else { return Ok(()) };
        let message = cannot_be_asked_text(first);
        let mut required = json!({});
        for (_, asked) in cannot {
            merge(&mut required, asked.needs.required());
        }
        Err(RpcError::new(MISSING_CAPABILITY, message).with_data(json!({"requiredCapabilities": required})))
    }

    fn input_required(&self, questions: &[(String, Asked)]) -> Result<Answer, RpcError> {
        let dialogue = self.dialogue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let carried = Carried {
            answers: dialogue.answers,
            kept: dialogue.kept,
            asked: questions.iter().map(|(name, _)| name.clone()).collect(),
        };
        let state = serde_json::to_vec(&carried).unwrap_or_default();
        let sealed = self.service.sealer.as_ref().and_then(|sealer| sealer.seal(&state, &self.purpose));
        let Some(sealed) = sealed else {
            tracing::error!("the system gives no randomness: no question can be asked");
            return Err(RpcError::internal("internal error"));
        };
        // The client must be able to bring it back, with all else that belongs to the request.
        if sealed.len() > self.service.limits.frame / 2 {
            let name = self.target.name();
            tracing::error!(name, bytes = sealed.len(), "a dialogue is too large for a client to carry");
            return Err(RpcError::internal("the dialogue has become too large"));
        }
        let requests: Map<String, Value> = questions
            .iter()
            .map(|(name, asked)| (name.clone(), json!({"method": asked.method, "params": asked.params})))
            .collect();
        Ok(Answer::InputRequired(json!({
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": sealed,
            "_meta": {crate::protocol::meta::SERVER_INFO: &*self.service.identity_json},
        })))
    }
}

/// Adds the members of one object to another, and so on within them.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert_with(|| json!({})), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn cannot_be_asked(asked: &Asked) -> ToolError {
    ToolError::failed(cannot_be_asked_text(asked))
}

fn cannot_be_asked_text(asked: &Asked) -> String {
    format!("this needs a client that can {}, and yours has not said that it can", asked.needs.name())
}
