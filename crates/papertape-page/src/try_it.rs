//! Try it: a client of the target, what it lists, and calls.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use data_encoding::BASE64;
use http::StatusCode;
use papertape::Client;
use papertape::client::{CallOptions, ClientError, ErrorKind, ListEntry};
use papertape::protocol::{RawJson, ToolDefinition};
use papertape_schema::{Draft, Validator};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::page::Target;
use crate::recorder::Recorder;
use crate::reply::Refusal;
use crate::sync::lock;
use crate::tape::Tape;
use crate::uri_template;

/// The MIME type of a page of the server.
const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The most violations of a schema that are named.
const MOST_VIOLATIONS: usize = 20;

/// A session with the target of the command line.
pub(crate) struct TryIt {
    target: Target,
    recorder: Recorder,
    tape: Arc<Tape>,
    state: Mutex<State>,
    /// The input schemas of the tools that were listed last.
    schemas: Mutex<HashMap<String, Value>>,
}

struct State {
    session: Session,
    /// Counts the sessions.
    lists: u64,
}

enum Session {
    Opening,
    Open(Client),
    Failed(String),
    Closed,
}

/// A call, a read or a prompt.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wanted {
    #[serde(default)]
    name: String,
    #[serde(default)]
    uri: String,
    #[serde(default)]
    template: String,
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    /// Send arguments that violate the schema.
    #[serde(default)]
    anyway: bool,
}

impl Wanted {
    pub(crate) fn uri(&self) -> &str {
        &self.uri
    }
}

impl fmt::Debug for TryIt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryIt").field("target", &self.target).finish_non_exhaustive()
    }
}

impl TryIt {
    pub(crate) fn new(target: Target, recorder: Recorder, tape: Arc<Tape>) -> Arc<Self> {
        let state = Mutex::new(State { session: Session::Opening, lists: 0 });
        Arc::new(Self { target, recorder, tape, state, schemas: Mutex::default() })
    }

    /// Opens the session. Without a session, and not otherwise: there is one process at a time.
    pub(crate) fn connect(self: &Arc<Self>) {
        let this = Arc::clone(self);
        tokio::spawn(async move { this.open().await });
    }

