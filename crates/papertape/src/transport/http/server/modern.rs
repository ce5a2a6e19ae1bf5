//! A request that stands alone to its answer: its headers must say what its body says.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use serde_json::value::RawValue;

use super::events::Exchange;
use super::post::{self, Named};
use super::reply::{self, Answer, Refusal};
use super::request::Held;
use super::scopes;
use super::site::Site;
use crate::link::Link;
use crate::protocol::method;
use crate::server::{Calls, Params, Principal, Service};
use crate::transport::http::headers::{self, Undecodable};
use crate::wire::error::excerpt;
use crate::wire::message::{self, Message, Payload, Rejected};
use crate::wire::{Id, RpcError};

/// A header is missing, or says something else than the body.
const HEADER_MISMATCH: i64 = -32020;

/// Serves a message that stands alone.
pub(crate) async fn serve(
    site: &Arc<Site>,
    headers: &HeaderMap,
    payload: Payload<'_>,
    named: Named,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<Answer, Refusal> {
    let message = match payload {
        Payload::Single(Message::Request(request)) => Message::Request(request),
        Payload::Single(Message::Notification(_)) if named == Named::Unknown => {
            let error =
                RpcError::invalid_request("`MCP-Protocol-Version` names no revision that is spoken here");
            return Ok(post::refuse(site, rejected(None, error), named));
        }
        // There is no notification that a client has to send on HTTP; whoever sends one means no harm.
        Payload::Single(Message::Notification(_)) => return Ok(reply::empty(StatusCode::ACCEPTED)),
        Payload::Single(Message::Response(response)) => {
            let error = RpcError::invalid_request("nothing was asked here, so that nothing can be answered");
            return Ok(post::refuse(site, rejected(response.id, error), named));
        }
        Payload::Batch(_) => {
            let error = RpcError::invalid_request("a message must be one JSON object, got an array");
            return Ok(post::refuse(site, rejected(None, error), named));
        }
    };
    let _timed = match &message {
        Message::Request(request) => Some(site.metrics.began(&request.method)),
        _ => None,
    };
    let (exchange, malformed) = begin(site, headers, message, principal)?;
    if let Some(held) = held {
        exchange.0.hold(&(Arc::clone(held) as _));
    }
    let status = move |link: &Link| {
        if malformed { StatusCode::BAD_REQUEST } else { post::status_of(link.refused()) }
    };
    Ok(post::respond(site, exchange, headers, status).await)
}

/// Begins to serve a request; whether it was not what it should be.
fn begin(
    site: &Arc<Site>,
    headers: &HeaderMap,
    message: Message<'_>,
    principal: Option<Arc<Principal>>,
) -> Result<(Exchange, bool), Refusal> {
    let exchange = Exchange(Link::new(principal));
    let link = &exchange.0;
    // It is not what it should be until it has been found to be, and may not be asked by everybody.
    let (malformed, forbidden) = (Cell::new(true), RefCell::new(None));
    let gate = |name: &str, params: &Params<'_>| {
        check(&site.service, headers, name, params)?;
        malformed.set(false);
        scopes::check(site, name, params, link, &forbidden)
    };
    let mut calls = Calls::new();
    site.service.handle(message, link, None, &gate, &mut calls);
    while let Some(call) = calls.pop_front() {
        call.run_here();
    }
    match forbidden.take() {
        Some(challenge) => Err(challenge.into()),
        None => Ok((exchange, malformed.get())),
    }
}

fn rejected(id: Option<Id>, error: RpcError) -> Rejected {
    Rejected { id, error, answers: false }
}

