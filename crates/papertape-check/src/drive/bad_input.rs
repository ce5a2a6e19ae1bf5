//! Bad input: what a server responds to it, and whether it goes on afterwards.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use serde_json::{Value, json};

use crate::drive::arguments::{self, Fault};
use crate::drive::calls::Plan;
use crate::drive::client::Client;
use crate::drive::run::Opening;
use crate::drive::{MODERN, modern};
use crate::options::Options;
use crate::stdio::recording::Recording;
use crate::stdio::session::{NoResponse, Response};

/// How many tools get bad arguments.
pub(crate) const TOOLS: usize = 5;

/// How often a server is started again after it has exited.
const RESTARTS: usize = 6;

/// A request to which there is no response so long after a later one was answered gets none.
const UNANSWERED: Duration = Duration::from_secs(10);

/// A server is silent if it does not respond for so long, at least.
const SILENT: Duration = Duration::from_secs(10);

/// How deep the arrays of the deepest input are: parsers with a limit have 127 or more.
const NESTING: usize = 300;

/// Ids that no other request of a session has.
const OTHER_ID: i64 = 900_001;

/// A kind of bad input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A request with a method that does not exist.
    UnknownMethod,
    /// A notification that does not exist.
    UnknownNotification,
    /// A call of a tool that does not exist.
    UnknownTool,
    /// A call of a tool with arguments that it does not accept: the tool, the fault and the argument.
    Arguments(String, Fault, String),
    /// A call with `params` that is an array.
    Params,
    /// A line that is not JSON.
    NotJson,
    /// A request with arrays in arrays.
    Nested,
}

/// What happened after bad input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// It responds to the next request.
    Alive,
    /// It has exited.
    Exited(Option<ExitStatus>),
    /// It does not respond any more.
    Silent,
}

/// Bad input, and what came of it.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The input.
    pub(crate) input: Input,
    /// The line that was sent.
    pub(crate) sent: String,
    /// The response, and what it was on stdout.
    pub(crate) response: Option<(Response, Vec<u8>)>,
    /// What happened then.
    pub(crate) after: After,
    /// What was written to stderr afterwards, if it exited.
    pub(crate) stderr: Option<Recording>,
}

/// Sends bad input, one after the other. A server that exits is started again.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn run(
    command: &ServerCommand,
    opening: Opening,
    plans: &[Plan],
    tools: bool,
    options: &Options,
    skipped: &mut Vec<String>,
) -> io::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    let mut client = None;
    let mut starts = 0;
    for (input, message) in inputs(plans, tools) {
        options.step(&format!("bad input: {}", input.words()));
        if client.is_none() {
            starts += 1;
            client = if starts > RESTARTS + 1 {
                None
            } else {
                Client::open(command, opening, options.timeout).await?
            };
        }
        let Some(mut opened) = client.take() else {
            skipped.push(format!("bad input: {}, since the server does not open again", input.words()));
            break;
        };
        let trial = trial(&mut opened, input, message).await;
        if trial.after == After::Alive {
            client = Some(opened);
        } else {
            opened.session.process.kill().await;
        }
        trials.push(trial);
    }
    if let Some(mut client) = client {
        client.session.process.kill().await;
    }
    Ok(trials)
}

impl Input {
    /// What it is, as part of a sentence.
    pub(crate) fn words(&self) -> String {
        match self {
            Input::UnknownMethod => "a request with an unknown method".to_owned(),
            Input::UnknownNotification => "an unknown notification".to_owned(),
            Input::UnknownTool => "a call of an unknown tool".to_owned(),
            Input::Arguments(tool, Fault::Missing, name) => {
                format!("a call of tool \"{tool}\" without the required argument \"{name}\"")
            }
            Input::Arguments(tool, Fault::WrongType, name) => {
                format!("a call of tool \"{tool}\" with an object as \"{name}\"")
            }
            Input::Params => "a request whose `params` is an array".to_owned(),
            Input::NotJson => "a line that is not JSON".to_owned(),
            Input::Nested => format!("a request with {NESTING} nested arrays"),
        }
    }
}

