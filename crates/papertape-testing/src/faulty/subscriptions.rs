//! Servers that send change notifications: with a subscription, without one, or not at all.

use std::io;
use std::process;

use serde_json::{Map, Value, json};

use crate::faulty::Mode;
use crate::faulty::message::{Message, notification};
use crate::faulty::server::Server;

pub(crate) const MODES: &[Mode] = &[
    Mode::new(
        "",
        "changes [END=open]",
        "acknowledges subscriptions/listen; stays `open`, and `fault` tells of changes (legacy: unasked); \
         or tells at once and ends with a `result`, `cancelled`, `both`, or an `exit`",
        changes,
    ),
    Mode::new(
        "",
        "changes-oddly",
        "modern: sends change notifications too early, wrongly tagged and too late; a correct one just before the result",
        |server| at_listen(server, oddly),
    ),
    Mode::new(
        "",
        "listen-nothing",
        "modern: acknowledges subscriptions/listen, with an empty filter, and stays open",
        |server| at_listen(server, |server, message| acknowledge(server, message, &json!({}))),
    ),
    Mode::new("", "listen-silent", "modern: never acknowledges subscriptions/listen", |server| {
        at_listen(server, |_, _| Ok(()))
    }),
    Mode::new("", "listen-refused", "modern: responds to subscriptions/listen with -32601", |server| {
        at_listen(server, |server, message| {
            server.refuse(message, -32601, "no subscriptions here", Value::Null)
        })
    }),
];

const TAG: &str = "io.modelcontextprotocol/subscriptionId";

/// Serves as usual, but for `subscriptions/listen`.
fn at_listen(server: &mut Server, listen: fn(&mut Server, &Message) -> io::Result<()>) -> io::Result<()> {
    declare(server);
    server.serve(|server, message| match message.method() {
        "subscriptions/listen" => listen(server, message),
        _ => server.usual(message),
    })
}

fn declare(server: &mut Server) {
    server.capabilities =
        json!({"tools": {"listChanged": true}, "resources": {"listChanged": true, "subscribe": true}});
}

fn tagged(message: &Message, method: &str, params: &Value) -> Value {
    let mut notification = notification(method, params);
    notification["params"]["_meta"] = json!({TAG: message.id()});
    notification
}

fn acknowledge(server: &mut Server, message: &Message, filter: &Value) -> io::Result<()> {
    let params = json!({"notifications": filter});
    server.send(&tagged(message, "notifications/subscriptions/acknowledged", &params))
}

/// The requested filter, limited to what the server has.
fn accepted_filter(message: &Message) -> Value {
    let mut wanted = message.params()["notifications"].as_object().cloned().unwrap_or_default();
    wanted.retain(|kind, _| {
        ["toolsListChanged", "resourcesListChanged", "resourceSubscriptions"].contains(&kind.as_str())
    });
    Value::Object(wanted)
}

/// One notification for everything in the filter of a subscription.
fn tell(server: &mut Server, message: &Message) -> io::Result<()> {
    let wanted = accepted_filter(message);
    if wanted["toolsListChanged"] == true {
        server.send(&tagged(message, "notifications/tools/list_changed", &json!({})))?;
    }
    if wanted["resourcesListChanged"] == true {
        server.send(&tagged(message, "notifications/resources/list_changed", &json!({})))?;
    }
    for uri in wanted["resourceSubscriptions"].as_array().into_iter().flatten() {
        server.send(&tagged(message, "notifications/resources/updated", &json!({"uri": uri})))?;
    }
    Ok(())
}

fn end(server: &mut Server, message: &Message, how: &str) -> io::Result<()> {
    if how == "exit" {
        process::exit(3);
    }
    if how == "result" || how == "both" {
        server.answer(message, json!({"_meta": {TAG: message.id()}}))?;
    }
    if how == "cancelled" || how == "both" {
        let params = json!({"requestId": message.id(), "reason": "shutting down"});
        server.send(&notification("notifications/cancelled", &params))?;
    }
    Ok(())
}

fn changes(server: &mut Server) -> io::Result<()> {
    declare(server);
    let how = server.argument(0, "open".to_owned());
    // Modern: the requests. Legacy: the URIs.
    let (mut open, mut watched) = (Vec::<Message>::new(), Map::new());
    server.serve(|server, message| {
        let uri = message.params()["uri"].as_str().unwrap_or_default();
        match (message.method(), message.modern) {
            ("subscriptions/listen", true) => {
                acknowledge(server, message, &accepted_filter(message))?;
                if how == "open" {
                    open.push(message.clone());
                    return Ok(());
                }
                tell(server, message)?;
                end(server, message, &how)
            }
            ("notifications/cancelled", _) => {
                open.retain(|listen| *listen.id() != message.params()["requestId"]);
                Ok(())
            }
            ("resources/subscribe", false) => {
                watched.insert(uri.to_owned(), Value::Null);
                server.answer(message, json!({}))
            }
            ("resources/unsubscribe", false) => {
                watched.remove(uri);
                server.answer(message, json!({}))
            }
            ("resources/list", _) => server.answer(message, json!({"resources": []})),
            _ if message.tool() == "fault" && message.modern => {
                for listen in &open {
                    tell(server, listen)?;
                }
                server.say(message, format!("sent {}", open.len()))
            }
            _ if message.tool() == "fault" => {
                server.send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))?;
                server.send(&json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}))?;
                for uri in watched.keys() {
                    server.send(&notification("notifications/resources/updated", &json!({"uri": uri})))?;
                }
                server.say(message, "sent")
            }
            _ => server.usual(message),
        }
    })
}

/// Only what comes between the acknowledgement and the result, and has the right tag, is for the subscriber.
fn oddly(server: &mut Server, message: &Message) -> io::Result<()> {
    const CHANGED: &str = "notifications/tools/list_changed";
    // Of another kind than the first later one, so that a test sees the order.
    server.send(&tagged(message, "notifications/resources/list_changed", &json!({})))?;
    acknowledge(server, message, &accepted_filter(message))?;
    let other = if message.id().is_string() { json!(1) } else { json!(message.id().to_string()) };
    for tag in [other, json!(987_654_321), Value::Null] {
        server.send(&notification(CHANGED, &json!({"_meta": {TAG: tag}})))?;
    }
    server.send(&notification(CHANGED, &json!({})))?;
    server.send(&json!({"jsonrpc": "2.0", "method": CHANGED}))?;
    server.send(&tagged(message, "notifications/prompts/list_changed", &json!({})))?;
    server.send(&tagged(message, "notifications/resources/updated", &json!({})))?;
    tell(server, message)?;
    end(server, message, "result")?;
    server.send(&tagged(message, CHANGED, &json!({})))
}
