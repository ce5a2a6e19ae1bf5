//! The status messages of tasks.

use std::time::Duration;

use papertape::Cx;
use papertape::server::TaskStatus;
use serde_json::json;

use super::tasks::SlowStore;
use super::{Anything, TASKS, long, modern, named, one};
use crate::peer::{Peer, messages, run};

#[test]
fn progress_is_the_status_of_a_task_and_not_stored_too_often() {
    run(async {
        let store = SlowStore::default();
        let server =
            named("s").task_store(store.clone()).tool(long("work"), |_: Anything, cx: Cx| async move {
                for step in 0..1_000_usize {
                    cx.progress(step, 1_000, format!("step {step}"));
                    cx.progress(step, None, None);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                std::future::pending::<()>().await;
                Ok("")
            });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        let id = task["result"]["taskId"].as_str().unwrap().to_owned();
        let listen = json!({"notifications": {"taskIds": [id]}});
        peer.line(modern(TASKS, 2, "subscriptions/listen", listen)).await;
        let received = messages(&peer.within(Duration::from_secs(5)).await);
        let statuses: Vec<&str> =
            received.iter().filter_map(|received| received["params"]["statusMessage"].as_str()).collect();
        assert!((1..10).contains(&statuses.len()), "{statuses:?}");
        assert_eq!(statuses.last(), Some(&"step 999"));
        assert!(received.iter().all(|received| received["method"] == "notifications/tasks"), "{received:?}");
        let now = one(&mut peer, modern(TASKS, 3, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["statusMessage"], "step 999", "{now}");
        // Its subscriber is notified too.
        assert_eq!(peer.line(modern(TASKS, 4, "tasks/cancel", json!({"taskId": id}))).await.len(), 2);
        let now = one(&mut peer, modern(TASKS, 5, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["status"], "cancelled");
    });
}

#[test]
fn a_status_that_is_being_stored_does_not_come_after_the_end() {
    run(async {
        for wait in 0..30 {
            let store = SlowStore { delay: Duration::from_millis(10), ..SlowStore::default() };
            let server = named("s").task_store(store.clone()).tool(
                long("work"),
                move |_: Anything, cx: Cx| async move {
                    cx.progress(1, 2, "working");
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                    Ok("done")
                },
            );
            let mut peer = Peer::connect(server);
            peer.write(modern(TASKS, 1, "tools/call", json!({"name": "work"})) + "\n").await;
            let id = peer.next().await["result"]["taskId"].as_str().unwrap().to_owned();
            peer.within(Duration::from_secs(2)).await;
            let history = store.history.lock().unwrap()[&id].clone();
            assert_eq!(history.last(), Some(&TaskStatus::Completed), "after {wait} ms: {history:?}");
            assert_eq!(history.iter().filter(|status| status.is_over()).count(), 1, "{history:?}");
        }
    });
}

#[test]
fn a_completed_task_has_its_last_message() {
    run(async {
        let server = named("s").task_store(SlowStore::default()).tool(
            long("work"),
            |_: Anything, cx: Cx| async move {
                cx.progress(1, 3, "phase 1");
                tokio::time::sleep(Duration::from_millis(1)).await;
                cx.progress(2, 3, "phase 2");
                tokio::time::sleep(Duration::from_millis(1)).await;
                cx.progress(3, 3, "finished");
                Ok("done")
            },
        );
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        let id = task["result"]["taskId"].as_str().unwrap().to_owned();
        peer.within(Duration::from_secs(5)).await;
        let now = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["status"], "completed", "{now}");
        assert_eq!(now["result"]["statusMessage"], "finished", "{now}");
    });
}
