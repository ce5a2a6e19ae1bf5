//! Options of every call, log messages and other notifications, typed calls, and lists that are kept.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{CallOptions, ClientOptions, ErrorKind, LogMessage, SubscriptionFilter};
use papertape::protocol::{CacheScope, LogLevel, RawJson, Reference, Revision};
use papertape::{Cx, Json, Server, ToolError, memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::scripted::{connect, result, text};
use super::{broken, says, text_of};
use crate::fixture;
use crate::peer::run;

/// Requests as they were sent.
type Sent = Arc<Mutex<Vec<Value>>>;

fn recorded() -> (ClientOptions, Sent) {
    let sent = Sent::default();
    let recorder = Arc::clone(&sent);
    let options = ClientOptions::new().on_frame(move |frame| {
        let message: Value = serde_json::from_slice(frame.bytes).unwrap();
        if message["method"].is_string() && !message["id"].is_null() {
            recorder.lock().unwrap().push(message);
        }
    });
    (options, sent)
}

#[test]
fn every_call_carries_the_meta_of_its_options() {
    run(async {
        for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
            let (options, sent) = recorded();
            let client = memory::connect_with(fixture::server(), options.revision(revision)).await.unwrap();
            sent.lock().unwrap().clear();
            let options = || {
                CallOptions::new()
                    .meta("example.com/tenant", "acme")
                    .meta("progressToken", "mine")
                    .meta("io.modelcontextprotocol/protocolVersion", "1999-01-01")
            };
            client.call_with("echo", json!({"text": "a"}), options()).await.unwrap();
            client.tools_with(options()).await.unwrap();
            client.resources_with(options()).await.ok();
            client.resource_templates_with(options()).await.ok();
            client.prompts_with(options()).await.ok();
            client.read_with("x:y", options()).await.ok();
            client.prompt_with("x", Map::new(), options()).await.ok();
            client
                .complete_with(Reference::Prompt { name: "x".to_owned() }, "a", "b", Map::new(), options())
                .await
                .ok();
            client.request_with("no/such", json!({}), options()).await.ok();
            client.ping_with(options()).await.unwrap();
            let sent = sent.lock().unwrap().clone();
            assert_eq!(sent.len(), 10);
            for request in sent {
                let meta = &request["params"]["_meta"];
                assert_eq!(meta["example.com/tenant"], "acme", "{request}");
                assert_ne!(meta["progressToken"], "mine", "{request}");
                let version = &meta["io.modelcontextprotocol/protocolVersion"];
                let stateless = revision == Revision::MODERN;
                assert_eq!(version.as_str(), stateless.then_some("2026-07-28"), "{request}");
            }
            client.close().await;
        }
    });
}

#[test]
fn options_limit_other_requests_too() {
    run(async {
        let client = connect(ClientOptions::new(), |message| match message["method"].as_str() {
            Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
            _ => vec![],
        })
        .await
        .unwrap();
        let options = || CallOptions::new().total_timeout(Duration::from_secs(3));
        for error in [
            client.read_with("x:y", options()).await.unwrap_err(),
            client.tools_with(options()).await.unwrap_err(),
            client.prompt_with("x", Map::new(), options()).await.unwrap_err(),
            client.request_with("x", json!({}), options()).await.unwrap_err(),
        ] {
            assert_eq!(super::timed_out(&error), Duration::from_secs(3));
        }
        client.close().await;
    });
}

async fn logs(_: (), cx: Cx) -> Result<&'static str, ToolError> {
    cx.log(LogLevel::Debug, "quiet");
    cx.log(LogLevel::Warning, json!({"message": "loud", "code": 5}));
    Ok("logged")
}

#[test]
fn log_messages_reach_the_callback_in_every_revision() {
    run(async {
        for revision in Revision::ALL {
            let messages: Arc<Mutex<Vec<LogMessage>>> = Arc::default();
            let log = Arc::clone(&messages);
            let options = ClientOptions::new()
                .revision(revision)
                .on_log(move |message| log.lock().unwrap().push(message));
            let server = Server::new("logs", "1").logging().tool("logs", logs);
            let client = memory::connect_with(server, options).await.unwrap();
            client.set_log_level(LogLevel::Warning).await.unwrap();
            client.call("logs", json!({})).await.unwrap();
            {
                let messages = messages.lock().unwrap();
                assert_eq!(messages.len(), 1, "{revision}: {messages:?}");
                assert_eq!(messages[0].level, LogLevel::Warning);
                assert_eq!(messages[0].to_string(), "loud");
                assert_eq!(messages[0].data.to_value().unwrap()["code"], 5);
            }
            client.set_log_level(LogLevel::Debug).await.unwrap();
            client.call("logs", json!({})).await.unwrap();
            assert_eq!(messages.lock().unwrap().len(), 3);
            client.close().await;
        }
        let client = memory::connect(Server::new("silent", "1").tool("logs", async |(): (), _: Cx| Ok("")))
            .await
            .unwrap();
        let error = client.set_log_level(LogLevel::Info).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotOffered(_)), "{error:?}");
    });
}

