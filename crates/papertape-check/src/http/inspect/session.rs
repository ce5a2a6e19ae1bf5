//! What is wrong with a session over Streamable HTTP: notifications, its stream, its id, its end.

use crate::code::http::{PT0813, PT0814, PT0815, PT0816, PT0817, PT0818, PT0822};
use crate::finding::{Finding, Severity};
use crate::http::channel::HttpSession;
use crate::http::client::{Client, EVENTS, PROBE, Request};
use crate::http::exchange::Exchange;
use crate::http::inspect::finding;
use crate::http::inspect::stateless::UNKNOWN;
use crate::inspect::quote;

/// A session that does not exist.
const NO_SESSION: &str = "00000000c0ffee00000000000000beef";

/// Shorter ids can be guessed.
const SHORTEST_ID: usize = 8;

/// The response to a notification.
pub(crate) fn notification(exchange: &Exchange) -> Option<Finding> {
    let what = &exchange.what;
    let response = match &exchange.outcome {
        Ok(response) if response.status == 202 => return None,
        Ok(response) => response,
        Err(failure) => {
            let message = format!("`{what}` has no response: {}", quote(&failure.cause));
            return Some(
                exchange.proves(
                    finding(PT0813, message)
                        .severity(Severity::Breaks)
                        .remedy("answer notifications with 202 and no body"),
                ),
            );
        }
    };
    let severity = if response.is_success() { Severity::Warning } else { Severity::Breaks };
    let mut found = finding(PT0813, format!("`{what}` is answered with HTTP {}, not 202", response.status))
        .severity(severity)
        .remedy("answer notifications with 202 and no body");
    if severity != Severity::Breaks {
        found.affects.clear();
    }
    Some(exchange.proves(found))
}

/// What is wrong with an open session, which is ended.
pub(crate) async fn inspect(
    client: &Client,
    session: &HttpSession,
    opening: &Exchange,
    event_id: Option<&str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(stream(client, session).await);
    findings.extend(version(client, session).await);
    findings.extend(resumption(client, session, event_id).await);
    if let Some(id) = &session.id {
        findings.extend(id_of(id, opening));
        findings.extend(unknown(client, session).await);
        findings.extend(end(client, session).await);
    }
    findings
}

fn ping(client: &Client) -> Request {
    client.call("ping", None).within(PROBE)
}

/// A GET that is neither a stream nor refused with 405.
async fn stream(client: &Client, session: &HttpSession) -> Option<Finding> {
    let exchange = client.send(session.mark(client.listen()).within(PROBE / 5)).await;
    // Without a response, the stream may be open and its headers not sent yet.
    let response = exchange.response()?;
    if response.status == 405 || (response.status == 200 && response.media_type() == EVENTS) {
        return None;
    }
    let what = if response.is_success() {
        format!("HTTP {} and the type {}", response.status, quote(&response.media_type()))
    } else {
        format!("HTTP {}", response.status)
    };
    Some(
        exchange.proves(
            finding(PT0814, format!("GET is answered with {what}: neither a stream of events nor 405"))
                .remedy("answer GET with 405 and `Allow: POST, DELETE`, or with a stream of events"),
        ),
    )
}

/// A revision that there is not.
async fn version(client: &Client, session: &HttpSession) -> Option<Finding> {
    // Older revisions have no such header.
    if session.revision.as_str() < "2025-06-18" {
        return None;
    }
    let request = session.mark(ping(client)).header("mcp-protocol-version", UNKNOWN);
    let exchange = client.send(request).await;
    (exchange.is_accepted() && exchange.result().is_some()).then(|| {
        let message =
            format!("a request whose `MCP-Protocol-Version` is {UNKNOWN}, which is no revision, is served");
        exchange.proves(
            finding(PT0818, message)
                .remedy("answer 400 if the header names a revision that is not supported"),
        )
    })
}

/// Event ids that the server sends and does not accept in `Last-Event-ID`.
async fn resumption(client: &Client, session: &HttpSession, event_id: Option<&str>) -> Option<Finding> {
    let request = session.mark(client.listen()).header("last-event-id", event_id?).within(PROBE / 5);
    let exchange = client.send(request).await;
    let response = exchange.response()?;
    let how = match response.status {
        200 if response.media_type() == EVENTS => return None,
        // It is not known any more: the stream has been delivered.
        400 | 404 | 410 => return None,
        405 => "GET is not supported".to_owned(),
        status => format!("HTTP {status}"),
    };
    Some(
        exchange.proves(
            finding(PT0822, format!("the events have ids, and a stream cannot be resumed after one: {how}"))
                .remedy("send what came after `Last-Event-ID` at GET, or leave the ids of events out"),
        ),
    )
}

/// An id that clients cannot send back, or that can be guessed.
fn id_of(id: &str, opening: &Exchange) -> Option<Finding> {
    let message = if !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        format!("the session id {} has characters other than visible ASCII", quote(id))
    } else if id.len() < SHORTEST_ID {
        format!("the session id {} is so short that it can be guessed", quote(id))
    } else {
        return None;
    };
    Some(
        opening
            .proves(finding(PT0817, message).remedy("make it of 128 random bits, in hexadecimal or base64")),
    )
}

/// A session that does not exist.
async fn unknown(client: &Client, session: &HttpSession) -> Option<Finding> {
    let other = HttpSession { id: Some(NO_SESSION.to_owned()), ..session.clone() };
    let exchange = client.send(other.mark(ping(client))).await;
    let response = exchange.response()?;
    let message = match response.status {
        404 | 429 => return None,
        _ if exchange.result().is_some() => "a request of a session that does not exist is served".to_owned(),
        status => {
            format!("a request of a session that does not exist is answered with HTTP {status}, not 404")
        }
    };
    Some(
        exchange.proves(
            finding(PT0815, message)
                .remedy("answer 404 if `Mcp-Session-Id` names no session: clients then open a new one"),
        ),
    )
}

/// The end of a session.
async fn end(client: &Client, session: &HttpSession) -> Option<Finding> {
    let exchange = client.send(session.end(client, &client.url).within(PROBE)).await;
    let response = exchange.response()?;
    let remedy = "end the session and answer 204, or answer 405";
    if !response.is_success() {
        // Not to support it is allowed.
        return (response.status != 405).then(|| {
            let message = format!("DELETE, which ends a session, is answered with HTTP {}", response.status);
            exchange.proves(finding(PT0816, message).remedy(remedy))
        });
    }
    let later = client.send(session.mark(ping(client))).await;
    later
        .result()
        .is_some()
        .then(|| later.proves(finding(PT0816, "a session goes on after DELETE has ended it").remedy(remedy)))
}
