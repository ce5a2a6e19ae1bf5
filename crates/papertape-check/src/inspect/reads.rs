//! What is wrong with the results of `resources/read` and `prompts/get`.

use serde_json::Value;

use crate::code::behaviour::{PT0601, PT0613, PT0615};
use crate::drive::Drive;
use crate::drive::behave::Behaviour;
use crate::drive::reads::Read;
use crate::drive::run::Run;
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::hosts::affected;
use crate::inspect::behaviour::{never_answered, no_response_within};
use crate::inspect::messages::{response_bytes, sent};
use crate::inspect::results::block_fault;
use crate::inspect::stderr::error_line;
use crate::inspect::{quote, status, time};
use crate::portability::inspect_prompts;
use crate::stdio::session::{Exchange, NoResponse};

/// What is wrong with resources that were read and prompts that were got.
pub(crate) fn inspect(drive: &Drive, behaviour: &Behaviour) -> Vec<Finding> {
    let Some(run) = behaviour.run.and_then(|index| drive.runs.get(index)) else { return Vec::new() };
    let exchanges =
        || behaviour.reads.iter().filter_map(|read| Some((read, run.exchanges.get(read.request)?)));
    let mut findings: Vec<Finding> =
        exchanges().filter_map(|(read, exchange)| one(run, read, exchange)).collect();
    let prompts: Vec<(Value, Value)> = exchanges()
        .filter(|(_, exchange)| exchange.method == "prompts/get")
        .filter_map(|(read, exchange)| Some((read.definition.clone(), exchange.result()?.clone())))
        .collect();
    findings.extend(inspect_prompts(&prompts));
    findings
}

fn one(run: &Run, read: &Read, exchange: &Exchange) -> Option<Finding> {
    if matches!(read.failure, Some(NoResponse::Exited | NoResponse::NotSent(_))) {
        let message =
            format!("the server exits with {} at `{}`", status::words(run.ended.status), exchange.method);
        let lines = run.stderr.lines();
        let said = error_line(&lines)
            .map_or("nothing on stderr".to_owned(), |line| format!("on stderr: {}", quote(line)));
        return Some(
            Finding::new(PT0601, message)
                .subject(read.subject.clone())
                .evidence(sent(exchange))
                .evidence(Evidence::fact(said))
                .remedy("answer with an error what cannot be done, and run until stdin ends")
                .affects(affected("PT0601")),
        );
    }
    if read.failure == Some(NoResponse::Timeout) && exchange.response.is_none() && !run.stdout.is_cut() {
        let to_the_end = run.ended.time.saturating_sub(run.ended.took).saturating_sub(exchange.sent);
        let (waited, then) = match no_response_within(run, read.request) {
            Some(waited) => (waited, "while the server answers other requests"),
            None => (to_the_end, "and neither has any request after it"),
        };
        let message = format!(
            "`{}` of {} has no response within {}, {then}",
            exchange.method,
            read.subject,
            time(waited)
        );
        let finding = never_answered(message, waited).evidence(sent(exchange));
        return Some(finding.subject(read.subject.clone()));
    }
    let response = exchange.response.as_ref()?;
    let finding = if let Some(error) = exchange.error() {
        // Example values as arguments are often not what a prompt wants.
        let guessed = exchange.request.pointer("/params/arguments").and_then(Value::as_object);
        if guessed.is_some_and(|arguments| !arguments.is_empty()) {
            return None;
        }
        let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
        Finding::new(
            PT0615,
            format!("{} is listed, and `{}` fails: {}", read.subject, exchange.method, quote(said)),
        )
        .remedy("list only what can be read at the time, or say in its description what it needs")
    } else {
        let result = exchange.result()?;
        if result.get("resultType").is_some_and(|kind| kind != "complete") {
            return None;
        }
        let fault = match exchange.method.as_str() {
            "prompts/get" => messages_fault(result, run.opened.as_deref()),
            _ => contents_fault(result),
        }?;
        Finding::new(PT0613, fault)
            .remedy("return what the specification has: `contents` with `uri` and `text` or `blob`; `messages` with `role` and one block as `content`")
            .affects(affected("PT0613"))
    };
    Some(
        finding
            .subject(read.subject.clone())
            .evidence(sent(exchange))
            .evidence(response_bytes(run, response)),
    )
}

fn contents_fault(result: &Value) -> Option<String> {
    let Some(contents) = result.get("contents").and_then(Value::as_array) else {
        return Some("the result of `resources/read` has no `contents` that is an array".to_owned());
    };
    contents.iter().enumerate().find_map(|(index, content)| {
        let text = |member: &str| content.get(member).is_some_and(Value::is_string);
        if !text("uri") {
            Some(format!("`contents[{index}]` has no `uri` that is a string"))
        } else if !text("text") && !text("blob") {
            Some(format!("`contents[{index}]` has neither `text` nor `blob`"))
        } else {
            None
        }
    })
}

fn messages_fault(result: &Value, revision: Option<&str>) -> Option<String> {
    let Some(messages) = result.get("messages").and_then(Value::as_array) else {
        return Some("the result of `prompts/get` has no `messages` that is an array".to_owned());
    };
    messages.iter().enumerate().find_map(|(index, message)| {
        if !message.get("role").is_some_and(|role| role == "user" || role == "assistant") {
            return Some(format!("`messages[{index}]` has no `role` that is \"user\" or \"assistant\""));
        }
        let fault = block_fault(message.get("content").unwrap_or(&Value::Null), revision)?;
        Some(format!("`messages[{index}].content` {fault}"))
    })
}
