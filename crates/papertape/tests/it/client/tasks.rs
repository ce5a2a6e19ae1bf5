//! Calls that become tasks, on a server of our own. Time is paused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{
    CallOptions, Called, Change, Client, ClientOptions, ErrorKind, SubscriptionFilter, TaskHandle, TaskStatus,
};
use papertape::protocol::{ElicitResult, Revision};
use papertape::server::{Elicited, Form, Tool};
use papertape::{Cx, Server, ToolError, memory};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;

use super::{code, says, text_of};
use crate::peer::run;

#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Dropped when the handler of `forever` is.
struct Ended(Arc<Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A server with tasks; it notifies when a call of `forever` has begun, and when it was dropped.
fn server() -> (Server, Arc<Notify>, Arc<Notify>) {
    let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let of_tool = (Arc::clone(&begun), Arc::clone(&ended));
    let long = |name: &str| Tool::new(name).long_running();
    let server = Server::new("tasks", "1")
        .tool(long("minutes"), async |(): (), _: Cx| {
            tokio::time::sleep(Duration::from_secs(300)).await;
            Ok::<_, ToolError>("done after five minutes")
        })
        .tool(long("now"), async |(): (), _: Cx| Ok::<_, ToolError>("at once"))
        .tool(long("fails"), async |(): (), _: Cx| Err::<(), _>(ToolError::failed("it is broken")))
        .tool(long("panics"), async |(): (), _: Cx| -> Result<(), ToolError> { panic!("on purpose") })
        .tool(long("asks"), async |(): (), cx: Cx| match cx.ask("who", Form::<Name>::new("Who?"))? {
            Elicited::Accepted(name) => Ok(format!("hello, {}", name.name)),
            other => Ok::<_, ToolError>(format!("{other:?}")),
        })
        .tool(long("forever"), move |(): (), _: Cx| {
            let (begun, ended) = of_tool.clone();
            async move {
                let _ended = Ended(ended);
                begun.notify_one();
                std::future::pending::<()>().await;
                Ok::<_, ToolError>("never")
            }
        });
    (server, begun, ended)
}

async fn connect() -> Client {
    memory::connect(server().0).await.unwrap()
}

async fn task(client: &Client, tool: &str) -> TaskHandle {
    match client.call_task(tool, json!({})).await.unwrap() {
        Called::Task(task) => task,
        Called::Result(result) => panic!("not a task: {result:?}"),
    }
}

#[test]
fn a_call_waits_for_the_task_that_it_becomes() {
    run(async {
        let client = connect().await;
        // Longer than the timeout of a request.
        let result = client.call("minutes", json!({})).await.unwrap();
        assert_eq!(text_of(&result), "done after five minutes");
        let (result, raw) = client.call_raw("now", json!({}), CallOptions::new()).await.unwrap();
        assert_eq!(text_of(&result), "at once");
        assert_eq!(raw.to_value().unwrap()["content"][0]["text"], "at once");
        let failed = client.call("fails", json!({})).await.unwrap();
        assert!(failed.is_error);
        says(&client.call("panics", json!({})).await.unwrap_err(), &["calling the tool \"panics\""]);
        client.close().await;
    });
}

#[test]
fn clients_that_cannot_have_tasks_get_results() {
    run(async {
        let options =
            [ClientOptions::new().tasks(false), ClientOptions::new().revision(Revision::NEWEST_LEGACY)];
        for options in options {
            let client = memory::connect_with(server().0, options).await.unwrap();
            let called = client.call_task("now", json!({})).await.unwrap();
            assert!(matches!(called, Called::Result(result) if text_of(&result) == "at once"));
            client.close().await;
        }
        let options = ClientOptions::new().revision(Revision::NEWEST_LEGACY);
        let client = memory::connect_with(server().0, options).await.unwrap();
        let error = client.task("x").poll().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotOffered(_)), "{error:?}");
        says(&error, &["reading the task \"x\"", "2025-11-25"]);
        client.close().await;
    });
}

#[test]
fn a_task_can_be_left_and_come_back_to() {
    run(async {
        let (server, _, _) = server();
        let service = server.build().unwrap();
        let first = memory::connect(service.clone()).await.unwrap();
        let handle = task(&first, "minutes").await;
        let state = handle.state().unwrap().clone();
        assert_eq!((state.status, &*state.id), (TaskStatus::Working, handle.id()));
        assert_eq!(state.poll_interval, Some(Duration::from_secs(1)));
        assert_eq!(state.ttl, Some(Duration::from_secs(3600)));
        let id = handle.id().to_owned();
        drop(handle);
        first.close().await;

        let second = memory::connect(service).await.unwrap();
        let mut handle = second.task(&id);
        assert!(handle.state().is_none());
        assert_eq!(handle.poll().await.unwrap().status, TaskStatus::Working);
        assert_eq!(text_of(&handle.wait().await.unwrap()), "done after five minutes");
        assert_eq!(handle.poll().await.unwrap().status, TaskStatus::Completed);
        // The result is there as long as the task.
        assert_eq!(text_of(&second.task(&id).wait().await.unwrap()), "done after five minutes");
        assert_eq!(code(&second.task("unknown").wait().await.unwrap_err()), -32602);
        second.close().await;
    });
}

#[test]
fn a_task_is_cancelled_when_it_is_asked_for() {
    run(async {
        let (server, begun, ended) = server();
        let client = memory::connect(server).await.unwrap();
        let mut handle = task(&client, "forever").await;
        begun.notified().await;
        let other = handle.clone();
        let waiting = tokio::spawn(async move { handle.wait().await });
        other.cancel().await.unwrap();
        ended.notified().await;
        let error = waiting.await.unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TaskCancelled), "{error:?}");
        client.close().await;
    });
}

