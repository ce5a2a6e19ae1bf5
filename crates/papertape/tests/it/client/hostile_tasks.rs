//! Servers that do what tasks do not allow: nothing hangs, and nothing is polled in a tight loop. Time is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papertape::Client;
use papertape::client::{CallOptions, ClientError, ClientOptions, ErrorKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::scripted::{connect, result, text};
use super::{broken, code, says, text_of};
use crate::peer::run;

fn refused(message: &Value, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "no"}})
}

fn task(status: &str, more: &Value) -> Value {
    let mut task = json!({"taskId": "t1", "status": status, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null});
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

/// A server whose calls become this task, and which responds to `tasks/get` with what a function makes of the number of polls.
async fn server(
    created: Value,
    mut polled: impl FnMut(usize) -> Value + Send + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let polls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&polls);
    let client = connect(ClientOptions::new(), move |message| match message["method"].as_str() {
        Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
        Some("tools/call") => {
            let mut created = created.clone();
            created["resultType"] = json!("task");
            vec![result(message, &created)]
        }
        Some("tasks/get") => {
            let count = counter.fetch_add(1, Ordering::SeqCst);
            let mut task = polled(count);
            task["resultType"] = json!("complete");
            vec![result(message, &task)]
        }
        Some("tasks/cancel" | "tasks/update") => vec![result(message, &json!({"resultType": "complete"}))],
        // It does not support subscriptions.
        Some(_) if !message["id"].is_null() => vec![refused(message, -32601)],
        _ => vec![],
    })
    .await
    .unwrap();
    (client, polls)
}

async fn fails(created: Value, polled: Value) -> ClientError {
    let (client, _) = server(created, move |_| polled.clone()).await;
    let error = client.call("t", json!({})).await.unwrap_err();
    client.close().await;
    error
}

fn completed(text: &str) -> Value {
    task("completed", &json!({"result": {"content": [{"type": "text", "text": text}]}}))
}

#[test]
fn poll_intervals_are_clamped() {
    run(async {
        for interval in [json!(0), json!(-5), json!(null), json!(0.001), json!(u64::MAX), json!(1e300)] {
            let working = task("working", &json!({"pollIntervalMs": interval}));
            let (client, polls) = server(working.clone(), move |_| working.clone()).await;
            let began = Instant::now();
            let options = CallOptions::new().total_timeout(Duration::from_secs(3600));
            let error = client.call_with("t", json!({}), options).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::TaskTimedOut(_)), "{error:?}");
            assert!(began.elapsed() < Duration::from_secs(3700));
            // At most every 100 ms, at least every five minutes.
            let polls = polls.load(Ordering::SeqCst);
            assert!((11..=36_000).contains(&polls), "{interval}: {polls}");
            client.close().await;
        }
    });
}

#[test]
fn a_task_that_never_ends_is_given_up() {
    run(async {
        let working = task("working", &json!({}));
        let (client, polls) = server(working.clone(), move |_| working.clone()).await;
        let began = Instant::now();
        let error = client.call("t", json!({})).await.unwrap_err();
        says(&error, &["the task did not end within 3600 s"]);
        assert!(began.elapsed() < Duration::from_secs(3700));
        assert!(polls.load(Ordering::SeqCst) <= 3600);
        // No timeout is too long.
        let mut task = client.task("t1");
        let waiting = task.wait_with(CallOptions::new().total_timeout(Duration::MAX));
        assert!(tokio::time::timeout(Duration::from_secs(5), waiting).await.is_err());
        client.close().await;
    });
}

#[test]
fn invalid_tasks_are_violations_of_the_protocol() {
    run(async {
        let working = || task("working", &json!({"pollIntervalMs": 1}));
        let cases = [
            (working(), task("sleeping", &json!({})), "\"sleeping\""),
            (working(), task("completed", &json!({})), "no `result`"),
            (working(), task("completed", &json!({"taskId": "t2"})), "another task: \"t2\""),
            (working(), task("working", &json!({"taskId": 5})), "the task is invalid"),
            (working(), json!({}), "the task is invalid"),
            (task("sleeping", &json!({})), working(), "\"sleeping\""),
            (task("working", &json!({"taskId": ""})), working(), "0 bytes"),
            (task("working", &json!({"taskId": "x".repeat(5000)})), working(), "5000 bytes"),
            (json!({}), working(), "the task is invalid"),
        ];
        for (created, polled, problem) in cases {
            let error = fails(created, polled).await;
            assert!(broken(&error).contains(problem), "{problem}: {error}");
        }
        let error = fails(working(), task("failed", &json!({"error": {"code": -5, "message": "bad"}}))).await;
        assert_eq!(code(&error), -5);
        let error = fails(working(), task("failed", &json!({}))).await;
        assert_eq!(code(&error), -32603);
        let error = fails(working(), task("cancelled", &json!({}))).await;
        assert!(matches!(error.kind(), ErrorKind::TaskCancelled));
        // A result that is not one of a tool.
        broken(&fails(working(), task("completed", &json!({"result": 5}))).await);
    });
}

