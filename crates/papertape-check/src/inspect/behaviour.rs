//! What is wrong with what a server does in calls, and at bad input.

use std::time::Duration;

use serde_json::Value;

use crate::code::behaviour::{
    PT0601, PT0602, PT0603, PT0604, PT0606, PT0607, PT0608, PT0609, PT0610, PT0616,
};
use crate::drive::Drive;
use crate::drive::arguments::Fault;
use crate::drive::bad_input::{After, Input, Trial};
use crate::drive::behave::Behaviour;
use crate::drive::calls::{BLOCKED, Call, Calls};
use crate::drive::run::{Opening, Run};
use crate::evidence::{Evidence, Stream};
use crate::finding::{Finding, Severity};
use crate::hosts::affected;
use crate::inspect::messages::{response_bytes, sent};
use crate::inspect::results::{self, LONGEST, error_text, is_error};
use crate::inspect::stderr::error_line;
use crate::inspect::{quote, status, time};
use crate::stdio::session::NoResponse;

/// Clients give up a request after so long: the SDKs for TypeScript, unless they are told otherwise.
const GIVEN_UP: Duration = Duration::from_secs(60);

/// A ping that waits so long for a call was blocked, even if that was seen once only.
const SURELY_BLOCKED: Duration = BLOCKED.saturating_mul(4);

/// What is wrong with behaviour.
pub(crate) fn inspect(drive: &Drive, behaviour: &Behaviour) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(run) = behaviour.run.and_then(|index| drive.runs.get(index)) {
        let calls = &behaviour.calls;
        for call in &calls.calls {
            findings.extend(results::inspect(run, call));
            findings.extend(exits(run, call));
        }
        findings.extend(
            calls.calls.last().filter(|_| calls.exited_after).and_then(|call| exits_after(run, call)),
        );
        let blocked = blocks(run, calls);
        let blocking = |call: &&Call| {
            let subject = subject(call);
            blocked.as_ref().is_none_or(|finding| finding.subject.as_ref() != Some(&subject))
        };
        findings.extend(calls.calls.iter().filter(blocking).filter_map(|call| unanswered(run, call)));
        findings.extend(blocked);
        findings.extend(goes_on(run, calls));
    }
    for trial in behaviour
        .trials
        .iter()
        .filter(|trial| !(trial.input == Input::UnknownMethod && exits_at_probe(drive)))
    {
        for new in survives(trial).into_iter().chain(response(trial)) {
            // One finding of a kind for each tool.
            let same =
                |old: &Finding| old.subject.is_some() && (old.code, &old.subject) == (new.code, &new.subject);
            if !findings.iter().any(same) {
                findings.push(new);
            }
        }
    }
    findings
}

/// Whether there is a finding about an exit at an unknown method already.
fn exits_at_probe(drive: &Drive) -> bool {
    drive.runs.iter().any(|run| run.opening == Opening::Modern && run.failure == Some(NoResponse::Exited))
}

/// An exit after a call that was answered.
fn exits_after(run: &Run, call: &Call) -> Option<Finding> {
    let exchange = run.exchanges.get(call.call)?;
    let message = format!(
        "the server exits with {} after it has answered a call of tool \"{}\"",
        status::words(run.ended.status),
        call.tool
    );
    Some(exit(run, call, message).evidence(response_bytes(run, exchange.response.as_ref()?)))
}

/// An exit during a call that is valid.
fn exits(run: &Run, call: &Call) -> Option<Finding> {
    if !matches!(call.failure?, NoResponse::Exited | NoResponse::NotSent(_)) {
        // More than is kept of a stream is not read as a message.
        let (_, length) = run.stdout.cut_line().filter(|(_, length)| *length > LONGEST)?;
        return Some(unbounded(call, length));
    }
    let when = match call.failure {
        Some(NoResponse::Exited) => format!("at a valid call of tool \"{}\", without a response", call.tool),
        _ => format!("before the call of tool \"{}\", after other calls", call.tool),
    };
    Some(exit(run, call, format!("the server exits with {} {when}", status::words(run.ended.status))))
}

