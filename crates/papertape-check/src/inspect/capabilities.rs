//! What a server declares, against what it responds to.

use serde_json::Value;

use crate::code::behaviour::PT0614;
use crate::code::opening::{PT0322, PT0323, PT0325, PT0326};
use crate::code::start::PT0209;
use crate::drive::Drive;
use crate::drive::behave::Behaviour;
use crate::drive::offers::{Offer, PING};
use crate::drive::run::Run;
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::hosts::affected;
use crate::inspect::messages::{response_bytes, sent};
use crate::inspect::{quote, time};
use crate::stdio::session::{Exchange, NoResponse};

/// The error of a method that does not exist.
const METHOD_NOT_FOUND: i64 = -32601;

/// Capabilities, and their members that are objects.
const OBJECTS: [&str; 13] = [
    "/tools",
    "/resources",
    "/prompts",
    "/logging",
    "/completions",
    "/experimental",
    "/extensions",
    "/tasks",
    "/tasks/list",
    "/tasks/cancel",
    "/tasks/requests",
    "/tasks/requests/tools",
    "/tasks/requests/tools/call",
];

/// Members of capabilities that are booleans.
const BOOLEANS: [&str; 4] =
    ["/tools/listChanged", "/prompts/listChanged", "/resources/listChanged", "/resources/subscribe"];

/// What is wrong with capabilities, and with subscriptions.
pub(crate) fn inspect(drive: &Drive, behaviour: &Behaviour) -> Vec<Finding> {
    let mut findings: Vec<Finding> = drive.opened().find_map(types).into_iter().collect();
    let Some(run) = behaviour.offered.and_then(|index| drive.runs.get(index)) else { return findings };
    for offer in &behaviour.offers {
        let Some(exchange) = run.exchanges.get(offer.request) else { continue };
        let finding = if offer.failure == Some(NoResponse::Timeout) {
            unanswered(run, offer, exchange)
        } else if offer.capability == PING {
            ping_refused(run, exchange)
        } else if offer.declared {
            refused(drive, run, offer, exchange)
        } else {
            not_declared(run, offer, exchange)
        };
        // Subscribing and unsubscribing are one capability.
        let subject = |finding: &Finding| finding.subject.clone();
        findings.extend(finding.filter(|new| !findings.iter().any(|old| subject(old) == subject(new))));
    }
    findings.extend(subscription(drive, behaviour));
    findings
}

/// A capability of the wrong type, in the result that opens a server.
fn types(run: &Run) -> Option<Finding> {
    run.exchanges.iter().find_map(|exchange| {
        let fault = wrong_type(exchange.result()?.get("capabilities")?)?;
        Some(
            of_wrong_type(&exchange.method, fault).evidence(response_bytes(run, exchange.response.as_ref()?)),
        )
    })
}

/// What is wrong with the types of capabilities, and what to do.
pub(crate) fn wrong_type(capabilities: &Value) -> Option<(String, &'static str)> {
    // Another type has a finding of its own.
    capabilities.as_object()?;
    let escaped = |name: &String| name.replace('~', "~0").replace('/', "~1");
    let inner = ["/experimental", "/extensions"].iter().flat_map(|pointer| {
        let names = capabilities.pointer(pointer).and_then(Value::as_object);
        names
            .into_iter()
            .flat_map(move |names| names.keys().map(move |name| format!("{pointer}/{}", escaped(name))))
    });
    let object = OBJECTS.iter().map(|pointer| (*pointer).to_owned()).chain(inner);
    let wrong = |pointer: &str, is_right: fn(&Value) -> bool| {
        let value = capabilities.pointer(pointer).filter(|value| !is_right(value))?;
        let name = pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
        Some(format!("`capabilities.{name}` is {}", quote(&value.to_string())))
    };
    object
        .filter_map(|pointer| wrong(&pointer, Value::is_object))
        .map(|what| {
            (
                format!("{what}, and should be an object"),
                "write `{}` for a capability that the server has, and leave out the others",
            )
        })
        .chain(BOOLEANS.iter().filter_map(|pointer| wrong(pointer, Value::is_boolean)).map(|what| {
            (format!("{what}, and should be true or false"), "write true or false, or leave it out")
        }))
        .next()
}

