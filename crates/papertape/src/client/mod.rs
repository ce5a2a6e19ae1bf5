//! A client: any server, in whatever revision it speaks.
//!
//! `opening` and `probe` find out what that is; `session` is one conversation; `receive` takes what comes to whoever waits for it;
//! `answer` answers what the server asks back; `listing` reads lists; `skills` reads files and checks them; `listen` keeps
//! subscriptions.

mod answer;
mod error;
mod last_words;
mod listen;
mod listing;
mod opening;
mod options;
mod outcome;
mod params;
mod probe;
mod receive;
mod session;
mod skills;
#[cfg(feature = "http")]
mod ways;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonschema::Validator;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

pub(crate) use answer::Handlers;
pub(crate) use error::Evidence;
pub use error::{ClientError, ErrorKind};
pub use listen::{Change, Interests, Subscription};
pub use listing::Listed;
pub(crate) use opening::{Introduction, NotOpened, Opened};
pub(crate) use options::Timing;
pub use options::{CallOptions, ClientOptions, Progress};
pub(crate) use session::{Remains, Session, Trouble};
pub use skills::Mismatch;

use crate::protocol::capabilities::{Implementation, ServerCapabilities};
use crate::protocol::{
    CallToolResult, Completion, PromptResult, RawJson, Reference, ResourceContents, Revision, method, project,
};
use crate::schema;
use crate::wire::error::excerpt;
use options::OnProgress;
use outcome::Question;
use params::{OWN_ID, Param, Params};
use session::Asking;

/// How often a server may ask back before it must answer.
const MOST_ROUNDS: usize = 10;

/// The headers of a request do not say what its body says.
const HEADER_MISMATCH: i64 = -32020;

/// How long each step of a server's end may take: closing its input, SIGTERM.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// A conversation with a server.
///
/// Clones speak on the same conversation. When the last one is dropped the server is ended, in the background;
/// [`Client::close`] waits for it.
///
/// ```no_run
/// # async fn f() -> Result<(), papertape::ClientError> {
/// use papertape::stdio;
/// use serde_json::json;
///
/// let client = stdio::spawn("papertape", ["serve", "grammar"]).await?;
/// let result = client.call("conjugate", json!({"verb": "eat", "tense": "past_simple", "person": "3sg"})).await?;
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    session: Arc<Session>,
    introduction: Introduction,
    opened: Opened,
    timing: Timing,
    /// What tools promise to return, as far as they have been listed.
    outputs: Mutex<HashMap<String, Arc<Validator>>>,
    /// Turns true when nothing of the server is left.
    gone: watch::Receiver<bool>,
    remains: Arc<Remains>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.session.want_close(PATIENCE);
    }
}

impl Client {
    pub(crate) fn new(
        session: Arc<Session>,
        introduction: Introduction,
        opened: Opened,
        timing: Timing,
        gone: watch::Receiver<bool>,
        remains: Arc<Remains>,
    ) -> Self {
        let outputs = Mutex::default();
        Self { shared: Arc::new(Shared { session, introduction, opened, timing, outputs, gone, remains }) }
    }