    /// Opens a session again that has ended.
    pub(crate) fn connect_again(self: &Arc<Self>) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        if !matches!(state.session, Session::Failed(_) | Session::Closed) {
            return Err(Refusal::new(StatusCode::CONFLICT, "the server is running"));
        }
        state.session = Session::Opening;
        drop(state);
        self.connect();
        Ok(())
    }

    async fn open(self: Arc<Self>) {
        self.recorder.event("start", &self.target.start);
        self.tape.changed();
        let session = match (self.target.connect)(self.recorder.options().apps()).await {
            Ok(client) => {
                let watched = Arc::downgrade(&self);
                let closed = client.closed();
                tokio::spawn(async move {
                    closed.await;
                    ended(&watched);
                });
                Session::Open(client)
            }
            Err(problem) => {
                self.recorder.event("failed", &json!({"error": problem}));
                Session::Failed(problem)
            }
        };
        let mut state = lock(&self.state);
        state.lists += 1;
        state.session = session;
        drop(state);
        self.tape.changed();
    }

    /// Ends the session, and the server with it.
    pub(crate) async fn close(&self) {
        let session = std::mem::replace(&mut lock(&self.state).session, Session::Closed);
        if let Session::Open(client) = session {
            self.recorder.event("eof", &json!({"of": "client"}));
            let status = client.close().await;
            if let Some(status) = status {
                self.recorder.event("exit", &json!({"status": status.code()}));
            }
        }
        self.recorder.event("end", &json!({}));
    }

    /// What the page shows of it.
    pub(crate) fn summary(&self) -> Value {
        let State { session, lists } = &*lock(&self.state);
        let (state, error) = match session {
            Session::Opening => ("opening", None),
            Session::Open(_) => ("open", None),
            Session::Failed(error) => ("failed", Some(error.as_str())),
            Session::Closed => ("closed", None),
        };
        json!({"target": self.target.name, "state": state, "error": error, "lists": lists})
    }

    fn client(&self) -> Result<Client, Refusal> {
        match &lock(&self.state).session {
            Session::Open(client) => Ok(client.clone()),
            Session::Opening => Err(Refusal::new(StatusCode::CONFLICT, "the server is still starting")),
            Session::Failed(_) | Session::Closed => {
                Err(Refusal::new(StatusCode::CONFLICT, "the server has ended: start it again"))
            }
        }
    }

    /// Everything that the server lists.
    pub(crate) async fn lists(&self) -> Result<Value, Refusal> {
        let client = self.client()?;
        let mut problems = Vec::new();
        let tools = listed(client.tools().await, "tools/list", &mut problems);
        let schemas = tools.iter().map(|tool| (tool.item.name.clone(), tool.item.input_schema.clone()));
        *lock(&self.schemas) = schemas.collect();
        let tools: Vec<Value> = tools.iter().map(tool_json).collect();
        let resources = listed(client.resources().await, "resources/list", &mut problems);
        let templates = listed(client.resource_templates().await, "resources/templates/list", &mut problems);
        let prompts = listed(client.prompts().await, "prompts/list", &mut problems);
        Ok(json!({
            "instructions": client.instructions(),
            "tools": tools,
            "resources": raw_items(&resources),
            "templates": raw_items(&templates),
            "prompts": raw_items(&prompts),
            "problems": problems,
        }))
    }

    /// Calls a tool, unless its arguments violate its schema.
    pub(crate) async fn call(&self, wanted: Wanted) -> Result<String, Refusal> {
        let client = self.client()?;
        let arguments = wanted.arguments.map_or_else(|| RawJson::from(json!({})), RawJson::from);
        if !arguments.is_object() {
            return Err(Refusal::bad("`arguments` must be an object"));
        }
        if !wanted.anyway
            && let Some(violations) = self.violations(&wanted.name, &arguments)
        {
            return Ok(json!({"violations": violations}).to_string());
        }
        // In a box, because waiting for tasks makes it large.
        let call = Box::pin(client.call_raw(&wanted.name, arguments, CallOptions::new()));
        self.answered(async { call.await.map(|(_, raw)| raw) }).await
    }

    /// Why the arguments should not be sent; nothing if they are valid, or the tool or its schema is unknown.
    fn violations(&self, tool: &str, arguments: &RawJson) -> Option<Vec<String>> {
        let schema = lock(&self.schemas).get(tool)?.clone();
        let validator = Validator::new(&schema, Draft::Draft202012).ok()?;
        let arguments = arguments.to_value().ok()?;
        let errors = validator.errors(&arguments);
        let said = errors.iter().take(MOST_VIOLATIONS).map(|error| match error.pointer() {
            "" => error.to_string(),
            pointer => format!("{pointer}: {error}"),
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then_some(said)
    }

    /// Reads a resource, or what a template leads to.
    pub(crate) async fn read(&self, wanted: Wanted) -> Result<String, Refusal> {
        let client = self.client()?;
        let uri = match wanted.template.as_str() {
            "" => wanted.uri,
            template => uri_template::expand(template, &wanted.variables),
        };
        self.answered(client.request_raw("resources/read", json!({"uri": uri}))).await
    }

    /// Gets a prompt.
    pub(crate) async fn prompt(&self, wanted: Wanted) -> Result<String, Refusal> {
        let client = self.client()?;
        let arguments = wanted.arguments.map(RawJson::from).unwrap_or_else(|| json!({}).into());
        let arguments = arguments.to_value().map_err(|error| Refusal::bad(error.to_string()))?;
        self.answered(client.request_raw("prompts/get", json!({"name": wanted.name, "arguments": arguments})))
            .await
    }

    /// A page of the server: its HTML, and how it is shown.
    pub(crate) async fn app(&self, uri: &str) -> Result<(String, Value), Refusal> {
        if !uri.starts_with("ui://") {
            return Err(Refusal::bad("the URI of a page begins with ui://"));
        }
        let contents = self.client()?.read(uri).await;
        let contents = contents.map_err(|error| Refusal::new(StatusCode::BAD_GATEWAY, error.to_string()))?;
        let page = contents.into_iter().find(|one| is_page(one.mime_type.as_deref()));
        let no_page =
            || Refusal::new(StatusCode::BAD_GATEWAY, format!("{uri} is not of the type {APP_MIME_TYPE}"));
        let page = page.ok_or_else(no_page)?;
        let ui = page.ui().unwrap_or_default();
        let csp = ui.csp.unwrap_or_default();
        let lists = [csp.connect_domains, csp.resource_domains, csp.frame_domains, csp.base_uri_domains];
        let shown = json!({"refused": lists.concat(), "border": ui.prefers_border.unwrap_or_default()});
        let html = match (page.text, page.blob) {
            (Some(text), _) => Some(text),
            (None, Some(blob)) => {
                BASE64.decode(blob.as_bytes()).ok().and_then(|html| String::from_utf8(html).ok())
            }
            (None, None) => None,
        };
        Ok((html.ok_or_else(no_page)?, shown))
    }

    /// Waits for an answer, and for the page to be able to show its frames.
    async fn answered(
        &self,
        answer: impl Future<Output = Result<RawJson, ClientError>>,
    ) -> Result<String, Refusal> {
        let (before, began) = (self.recorder.last(), Instant::now());
        let answer = answer.await;
        let seconds = began.elapsed().as_secs_f64();
        self.tape.read_up_to(self.recorder.last()).await;
        let request = self.recorder.request_after(before);
        Ok(match answer {
            Ok(result) => json!({"result": result.get(), "request": request, "seconds": seconds}),
            Err(error) => json!({"error": explained(&error), "request": request, "seconds": seconds}),
        }
        .to_string())
    }
}

/// The session has ended by itself.
fn ended(this: &Weak<TryIt>) {
    let Some(this) = this.upgrade() else { return };
    let mut state = lock(&this.state);
    if let Session::Open(client) = &state.session
        && client.is_closed()
    {
        state.session = Session::Closed;
        drop(state);
        this.recorder.event("exit", &json!({}));
        this.tape.changed();
    }
}

fn explained(error: &ClientError) -> String {
    match error.kind() {
        ErrorKind::Rpc(rpc) => match &rpc.data {
            Some(data) => format!("error {}: {}\n{data}", rpc.code, rpc.message),
            None => format!("error {}: {}", rpc.code, rpc.message),
        },
        _ => error.to_string(),
    }
}

fn listed<T>(
    list: Result<Vec<ListEntry<T>>, ClientError>,
    method: &str,
    problems: &mut Vec<String>,
) -> Vec<ListEntry<T>> {
    match list {
        Ok(list) => {
            problems.extend(list.iter().flat_map(|entry| &entry.problems).cloned());
            list
        }
        Err(error) if is_unknown(&error) => Vec::new(),
        Err(error) => {
            problems.push(format!("{method}: {error}"));
            Vec::new()
        }
    }
}

fn is_unknown(error: &ClientError) -> bool {
    matches!(error.kind(), ErrorKind::Rpc(rpc) if rpc.code == papertape::wire::error::METHOD_NOT_FOUND)
}

fn raw_items<T>(list: &[ListEntry<T>]) -> Vec<Value> {
    list.iter().filter_map(|entry| entry.raw.parse().ok()).filter(Value::is_object).collect()
}

fn tool_json(entry: &ListEntry<ToolDefinition>) -> Value {
    let ui = entry.item.ui();
    let definition: Value = entry.raw.parse().unwrap_or_default();
    let member = |name: &str| definition.get(name).cloned().unwrap_or_default();
    json!({
        "name": entry.item.name,
        "title": member("title"),
        "description": member("description"),
        "inputSchema": member("inputSchema"),
        "annotations": match member("annotations") { Value::Object(notes) => notes, _ => Default::default() },
        "ui": ui.as_ref().map(|ui| json!({"resourceUri": ui.resource_uri})),
        "forApp": ui.as_ref().is_none_or(|ui| ui.for_app()),
        "definition": definition,
    })
}

/// Whether it is the MIME type of a page, in any spelling: `text/html; profile="mcp-app"`.
fn is_page(mime_type: Option<&str>) -> bool {
    let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect::<String>();
    mime_type.is_some_and(|given| plain(given).eq_ignore_ascii_case(APP_MIME_TYPE))
}
