//! What is wrong with messages as such: ids, responses, and the envelope of JSON-RPC.

use serde_json::Value;

use crate::code::opening::{
    PT0311, PT0312, PT0313, PT0314, PT0315, PT0316, PT0317, PT0318, PT0319, PT0320, PT0321,
};
use crate::code::start::PT0209;
use crate::drive::Drive;
use crate::drive::run::{Opening, Run};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::hosts::affected;
use crate::inspect::{quote, stdout_bytes};
use crate::stdio::scan::Kind;
use crate::stdio::session::{Exchange, Response};

/// What is wrong with messages: each problem once, where it is seen first.
pub(crate) fn inspect(drive: &Drive) -> Vec<Finding> {
    let inspections: [fn(&Run) -> Option<Finding>; 8] =
        [ids, to_notifications, two_responses, to_no_request, envelope, errors, too_early, requests];
    // A server that reads headers as lines answers that they are not JSON, as it should.
    let runs =
        || drive.runs.iter().filter(|run| !matches!(run.opening, Opening::Headers(_)) || run.answered());
    inspections.iter().filter_map(|inspect| runs().find_map(inspect)).collect()
}

/// The same for a session with a client that has capabilities. After invalid input of the client it is not known which request
/// an error without an id responds to.
pub(crate) fn inspect_recorded(run: &mut Run, invalid_input: bool) -> Vec<Finding> {
    let of_ids: [fn(&Run) -> Option<Finding>; 3] = [ids, two_responses, to_no_request];
    let inspections: [fn(&Run) -> Option<Finding>; 3] = [envelope, errors, too_early];
    let of_ids = of_ids.iter().filter(|_| !invalid_input);
    let mut findings: Vec<Finding> = of_ids.chain(&inspections).filter_map(|inspect| inspect(run)).collect();
    let opening = run.exchanges.iter().find(|exchange| exchange.method == "initialize");
    let capabilities = opening.and_then(|exchange| exchange.request.pointer("/params/capabilities")).cloned();
    run.unsolicited.retain(|message| {
        let method = message.value.get("method").and_then(Value::as_str).unwrap_or_default();
        let capability = method.split('/').next().unwrap_or_default();
        capabilities.as_ref().is_none_or(|capabilities| capabilities.get(capability).is_none())
    });
    // Without `initialize` it is not known what the client has declared.
    if run.opening == Opening::Modern || capabilities.is_some() {
        findings.extend(requests(run));
    }
    findings
}

/// The requests of a complete recording that have no response.
pub(crate) fn unanswered(run: &Run, indexes: &[usize]) -> Option<Finding> {
    let exchange = run.exchanges.get(*indexes.first()?)?;
    if run.pieces.iter().any(|piece| piece.kind == Kind::Unread) {
        return None;
    }
    let id = exchange.request.get("id").map(ToString::to_string).unwrap_or_default();
    let more = match indexes.len() - 1 {
        0 => String::new(),
        1 => ", and neither is 1 more request".to_owned(),
        more => format!(", and neither are {more} more requests"),
    };
    Some(
        Finding::new(
            PT0209,
            format!("`{}` with the id {} is never answered{more}", exchange.method, quote(&id)),
        )
        .evidence(sent(exchange))
        .evidence(Evidence::fact("the recording is complete, and has no response to it"))
        .remedy("answer every request, with an error if there is no result")
        .affects(affected("PT0209")),
    )
}

/// A response as evidence.
pub(crate) fn response_bytes(run: &Run, response: &Response) -> Evidence {
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let start = index(response.offset);
    let end = start.saturating_add(index(response.length)).min(run.stdout.bytes.len());
    stdout_bytes(&run.stdout, start, end)
}

/// A request as evidence.
pub(crate) fn sent(exchange: &Exchange) -> Evidence {
    Evidence::fact(format!("request: {}", quote(&exchange.request.to_string())))
}

fn message_bytes(run: &Run, offset: u64) -> Evidence {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let piece = run.pieces.iter().find(|piece| piece.start <= start && start < piece.end);
    stdout_bytes(&run.stdout, start, piece.map_or(start, |piece| piece.end))
}