    /// The revision that is spoken.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.shared.opened.revision
    }

    /// The newest revision that the server has said it offers, if that is newer than the one that is spoken: it may be one
    /// that this client does not know, or the server was so slow to answer `server/discover` that an older one was agreed
    /// (see [`ClientOptions::probe_timeout`]).
    #[must_use]
    pub fn newer_revision(&self) -> Option<&str> {
        self.revision().newer_among(self.shared.opened.offered.get()?)
    }

    /// Who the server says it is. The name is empty if it does not say.
    #[must_use]
    pub fn server(&self) -> &Implementation {
        &self.shared.opened.server
    }

    /// What the server says it offers.
    #[must_use]
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.shared.opened.capabilities
    }

    /// What the server wants a model to know about it.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.shared.opened.instructions.as_deref()
    }

    /// Calls a tool.
    ///
    /// A tool that ran and failed is a result too: see [`CallToolResult::is_error`]. Arguments with numbers that no
    /// [`Value`] can hold are given as [`RawJson`].
    ///
    /// # Errors
    /// If no result came; see [`ClientError`].
    pub async fn call(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
    ) -> Result<CallToolResult, ClientError> {
        self.call_with(tool, arguments, CallOptions::new()).await
    }

    /// The same, with options.
    ///
    /// # Errors
    /// If no result came.
    pub async fn call_with(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<CallToolResult, ClientError> {
        self.call_raw(tool, arguments, options).await.map(|(result, _)| result)
    }

    /// The same, and beside it the result as it came, in which nothing is left out and no number is changed.
    ///
    /// # Errors
    /// If no result came.
    pub async fn call_raw(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<(CallToolResult, RawJson), ClientError> {
        let doing = format!("calling the tool {}", excerpt(tool));
        let mut params = Params::new([("name", tool.into())]);
        params.push_raw("arguments", arguments.into());
        let timing = options.timing(self.timing());
        let raw = self
            .ask_for_tool(params, timing, options.on_progress)
            .await
            .map_err(|trouble| self.session().error(&doing, trouble))?;
        let result: CallToolResult = self.read_result(&doing, &raw)?;
        match self.output_problem(tool, &result) {
            None => Ok((result, raw.into())),
            Some(problem) => {
                Err(self.session().error(&doing, Trouble::broken(problem, raw.get().as_bytes())))
            }
        }
    }

    /// What a resource holds.
    ///
    /// # Errors
    /// If the server does not say.
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, ClientError> {
        #[derive(Deserialize)]
        struct ReadResult {
            contents: Vec<ResourceContents>,
        }
        let doing = format!("reading the resource {}", excerpt(uri));
        let params = Params::new([("uri", uri.into())]);
        let raw = self
            .ask_in_rounds(method::RESOURCES_READ, params, self.timing(), None)
            .await
            .map_err(|trouble| self.session().error(&doing, trouble))?;
        self.read_result(&doing, &raw).map(|result: ReadResult| result.contents)
    }

    /// A prompt, filled in. Its arguments are strings.
    ///
    /// # Errors
    /// If the server does not give it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<PromptResult, ClientError> {
        let doing = format!("asking for the prompt {}", excerpt(name));
        let mut params = Params::new([("name", name.into())]);
        if !arguments.is_empty() {
            params.push("arguments", arguments.into());
        }
        let raw = self
            .ask_in_rounds(method::PROMPTS_GET, params, self.timing(), None)
            .await
            .map_err(|trouble| self.session().error(&doing, trouble))?;
        self.read_result(&doing, &raw)
    }

    /// What an argument that begins with `value` may go on with; `known` are the arguments that are known already.
    ///
    /// # Errors
    /// If the server does not say.
    pub async fn complete(
        &self,
        of: Reference,
        argument: &str,
        value: &str,
        known: Map<String, Value>,
    ) -> Result<Completion, ClientError> {
        #[derive(Deserialize)]
        struct CompleteResult {
            completion: Completion,
        }
        let doing = format!("completing the argument {}", excerpt(argument));
        let reference = serde_json::to_value(&of).unwrap_or_default();
        let mut params =
            Params::new([("ref", reference), ("argument", json!({"name": argument, "value": value}))]);
        let context = (!known.is_empty()).then(|| json!({"arguments": known}));
        if let Some(context) = project::completion_context(context, self.revision()) {
            params.push("context", context);
        }
        let raw = self
            .ask_once(method::COMPLETE, params)
            .await
            .map_err(|trouble| self.session().error(&doing, trouble))?;
        self.read_result(&doing, &raw).map(|result: CompleteResult| result.completion)
    }

    /// Finds out whether the server is there. (Revisions without `ping` are asked what they offer instead.)
    ///
    /// # Errors
    /// If it is not.
    pub async fn ping(&self) -> Result<(), ClientError> {
        let method = if self.revision().opens_with_handshake() { method::PING } else { method::DISCOVER };
        self.ask_once(method, Params::default())
            .await
            .map(drop)
            .map_err(|trouble| self.session().error("asking whether the server is there", trouble))
    }

    /// Makes any request and gives its `result`. `params` must be an object; `_meta` is added where it is needed. A result
    /// that asks back or is a task is given as it came; see its `resultType`.
    ///
    /// # Errors
    /// If no result came, or one with a number that no [`Value`] can hold; [`Client::request_raw`] gives that.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let result = self.request_raw(method, params).await?;
        result.to_value().map_err(|inexact| {
            let trouble = Trouble::new(ErrorKind::Inexact(inexact), "the server answered");
            self.session().error(asking_for(method), trouble)
        })
    }

    /// The same with JSON as text, in which numbers are of any size.
    ///
    /// # Errors
    /// If no result came.
    pub async fn request_raw(
        &self,
        method: &str,
        params: impl Into<RawJson>,
    ) -> Result<RawJson, ClientError> {
        let Some(params) = Params::from_json(&params.into()) else {
            let error = crate::wire::RpcError::invalid_params("`params` must be an object");
            let trouble = Trouble::new(ErrorKind::Rpc(error), "nothing was sent");
            return Err(self.session().error(asking_for(method), trouble));
        };
        let timing = self.timing();
        let failed = |trouble| self.session().error(asking_for(method), trouble);
        let last = Instant::now() + timing.longest;
        let raw = self.ask_for_any(method, params, timing, last, None).await.map_err(failed)?;
        if !self.revision().opens_with_handshake() {
            outcome::check_known(&raw).map_err(|trouble| failed(*trouble))?;
        }
        Ok(raw.into())
    }

    /// Ends the conversation and the server, and waits until nothing of its process group is left.
    ///
    /// Its input is closed; if that does not end it, SIGTERM and then SIGKILL do, each after 2 s.
    /// How it ended, if it was a process.
    pub async fn close(self) -> Option<ExitStatus> {
        self.session().want_close(PATIENCE);
        let mut gone = self.shared.gone.clone();
        // If whoever would tell is gone, so is the server.
        drop(gone.wait_for(|gone| *gone).await);
        self.shared.remains.exit()
    }

    // What the files beside this one need.

    fn session(&self) -> &Arc<Session> {
        &self.shared.session
    }

    fn timing(&self) -> Timing {
        self.shared.timing
    }

    /// The `_meta` of a request, if its revision wants one or there is to be progress.
    fn meta(&self, progress: bool) -> Value {
        let revision = self.revision();
        let mut meta = if revision.opens_with_handshake() {
            Map::new()
        } else {
            self.shared.introduction.meta(revision)
        };
        if progress {
            meta.insert("progressToken".to_owned(), OWN_ID.into());
        }
        Value::Object(meta)
    }

    fn set_outputs(&self, outputs: HashMap<String, Arc<Validator>>) {
        *self.shared.outputs.lock().unwrap_or_else(PoisonError::into_inner) = outputs;
    }

    /// One request and its answer, in the usual time.
    async fn ask_once(&self, method: &str, params: Params) -> Result<Box<RawValue>, Trouble> {
        let timing = self.timing();
        self.ask(method, params, timing, Instant::now() + timing.longest, None).await
    }

    /// A call. On HTTP, a server that finds the wrong arguments in its headers may have other tools by now: those are
    /// asked for, and then the tool once more.
    async fn ask_for_tool(
        &self,
        params: Params,
        timing: Timing,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, Trouble> {
        let tell = on_progress.map(|tell| Arc::new(Mutex::new(tell)));
        let asked = self.ask_in_rounds(method::TOOLS_CALL, params.clone(), timing, tell.clone()).await;
        match &asked {
            Err(Trouble { kind: ErrorKind::Rpc(error), .. })
                if error.code == HEADER_MISMATCH && self.mirrors() && self.tools().await.is_ok() =>
            {
                self.ask_in_rounds(method::TOOLS_CALL, params, timing, tell).await
            }
            _ => asked,
        }
    }

    /// Whether arguments are mirrored in headers.
    fn mirrors(&self) -> bool {
        self.session().goes_own_ways() && !self.revision().opens_with_handshake()
    }

    /// One request and its answer, which must be complete.
    async fn ask(
        &self,
        method: &str,
        params: Params,
        timing: Timing,
        last: Instant,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, Trouble> {
        let raw = self.ask_for_any(method, params, timing, last, on_progress).await?;
        if !self.revision().opens_with_handshake() {
            outcome::check_complete(&raw).map_err(|trouble| *trouble)?;
        }
        Ok(raw)
    }

    /// One request and its answer, of whatever kind that is.
    async fn ask_for_any(
        &self,
        method: &str,
        mut params: Params,
        timing: Timing,
        last: Instant,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, Trouble> {
        // Progress is asked for when somebody wants to see it, or when it buys time.
        let progress = on_progress.is_some() || timing.silence < timing.longest;
        if progress || !self.revision().opens_with_handshake() {
            let given = params.0.iter_mut().find(|(name, _)| name == "_meta");
            match (given, self.meta(progress)) {
                // What the caller says goes first.
                (Some((_, Param::Value(Value::Object(given)))), Value::Object(ours)) => {
                    for (name, value) in ours {
                        given.entry(name).or_insert(value);
                    }
                }
                (Some(_), _) => {}
                (None, meta) => params.push("_meta", meta),
            }
        }
        self.session().request(Asking { method, params, timing, last, on_progress }).await
    }

    /// A request whose server may ask back before it answers.
    async fn ask_in_rounds(
        &self,
        method: &str,
        params: Params,
        timing: Timing,
        on_progress: Option<Arc<Mutex<OnProgress>>>,
    ) -> Result<Box<RawValue>, Trouble> {
        let mut last = Instant::now() + timing.longest;
        let mut asked = params.clone();
        for round in 0.. {
            let on_progress = on_progress.clone().map(|tell| -> OnProgress {
                Box::new(move |progress| tell.lock().unwrap_or_else(PoisonError::into_inner)(progress))
            });
            let raw = self.ask_for_any(method, asked, timing, last, on_progress).await?;
            if self.revision().opens_with_handshake() {
                return Ok(raw);
            }
            let broken = |problem: String| Trouble::broken(problem, raw.get().as_bytes());
            let Some(outcome) = outcome::questions(&raw).map_err(|trouble| *trouble)? else { return Ok(raw) };
            if outcome.input_requests.is_none() && outcome.request_state.is_none() {
                return Err(broken("the server needs input, but does not say which".to_owned()));
            }
            if round == MOST_ROUNDS {
                return Err(broken(format!("the server asked back more than {MOST_ROUNDS} times")));
            }
            asked = params.clone();
            let began = Instant::now();
            let answering = self.answer_all(outcome.input_requests.unwrap_or_default());
            let patience = self.session().answering;
            let answers = timeout(patience, answering).await.map_err(|_| {
                let what = format!("an answer within {} s", patience.as_secs_f64());
                Trouble::new(ErrorKind::Refused(what), "the server asked back")
            })??;
            // The time that our own side takes is not the server's.
            last += began.elapsed();
            if !answers.is_empty() {
                asked.push("inputResponses", answers.into());
            }
            if let Some(state) = outcome.request_state {
                asked.push("requestState", state.into());
            }
        }
        Err(Trouble::new(ErrorKind::Closed, "nobody counts that far"))
    }

    async fn answer_all(
        &self,
        questions: BTreeMap<String, Question<'_>>,
    ) -> Result<Map<String, Value>, Trouble> {
        let mut answers = Map::new();
        for (key, question) in questions {
            let answer = self
                .session()
                .handlers
                .answer(&question.method, question.params, self.revision())
                .await
                .map_err(|error| {
                    let what = format!("{} ({})", excerpt(&question.method), error.message);
                    Trouble::new(ErrorKind::Refused(what), "the server asked back")
                })?;
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    fn read_result<T: DeserializeOwned>(&self, doing: &str, raw: &RawValue) -> Result<T, ClientError> {
        serde_json::from_str(raw.get()).map_err(|error| {
            let problem = format!("the result makes no sense: {error}");
            self.session().error(doing, Trouble::broken(problem, raw.get().as_bytes()))
        })
    }

    /// What is wrong with a result by the tool's own output schema, as far as that is known.
    fn output_problem(&self, tool: &str, result: &CallToolResult) -> Option<String> {
        if result.is_error || !self.revision().has_structured_output() {
            return None;
        }
        let mut outputs = self.shared.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if self.session().take_tools_changed() {
            outputs.clear();
        }
        let validator = Arc::clone(outputs.get(tool)?);
        drop(outputs);
        match &result.structured_content {
            None => {
                Some("the tool has an output schema, but the result has no `structuredContent`".to_owned())
            }
            Some(json) => schema::first_violation(&validator, &json.rounded())
                .map(|violation| format!("the result breaks the tool's own output schema: {violation}")),
        }
    }
}

fn asking_for(method: &str) -> String {
    format!("asking {}", excerpt(method))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.opened.server.name)
            .field("revision", &self.shared.opened.revision)
            .finish_non_exhaustive()
    }
}