/// Holds the headers against the body, which is what counts.
fn check(service: &Service, headers: &HeaderMap, name: &str, params: &Params<'_>) -> Result<(), RpcError> {
    let meta = params.meta.as_ref().ok_or_else(|| {
        RpcError::invalid_params("the request needs `params._meta`, which says what it is written in")
    })?;
    let version = meta.protocol_version()?.ok_or_else(|| {
        let key = crate::protocol::meta::PROTOCOL_VERSION;
        RpcError::invalid_params(format!("the request needs `params._meta[\"{key}\"]`"))
    })?;
    meta.client_capabilities()?;
    compare(headers, headers::PROTOCOL_VERSION, &version, "`_meta` says", PLAIN)?;
    compare(headers, headers::METHOD, name, "the method is", PLAIN)?;
    let text = |raw: Option<&RawValue>| raw.and_then(message::string).map(std::borrow::Cow::into_owned);
    let subject = match name {
        method::TOOLS_CALL | method::PROMPTS_GET => text(params.name),
        method::RESOURCES_READ => text(params.uri),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => text(params.task_id),
        _ => None,
    };
    let Some(subject) = subject else { return Ok(()) };
    compare(headers, headers::NAME, &subject, "the request is about", WRAPPED)?;
    if name == method::TOOLS_CALL { check_mirrored(service, headers, &subject, params) } else { Ok(()) }
}

/// Holds the headers that mirror arguments against these.
fn check_mirrored(
    service: &Service,
    headers: &HeaderMap,
    tool: &str,
    params: &Params<'_>,
) -> Result<(), RpcError> {
    let Some(tool) = service.tool(tool) else { return Ok(()) };
    if tool.mirrored().is_empty() {
        return Ok(());
    }
    let arguments = Value::Object(service.read_arguments(params)?);
    for (header, path) in tool.mirrored() {
        let name = format!("{}{header}", headers::PARAM);
        match (headers::mirrored(&arguments, path), headers.contains_key(&name)) {
            (Some(value), _) => {
                let member = path.iter().try_fold(&arguments, |value, member| value.get(member));
                let same = if member.is_some_and(Value::is_number) { same_number } else { same_text };
                compare(headers, &name, &value, "the argument is", Reading { same, ..WRAPPED })?;
            }
            (None, true) => {
                let message = format!("`{name}` mirrors an argument that is not there");
                return Err(RpcError::new(HEADER_MISMATCH, message));
            }
            (None, false) => {}
        }
    }
    Ok(())
}

/// How a header is read and held against the body.
#[derive(Clone, Copy)]
struct Reading {
    text: fn(&HeaderValue) -> Result<String, Undecodable>,
    /// Whether the header says what the body says.
    same: fn(&str, &str) -> bool,
}

/// Letter for letter. The Base64 form is not decoded: `Mcp-Method: =?base64?..?=` would pass a gateway that allows methods by
/// their names.
const PLAIN: Reading = Reading { text: headers::plain, same: same_text };

/// As it is, or in the Base64 form that `Mcp-Name` and `Mcp-Param-*` may have.
const WRAPPED: Reading = Reading { text: headers::decode, same: same_text };

/// One header must be there once, and say what the body says.
fn compare(
    headers: &HeaderMap,
    name: &str,
    body: &str,
    says: &str,
    reading: Reading,
) -> Result<(), RpcError> {
    let mismatch = |problem: String| RpcError::new(HEADER_MISMATCH, format!("the header `{name}` {problem}"));
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Err(mismatch(format!("is missing: {says} {}", excerpt(body))));
    };
    if values.next().is_some() {
        return Err(mismatch("is there more than once".to_owned()));
    }
    let value = (reading.text)(value).map_err(|why| mismatch(format!("cannot be read: {why}")))?;
    if (reading.same)(&value, body) {
        return Ok(());
    }
    Err(mismatch(format!("says {}, but {says} {}", excerpt(&value), excerpt(body))))
}

fn same_text(header: &str, body: &str) -> bool {
    header == body
}

/// `42.0` is 42, as long as a float can tell one integer from the next.
fn same_number(header: &str, body: &str) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.abs() <= MOST);
    header == body || number(body).is_some_and(|body| number(header) == Some(body))
}