/// A response whose id is not that of its request.
fn ids(run: &Run) -> Option<Finding> {
    run.exchanges.iter().find_map(|exchange| {
        let response = exchange.response.as_ref().filter(|response| response.odd_id)?;
        let asked = exchange.request.get("id")?;
        let asked_text = asked.to_string();
        let remedy = "copy the id of the request into the response as it is, with its type";
        let finding = match response.value.get("id") {
            None | Some(Value::Null) => Finding::new(
                PT0313,
                format!("the response to `{}` has no id, and the request has the id {asked}", exchange.method),
            ),
            Some(id) if id.as_str() == Some(asked_text.as_str()) || id.as_f64() == asked.as_f64() => {
                Finding::new(
                    PT0312,
                    format!(
                        "the response to `{}` has the id {} of another type than the id {asked} of the request",
                        exchange.method,
                        quote(&id.to_string())
                    ),
                )
            }
            Some(id) => Finding::new(
                PT0311,
                format!(
                    "the response to `{}` has the id {}, and the request has the id {asked}",
                    exchange.method,
                    quote(&id.to_string())
                ),
            ),
        };
        let affects = affected(finding.code.name);
        Some(
            finding
                .evidence(sent(exchange))
                .evidence(response_bytes(run, response))
                .remedy(remedy)
                .affects(affects),
        )
    })
}

fn has_no_id(message: &Value) -> bool {
    message.get("id").is_none_or(Value::is_null)
}

/// A response without an id, beside those of all requests.
fn to_notifications(run: &Run) -> Option<Finding> {
    if run.opening == Opening::Modern || run.opened.is_none() {
        return None;
    }
    let in_exchange =
        run.exchanges.iter().flat_map(|exchange| &exchange.more).find(|response| has_no_id(&response.value));
    let alone = run
        .unsolicited
        .iter()
        .find(|message| message.value.get("method").is_none() && has_no_id(&message.value));
    let offset =
        in_exchange.map(|response| response.offset).or_else(|| alone.map(|message| message.offset))?;
    Some(
        Finding::new(
            PT0314,
            "the server writes a response that answers no request: it answers the notification `notifications/initialized`",
        )
        .evidence(message_bytes(run, offset))
        .remedy("respond to messages with an id only: one without an id is a notification")
        .affects(affected("PT0314")),
    )
}

/// A second response.
fn two_responses(run: &Run) -> Option<Finding> {
    run.exchanges.iter().find_map(|exchange| {
        let first = exchange.response.as_ref()?;
        let second = exchange.more.iter().find(|response| !has_no_id(&response.value))?;
        Some(
            Finding::new(PT0315, format!("there are two responses to one `{}` request", exchange.method))
                .evidence(response_bytes(run, first))
                .evidence(response_bytes(run, second))
                .remedy("send one response for each request; the usual cause is two handlers, or an error that is sent after the result")
                .affects(affected("PT0315")),
        )
    })
}

/// A response with an id that no request had.
fn to_no_request(run: &Run) -> Option<Finding> {
    let message = run.unsolicited.iter().find(|message| {
        let is_response = message.value.get("result").is_some() || message.value.get("error").is_some();
        is_response && message.value.get("method").is_none() && !has_no_id(&message.value)
    })?;
    let id = message.value.get("id").map(ToString::to_string).unwrap_or_default();
    Some(
        Finding::new(PT0316, format!("there is a response with the id {}, which no request had", quote(&id)))
            .evidence(message_bytes(run, message.offset))
            .remedy("respond with the id of the request, once")
            .affects(affected("PT0316")),
    )
}

/// All messages, with their places on stdout.
fn messages(run: &Run) -> Vec<(&Value, u64)> {
    let responses = run.exchanges.iter().flat_map(|exchange| exchange.response.iter().chain(&exchange.more));
    let responses = responses.map(|response| (&response.value, response.offset));
    let mut messages: Vec<(&Value, u64)> =
        responses.chain(run.unsolicited.iter().map(|message| (&message.value, message.offset))).collect();
    messages.sort_by_key(|(_, offset)| *offset);
    messages
}