/// The finding about a capability of the wrong type.
pub(crate) fn of_wrong_type(method: &str, (what, remedy): (String, &'static str)) -> Finding {
    Finding::new(PT0325, format!("in the result of `{method}`, {what}"))
        .remedy(remedy)
        .affects(affected("PT0325"))
}

/// A request for something that is declared, to which there is no response.
fn unanswered(run: &Run, offer: &Offer, exchange: &Exchange) -> Option<Finding> {
    // One for what is not declared has a finding of its own, as any unknown method.
    if !offer.declared || exchange.response.is_some() || run.stdout.is_cut() {
        return None;
    }
    let waited = run.ended.time.saturating_sub(run.ended.took).saturating_sub(exchange.sent);
    let finding = Finding::new(PT0209, format!("`{}` is never answered", exchange.method))
        .evidence(sent(exchange))
        .evidence(Evidence::fact(format!("no response within {}", time(waited))))
        .remedy("answer every request, with an error if there is no result")
        .affects(affected("PT0209"));
    Some(match offer.capability {
        PING => finding,
        capability => finding.subject(format!("capability {capability}")),
    })
}

/// A `ping` that is refused.
fn ping_refused(run: &Run, exchange: &Exchange) -> Option<Finding> {
    Some(
        of_refused_ping(exchange.error()?)
            .evidence(sent(exchange))
            .evidence(response_bytes(run, exchange.response.as_ref()?)),
    )
}

/// The finding about a `ping` that is refused with this error.
pub(crate) fn of_refused_ping(error: &Value) -> Finding {
    Finding::new(PT0326, format!("the server refuses `ping`: {}", said(error)))
        .remedy("answer `ping` with an empty result, `\"result\": {}`, whatever else the server offers")
        .affects(affected("PT0326"))
}

fn code(error: &Value) -> Option<i64> {
    error.get("code").and_then(Value::as_i64)
}

/// A capability that is declared, although its method does not exist, or its list never works.
fn refused(drive: &Drive, run: &Run, offer: &Offer, exchange: &Exchange) -> Option<Finding> {
    let error = exchange.error()?;
    let unknown = code(error) == Some(METHOD_NOT_FOUND);
    // Other methods may have a reason to refuse what they were asked.
    let is_list = exchange.method.ends_with("/list");
    let works = || {
        let same = drive.runs.iter().flat_map(|run| &run.exchanges);
        same.filter(|other| other.method == exchange.method).any(|other| other.result().is_some())
    };
    if !unknown && (!is_list || works()) {
        return None;
    }
    Some(
        of_refused(offer.capability, &exchange.method, error)
            .evidence(sent(exchange))
            .evidence(response_bytes(run, exchange.response.as_ref()?)),
    )
}

/// The finding about the method of a declared capability, which is refused with this error.
pub(crate) fn of_refused(capability: &str, method: &str, error: &Value) -> Finding {
    // Hosts ask for every list that is declared, and for the rest only if it is used.
    let is_list = method.ends_with("/list");
    let message =
        format!("the server declares the capability `{capability}`, and refuses `{method}`: {}", said(error));
    Finding::new(PT0322, message)
        .severity(if is_list { Severity::Breaks } else { Severity::Warning })
        .subject(format!("capability {capability}"))
        .remedy(format!(
            "handle `{method}`, with an empty list if there is nothing, or do not declare `{capability}`"
        ))
        .affects(if is_list { affected("PT0322") } else { Vec::new() })
}

/// What an error says, with its code.
fn said(error: &Value) -> String {
    let said = error.get("message").and_then(Value::as_str).map_or_else(|| quote(&error.to_string()), quote);
    match code(error) {
        Some(code) => format!("{said} ({code})"),
        None => said,
    }
}

/// A method that works, although its capability is not declared.
fn not_declared(run: &Run, offer: &Offer, exchange: &Exchange) -> Option<Finding> {
    exchange.result()?;
    let (what, severity) = match (offer.capability, offer.listed) {
        ("tools", Some(count)) if count > 0 => (format!(" lists {count}"), Severity::Breaks),
        ("resources" | "prompts", Some(count)) if count > 0 => (format!(" lists {count}"), Severity::Breaks),
        // An empty list is no less than none.
        ("tools" | "resources" | "prompts", _) => return None,
        _ => (" works".to_owned(), Severity::Note),
    };
    Some(
        Finding::new(
            PT0323,
            format!(
                "the server does not declare the capability `{}`, and `{}`{what}",
                offer.capability, exchange.method
            ),
        )
        .severity(severity)
        .subject(format!("capability {}", offer.capability))
        .evidence(opened(run))
        .evidence(response_bytes(run, exchange.response.as_ref()?))
        .remedy(format!("declare `\"capabilities\": {{\"{}\": {{}}}}`", offer.capability))
        .affects(if severity == Severity::Breaks { affected("PT0323") } else { Vec::new() }),
    )
}

/// What was declared.
fn opened(run: &Run) -> Evidence {
    let declared = run.exchanges.first().and_then(|exchange| exchange.result()?.get("capabilities"));
    Evidence::fact(format!("declared: {}", quote(&declared.cloned().unwrap_or_default().to_string())))
}

/// A subscription in a stateless revision.
fn subscription(drive: &Drive, behaviour: &Behaviour) -> Option<Finding> {
    let (index, listen) = behaviour.listen.as_ref()?;
    let run = drive.runs.get(*index)?;
    let exchange = run.exchanges.get(listen.request)?;
    let remedy = "send `notifications/subscriptions/acknowledged` first, with the id of the request as `io.modelcontextprotocol/subscriptionId` \
                  in `_meta`, or declare neither `listChanged` nor `subscribe`";
    let finding = |message: String| {
        Finding::new(PT0614, message)
            .evidence(opened(run))
            .evidence(sent(exchange))
            .remedy(remedy)
            .affects(affected("PT0614"))
    };
    if let Some(message) = &listen.acknowledged {
        let said = message.value.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId");
        let asked = exchange.request.get("id");
        if said == asked {
            return None;
        }
        let said = said.map_or("no subscription id".to_owned(), |id| format!("the subscription id {id}"));
        let asked = asked.map(ToString::to_string).unwrap_or_default();
        return Some(finding(format!(
            "a subscription is acknowledged with {said}, and the request has the id {asked}"
        )));
    }
    let what = match (exchange.error(), exchange.result(), listen.failure) {
        (Some(error), _, _) => {
            let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
            format!("refuses `subscriptions/listen`: {}", quote(said))
        }
        (None, Some(_), _) => "ends the subscription at once, without having acknowledged it".to_owned(),
        (None, None, Some(NoResponse::Timeout)) => "does not acknowledge a subscription".to_owned(),
        (None, None, _) => return None,
    };
    let found = finding(format!("the server declares notifications of changes, and {what}"));
    Some(match &exchange.response {
        Some(response) => found.evidence(response_bytes(run, response)),
        None => found,
    })
}