fn exit(run: &Run, call: &Call, message: String) -> Finding {
    let mut finding = Finding::new(PT0601, message)
        .subject(subject(call))
        .remedy("catch errors of tools, and report them as results with `\"isError\": true`; run until stdin ends")
        .affects(affected("PT0601"));
    if let Some(exchange) = run.exchanges.get(call.call) {
        finding = finding.evidence(sent(exchange));
    }
    let lines = run.stderr.lines();
    match error_line(&lines) {
        Some(line) => finding.evidence(Evidence::fact(format!("on stderr: {}", quote(line)))),
        None => finding.evidence(Evidence::fact("nothing on stderr")),
    }
}

fn unbounded(call: &Call, length: u64) -> Finding {
    let message = format!(
        "tool \"{}\" writes {length} bytes on one line, which is more than SDKs accept as one message",
        call.tool
    );
    Finding::new(PT0610, message)
        .severity(Severity::Breaks)
        .subject(subject(call))
        .remedy("limit what a call returns: offer arguments for a range or a page, and say in the result how to get more")
        .affects(affected("PT0610"))
}

fn subject(call: &Call) -> String {
    format!("tool \"{}\"", call.tool)
}

/// A call that has no response, although the server answers what came after it.
fn unanswered(run: &Run, call: &Call) -> Option<Finding> {
    let exchange = run.exchanges.get(call.call)?;
    // The response may be in what was not kept.
    if call.failure != Some(NoResponse::Timeout) || exchange.response.is_some() || run.stdout.is_cut() {
        return None;
    }
    let waited = no_response_within(run, call.call)?;
    let arguments = if call.read_only { ", which says that it is read-only," } else { "" };
    let message = format!(
        "a call of tool \"{}\"{arguments} with arguments that its `inputSchema` accepts has no response within {}, while the server answers other requests",
        call.tool,
        time(waited)
    );
    Some(never_answered(message, waited).subject(subject(call)).evidence(sent(exchange)))
}

/// How long a request was waited for at least that has no response: until the next one was sent to which there is one.
pub(super) fn no_response_within(run: &Run, index: usize) -> Option<Duration> {
    let exchange = run.exchanges.get(index)?;
    let later = run.exchanges.iter().skip(index + 1).filter(|later| later.response.is_some());
    later.map(|later| later.sent.saturating_sub(exchange.sent)).max()
}

/// The finding about a request for something that is listed, which has no response.
pub(crate) fn never_answered(message: String, waited: Duration) -> Finding {
    // Some work takes this long, and a shorter wait does not show that it never ends.
    let severity = if waited >= GIVEN_UP { Severity::Warning } else { Severity::Note };
    Finding::new(PT0616, message)
        .severity(severity)
        .affects(affected("PT0616"))
        .remedy(
            "answer with an error, or with a result with `\"isError\": true`, before clients give up (many after 60 s); if it only takes longer, \
             `--timeout` makes this check wait for it",
        )
}

/// A call that everything else waits for.
fn blocks(run: &Run, calls: &Calls) -> Option<Finding> {
    let twice = calls.blocked.as_ref().map(|(call, waited)| (call, *waited));
    let outlasts = || calls.calls.iter().find_map(|call| Some((call, outlasted(run, call)?)));
    let (call, waited, until) = match twice.or_else(outlasts) {
        Some((call, waited)) => (call, waited, ", until the call has ended"),
        // It never ended, and nothing was answered meanwhile or afterwards.
        None => {
            let call = calls.calls.last().filter(|call| call.failure == Some(NoResponse::Timeout))?;
            let answered = |index: usize| run.exchanges.get(index).is_some_and(|one| one.response.is_some());
            let mut later = call.call..run.exchanges.len();
            if run.stdout.is_cut() || call.ping.is_none() || later.any(answered) {
                return None;
            }
            let exchange = run.exchanges.get(call.call)?;
            let waited = run.ended.time.saturating_sub(run.ended.took).saturating_sub(exchange.sent);
            (call, waited, ", and neither is the call")
        }
    };
    let (called, ping) = (run.exchanges.get(call.call)?, run.exchanges.get(call.ping?)?);
    let message = format!(
        "a call of tool \"{}\" blocks all other requests: a `{}` during it is not answered for {}{until}",
        call.tool,
        ping.method,
        time(waited)
    );
    let mut finding =
        Finding::new(PT0608, message).subject(subject(call)).evidence(sent(called)).evidence(sent(ping));
    for exchange in [called, ping] {
        if let Some(response) = &exchange.response {
            finding = finding
                .evidence(response_bytes(run, response))
                .evidence(Evidence::fact(format!("answered {} after it was sent", time(response.elapsed))));
        }
    }
    Some(
        finding
            .remedy("read stdin while a tool runs: run tools in tasks or threads of their own; a cancellation cannot arrive otherwise, either")
            .affects(affected("PT0608")),
    )
}

