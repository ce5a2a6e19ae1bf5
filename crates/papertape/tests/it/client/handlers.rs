//! Handlers and callbacks of the program that panic or never return. Time is paused.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use papertape::client::{CallOptions, Called, ClientOptions, ErrorKind};
use papertape::protocol::{ElicitResult, Revision};
use papertape::server::Tool;
use papertape::{Client, Cx, Server, ToolError, memory};
use serde_json::{Value, json};

use super::says;
use super::scripted::{connect, opened, result, text};
use super::text_of;
use crate::peer::run;

/// Requests of a server for each handler.
fn requests() -> [(&'static str, &'static str, Value); 3] {
    [
        ("on_form", "elicitation/create", json!({"message": "m", "requestedSchema": {"type": "object"}})),
        (
            "on_url",
            "elicitation/create",
            json!({"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "1"}),
        ),
        ("on_sampling", "sampling/createMessage", json!({"messages": [], "maxTokens": 1})),
    ]
}

fn panics<T>() -> T {
    panic!("on purpose")
}

/// Every handler panics: before its future is there, or in it.
fn panicking(at_once: bool) -> ClientOptions {
    if at_once {
        return ClientOptions::new()
            .on_form(|_| panics::<std::future::Ready<_>>())
            .on_url(|_| panics::<std::future::Ready<_>>())
            .on_sampling(|_| panics::<std::future::Ready<_>>());
    }
    ClientOptions::new()
        .on_form(|_| async { panics() })
        .on_url(|_| async { panics() })
        .on_sampling(|_| async { panics() })
}

fn hanging() -> ClientOptions {
    ClientOptions::new().on_form(|_| pending()).on_url(|_| pending()).on_sampling(|_| pending())
}

/// A server of 2026-07-28 whose tool `asks` requests this input.
async fn modern(options: ClientOptions, method: &str, params: &Value) -> Client {
    let required = json!({"resultType": "input_required", "requestState": "s",
        "inputRequests": {"a": {"method": method, "params": params}}});
    let answer = move |message: &Value| match message["method"].as_str() {
        Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
        Some("tools/call") if message["params"]["name"] == "asks" => vec![result(message, &required)],
        _ => vec![text(message, "fine")],
    };
    connect(options, answer).await.unwrap()
}

/// A server of 2025-11-25 whose tool `asks` sends this request, and returns the error that it receives.
async fn legacy(options: ClientOptions, method: &str, params: &Value) -> Client {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let mut call = Value::Null;
    let answer = move |message: &Value| match message["method"].as_str() {
        Some("initialize") => vec![opened(message)],
        Some("tools/call") if message["params"]["name"] == "asks" => {
            call = message.clone();
            vec![request.clone()]
        }
        Some("tools/call") => vec![text(message, "fine")],
        None if message["id"] == 7 => vec![text(&call, &message["error"].to_string())],
        _ => vec![],
    };
    connect(options.revision(Revision::NEWEST_LEGACY), answer).await.unwrap()
}

/// The failure is named on both sides, and the session goes on.
async fn fails(options: impl Fn() -> ClientOptions, how: &str) {
    for (handler, method, params) in requests() {
        let what = format!("`{handler}` {how}");
        let client = modern(options(), method, &params).await;
        let error = client.call("asks", json!({})).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::HandlerFailed(text) if *text == what), "{error:?}");
        says(&error, &[&format!("calling the tool \"asks\" failed: the client's handler {what}")]);
        assert_eq!(text_of(&client.call("other", json!({})).await.unwrap()), "fine");
        client.close().await;

        let client = legacy(options(), method, &params).await;
        let answered = client.call("asks", json!({})).await.unwrap();
        let answered: Value = serde_json::from_str(text_of(&answered)).unwrap();
        assert_eq!(answered, json!({"code": -32603, "message": format!("the client's handler {what}")}));
        assert_eq!(text_of(&client.call("other", json!({})).await.unwrap()), "fine");
        client.close().await;
    }
}

#[test]
fn a_handler_that_panics_is_named() {
    run(async {
        for at_once in [true, false] {
            fails(|| panicking(at_once), "panicked").await;
        }
    });
}

#[test]
fn a_handler_that_never_returns_is_named() {
    run(async {
        fails(hanging, "did not return within 600 s (`handler_timeout`)").await;
    });
}

async fn report(_: (), cx: Cx) -> Result<&'static str, ToolError> {
    cx.notify("com.example/news", json!({}))?;
    Ok("42 pages")
}

#[test]
fn a_callback_that_panics_ends_neither_its_call_nor_the_session() {
    run(async {
        let called = Arc::new(AtomicUsize::new(0));
        let count = || {
            let called = Arc::clone(&called);
            move || {
                called.fetch_add(1, Ordering::Relaxed);
                panics::<()>();
            }
        };
        let (frame, notification) = (count(), count());
        let options = ClientOptions::new()
            .on_form(|_| async { ElicitResult::decline() })
            .on_frame(move |_| frame())
            .on_notification(move |_, _| notification());
        let server = Server::new("reports", "1").tool(Tool::new("report").long_running(), report);
        let client = memory::connect_with(server, options).await.unwrap();
        let status = count();
        let options = CallOptions::new().on_status(move |_| status());
        let result = client.call_with("report", json!({}), options).await.unwrap();
        assert_eq!(text_of(&result), "42 pages");

        let before = called.load(Ordering::Relaxed);
        let status = count();
        let options = CallOptions::new().on_status(move |_| status());
        let Called::Task(mut task) = client.call_task_with("report", json!({}), options).await.unwrap()
        else {
            panic!("not a task")
        };
        assert!(called.load(Ordering::Relaxed) > before);
        assert_eq!(text_of(&task.wait().await.unwrap()), "42 pages");
        client.close().await;
    });
}
