//! What a proxy is made of: raw requests of servers, calls that become tasks while they run, notifications, values of sessions.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use papertape::client::{ClientOptions, SubscriptionFilter};
use papertape::protocol::capabilities::{Abilities, ClientCapabilities};
use papertape::protocol::{LogLevel, RawJson, Revision};
use papertape::server::{RawInputRequest, Tool};
use papertape::wire::RpcError;
use papertape::{Client, Cx, Server, ToolError, memory};
use serde_json::{Value, json};
use tokio::sync::mpsc;

fn legacy() -> ClientOptions {
    ClientOptions::new().revision(Revision::NEWEST_LEGACY)
}

async fn call(client: &Client, tool: &str) -> String {
    client.call(tool, json!({})).await.unwrap().text()
}

#[tokio::test]
async fn a_call_becomes_a_task_while_it_runs_if_the_client_knows_tasks() {
    let server = || {
        Server::new("late", "1").tool(Tool::new("late").may_become_task(), async |_: (), cx: Cx| {
            if !cx.can_become_task() {
                return Ok("a result".to_owned());
            }
            let again = cx.clone();
            // The rest may need input: then the handler runs again from the beginning.
            Err(cx.become_task(async move {
                assert!(!again.can_become_task());
                Ok("a task".to_owned())
            }))
        })
    };
    let client = memory::connect(server()).await.unwrap();
    assert_eq!(call(&client, "late").await, "a task");
    for without in [ClientOptions::new().tasks(false), legacy()] {
        let client = memory::connect_with(server(), without).await.unwrap();
        assert_eq!(call(&client, "late").await, "a result");
    }
}

/// Asks for roots as another server would: at once where that is possible.
async fn roots(_: (), cx: Cx) -> Result<String, ToolError> {
    let request = RawInputRequest::new("roots/list", json!({"_meta": {"a": 1}})).unwrap();
    if !cx.supports(&request) {
        return Ok(format!("no {}", request.needs()));
    }
    if let Some(response) = cx.request(request.clone()) {
        return Ok(format!("{:?}", response.await.map_err(|error| error.code)));
    }
    Ok(cx.ask("roots", request)?.to_string())
}

#[tokio::test]
async fn requests_of_a_server_pass_with_every_member() {
    let server = || Server::new("asks", "1").tool("roots", roots);
    let able = ClientCapabilities::from(Abilities { roots: true, ..Abilities::default() });
    for options in [ClientOptions::new(), legacy()] {
        let options = options.on_request(able.clone(), async |method: String, params: RawJson| {
            assert!(method == "roots/list" && !params.get().contains("\"a\""), "{method} {params}");
            Ok(json!({"roots": [], "com.example/more": 1}))
        });
        let client = memory::connect_with(server(), options).await.unwrap();
        assert!(call(&client, "roots").await.contains("com.example/more"));
    }
    let refuses = legacy().on_request(able, async |_, _| Err(RpcError::new(-1, "no")));
    let client = memory::connect_with(server(), refuses).await.unwrap();
    assert_eq!(call(&client, "roots").await, "Err(-1)");
    let client = memory::connect(server()).await.unwrap();
    assert_eq!(call(&client, "roots").await, "no roots");
    assert!(RawInputRequest::new("elicitation/create", json!({"mode": "telepathy"})).is_none());
    assert!(RawInputRequest::new("tools/call", json!({})).is_none());
}