#[test]
fn a_call_that_is_dropped_or_times_out_cancels_its_task() {
    run(async {
        let (server, begun, ended) = server();
        let client = memory::connect(server).await.unwrap();
        let call = tokio::spawn({
            let client = client.clone();
            async move { client.call("forever", json!({})).await }
        });
        begun.notified().await;
        // The handler has begun; its task is known to the client soon.
        tokio::time::sleep(Duration::from_secs(1)).await;
        call.abort();
        ended.notified().await;

        let options = CallOptions::new().total_timeout(Duration::from_secs(7));
        let error = client.call_with("forever", json!({}), options).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TaskTimedOut(limit) if limit.as_secs() == 7), "{error:?}");
        says(&error, &["the task did not end within 7 s"]);
        ended.notified().await;
        client.close().await;
    });
}

#[test]
fn the_task_of_a_dropped_call_is_cancelled_even_if_the_client_is_dropped_too() {
    run(async {
        let (server, begun, ended) = server();
        let service = server.build().unwrap();
        let client = memory::connect(service.clone()).await.unwrap();
        let call = tokio::spawn(async move { client.call("forever", json!({})).await });
        begun.notified().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        call.abort();
        ended.notified().await;
    });
}

#[test]
fn a_wait_that_is_given_up_leaves_the_task_alone() {
    run(async {
        let (server, begun, _ended) = server();
        let client = memory::connect(server).await.unwrap();
        let mut handle = task(&client, "forever").await;
        begun.notified().await;
        let options = CallOptions::new().total_timeout(Duration::from_secs(5));
        let error = handle.wait_with(options).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TaskTimedOut(_)), "{error:?}");
        assert_eq!(handle.poll().await.unwrap().status, TaskStatus::Working);
        client.close().await;
    });
}

#[test]
fn input_of_a_task_comes_from_the_handlers_of_the_client() {
    run(async {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let options = ClientOptions::new().on_form(move |form| {
            counter.fetch_add(1, Ordering::SeqCst);
            assert_eq!(form.message, "Who?");
            async {
                // Longer than the whole task may take: a person's time does not count.
                tokio::time::sleep(Duration::from_secs(100)).await;
                ElicitResult::accept(json!({"name": "Ada"}).as_object().unwrap().clone())
            }
        });
        let client = memory::connect_with(server().0, options).await.unwrap();
        let statuses = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&statuses);
        let options = CallOptions::new()
            .total_timeout(Duration::from_secs(50))
            .on_status(move |task| seen.lock().unwrap().push(task.status));
        let result = client.call_with("asks", json!({}), options).await.unwrap();
        assert_eq!(text_of(&result), "hello, Ada");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        let statuses = statuses.lock().unwrap().clone();
        assert_eq!(statuses.first(), Some(&TaskStatus::Working));
        assert!(statuses.contains(&TaskStatus::InputRequired), "{statuses:?}");
        assert_eq!(statuses.last(), Some(&TaskStatus::Completed));
        client.close().await;
    });
}

#[test]
fn tasks_can_be_subscribed_to() {
    run(async {
        let client = connect().await;
        let handle = task(&client, "minutes").await;
        let filter = SubscriptionFilter::new().task(handle.id());
        let mut changes = client.listen(filter.clone()).await.unwrap();
        assert_eq!(changes.acknowledged(), &filter);
        let mut polls = client.task(handle.id());
        assert_eq!(polls.poll().await.unwrap().status, TaskStatus::Working);
        while polls.poll().await.unwrap().status != TaskStatus::Completed {
            assert_eq!(changes.next().await.unwrap(), Some(Change::Task(handle.id().to_owned())));
        }
        client.close().await;
    });
}

#[test]
fn a_server_that_notifies_is_hardly_polled() {
    run(async {
        let polls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&polls);
        let options = ClientOptions::new().on_frame(move |frame| {
            if String::from_utf8_lossy(frame.bytes).contains("\"tasks/get\"") {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        let client = memory::connect_with(server().0, options).await.unwrap();
        client.call("minutes", json!({})).await.unwrap();
        // It would be 300 times at the interval of the server.
        assert!(polls.load(Ordering::SeqCst) < 20, "{polls:?}");
        client.close().await;
    });
}

/// A server of our own in a process of its own.
#[test]
fn tasks_on_stdio() {
    super::run(async {
        let test = std::env::current_exe().unwrap();
        let path = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/conformance_server");
        let command = papertape::stdio::ServerCommand::new(path).args(["--stdio"]);
        let options = super::patient().on_form(|_| async {
            ElicitResult::accept(serde_json::Map::from_iter([("confirm".to_owned(), true.into())]))
        });
        let client = papertape::stdio::connect_with(command, options).await.unwrap();
        let result = client.call("slow_compute", json!({"seconds": 0.05, "label": "made"})).await.unwrap();
        assert!(text_of(&result).contains("made"), "{result:?}");
        let result = client.call("confirm_delete", json!({"filename": "a.txt"})).await.unwrap();
        assert!(!result.is_error, "{result:?}");
        let Called::Task(mut task) = client.call_task("slow_compute", json!({"seconds": 600})).await.unwrap()
        else {
            panic!("not a task")
        };
        task.cancel().await.unwrap();
        let error = task.wait().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TaskCancelled), "{error:?}");
        client.close().await;
    });
}
