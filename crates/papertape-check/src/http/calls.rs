//! Calls of tools over HTTP: valid ones, invalid arguments, and a tool that does not exist.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::drive::arguments;
use crate::drive::bad_input::{Input, TOOLS};
use crate::drive::calls::{Plan, listed, plan};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::http::channel::Channel;
use crate::http::client::Client;
use crate::http::exchange::{Cut, Exchange};
use crate::http::failure::FailureKind;
use crate::http::inspect::response;
use crate::inspect::behaviour::{never_answered, wrong_response};
use crate::inspect::results::Called;
use crate::inspect::time;
use crate::options::Options;

/// What was called, and what was found.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) findings: Vec<Finding>,
    pub(crate) steps: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

/// Calls the tools that may be called.
pub(crate) async fn run(
    client: &Client,
    channel: &mut Channel,
    revision: &str,
    tools: &[Value],
    options: &Options,
) -> Calls {
    // Clients open newer revisions over HTTP+SSE, too, so that what is newer breaks none of them.
    let revision = (!matches!(channel, Channel::Sse(_))).then_some(revision);
    let mut calls = Calls::default();
    let plans = plan(tools, options, &mut calls.skipped);
    let mut called = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        if matches!(channel, Channel::Sse(stream) if !stream.has_room()) {
            let left: Vec<&str> = plans.iter().skip(index).map(|plan| plan.tool.as_str()).collect();
            calls.skipped.push(format!("calls of {}: the results before them are large", listed(&left)));
            break;
        }
        options.step(&format!("calling {}", plan.tool));
        let began = Instant::now();
        let exchange = Box::pin(call(client, channel, plan, plan.arguments.clone())).await;
        let waited = began.elapsed();
        called.push(format!("\"{}\"", plan.tool));
        let lives = !has_no_response(&exchange) || Box::pin(ping(client, channel)).await;
        if let Some(status) = exchange.denied() {
            // The caller may not call it, or not so soon.
            calls
                .skipped
                .push(format!("the result of \"{}\": the call is refused with HTTP {status}", plan.tool));
        } else {
            calls.findings.extend(inspect(plan, &exchange, revision, waited, lives));
        }
        if !lives {
            let left: Vec<&str> = plans.iter().skip(index + 1).map(|plan| plan.tool.as_str()).collect();
            let left =
                if left.is_empty() { String::new() } else { format!("calls of {}, and ", listed(&left)) };
            calls
                .skipped
                .push(format!("{left}bad calls: there is no response after the call of \"{}\"", plan.tool));
            return calls.called(&called);
        }
    }
    let mut calls = calls.called(&called);
    if !tools.is_empty() {
        Box::pin(bad(client, channel, &plans, options, &mut calls)).await;
        calls.skipped.push("calls at the same time, and cancellation: not over HTTP".to_owned());
    }
    calls
}

impl Calls {
    fn called(mut self, called: &[String]) -> Self {
        if !called.is_empty() {
            self.steps.push(format!("called {}", called.join(", ")));
        }
        self
    }
}

async fn call(client: &Client, channel: &mut Channel, plan: &Plan, arguments: Value) -> Exchange {
    channel.call_tool(client, &plan.tool, &plan.input_schema, arguments).await
}

/// Whether the server answers at all.
async fn ping(client: &Client, channel: &mut Channel) -> bool {
    let method = if matches!(channel, Channel::Stateless) { "server/discover" } else { "ping" };
    channel.call(client, method, None).await.message().is_some()
}

/// Whether no response has come, or not in time.
fn has_no_response(exchange: &Exchange) -> bool {
    exchange.response().is_none_or(|response| exchange.message().is_none() && response.cut.is_some())
}

/// Whether a response was waited for in vain.
fn is_late(exchange: &Exchange) -> bool {
    match &exchange.outcome {
        Err(failure) => failure.kind == FailureKind::Timeout,
        Ok(response) => exchange.message().is_none() && response.cut == Some(Cut::Timeout),
    }
}

/// What is wrong with a valid call.
fn inspect(
    plan: &Plan,
    exchange: &Exchange,
    revision: Option<&str>,
    waited: Duration,
    lives: bool,
) -> Vec<Finding> {
    let subject = format!("tool \"{}\"", plan.tool);
    if is_late(exchange) {
        let then = if lives {
            "while the server answers other requests"
        } else {
            "and neither has a request after it"
        };
        let message = format!(
            "a call of tool \"{}\" with arguments that its `inputSchema` accepts has no response within {}, {then}",
            plan.tool,
            time(waited)
        );
        return vec![exchange.proves(never_answered(message, waited)).subject(subject)];
    }
    if response::is_polled(exchange) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> =
        response::inspect(exchange).map(|finding| finding.subject(subject)).into_iter().collect();
    let Some(response) = exchange.response().filter(|_| exchange.message().is_some()) else {
        return findings;
    };
    let called = Called {
        tool: &plan.tool,
        output_schema: plan.output_schema.as_ref(),
        arguments: Some(&plan.arguments),
        revision,
        result: exchange.result(),
        length: u64::try_from(response.body.len()).unwrap_or(u64::MAX),
        evidence: exchange.evidence(),
    };
    findings.extend(called.inspect());
    findings
}

/// Calls with arguments that schemas do not accept, and of a tool that does not exist.
async fn bad(client: &Client, channel: &mut Channel, plans: &[Plan], options: &Options, calls: &mut Calls) {
    let unknown = Plan {
        tool: "papertape_unknown_tool".to_owned(),
        input_schema: json!({}),
        output_schema: None,
        arguments: json!({}),
        read_only: true,
    };
    let mut inputs = vec![(Input::UnknownTool, &unknown, json!({}))];
    // A tool that changes something is not called with anything that its schema does not allow.
    for plan in plans.iter().filter(|plan| plan.read_only).take(TOOLS) {
        for (fault, name, arguments) in arguments::invalid(&plan.input_schema, &plan.arguments) {
            inputs.push((Input::Arguments(plan.tool.clone(), fault, name), plan, arguments));
        }
    }
    let count = inputs.len();
    for (input, plan, arguments) in inputs {
        options.step(&format!("bad input: {}", input.words()));
        let exchange = Box::pin(call(client, channel, plan, arguments)).await;
        if has_no_response(&exchange) && !Box::pin(ping(client, channel)).await {
            let message = format!("there is no response any more after {}", input.words());
            let remedy =
                "validate arguments by the input schema before they are used, and answer every request";
            calls.findings.push(exchange.proves(response::without(message).remedy(remedy)));
            calls.skipped.push(format!("bad calls after {}", input.words()));
            return;
        }
        // One kind of finding for each tool is enough.
        let new = wrong_response(&input, exchange.message()).map(|finding| exchange.proves(finding));
        let is_new = |new: &Finding| {
            !calls
                .findings
                .iter()
                .any(|old| old.subject.is_some() && (old.code, &old.subject) == (new.code, &new.subject))
        };
        calls.findings.extend(new.filter(is_new));
    }
    let kinds = if count == 1 { "1 kind".to_owned() } else { format!("{count} kinds") };
    calls.steps.push(format!("sent bad calls, {kinds} of them"));
}

impl Exchange {
    /// The request and the response, as evidence.
    fn evidence(&self) -> Vec<Evidence> {
        self.proves(response::without(String::new())).evidence
    }
}