/// How long a ping waited for a call that took longer than it was waited for, if it was answered only after that.
fn outlasted(run: &Run, call: &Call) -> Option<Duration> {
    let (called, ping) = (run.exchanges.get(call.call)?, run.exchanges.get(call.ping?)?);
    let (response, pong) = (called.response.as_ref()?, ping.response.as_ref()?);
    let waited = (called.sent + response.elapsed).saturating_sub(ping.sent);
    let is_blocked = call.failure == Some(NoResponse::Timeout) && response.offset < pong.offset;
    (is_blocked && waited >= SURELY_BLOCKED).then_some(waited)
}

/// A call that was cancelled, and has a result nevertheless.
fn goes_on(run: &Run, calls: &Calls) -> Option<Finding> {
    const LATE: Duration = Duration::from_millis(300);
    let (call, usual) = calls.cancelled.as_ref()?;
    let (exchange, pong) = (run.exchanges.get(call.call)?, run.exchanges.get(call.ping?)?);
    let (response, pong) = (exchange.response.as_ref()?, pong.response.as_ref()?);
    // It was read before the ping was answered, so that a response which comes much later is not one that was on its way.
    let late = response.offset > pong.offset && response.elapsed > usual.saturating_mul(7) / 10;
    let after =
        (exchange.sent + response.elapsed).saturating_sub(run.exchanges.get(call.ping?)?.sent + pong.elapsed);
    exchange.result().filter(|_| late && after >= LATE)?;
    let stateless = run.opening == Opening::Modern;
    let (severity, rule) =
        if stateless { (Severity::Warning, "must not send") } else { (Severity::Note, "should not send") };
    Some(
        Finding::new(
            PT0609,
            format!(
                "a call of tool \"{}\" goes on after it was cancelled: its result comes {} later, which a server {rule}",
                call.tool,
                time(after)
            ),
        )
        .severity(severity)
        .subject(subject(call))
        .evidence(sent(exchange))
        .evidence(response_bytes(run, response))
        .remedy("stop the work at `notifications/cancelled`, and send no response for that request")
        .affects(affected("PT0609")),
    )
}

/// What was sent, and what came back.
fn crossed(trial: &Trial) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::fact(format!("sent: {}", quote(&trial.sent)))];
    if let Some((response, bytes)) = &trial.response {
        evidence.push(Evidence::bytes(Stream::Stdout, response.offset, bytes));
    }
    evidence
}

fn with(finding: Finding, evidence: Vec<Evidence>) -> Finding {
    evidence.into_iter().fold(finding, Finding::evidence)
}

/// Hosts and models do send such input.
fn happens(input: &Input) -> bool {
    !matches!(input, Input::Params | Input::NotJson | Input::Nested)
}

/// A server that exits at bad input, or goes silent.
fn survives(trial: &Trial) -> Option<Finding> {
    let finding = match trial.after {
        After::Alive => return None,
        After::Exited(exit) => Finding::new(
            PT0602,
            format!("the server exits with {} at {}", status::words(exit), trial.input.words()),
        ),
        After::Silent => {
            Finding::new(PT0603, format!("the server answers nothing any more after {}", trial.input.words()))
        }
    };
    let affects = affected(finding.code.name);
    let finding = finding
        .severity(if happens(&trial.input) { Severity::Breaks } else { Severity::Warning })
        .remedy(match trial.input {
            Input::NotJson | Input::Nested => "answer what cannot be parsed with the error -32700, and read on with the next line",
            Input::UnknownNotification => "ignore notifications that are not known",
            Input::UnknownMethod => "answer requests with an unknown method with the error -32601",
            Input::UnknownTool | Input::Params => "answer with the error -32602, and read on",
            Input::Arguments(..) => "validate arguments by the input schema before they are used, and return a result with `\"isError\": true` that says what is wrong",
        })
        .affects(if happens(&trial.input) { affects } else { Vec::new() });
    let mut finding = with(finding, crossed(trial));
    if let Input::Arguments(tool, ..) = &trial.input {
        finding = finding.subject(format!("tool \"{tool}\""));
    }
    let lines = trial.stderr.as_ref().map(crate::stdio::recording::Recording::lines).unwrap_or_default();
    Some(match error_line(&lines) {
        Some(line) => finding.evidence(Evidence::fact(format!("on stderr: {}", quote(line)))),
        None => finding.evidence(Evidence::fact("nothing on stderr")),
    })
}

