//! What is wrong with the way in which a server is opened: versions, and `initialize` and `server/discover` themselves.

use serde_json::Value;

use crate::code::opening::{PT0301, PT0302, PT0303, PT0304, PT0305, PT0306, PT0307, PT0308, PT0309, PT0310};
use crate::drive::run::{Opening, Run};
use crate::drive::{Drive, LATEST_LEGACY, MODERN, OLDER};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::hosts::affected;
use crate::inspect::messages::{response_bytes, sent};
use crate::inspect::stderr::error_line;
use crate::inspect::{quote, status, time};
use crate::stdio::session::{Exchange, NoResponse};

/// How long a version is: they are dates.
const DATE: usize = "2025-11-25".len();

/// What is wrong with opening.
pub(crate) fn inspect(drive: &Drive) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(drive.runs.iter().find_map(version));
    findings.extend(drive.runs.iter().find_map(without_member));
    findings.extend(refused(drive));
    findings.extend(eras(drive));
    findings.extend(
        drive.runs.iter().find(|run| run.opening == Opening::Modern).and_then(|run| probe(drive, run)),
    );
    findings.extend(drive.runs.iter().find_map(incomplete));
    findings
}

/// What a single session proves.
pub(crate) fn inspect_recorded(drive: &Drive) -> Vec<Finding> {
    let inspections: [fn(&Run) -> Option<Finding>; 3] = [version, without_member, incomplete];
    inspections.iter().filter_map(|inspect| drive.runs.iter().find_map(inspect)).collect()
}

/// The exchange of the request that opens a session.
fn initialize(run: &Run) -> Option<&Exchange> {
    run.exchanges.iter().find(|exchange| exchange.method == "initialize")
}

fn known(version: &str) -> bool {
    version == LATEST_LEGACY || OLDER.contains(&version)
}

fn asked(exchange: &Exchange) -> &str {
    exchange.request.pointer("/params/protocolVersion").and_then(Value::as_str).unwrap_or_default()
}

/// The version in the response to `initialize`.
fn version(run: &Run) -> Option<Finding> {
    let exchange = initialize(run)?;
    let (result, response) = (exchange.result()?, exchange.response.as_ref()?);
    let asked = asked(exchange);
    let evidence = response_bytes(run, response);
    let finding = match result.get("protocolVersion") {
        Some(Value::String(version)) if known(version) => return None,
        Some(Value::String(version)) if version == MODERN => Finding::new(
            PT0301,
            format!("`initialize` of {asked} is answered with {MODERN}, which has no `initialize`"),
        )
        .remedy(format!(
            "answer `initialize` with a revision up to {LATEST_LEGACY}, and offer {MODERN} in `server/discover` only"
        )),
        Some(Value::String(version)) if is_date(version) => Finding::new(
            PT0301,
            format!("`initialize` of {asked} is answered with the protocol version {}, which is not a revision of MCP", quote(version)),
        )
        .remedy(format!(
            "answer with the version that the client asks for if the server supports it, or else with the newest that it supports, such as {LATEST_LEGACY}"
        )),
        other => {
            let what = other.map_or("is missing".to_owned(), |version| format!("is {}", quote(&version.to_string())));
            Finding::new(PT0302, format!("`protocolVersion` in the result of `initialize` {what}, and should be the date of a revision"))
                .remedy(format!("answer with a string such as \"{LATEST_LEGACY}\""))
        }
    };
    let affects = affected(finding.code.name);
    Some(finding.evidence(sent(exchange)).evidence(evidence).affects(affects))
}

