//! Tasks whose store fails, panics, hangs or takes everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use papertape::server::{Limits, MemoryTasks, StoreFuture, Task, TaskStatus, TaskStore};
use papertape::{Cx, Server};
use serde_json::json;
use tokio::sync::Semaphore;

use super::tasks::SlowStore;
use super::{ALL, Anything, TASKS, accept, ask_name, hello, long, modern, named, one};
use crate::peer::{Peer, messages, run};

#[test]
fn a_failing_store_is_an_error() {
    run(async {
        // It fails at once: there is no task.
        let store = SlowStore { fail_from: Some(0), ..SlowStore::default() };
        let server = Server::new("s", "1")
            .task_store(store)
            .tool(long("work"), |_: Anything, _: Cx| async { Ok("done") });
        let mut peer = Peer::connect(server);
        let reply = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        // It fails later: the last stored state is reported.
        let store = SlowStore { fail_from: Some(1), ..SlowStore::default() };
        let server = Server::new("s", "1")
            .task_store(store)
            .tool(long("work"), |_: Anything, _: Cx| async { Ok("done") });
        let mut peer = Peer::connect(server);
        let reply = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        let id = reply["result"]["taskId"].clone();
        let now = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": id}))).await;
        assert!(now["result"]["status"].is_string(), "{now}");
    });
}

#[test]
fn tasks_are_bounded_whatever_the_store() {
    run(async {
        let server = Server::new("s", "1").task_store(SlowStore::default()).tool(
            long("wait"),
            |_: Anything, _: Cx| async {
                std::future::pending::<()>().await;
                Ok("")
            },
        );
        let mut peer = Peer::connect(server);
        let calls: String =
            (0..3_000).map(|id| modern(TASKS, id, "tools/call", json!({"name": "wait"})) + "\n").collect();
        let replies = messages(&peer.send(calls).await);
        assert_eq!(replies.len(), 3_000);
        let tasks = replies.iter().filter(|reply| reply["result"]["resultType"] == "task").count();
        assert!(tasks <= 1_000, "{tasks} functions run at once");
    });
}

#[test]
fn ids_that_no_task_can_have_do_not_reach_the_store() {
    /// Its ids are file names.
    struct Files;
    impl TaskStore for Files {
        fn put<'a>(&'a self, _: &'a Task) -> StoreFuture<'a, ()> {
            Box::pin(async { Ok(()) })
        }

        fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
            panic!("the store was asked for {id:?}");
        }
    }
    run(async {
        let server =
            Server::new("s", "1").task_store(Files).tool(long("work"), |_: Anything, _: Cx| async { Ok("") });
        let mut peer = Peer::connect(server);
        let ids = ["../../etc/passwd", "", "ABCDEFABCDEFABCDEFABCDEFABCDEFAB", "0/0"];
        for (nth, id) in (1..).zip(ids) {
            for method in ["tasks/get", "tasks/cancel"] {
                let reply = one(&mut peer, modern(TASKS, nth, method, json!({"taskId": id}))).await;
                assert_eq!(reply["error"]["code"], -32602, "{reply}");
                assert!(reply["error"]["message"].as_str().unwrap().contains("unknown task"), "{reply}");
            }
        }
    });
}

#[test]
fn a_panicking_store_is_an_error() {
    /// The id of a task that makes `get` panic.
    const PANIC: &str = "ffffffffffffffffffffffffffffffff";
    struct Panics(AtomicUsize);
    impl TaskStore for Panics {
        fn put<'a>(&'a self, _: &'a Task) -> StoreFuture<'a, ()> {
            Box::pin(async move {
                assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0, "on purpose");
                Ok(())
            })
        }
        fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
            assert_ne!(id, PANIC, "on purpose");
            let task = json!({"taskId": id, "status": "working", "createdAt": "", "lastUpdatedAt": "",
                "ttlMs": null, "pollIntervalMs": 1});
            Box::pin(async move { Ok(serde_json::from_value(task).ok()) })
        }
    }
    run(async {
        for tool in ["ask", "work"] {
            let server = named("s").task_store(Panics(AtomicUsize::new(0))).tool(long("ask"), ask_name).tool(
                long("work"),
                |_: Anything, _: Cx| async {
                    tokio::task::yield_now().await;
                    Ok("")
                },
            );
            let mut peer = Peer::connect(server);
            let task = one(&mut peer, modern(ALL, 1, "tools/call", json!({"name": tool}))).await;
            let id = task["result"]["taskId"].clone();
            for (request, method) in [(2, "tasks/get"), (3, "tasks/update"), (4, "tasks/cancel")] {
                let params = json!({"taskId": id, "inputResponses": {"who": accept("x")}});
                let reply = one(&mut peer, modern(ALL, request, method, params)).await;
                assert!(reply["result"].is_object() || reply["error"].is_object(), "{reply}");
            }
            let reply = one(&mut peer, modern(ALL, 5, "tasks/get", json!({"taskId": PANIC}))).await;
            assert_eq!(reply["error"]["code"], -32603, "{reply}");
        }
    });
}