#[test]
fn notifications_reach_the_callbacks_while_no_call_runs_and_invalid_ones_do_not() {
    run(async {
        let logged: Arc<Mutex<Vec<String>>> = Arc::default();
        let notified: Arc<Mutex<Vec<(String, RawJson)>>> = Arc::default();
        let (log, other) = (Arc::clone(&logged), Arc::clone(&notified));
        let options = ClientOptions::new()
            .revision(Revision::NEWEST_LEGACY)
            .on_log(move |message| log.lock().unwrap().push(message.to_string()))
            .on_notification(move |method, params| other.lock().unwrap().push((method.to_owned(), params)));
        let client = connect(options, |message| {
            let tell =
                |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
            match message["method"].as_str() {
                Some("initialize") => vec![super::scripted::opened(message)],
                Some("ping") => vec![
                    tell("notifications/message", json!({"level": "info", "logger": "a", "data": "text"})),
                    tell("notifications/message", json!({"level": "info", "data": [1, 2]})),
                    tell("notifications/message", json!({"level": "no such", "data": 1})),
                    tell("notifications/message", json!([])),
                    json!({"jsonrpc": "2.0", "method": "notifications/message"}),
                    // What the members of other notifications are called.
                    tell("example/changed", json!({"progress": "x", "uri": 5, "message": {}})),
                    json!({"jsonrpc": "2.0", "method": "example/bare"}),
                    tell("notifications/tools/list_changed", json!({})),
                    result(message, &json!({})),
                ],
                _ => vec![],
            }
        })
        .await
        .unwrap();
        client.ping().await.unwrap();
        assert_eq!(*logged.lock().unwrap(), ["text", "[1,2]"]);
        let notified = notified.lock().unwrap().clone();
        let methods: Vec<&str> = notified.iter().map(|(method, _)| &**method).collect();
        assert_eq!(methods, ["example/changed", "example/bare"]);
        assert_eq!(notified[0].1, json!({"progress": "x", "uri": 5, "message": {}}));
        assert_eq!(notified[1].1, json!({}));
        client.close().await;
    });
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Point {
    x: i64,
    y: i64,
}

#[test]
fn calls_take_and_return_types() {
    run(async {
        let server = Server::new("typed", "1")
            .tool("mirror", async |point: Point, _: Cx| {
                Ok::<_, ToolError>(Json(Point { x: -point.x, y: -point.y }))
            })
            .tool("text", async |point: Point, _: Cx| Ok::<_, ToolError>(format!("\"{}\"", point.x)))
            .tool("json", async |(): (), _: Cx| Ok::<_, ToolError>(r#"{"x": 1, "y": 2}"#))
            .tool("number", async |(): (), _: Cx| Ok::<_, ToolError>("42"))
            .tool("fails", async |(): (), _: Cx| Err::<(), _>(ToolError::failed("no paper left")));
        let client = memory::connect(server).await.unwrap();
        let point = Point { x: 1, y: 2 };
        assert_eq!(client.call_as::<Point>("mirror", &point).await.unwrap(), Point { x: -1, y: -2 });
        let by_value: Point = client.call_as("mirror", json!({"x": 1, "y": 2})).await.unwrap();
        assert_eq!(by_value, Point { x: -1, y: -2 });
        assert_eq!(client.call_as::<String>("text", &point).await.unwrap(), "\"1\"");
        assert_eq!(client.call_as::<Point>("json", &()).await.unwrap(), point);
        assert_eq!(client.call_as::<u8>("number", &()).await.unwrap(), 42);
        assert_eq!(client.call_as::<String>("number", &json!({})).await.unwrap(), "42");

        let error = client.call_as::<Point>("fails", &()).await.unwrap_err();
        let ErrorKind::ToolFailed(result) = error.kind() else { panic!("{error:?}") };
        assert_eq!(text_of(result), "no paper left");
        says(&error, &["calling the tool \"fails\" failed", "no paper left"]);
        // As `main` prints it.
        assert_eq!(
            format!("{error:?}"),
            "calling the tool \"fails\" failed: the tool failed: no paper left\n  last step: the response arrived"
        );
        let error = client.call_as::<Point>("number", &()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ResultMismatch(_)), "{error:?}");
        let error = client.call_as::<u32>("mirror", &point).await.unwrap_err().to_string();
        assert!(error.ends_with("invalid type: map, expected u32"), "{error}");
        let error = client.call_as::<Vec<Point>>("mirror", &point).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ResultMismatch(_)), "{error:?}");
        let error = client.call_as::<Point>("mirror", &[1, 2]).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidArguments(_)), "{error:?}");
        client.close().await;
    });
}