/// Whether a version has the form of a date.
fn is_date(version: &str) -> bool {
    version.len() == DATE
        && version.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// A member of the result of `initialize` that is missing.
fn without_member(run: &Run) -> Option<Finding> {
    let exchange = initialize(run)?;
    let (result, response) = (exchange.result()?, exchange.response.as_ref()?);
    let members = [
        ("/serverInfo", "`serverInfo`", "an object", Value::is_object as fn(&Value) -> bool),
        ("/serverInfo/name", "`serverInfo.name`", "a string", Value::is_string),
        ("/serverInfo/version", "`serverInfo.version`", "a string", Value::is_string),
        ("/capabilities", "`capabilities`", "an object", Value::is_object),
    ];
    let (pointer, name, kind, _) =
        members.into_iter().find(|(pointer, _, _, valid)| !result.pointer(pointer).is_some_and(valid))?;
    let message = match result.pointer(pointer) {
        None => format!("the result of `initialize` has no {name}"),
        Some(value) => format!(
            "{name} in the result of `initialize` is {}, and should be {kind}",
            quote(&value.to_string())
        ),
    };
    Some(
        Finding::new(PT0303, message)
            .evidence(response_bytes(run, response))
            .remedy("answer with `protocolVersion`, `capabilities` (an object, which may be empty) and `serverInfo` with `name` and `version`")
            .affects(affected("PT0303")),
    )
}

/// An error instead of a result.
fn refused(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.iter().find(|run| run.opening == Opening::Legacy(LATEST_LEGACY))?;
    let stateless = drive.opened().any(|run| run.opening == Opening::Modern);
    let exchange = initialize(run)?;
    let (error, response) = (exchange.error()?, exchange.response.as_ref()?);
    // After a late response no other revision was tried.
    if stateless || run.answered_late().is_some() {
        return None;
    }
    let opens: Vec<&str> = drive
        .opened()
        .filter(|run| matches!(run.opening, Opening::Older(_)))
        .filter_map(|run| run.opened.as_deref())
        .collect();
    let said = error
        .get("message")
        .and_then(Value::as_str)
        .map(|said| format!(": {}", quote(said)))
        .unwrap_or_default();
    let (message, remedy) = if let Some(newest) = opens.first() {
        (
            format!(
                "`initialize` of {LATEST_LEGACY} is refused, although the server opens in {newest}{said}"
            ),
            format!(
                "answer `initialize` of an unknown version with a result that has the newest version of the server, {newest}: the client decides whether it goes on"
            ),
        )
    } else {
        (
            format!("`initialize` is refused in every revision{said}"),
            "answer `initialize` with a result; what the server lacks (a token, a network) can be reported by the tools that need it".to_owned(),
        )
    };
    Some(
        Finding::new(PT0304, message)
            .evidence(sent(exchange))
            .evidence(response_bytes(run, response))
            .remedy(remedy)
            .affects(affected("PT0304")),
    )
}

/// Stateless or session-based revisions only.
fn eras(drive: &Drive) -> Option<Finding> {
    let stateless = drive.runs.iter().find(|run| run.opening == Opening::Modern);
    let session = drive.opened().find(|run| matches!(run.opening, Opening::Legacy(_) | Opening::Older(_)));
    let first = drive.runs.first()?;
    match (session, stateless) {
        (None, Some(run))
            if run.opened.is_some()
                && initialize(first).is_some_and(|exchange| exchange.result().is_none()) =>
        {
            let exchange = initialize(first)?;
            let finding = Finding::new(
                PT0305,
                format!("the server supports {MODERN} only: hosts that open with `initialize` cannot use it"),
            )
            .evidence(sent(exchange))
            .remedy(
                "run it through `papertape bridge` for these hosts, or serve session-based revisions, too",
            )
            .affects(affected("PT0305"));
            Some(match &exchange.response {
                Some(response) => finding.evidence(response_bytes(first, response)),
                None => finding.evidence(Evidence::fact("`initialize` is not answered")),
            })
        }
        (Some(run), Some(other)) if other.opened.is_none() && other.answered() => {
            let newest = run.opened.as_deref().filter(|version| known(version))?;
            let finding = Finding::new(
                PT0306,
                format!("the server supports session-based revisions only, {newest} at most: hosts that speak {MODERN} only cannot use it"),
            )
            .remedy("nothing, unless such a host is to use it; `papertape bridge` makes it available to them")
            .affects(affected("PT0306"));
            let discover = other.exchanges.first();
            if discover.is_some_and(|exchange| exchange.result().is_some()) {
                return None;
            }
            Some(match discover.and_then(|exchange| exchange.response.as_ref()) {
                Some(response) => finding.evidence(response_bytes(other, response)),
                None => finding,
            })
        }
        _ => None,
    }
}

/// What a server of session-based revisions does with `server/discover`, and after it.
fn probe(drive: &Drive, run: &Run) -> Option<Finding> {
    let discover = run.exchanges.first().filter(|exchange| exchange.method == "server/discover")?;
    let opens = drive.opened().find(|run| matches!(run.opening, Opening::Legacy(_)))?;
    // A response that came too late opens nothing, and decides how what follows is answered.
    if run.opened.is_some() || discover.result().is_some() {
        return None;
    }
    if discover.response.is_none() && run.failure == Some(NoResponse::Exited) {
        let finding = Finding::new(
            PT0308,
            format!(
                "the server exits with {} at `server/discover`, with which hosts find out which revisions it supports",
                status::words(run.ended.status)
            ),
        )
        .evidence(sent(discover))
        .remedy("answer requests with an unknown method with the error -32601, also before `initialize`; a newer SDK does so")
        .affects(affected("PT0308"));
        let lines = run.stderr.lines();
        return Some(match error_line(&lines) {
            Some(line) => finding.evidence(Evidence::fact(format!("on stderr: {}", quote(line)))),
            None => finding,
        });
    }
    let probed = match &discover.response {
        Some(_) => "refused",
        None => "ignored",
    };
    if let Some(exchange) = initialize(run) {
        let what = match (&exchange.response, exchange.error()) {
            (Some(_), Some(error)) => {
                let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
                Some(format!("is refused: {}", quote(said)))
            }
            (None, _) => Some("is not answered".to_owned()),
            _ => None,
        };
        if let Some(what) = what {
            let mut finding = Finding::new(
                PT0307,
                format!("`initialize` {what}, if a `server/discover` came before it, which was {probed}; without one it is answered"),
            )
            .evidence(sent(discover))
            .evidence(sent(exchange))
            .remedy("answer `server/discover` with the error -32601 if the server does not know it, and `initialize` after it as ever")
            .affects(affected("PT0307"));
            if let Some(response) = &exchange.response {
                finding = finding.evidence(response_bytes(run, response));
            }
            return Some(finding);
        }
    }
    let first = opens.exchanges.first().and_then(|exchange| exchange.response.as_ref());
    // What is answered after it shows that the server had started.
    let after = initialize(run).is_some_and(|exchange| exchange.response.is_some());
    if discover.response.is_none() && run.failure == Some(NoResponse::Timeout) && after {
        let usual = first.map(|response| format!("; `initialize` is answered in {}", time(response.elapsed)));
        return Some(
            Finding::new(PT0309, format!("`server/discover` is not answered{}", usual.unwrap_or_default()))
                .evidence(sent(discover))
                .remedy("answer requests with an unknown method with the error -32601: hosts that probe with it wait until they give up")
                .affects(affected("PT0309")),
        );
    }
    None
}

/// A result of a stateless revision that lacks what is required there.
fn incomplete(run: &Run) -> Option<Finding> {
    if run.opening != Opening::Modern || run.opened.is_none() {
        return None;
    }
    let cached =
        ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"];
    run.exchanges.iter().find_map(|exchange| {
        let result = exchange.result()?;
        let wanted: &[&str] = if cached.contains(&exchange.method.as_str()) {
            &["resultType", "ttlMs", "cacheScope"]
        } else {
            &["resultType"]
        };
        let missing: Vec<String> =
            wanted.iter().filter(|name| result.get(**name).is_none()).map(|name| format!("`{name}`")).collect();
        if missing.is_empty() {
            return None;
        }
        let message = format!(
            "the result of `{}` in {MODERN} has no {}, which {MODERN} requires",
            exchange.method,
            missing.join(" and no ")
        );
        Some(
            Finding::new(PT0310, message)
                .evidence(response_bytes(run, exchange.response.as_ref()?))
                .remedy("add `\"resultType\": \"complete\"` to every result, and `ttlMs` (0 is valid) and `cacheScope` (`\"private\"` is safe) to lists and `server/discover`")
                .affects(affected("PT0310")),
        )
    })
}