#[test]
fn a_store_that_never_returns_blocks_no_other_request() {
    struct Stuck;
    impl TaskStore for Stuck {
        fn put<'a>(&'a self, _: &'a Task) -> StoreFuture<'a, ()> {
            Box::pin(std::future::pending())
        }
        fn get<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Option<Task>> {
            Box::pin(std::future::pending())
        }
    }
    run(async {
        let server = named("s").task_store(Stuck).tool(long("work"), hello).tool("hello", hello);
        let mut peer = Peer::connect(server);
        assert!(peer.line(modern(ALL, 1, "tools/call", json!({"name": "work"}))).await.is_empty());
        let id = "0".repeat(32);
        assert!(peer.line(modern(ALL, 2, "tasks/get", json!({"taskId": id}))).await.is_empty());
        one(&mut peer, modern(ALL, 3, "tools/call", json!({"name": "hello"}))).await;
        assert!(peer.line(crate::peer::cancel("1")).await.is_empty());
        let last = messages(&peer.end().await);
        assert_eq!(last.len(), 1, "{last:?}");
        assert_eq!(last[0]["id"], 2);
    });
}

#[test]
fn a_task_whose_store_panics_gives_its_place_back() {
    struct Panics;
    impl TaskStore for Panics {
        fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
            Box::pin(async move {
                assert_eq!(task.status, TaskStatus::Working, "on purpose");
                Ok(())
            })
        }
        fn get<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Option<Task>> {
            Box::pin(async { Ok(None) })
        }
    }
    run(async {
        let limits = Limits { tasks: 1, ..Limits::default() };
        let server = named("s").limits(limits).task_store(Panics).tool(long("ask"), ask_name);
        let mut peer = Peer::connect(server);
        for id in 1..4 {
            let task = one(&mut peer, modern(ALL, id, "tools/call", json!({"name": "ask"}))).await;
            assert_eq!(task["result"]["resultType"], "task", "{task}");
        }
    });
}

// Its client may go while the store is busy.
#[test]
fn a_cancellation_whose_request_is_cancelled_is_carried_out() {
    struct Busy {
        memory: MemoryTasks,
        free: Arc<Semaphore>,
    }
    impl TaskStore for Busy {
        fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
            Box::pin(async move {
                if task.status == TaskStatus::Cancelled {
                    drop(self.free.acquire().await);
                }
                self.memory.put(task).await
            })
        }
        fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
            self.memory.get(id)
        }
    }
    struct Stopped(Arc<AtomicBool>);
    impl Drop for Stopped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    run(async {
        let (free, stopped) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicBool::new(false)));
        let store = Busy { memory: MemoryTasks::default(), free: Arc::clone(&free) };
        let seen = Arc::clone(&stopped);
        let server = Server::new("s", "1").task_store(store).tool(long("work"), move |_: Anything, _: Cx| {
            let stopped = Stopped(Arc::clone(&seen));
            async move {
                std::future::pending::<()>().await;
                drop(stopped);
                Ok("")
            }
        });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        let id = task["result"]["taskId"].clone();
        assert!(peer.line(modern(TASKS, 2, "tasks/cancel", json!({"taskId": id}))).await.is_empty());
        assert!(peer.line(crate::peer::cancel("2")).await.is_empty());
        free.add_permits(1);
        assert!(peer.settle().await.is_empty());
        assert!(stopped.load(Ordering::SeqCst), "its handler runs on");
        let task = one(&mut peer, modern(TASKS, 3, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(task["result"]["status"], "cancelled", "{task}");
    });
}