/// What is sent.
enum Message {
    Request(&'static str, Value),
    Notification(&'static str),
    Line(fn(Opening) -> String),
}

fn inputs(plans: &[Plan], tools: bool) -> Vec<(Input, Message)> {
    let mut inputs = vec![
        (Input::UnknownMethod, Message::Request("papertape/unknown", json!({}))),
        (Input::UnknownNotification, Message::Notification("notifications/papertape/unknown")),
    ];
    if tools {
        let params = json!({"name": "papertape_unknown_tool", "arguments": {}});
        inputs.push((Input::UnknownTool, Message::Request("tools/call", params)));
    }
    // A tool that changes something is not called with anything that its schema does not allow.
    for plan in plans.iter().filter(|plan| plan.read_only).take(TOOLS) {
        for (fault, name, arguments) in arguments::invalid(&plan.input_schema, &plan.arguments) {
            let params = json!({"name": plan.tool, "arguments": arguments});
            let input = Input::Arguments(plan.tool.clone(), fault, name);
            inputs.push((input, Message::Request("tools/call", params)));
        }
    }
    inputs.push((Input::Params, Message::Line(wrong_params)));
    inputs.push((Input::NotJson, Message::Line(not_json)));
    inputs.push((Input::Nested, Message::Line(nested)));
    inputs
}

fn wrong_params(_: Opening) -> String {
    json!({"jsonrpc": "2.0", "id": OTHER_ID, "method": "tools/list", "params": [1, 2]}).to_string()
}

fn not_json(_: Opening) -> String {
    r#"{"jsonrpc":"2.0","id":900002,"method":"ping""#.to_owned()
}

fn nested(opening: Opening) -> String {
    let (open, close) = ("[".repeat(NESTING), "]".repeat(NESTING));
    let (method, meta) = match opening {
        Opening::Modern => ("server/discover", modern::meta(MODERN)),
        _ => ("ping", json!({})),
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":900003,"method":"{method}","params":{{"_meta":{meta},"nested":{open}{close}}}}}"#
    )
}

async fn trial(client: &mut Client, input: Input, message: Message) -> Trial {
    let (request, sent) = send(client, message).await;
    client.wait = client.wait.max(SILENT);
    let after = match client.ping().await {
        Ok(_) => After::Alive,
        Err(NoResponse::Timeout | NoResponse::OutputEnded) => After::Silent,
        Err(_) => {
            let exited = client.session.process.exits_within(Duration::from_secs(1)).await;
            exited.map_or(After::Silent, |(status, _)| After::Exited(status))
        }
    };
    if let (Some(request), After::Alive) = (request, after) {
        let _ = client.session.response(request, UNANSWERED).await;
    }
    let response = request.and_then(|request| client.session.exchanges.get(request)?.response.clone());
    let response = response.map(|response| {
        let bytes = client.session.stdout_of(&response);
        (response, bytes)
    });
    let stderr = (after != After::Alive).then(|| client.session.process.stderr().clone());
    Trial { input, sent, response, after, stderr }
}

/// Sends bad input: the index of the request if it is one, and the line.
async fn send(client: &mut Client, message: Message) -> (Option<usize>, String) {
    match message {
        Message::Request(method, params) => {
            let _ = client.begin(method, params).await;
            let request = client.session.exchanges.len().saturating_sub(1);
            let sent = client.session.exchanges.last().map(|exchange| exchange.request.to_string());
            (Some(request), sent.unwrap_or_default())
        }
        Message::Notification(method) => {
            let _ = client.session.notify(method, None).await;
            (None, json!({"jsonrpc": "2.0", "method": method}).to_string())
        }
        Message::Line(make) => {
            let line = make(client.opening);
            let _ = client.session.process.send(format!("{line}\n").as_bytes(), client.wait).await;
            (None, line)
        }
    }
}
