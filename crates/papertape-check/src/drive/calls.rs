//! Calls of tools: valid ones, with a ping beside those that take long, and cancelled ones.

use std::time::Duration;

use serde_json::{Value, json};

use crate::drive::arguments;
use crate::drive::client::Client;
use crate::options::Options;
use crate::stdio::session::{Exchange, NoResponse};

/// How many tools are called, unless all are to be called.
const CALLED: usize = 20;

/// A call that is not answered for so long gets a ping beside it.
const PATIENCE: Duration = Duration::from_millis(200);

/// A ping that waits for a call for so long was blocked: no scheduler is that late.
pub(crate) const BLOCKED: Duration = Duration::from_secs(1);

/// A call that takes so long can be cancelled meanwhile.
const CANCELLABLE: Duration = Duration::from_secs(1);

/// A call of a tool, by the indices of its exchanges.
#[derive(Debug)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) tool: String,
    /// Its output schema.
    pub(crate) output_schema: Option<Value>,
    /// It says of itself that it changes nothing.
    pub(crate) read_only: bool,
    /// The call.
    pub(crate) call: usize,
    /// Why it has no response.
    pub(crate) failure: Option<NoResponse>,
    /// The ping that was sent meanwhile.
    pub(crate) ping: Option<usize>,
}

/// What calls showed.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The calls, in order.
    pub(crate) calls: Vec<Call>,
    /// The server exited after the last call, which it had answered.
    pub(crate) exited_after: bool,
    /// A call during which pings were not answered, twice.
    pub(crate) blocked: Option<(Call, Duration)>,
    /// A call that was cancelled, and how long it takes if it is not.
    pub(crate) cancelled: Option<(Call, Duration)>,
}

impl Calls {
    /// Whether the server exited at a call, or soon after it.
    pub(crate) fn exits(&self) -> bool {
        let exits = |failure| matches!(failure, NoResponse::Exited | NoResponse::NotSent(_));
        self.exited_after || self.calls.iter().filter_map(|call| call.failure).any(exits)
    }
}

/// A tool that may be called, and arguments that it accepts.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The tool.
    pub(crate) tool: String,
    /// Its input schema.
    pub(crate) input_schema: Value,
    /// Its output schema.
    pub(crate) output_schema: Option<Value>,
    /// Arguments made from the input schema.
    pub(crate) arguments: Value,
    /// It says of itself that it changes nothing.
    pub(crate) read_only: bool,
}

/// Which tools are called, and why others are not.
pub(crate) fn plan(tools: &[Value], options: &Options, skipped: &mut Vec<String>) -> Vec<Plan> {
    let mut plans: Vec<Plan> = Vec::new();
    let (mut changing, mut impossible, mut many) = (Vec::new(), Vec::new(), Vec::new());
    for tool in tools {
        let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
        let hint = |hint: &str| tool.pointer(&format!("/annotations/{hint}")).and_then(Value::as_bool);
        let read_only = hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true);
        let named = options.calls.iter().any(|called| called == name);
        let schema = tool.get("inputSchema").cloned().unwrap_or_default();
        if plans.iter().any(|plan| plan.tool == name) {
            continue;
        } else if !(read_only || named || options.call_all) {
            changing.push(name);
        } else if plans.len() >= CALLED && !named && !options.call_all {
            many.push(name);
        } else if let Some(arguments) = arguments::valid(&schema) {
            plans.push(Plan {
                tool: name.to_owned(),
                input_schema: schema,
                output_schema: tool.get("outputSchema").cloned(),
                arguments,
                read_only,
            });
        } else {
            impossible.push(name);
        }
    }
    let mut skip = |names: Vec<&str>, why: &str| {
        if !names.is_empty() {
            skipped.push(format!("calls of {}: {why}", listed(&names)));
        }
    };
    skip(changing, "not declared as read-only (`--call TOOL` calls them)");
    skip(impossible, "no arguments can be made from the schema");
    skip(many, "enough other tools are called (`--call TOOL` calls them)");
    for name in &options.calls {
        if !tools.iter().any(|tool| tool.get("name").is_some_and(|listed| listed == name)) {
            skipped.push(format!("call of \"{name}\": it is not listed"));
        }
    }
    plans
}

/// Names of tools in a sentence: the first ones, and how many more there are.
pub(crate) fn listed(names: &[&str]) -> String {
    const NAMED: usize = 8;
    let mut text: Vec<String> = names.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect();
    if names.len() > NAMED {
        text.push(format!("and {} more", names.len() - NAMED));
    }
    text.join(", ")
}