#[tokio::test]
async fn notifications_reach_the_fallback() {
    let (heard, mut hears) = mpsc::unbounded_channel();
    let server = Server::new("hears", "1").fallback_notification(move |name: String, params: RawJson, _| {
        heard.send((name, params.get().to_owned())).unwrap();
        async { Ok(()) }
    });
    let service = server.build().unwrap();
    let client = memory::connect_with(service.clone(), legacy()).await.unwrap();
    assert_eq!(hears.recv().await.unwrap().0, "notifications/initialized");
    client.notify("notifications/roots/list_changed", json!({})).unwrap();
    assert_eq!(hears.recv().await.unwrap().0, "notifications/roots/list_changed");
    client.notify("notifications/com.example/a", json!({"b": 1})).unwrap();
    assert_eq!(
        hears.recv().await.unwrap(),
        ("notifications/com.example/a".to_owned(), "{\"b\":1}".to_owned())
    );
    let modern = memory::connect(service).await.unwrap();
    modern.notify("notifications/com.example/a", json!({"b": 2})).unwrap();
    assert!(hears.recv().await.unwrap().1.contains("\"b\":2"));
    for (name, params) in [
        ("notifications/cancelled", json!({})),
        ("notifications/roots/list_changed", json!({})),
        ("notifications/com.example/a", json!([])),
    ] {
        modern.notify(name, params).unwrap_err();
    }
}

#[tokio::test]
async fn a_value_of_a_session_ends_with_it() {
    let values: Arc<Mutex<Vec<std::sync::Weak<String>>>> = Arc::default();
    let kept = Arc::clone(&values);
    let server = Server::new("keeps", "1").tool("keep", move |_: (), cx: Cx| {
        let value = cx.session_value(|| "value".to_owned());
        let mut kept = kept.lock().unwrap();
        kept.extend(value.as_ref().map(Arc::downgrade));
        async move { Ok(value.map_or_else(|| "none".to_owned(), |value| value.to_string())) }
    });
    let service = server.build().unwrap();
    let client = memory::connect_with(service.clone(), legacy()).await.unwrap();
    assert_eq!((call(&client, "keep").await, call(&client, "keep").await), ("value".into(), "value".into()));
    let kept: Vec<_> = values.lock().unwrap().clone();
    assert!(kept[0].ptr_eq(&kept[1]) && kept[0].upgrade().is_some());
    client.close().await;
    while kept[0].upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    let modern = memory::connect(service).await.unwrap();
    assert_eq!(call(&modern, "keep").await, "none");
}

#[tokio::test]
async fn what_clients_watch_and_log_levels_are_known() {
    let mut server = Server::new("notes", "1").logging().resource("note://a", async |_| Ok("a"));
    let (resources, notifier) = (server.resources(), server.notifier());
    let (logged, mut logs) = mpsc::unbounded_channel();
    let options = legacy().on_log(move |message| logged.send((message.logger, message.data)).unwrap());
    let client = memory::connect_with(server, options).await.unwrap();
    let watching = client.listen(SubscriptionFilter::new().resource("note://a")).await.unwrap();
    let watched = resources.watched(&BTreeSet::new()).await;
    assert_eq!(watched, BTreeSet::from(["note://a".to_owned()]));
    drop(watching);
    assert_eq!(resources.watched(&watched).await, BTreeSet::new());

    client.set_log_level(LogLevel::Warning).await.unwrap();
    for level in [LogLevel::Info, LogLevel::Error] {
        let data = RawJson::from(json!({"n": level}));
        notifier.log(level, Some("db"), data).unwrap();
    }
    let (logger, data) = logs.recv().await.unwrap();
    assert_eq!((logger.as_deref(), data), (Some("db"), json!({"n": "error"}).into()));
}

/// A tool of another server is shown and called whatever its schemas are.
#[tokio::test]
async fn an_unchecked_tool_has_its_schemas_and_no_validation() {
    let invalid = json!({"type": "string", "pattern": "("});
    let tool = Tool::new("any").input_schema(invalid.clone()).output_schema(invalid.clone()).unchecked();
    let server =
        Server::new("any", "1").tool(tool, async |arguments: RawJson, _| Ok(arguments.get().to_owned()));
    let client = memory::connect(server).await.unwrap();
    let listed = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!(listed["tools"][0]["inputSchema"], invalid);
    let called: Value =
        client.request("tools/call", json!({"name": "any", "arguments": {"a": null}})).await.unwrap();
    assert_eq!(called["content"][0]["text"], "{\"a\":null}");
}
