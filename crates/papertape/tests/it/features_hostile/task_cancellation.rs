//! `tasks/cancel` while the task ends, is cancelled by another request, or runs in another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use papertape::server::{StoreFuture, Task, TaskStatus, TaskStore};
use papertape::{Cx, Server, ToolError};
use serde_json::{Value, json};

use super::tasks::SlowStore;
use super::{Anything, TASKS, long, modern, named};
use crate::peer::{Peer, cancel, messages, run};

/// A store whose answers are old when they arrive: the first after 10 ms, the second after 20 ms.
#[derive(Clone, Default)]
struct LateStore {
    store: SlowStore,
    reads: Arc<AtomicU64>,
}

impl TaskStore for LateStore {
    fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
        self.store.put(task)
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
        Box::pin(async move {
            let task = self.store.get(id).await;
            let read = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::time::sleep(Duration::from_millis(10 * read)).await;
            task
        })
    }
}

/// A server whose tasks take 20 ms.
fn working(store: impl TaskStore) -> Server {
    named("s").task_store(store).tool(long("work"), |_: Anything, _: Cx| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok("done")
    })
}

/// A server whose tasks do not end by themselves.
fn hanging(store: impl TaskStore) -> Server {
    named("s")
        .task_store(store)
        .tool(long("work"), |_: Anything, _: Cx| std::future::pending::<Result<(), ToolError>>())
}

async fn start(peer: &mut Peer) -> String {
    peer.write(modern(TASKS, 1, "tools/call", json!({"name": "work"})) + "\n").await;
    peer.next().await["result"]["taskId"].as_str().unwrap().to_owned()
}

async fn subscribe(peer: &mut Peer, id: &str) {
    let wanted = json!({"notifications": {"taskIds": [id]}});
    peer.write(modern(TASKS, 9, "subscriptions/listen", wanted) + "\n").await;
    assert_eq!(peer.next().await["method"], "notifications/subscriptions/acknowledged");
}

/// The ids of responses, and the statuses of notifications.
async fn received(peer: &mut Peer) -> (Vec<Value>, Vec<Value>) {
    let all = messages(&peer.within(Duration::from_secs(1)).await);
    let (notified, responses): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|message| message["method"] == "notifications/tasks");
    assert!(responses.iter().all(|response| response["result"].is_object()), "{responses:?}");
    let ids = responses.into_iter().map(|response| response["id"].clone()).collect();
    (ids, notified.into_iter().map(|message| message["params"]["status"].clone()).collect())
}

fn cancel_task(request: u64, id: &str) -> String {
    modern(TASKS, request, "tasks/cancel", json!({"taskId": id})) + "\n"
}

#[test]
fn a_task_that_completes_while_its_cancellation_reads_it_stays_completed() {
    run(async {
        for wait in 0..25 {
            let store = LateStore::default();
            let mut peer = Peer::connect(working(store.clone()));
            let id = start(&mut peer).await;
            subscribe(&mut peer, &id).await;
            tokio::time::sleep(Duration::from_millis(wait)).await;
            peer.write(cancel_task(2, &id)).await;
            let (answered, notified) = received(&mut peer).await;
            assert_eq!(answered, [2], "after {wait} ms");
            assert_eq!(notified.len(), 1, "after {wait} ms: {notified:?}");
            let history = store.store.history.lock().unwrap()[&id].clone();
            assert_eq!(history.len(), 2, "after {wait} ms: {history:?}");
        }
    });
}

#[test]
fn a_cancellation_that_has_read_an_old_state_does_not_cancel_again() {
    run(async {
        let store = LateStore::default();
        let mut peer = Peer::connect(hanging(store.clone()));
        let id = start(&mut peer).await;
        subscribe(&mut peer, &id).await;
        peer.write(cancel_task(2, &id) + &cancel_task(3, &id)).await;
        let (answered, notified) = received(&mut peer).await;
        assert_eq!(answered, [2, 3]);
        assert_eq!(notified, ["cancelled"]);
        let history = store.store.history.lock().unwrap()[&id].clone();
        assert_eq!(history, [TaskStatus::Working, TaskStatus::Cancelled]);
    });
}

#[test]
fn a_task_of_another_process_is_cancelled_once() {
    run(async {
        let store = SlowStore { delay: Duration::from_millis(10), ..SlowStore::default() };
        let mut creator = Peer::connect(hanging(store.clone()));
        let id = start(&mut creator).await;
        let mut peer = Peer::connect(hanging(store.clone()));
        subscribe(&mut peer, &id).await;
        peer.write(cancel_task(2, &id) + &cancel_task(3, &id)).await;
        let (answered, notified) = received(&mut peer).await;
        assert_eq!(answered, [2, 3]);
        assert_eq!(notified, ["cancelled"]);
        let history = store.history.lock().unwrap()[&id].clone();
        assert_eq!(history, [TaskStatus::Working, TaskStatus::Cancelled]);
    });
}

#[test]
fn a_task_of_another_process_is_cancelled_even_if_the_request_is_cancelled() {
    run(async {
        let store = SlowStore { delay: Duration::from_millis(10), ..SlowStore::default() };
        let mut creator = Peer::connect(hanging(store.clone()));
        let id = start(&mut creator).await;
        let mut peer = Peer::connect(hanging(store.clone()));
        subscribe(&mut peer, &id).await;
        peer.write(cancel_task(2, &id)).await;
        // It has been read once, and is not stored yet.
        assert!(peer.within(Duration::from_millis(15)).await.is_empty());
        peer.write(cancel("2") + "\n").await;
        let (answered, notified) = received(&mut peer).await;
        assert!(answered.is_empty(), "{answered:?}");
        assert_eq!(notified, ["cancelled"]);
        let history = store.history.lock().unwrap()[&id].clone();
        assert_eq!(history, [TaskStatus::Working, TaskStatus::Cancelled]);
    });
}