fn counted(requests: &Sent, method: &str) -> usize {
    requests.lock().unwrap().iter().filter(|request| request["method"] == method).count()
}

#[test]
fn lists_are_kept_for_their_time_to_live() {
    run(async {
        let (options, sent) = recorded();
        let mut server = fixture::server().cache(Duration::from_secs(10), CacheScope::Private);
        let tools = server.tools();
        let client = memory::connect_with(server, options).await.unwrap();
        let count = |expected: usize| assert_eq!(counted(&sent, "tools/list"), expected);
        let first = client.tools().await.unwrap();
        assert_eq!(client.tools().await.unwrap(), first);
        count(1);
        client.tools_with(CallOptions::new().fresh()).await.unwrap();
        count(2);
        // `_meta` may change what is listed.
        client.tools_with(CallOptions::new().meta("a", 1)).await.unwrap();
        count(3);
        client.tools().await.unwrap();
        count(3);
        tokio::time::sleep(Duration::from_secs(11)).await;
        client.tools().await.unwrap();
        count(4);
        // An announced change ends it.
        let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        tools.add("more", async |(): (), _: Cx| Ok("more")).unwrap();
        changes.next().await.unwrap();
        assert_eq!(client.tools().await.unwrap().len(), first.len() + 1);
        count(5);
        client.close().await;

        // By default lists are read each time; older revisions have no time to live.
        for (server, revision) in [
            (fixture::server(), Revision::MODERN),
            (fixture::server().cache(Duration::from_secs(10), CacheScope::Private), Revision::NEWEST_LEGACY),
        ] {
            let (options, sent) = recorded();
            let client = memory::connect_with(server, options.revision(revision)).await.unwrap();
            client.tools().await.unwrap();
            client.tools().await.unwrap();
            assert_eq!(counted(&sent, "tools/list"), 2);
            client.close().await;
        }
    });
}

#[test]
fn invalid_times_to_live_are_none_and_all_pages_count() {
    run(async {
        let first = [json!(-1), json!("x"), json!(null), json!(1e300), json!(u64::MAX)];
        for (at, ttl) in first.into_iter().enumerate() {
            let requests = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&requests);
            let client = connect(ClientOptions::new(), move |message| match message["method"].as_str() {
                Some("server/discover") => {
                    vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))]
                }
                Some("prompts/list") => {
                    counter.fetch_add(1, Ordering::SeqCst);
                    vec![result(message, &json!({"prompts": [], "ttlMs": ttl}))]
                }
                Some("resources/list") if message["params"]["cursor"].is_null() => {
                    counter.fetch_add(1, Ordering::SeqCst);
                    vec![result(message, &json!({"resources": [], "nextCursor": "2", "ttlMs": 60_000}))]
                }
                Some("resources/list") => vec![result(message, &json!({"resources": []}))],
                _ => vec![text(message, "")],
            })
            .await
            .unwrap();
            for _ in 0..2 {
                client.prompts().await.unwrap();
            }
            assert_eq!(requests.swap(0, Ordering::SeqCst), if at < 3 { 2 } else { 1 });
            for _ in 0..2 {
                client.resources().await.unwrap();
            }
            assert_eq!(requests.load(Ordering::SeqCst), 2);
            // A day is the longest.
            tokio::time::sleep(Duration::from_secs(24 * 3600 + 1)).await;
            requests.store(0, Ordering::SeqCst);
            client.prompts().await.unwrap();
            assert_eq!(requests.load(Ordering::SeqCst), 1);
            client.close().await;
        }
    });
}

#[test]
fn the_result_of_a_task_is_validated_like_any_other() {
    run(async {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let client = connect(ClientOptions::new(), move |message| match message["method"].as_str() {
            Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
            Some("tools/list") => {
                let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema});
                vec![result(message, &json!({"tools": [tool]}))]
            }
            Some("tools/call") => {
                vec![result(message, &json!({"resultType": "task", "taskId": "1", "status": "working"}))]
            }
            Some("tasks/get") => {
                let inner = json!({"content": [], "structuredContent": {"n": "one"}});
                vec![result(message, &json!({"taskId": "1", "status": "completed", "result": inner}))]
            }
            _ => vec![],
        })
        .await
        .unwrap();
        client.tools().await.unwrap();
        let error = client.call("t", json!({})).await.unwrap_err();
        assert!(broken(&error).contains("output schema"), "{error}");
        client.close().await;
    });
}
