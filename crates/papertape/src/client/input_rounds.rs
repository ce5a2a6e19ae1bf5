//! Requests whose server requests input (elicitation, sampling, roots) before it returns the result: the request is
//! repeated with the input, in rounds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::Client;
use super::handlers::Within;
use super::options::{CallOptions, OnProgress, Timeouts};
use super::session::result_type::{self, InputRequest, ResultType};
use super::session::{Failure, Params};
use crate::sync::lock;

/// How many times a server may request input for one request.
const MOST_ROUNDS: usize = 10;

/// A result that needs no more input.
pub(super) enum RawOutcome {
    Complete(Box<RawValue>),
    /// The call has become a task, which this is.
    Task(Box<RawValue>),
}

impl Client {
    /// One request and its complete result; what the server requests in between is handled.
    pub(super) async fn request_with_input(
        &self,
        method: &str,
        mut params: Params,
        options: CallOptions,
    ) -> Result<Box<RawValue>, Failure> {
        let timeouts = options.timeouts(self.timeouts());
        params.push_meta(options.meta);
        let on_progress = options.on_progress.map(|on_progress| Arc::new(Mutex::new(on_progress)));
        match self.request_in_rounds(method, params, timeouts, on_progress).await? {
            RawOutcome::Complete(raw) => Ok(raw),
            RawOutcome::Task(raw) => Err(*result_type::not_a_task(&raw)),
        }
    }

    /// One request, repeated with input until its result is complete or a task.
    pub(super) async fn request_in_rounds(
        &self,
        method: &str,
        params: Params,
        timeouts: Timeouts,
        on_progress: Option<Arc<Mutex<OnProgress>>>,
    ) -> Result<RawOutcome, Failure> {
        let mut deadline = Instant::now() + timeouts.total;
        let mut next = params.clone();
        let mut round = 0;
        loop {
            let on_progress = on_progress
                .clone()
                .map(|on_progress| -> OnProgress { Box::new(move |progress| lock(&on_progress)(progress)) });
            let raw = self.request_any_result(method, next, timeouts, deadline, on_progress).await?;
            if self.revision().opens_with_handshake() {
                return Ok(RawOutcome::Complete(raw));
            }
            let invalid = |problem: String| Failure::protocol(problem, raw.get().as_bytes());
            let required = match result_type::read(&raw).map_err(|failure| *failure)? {
                ResultType::Complete => return Ok(RawOutcome::Complete(raw)),
                ResultType::InputRequired(required) => required,
                ResultType::Task if self.session().handlers.has_tasks() => {
                    return Ok(RawOutcome::Task(raw));
                }
                ResultType::Task => return Err(*result_type::not_a_task(&raw)),
            };
            if required.input_requests.is_none() && required.request_state.is_none() {
                return Err(invalid(
                    "the result is `input_required`, but has neither `inputRequests` nor `requestState`"
                        .to_owned(),
                ));
            }
            if round == MOST_ROUNDS {
                return Err(invalid(format!("the server requested input more than {MOST_ROUNDS} times")));
            }
            round += 1;
            next = params.clone();
            let began = Instant::now();
            let responses = self.handle_all(required.input_requests.unwrap_or_default()).await?;
            // The time that our handlers take does not count against the server.
            deadline += began.elapsed();
            if !responses.is_empty() {
                next.push("inputResponses", responses.into());
            }
            if let Some(state) = required.request_state {
                next.push("requestState", state.into());
            }
        }
    }

    /// The responses of our handlers to input requests, within their timeout.
    pub(super) async fn handle_all(
        &self,
        requests: BTreeMap<String, InputRequest<'_>>,
    ) -> Result<Map<String, Value>, Failure> {
        let within = Within::new(self.session().handler_timeout);
        let mut responses = Map::new();
        for (key, request) in requests {
            let response = self
                .session()
                .handlers
                .handle(&request.method, request.params, self.revision(), within)
                .await
                .map_err(|error| {
                    Failure::new(error.into_kind(&request.method), "the server requested input")
                })?;
            responses.insert(key, response);
        }
        Ok(responses)
    }
}