/// Calls tools.
pub(crate) async fn run(
    client: &mut Client,
    plans: &[Plan],
    options: &Options,
    skipped: &mut Vec<String>,
) -> Calls {
    let mut calls = Calls::default();
    for (index, plan) in plans.iter().enumerate() {
        if !client.has_room() {
            let left: Vec<&str> = plans.iter().skip(index).map(|plan| plan.tool.as_str()).collect();
            skipped.push(format!("calls of {}: the results before them are large", listed(&left)));
            break;
        }
        options.step(&format!("calling {}", plan.tool));
        let call = call(client, plan).await;
        let (failure, slow) = (call.failure, waited(client, &call).filter(|time| *time >= BLOCKED));
        // It has a response, so that it is a tool that takes long rather than one that hangs.
        let confirm = failure.is_none() && slow.is_some() && calls.blocked.is_none();
        let elapsed = elapsed(client, &call);
        let free = slow.is_none() && call.ping.is_some();
        calls.calls.push(call);
        match failure {
            None => {}
            Some(NoResponse::Timeout) if client.ping().await.is_ok() => {}
            Some(_) => {
                let left: Vec<&str> = plans.iter().skip(index + 1).map(|plan| plan.tool.as_str()).collect();
                if !left.is_empty() {
                    skipped.push(format!(
                        "calls of {}: the server answers nothing after the call of \"{}\"",
                        listed(&left),
                        plan.tool
                    ));
                }
                break;
            }
        }
        if !client.has_room() {
            continue;
        }
        if confirm {
            let again = self::call(client, plan).await;
            let slow = waited(client, &again).filter(|time| *time >= BLOCKED);
            if let (Some(time), None) = (slow, again.failure) {
                calls.blocked = Some((again, time));
            }
        } else if free
            && calls.cancelled.is_none()
            && failure.is_none()
            && let Some(elapsed) = elapsed.filter(|elapsed| *elapsed >= CANCELLABLE)
        {
            options.step(&format!("cancelling {}", plan.tool));
            calls.cancelled = Some((cancel(client, plan, elapsed).await, elapsed));
        }
    }
    if calls.calls.last().is_some_and(|call| call.failure.is_none()) {
        calls.exited_after = client.ping().await.err() == Some(NoResponse::Exited)
            || client.session.process.exits_within(Duration::ZERO).await.is_some();
    }
    if calls.cancelled.is_none() && !plans.is_empty() {
        skipped.push("cancellation: no call took long enough, or all else waits for it".to_owned());
    }
    calls
}

fn exchange(client: &Client, index: usize) -> Option<&Exchange> {
    client.session.exchanges.get(index)
}

fn elapsed(client: &Client, call: &Call) -> Option<Duration> {
    exchange(client, call.call)?.response.as_ref().map(|response| response.elapsed)
}

/// For how long a ping waited until the response to a call came, if it came before that to the ping.
fn waited(client: &Client, call: &Call) -> Option<Duration> {
    let (called, pinged) = (exchange(client, call.call)?, exchange(client, call.ping?)?);
    let (response, pong) = (called.response.as_ref()?, pinged.response.as_ref()?);
    let arrived = called.sent.checked_add(response.elapsed)?;
    (response.offset < pong.offset).then(|| arrived.saturating_sub(pinged.sent))
}

async fn begin(client: &mut Client, plan: &Plan) -> (Call, bool) {
    let params = json!({"name": plan.tool, "arguments": plan.arguments});
    let begun = client.begin("tools/call", params).await;
    let call = client.session.exchanges.len().saturating_sub(1);
    let (tool, output_schema) = (plan.tool.clone(), plan.output_schema.clone());
    let read_only = plan.read_only;
    (Call { tool, output_schema, read_only, call, failure: begun.err(), ping: None }, begun.is_ok())
}

/// Calls a tool, and sends a ping if it takes a while.
async fn call(client: &mut Client, plan: &Plan) -> Call {
    let (mut call, begun) = begin(client, plan).await;
    if !begun {
        return call;
    }
    match client.session.response(call.call, PATIENCE.min(client.wait)).await {
        Err(NoResponse::Timeout) => {}
        other => {
            call.failure = other.err();
            return call;
        }
    }
    call.ping = client.begin_ping().await.ok();
    call.failure = client.session.response(call.call, client.wait).await.err();
    if let (Some(ping), None) = (call.ping, call.failure) {
        let _ = client.session.response(ping, client.wait).await;
    }
    call
}

/// Calls a tool that takes so long, cancels the call, and waits until it would have ended, and longer.
async fn cancel(client: &mut Client, plan: &Plan, elapsed: Duration) -> Call {
    let (mut call, begun) = begin(client, plan).await;
    if !begun {
        return call;
    }
    client.session.settle(PATIENCE).await;
    let id = exchange(client, call.call).and_then(|exchange| exchange.request.get("id")).cloned();
    let params = json!({"requestId": id, "reason": "papertape check: is the call cancelled?"});
    let _ = client.session.notify("notifications/cancelled", Some(params)).await;
    // What is read before this is answered has been read in order.
    if let Ok(ping) = client.begin_ping().await
        && client.session.response(ping, client.wait).await.is_ok()
    {
        call.ping = Some(ping);
        let wait = elapsed.saturating_mul(2).saturating_add(BLOCKED).min(client.wait);
        call.failure = client.session.response(call.call, wait).await.err();
    }
    call
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plan;
    use crate::options::Options;

    fn tools() -> Vec<Value> {
        let schema = json!({"type": "object"});
        vec![
            json!({"name": "read", "inputSchema": schema, "annotations": {"readOnlyHint": true}}),
            json!({"name": "write", "inputSchema": schema}),
            json!({"name": "both", "inputSchema": schema, "annotations": {"readOnlyHint": true, "destructiveHint": true}}),
            json!({"name": "odd", "inputSchema": {"type": "object", "required": ["a"]}, "annotations": {"readOnlyHint": true}}),
        ]
    }

    fn planned(options: &Options) -> (Vec<String>, Vec<String>) {
        let mut skipped = Vec::new();
        let plans = plan(&tools(), options, &mut skipped);
        (plans.into_iter().map(|plan| plan.tool).collect(), skipped)
    }

    #[test]
    fn only_tools_that_change_nothing_are_called_unless_asked_for() {
        let (called, skipped) = planned(&Options::default());
        assert_eq!(called, ["read"]);
        assert_eq!(
            skipped,
            [
                "calls of \"write\", \"both\": not declared as read-only (`--call TOOL` calls them)",
                "calls of \"odd\": no arguments can be made from the schema",
            ]
        );
        let (called, _) = planned(&Options::default().call(["write".to_owned(), "gone".to_owned()]));
        assert_eq!(called, ["read", "write"]);
        let (called, _) = planned(&Options::default().call_all(true));
        assert_eq!(called, ["read", "write", "both"]);
    }
}