#[test]
fn a_task_that_the_server_has_forgotten_ends_the_wait() {
    run(async {
        let client = connect(ClientOptions::new(), |message| match message["method"].as_str() {
            Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
            Some("tools/call") => {
                vec![result(message, &task("working", &json!({"resultType": "task", "ttlMs": 1})))]
            }
            Some(_) if !message["id"].is_null() => vec![refused(message, -32602)],
            _ => vec![],
        })
        .await
        .unwrap();
        assert_eq!(code(&client.call("t", json!({})).await.unwrap_err()), -32602);
        client.close().await;
    });
}

#[test]
fn input_that_is_requested_for_ever_ends() {
    run(async {
        let ask = |count: usize| {
            let request = json!({"method": "elicitation/create", "params":
                {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
            task(
                "input_required",
                &json!({"pollIntervalMs": 1, "inputRequests": {format!("q{count}"): request}}),
            )
        };
        // Without a handler it is refused.
        let error = fails(ask(0), ask(0)).await;
        assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
        let polls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&polls);
        let options =
            ClientOptions::new().on_form(|_| async { papertape::protocol::ElicitResult::decline() });
        let client = connect(options, move |message| match message["method"].as_str() {
            Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
            Some("tools/call") => vec![result(message, &task("working", &json!({"resultType": "task"})))],
            Some("tasks/get") => vec![result(message, &ask(counter.fetch_add(1, Ordering::SeqCst)))],
            Some("tasks/update") => vec![result(message, &json!({}))],
            _ => vec![],
        })
        .await
        .unwrap();
        let error = client.call("t", json!({})).await.unwrap_err();
        assert!(broken(&error).contains("more than 100 times"), "{error}");
        client.close().await;
    });
}

#[test]
fn the_same_input_request_is_responded_to_once() {
    run(async {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let options = ClientOptions::new().on_form(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            async { papertape::protocol::ElicitResult::decline() }
        });
        let mut polls = 0;
        let client = connect(options, move |message| match message["method"].as_str() {
            Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
            Some("tools/call") => vec![result(message, &task("working", &json!({"resultType": "task"})))],
            Some("tasks/get") => {
                polls += 1;
                let request = json!({"method": "elicitation/create", "params":
                    {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
                let waiting = task("input_required", &json!({"inputRequests": {"q": request}}));
                vec![result(message, &if polls < 20 { waiting } else { completed("asked") })]
            }
            Some("tasks/update") => vec![result(message, &json!({}))],
            _ => vec![],
        })
        .await
        .unwrap();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "asked");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        client.close().await;
    });
}

#[test]
fn a_task_without_subscriptions_is_polled_to_its_end() {
    run(async {
        let working = task("working", &json!({"pollIntervalMs": 2000}));
        let (client, polls) = server(working.clone(), move |count| match count {
            0..4 => working.clone(),
            _ => completed("polled"),
        })
        .await;
        let began = Instant::now();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "polled");
        assert_eq!(polls.load(Ordering::SeqCst), 5);
        assert_eq!(began.elapsed().as_secs(), 10);
        client.close().await;
    });
}

#[test]
fn only_a_call_can_become_a_task_and_only_of_a_client_that_declares_them() {
    run(async {
        let answer = |message: &Value| match message["method"].as_str() {
            Some("server/discover") => vec![result(message, &json!({"supportedVersions": ["2026-07-28"]}))],
            Some("tools/call" | "resources/read") => {
                vec![result(message, &task("working", &json!({"resultType": "task"})))]
            }
            _ => vec![text(message, "?")],
        };
        let client = connect(ClientOptions::new(), answer).await.unwrap();
        let error = client.read("x:y").await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ResultType(kind) if kind == "\"task\""), "{error:?}");
        client.close().await;
        let client = connect(ClientOptions::new().tasks(false), answer).await.unwrap();
        let error = client.call("t", json!({})).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ResultType(_)), "{error:?}");
        client.close().await;
    });
}

#[test]
fn a_task_that_is_known_to_have_ended_is_read_at_once() {
    run(async {
        let slow = json!({"pollIntervalMs": 300_000});
        for status in ["completed", "failed", "cancelled", "input_required"] {
            let (client, _) = server(task(status, &slow), |_| completed("done")).await;
            let began = Instant::now();
            assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "done");
            // As it is when its state was read before.
            let mut task = client.task("t1");
            task.poll().await.unwrap();
            assert_eq!(text_of(&task.wait().await.unwrap()), "done");
            // Time is paused: what has elapsed is what was waited for.
            assert_eq!(began.elapsed().as_secs(), 0, "{status}");
            client.close().await;
        }
    });
}