/// The members that every message has, and those that exclude each other.
fn envelope(run: &Run) -> Option<Finding> {
    messages(run).into_iter().find_map(|(message, offset)| {
        let has = |member: &str| message.get(member).is_some();
        let jsonrpc = message.get("jsonrpc");
        let finding = if jsonrpc.is_none_or(|version| version != "2.0") {
            let what = jsonrpc
                .map_or("no member `jsonrpc`".to_owned(), |version| format!("`\"jsonrpc\": {version}`"));
            Finding::new(PT0317, format!("a message has {what}"))
                .remedy("write `\"jsonrpc\": \"2.0\"` in every message")
        } else if !has("method") && has("result") && has("error") {
            Finding::new(PT0318, "a response has both `result` and `error`")
                .remedy("write only the one that applies; one that is null must be left out, too")
        } else if !has("method") && !has("result") && !has("error") {
            Finding::new(PT0318, "a response has neither `result` nor `error`")
                .remedy("write `result` (an object, which may be empty) or `error`")
        } else {
            return None;
        };
        let affects = affected(finding.code.name);
        Some(finding.evidence(message_bytes(run, offset)).affects(affects))
    })
}

/// Errors that lack what an error has.
fn errors(run: &Run) -> Option<Finding> {
    messages(run).into_iter().find_map(|(message, offset)| {
        let error = message.get("error").filter(|error| !error.is_null())?;
        let what = if !error.is_object() {
            format!("`error` is {}, and should be an object", quote(&error.to_string()))
        } else if !error.get("code").is_some_and(|code| code.is_i64() || code.is_u64()) {
            "`error` has no `code` that is an integer".to_owned()
        } else if !error.get("message").is_some_and(Value::is_string) {
            "`error` has no `message` that is a string".to_owned()
        } else {
            return None;
        };
        Some(
            Finding::new(PT0319, what)
                .evidence(message_bytes(run, offset))
                .remedy("write `\"error\": {\"code\": -32603, \"message\": \"..\"}`")
                .affects(affected("PT0319")),
        )
    })
}

/// What a server sends before it has answered `initialize`.
fn too_early(run: &Run) -> Option<Finding> {
    let opening = run.exchanges.first().filter(|exchange| exchange.method == "initialize")?;
    let response = opening.response.as_ref()?;
    let message = run.unsolicited.iter().find(|message| {
        let method = message.value.get("method").and_then(Value::as_str);
        let allowed = matches!(method, None | Some("ping" | "notifications/message"));
        message.offset < response.offset && !allowed
    })?;
    let method = message.value.get("method").and_then(Value::as_str).unwrap_or_default();
    Some(
        Finding::new(
            PT0320,
            format!("the server sends {} before it has answered `initialize`", quote(method)),
        )
        .evidence(message_bytes(run, message.offset))
        .remedy("send nothing but `ping` and logs before `notifications/initialized` has come")
        .affects(affected("PT0320")),
    )
}

/// Requests of the server that the client has declared no capability for.
fn requests(run: &Run) -> Option<Finding> {
    let message = run.unsolicited.iter().find(|message| {
        let method = message.value.get("method").and_then(Value::as_str);
        method.is_some_and(|method| method != "ping") && !has_no_id(&message.value)
    })?;
    let method = message.value.get("method").and_then(Value::as_str).unwrap_or_default();
    let (what, remedy) = if run.opening == Opening::Modern && run.opened.is_some() {
        (
            "in a stateless revision, in which servers send no requests",
            "return a result with `resultType: \"input_required\"` instead",
        )
    } else {
        (
            "to a client without that capability",
            "look at the capabilities that the client declares in `initialize`, and do without",
        )
    };
    Some(
        Finding::new(PT0321, format!("the server sends the request {} {what}", quote(method)))
            .evidence(message_bytes(run, message.offset))
            .remedy(remedy)
            .affects(affected("PT0321")),
    )
}