/// A response that should be another one.
fn response(trial: &Trial) -> Option<Finding> {
    if trial.after != After::Alive {
        return None;
    }
    let response = trial.response.as_ref().map(|(response, _)| &response.value);
    Some(with(wrong_response(&trial.input, response)?, crossed(trial)))
}

/// What is wrong with a response to bad input.
pub(crate) fn wrong_response(input: &Input, response: Option<&Value>) -> Option<Finding> {
    let member =
        |name: &str| response.and_then(|response| response.get(name)).filter(|value| !value.is_null());
    let (result, error) = (member("result"), member("error"));
    let finding = match input {
        Input::UnknownMethod => {
            let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
            let (message, severity) = match (response, result, code) {
                (_, _, Some(-32601)) => return None,
                // An error that is malformed has a finding of its own.
                (Some(_), None, None) => return None,
                (None, ..) => {
                    ("a request with an unknown method is not answered".to_owned(), Severity::Warning)
                }
                (_, Some(_), _) => {
                    ("a request with an unknown method succeeds".to_owned(), Severity::Warning)
                }
                (_, _, code) => {
                    let code = code.map_or("no code".to_owned(), |code| code.to_string());
                    (
                        format!("a request with an unknown method is refused with {code} instead of -32601"),
                        Severity::Note,
                    )
                }
            };
            Finding::new(PT0607, message)
                .severity(severity)
                .remedy("answer requests with an unknown method with the error -32601: clients find out in this way what a server supports")
        }
        Input::UnknownTool => {
            let result = result.filter(|result| succeeds(result))?;
            // Its text may say that there is no such tool.
            let said = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
            Finding::new(PT0606, format!("a call of an unknown tool succeeds, and returns {}", quote(said)))
                .remedy("answer a call of an unknown tool with the error -32602, or at least with `\"isError\": true`")
        }
        Input::Arguments(tool, fault, name) => {
            let result = result.filter(|result| succeeds(result))?;
            if let Some(said) = error_text(result) {
                return Some(results::as_success(tool, said).subject(format!("tool \"{tool}\"")));
            }
            let (message, severity) = match fault {
                Fault::WrongType => (
                    format!(
                        "tool \"{tool}\" does not validate its arguments: an object as \"{name}\" succeeds, against its `inputSchema`"
                    ),
                    Severity::Warning,
                ),
                Fault::Missing => (
                    format!("tool \"{tool}\" succeeds without \"{name}\", which its `inputSchema` requires"),
                    Severity::Note,
                ),
            };
            Finding::new(PT0604, message)
                .severity(severity)
                .subject(format!("tool \"{tool}\""))
                .remedy("validate arguments by the input schema before they are used, and return a result with `\"isError\": true` that says what is wrong")
        }
        _ => return None,
    };
    let affects = affected(finding.code.name);
    Some(finding.affects(affects))
}

/// A complete result that is not marked as an error.
fn succeeds(result: &Value) -> bool {
    !is_error(result) && result.get("resultType").is_none_or(|kind| kind == "complete")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::never_answered;
    use crate::finding::Severity;

    #[test]
    fn a_call_without_a_response_is_a_warning_only_after_the_time_that_clients_wait() {
        let after = |seconds| never_answered(String::new(), Duration::from_secs(seconds)).severity;
        assert_eq!([after(30), after(59), after(60)], [Severity::Note, Severity::Note, Severity::Warning]);
    }
}
