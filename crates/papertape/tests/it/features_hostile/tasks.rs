//! Tasks: they end once, whatever meets.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::server::{Elicited, Form, StoreFuture, Task, TaskStatus, TaskStore};
use papertape::{Cx, Server, ToolError};
use serde_json::{Value, json};

use super::{ALL, Anything, Name, TASKS, accept, ask_name, hello, long, modern, named, one};
use crate::peer::{Peer, messages, run, run_threads};

/// A slow store that reports everything it was given.
#[derive(Clone, Default)]
pub(super) struct SlowStore {
    pub(super) history: Arc<Mutex<BTreeMap<String, Vec<TaskStatus>>>>,
    pub(super) tasks: Arc<Mutex<BTreeMap<String, Task>>>,
    pub(super) delay: Duration,
    pub(super) fail_from: Option<usize>,
    pub(super) puts: Arc<AtomicUsize>,
}

impl TaskStore for SlowStore {
    fn put<'a>(&'a self, task: &'a Task) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            if self.fail_from.is_some_and(|from| self.puts.fetch_add(1, Ordering::SeqCst) >= from) {
                return Err(ToolError::failed("the disk is full"));
            }
            self.history.lock().unwrap().entry(task.task_id.clone()).or_default().push(task.status);
            self.tasks.lock().unwrap().insert(task.task_id.clone(), task.clone());
            Ok(())
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Task>> {
        Box::pin(async move {
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            Ok(self.tasks.lock().unwrap().get(id).cloned())
        })
    }
}

/// Once over, always over.
fn check_histories(store: &SlowStore) {
    for (id, history) in &*store.history.lock().unwrap() {
        let over = history.iter().filter(|status| status.is_over()).count();
        assert!(over <= 1, "{id} ended {over} times: {history:?}");
        if let Some(at) = history.iter().position(|status| status.is_over()) {
            assert_eq!(at + 1, history.len(), "{id} went on after its end: {history:?}");
        }
    }
}

#[test]
fn a_task_of_a_client_without_elicitation_requests_no_input() {
    run(async {
        let server = Server::new("s", "1").tool(long("ask"), ask_name);
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "ask"}))).await;
        let id = task["result"]["taskId"].clone();
        let now = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": id}))).await;
        assert_ne!(now["result"]["status"], "input_required", "{now}");
        assert_eq!(now["result"]["status"], "failed", "{now}");
        assert_eq!(now["result"]["error"]["code"], -32021, "{now}");
    });
}

#[test]
fn an_update_without_a_matching_input_request_has_no_effect() {
    run(async {
        let runs = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&runs);
        let server = Server::new("s", "1").tool(long("ask"), move |_: Anything, cx: Cx| {
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                let first = cx.ask("a", Form::<Name>::new("A?"))?;
                let second = cx.ask("b", Form::<Name>::new("B?"))?;
                Ok(format!("{first:?} {second:?}"))
            }
        });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(ALL, 1, "tools/call", json!({"name": "ask"}))).await;
        let id = task["result"]["taskId"].clone();
        let answer = |name: &str| json!({"taskId": id, "inputResponses": {name: {"action": "decline"}}});
        for odd in 0..20 {
            // None of these is asked yet.
            one(&mut peer, modern(ALL, 10 + odd, "tasks/update", answer("b"))).await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        one(&mut peer, modern(ALL, 2, "tasks/update", answer("a"))).await;
        // The same again, and nothing at all.
        one(&mut peer, modern(ALL, 3, "tasks/update", answer("a"))).await;
        one(&mut peer, modern(ALL, 4, "tasks/update", json!({"taskId": id, "inputResponses": {}}))).await;
        assert_eq!(runs.load(Ordering::SeqCst), 2, "the function ran again without an answer");
        one(&mut peer, modern(ALL, 5, "tasks/update", answer("b"))).await;
        let done = one(&mut peer, modern(ALL, 6, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(done["result"]["status"], "completed", "{done}");
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn duplicate_task_updates_do_not_leak_into_the_next_input_request() {
    run(async {
        let runs = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&runs);
        let server = Server::new("s", "1").tool(long("ask"), move |_: Anything, cx: Cx| {
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                cx.ask("a", Form::<Name>::new("A?"))?;
                tokio::time::sleep(Duration::from_secs(5)).await;
                cx.ask("b", Form::<Name>::new("B?"))?;
                Ok("")
            }
        });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(ALL, 1, "tools/call", json!({"name": "ask"}))).await;
        let id = task["result"]["taskId"].clone();
        let answer = json!({"taskId": id, "inputResponses": {"a": {"action": "decline"}}});
        one(&mut peer, modern(ALL, 2, "tasks/update", answer.clone())).await;
        one(&mut peer, modern(ALL, 3, "tasks/update", answer)).await;
        peer.within(Duration::from_secs(60)).await;
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn answered_input_requests_are_not_repeated() {
    run(async {
        let server = Server::new("s", "1").tool(long("ask"), |_: Anything, cx: Cx| async move {
            let (a, b) = cx.ask_both(("a", Form::<Name>::new("A?")), ("b", Form::<Name>::new("B?")))?;
            Ok(format!("{a:?} {b:?}"))
        });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(ALL, 1, "tools/call", json!({"name": "ask"}))).await;
        let id = task["result"]["taskId"].clone();
        let answer = json!({"taskId": id, "inputResponses": {"a": {"action": "decline"}}});
        one(&mut peer, modern(ALL, 2, "tasks/update", answer)).await;
        let now = one(&mut peer, modern(ALL, 3, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["status"], "input_required", "{now}");
        let asked: Vec<&String> = now["result"]["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(asked, ["b"]);
    });
}

/// Cancel while the function keeps its thread: what it returns afterwards comes too late.
#[test]
fn a_cancelled_task_stays_cancelled_when_its_handler_ends() {
    run_threads(async {
        let store = SlowStore::default();
        let gate = Arc::new(std::sync::Barrier::new(2));
        let there = Arc::clone(&gate);
        let server =
            Server::new("s", "1").task_store(store.clone()).tool(long("block"), move |_: Anything, _: Cx| {
                let gate = Arc::clone(&there);
                async move {
                    tokio::task::yield_now().await;
                    // Once to say that it has begun, once to go on.
                    gate.wait();
                    gate.wait();
                    Ok("late")
                }
            });
        let mut peer = Peer::connect(server);
        peer.write(modern(TASKS, 1, "tools/call", json!({"name": "block"})) + "\n").await;
        let id = peer.next().await["result"]["taskId"].clone();
        tokio::task::block_in_place(|| gate.wait());
        peer.write(modern(TASKS, 2, "tasks/cancel", json!({"taskId": id})) + "\n").await;
        peer.next().await;
        tokio::task::block_in_place(|| gate.wait());
        // Whatever the function has left to do, it has done by the time that so much else has been.
        for request in 3..1_000 {
            peer.write(modern(TASKS, request, "tasks/get", json!({"taskId": id})) + "\n").await;
            assert_eq!(peer.next().await["result"]["status"], "cancelled");
        }
        check_histories(&store);
    });
}

/// The store takes time, and the task ends while it is being cancelled.
#[test]
fn a_task_ends_once_however_cancel_and_end_meet() {
    run(async {
        for wait in 0..40 {
            let store = SlowStore { delay: Duration::from_millis(10), ..SlowStore::default() };
            let server = Server::new("s", "1").task_store(store.clone()).tool(
                long("work"),
                |_: Anything, _: Cx| async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Ok("done")
                },
            );
            let mut peer = Peer::connect(server);
            peer.write(modern(TASKS, 1, "tools/call", json!({"name": "work"})) + "\n").await;
            let id = peer.next().await["result"]["taskId"].clone();
            let listen = json!({"notifications": {"taskIds": [id]}});
            peer.write(modern(TASKS, 7, "subscriptions/listen", listen) + "\n").await;
            peer.next().await;
            tokio::time::sleep(Duration::from_millis(wait)).await;
            let cancel = modern(TASKS, 2, "tasks/cancel", json!({"taskId": id})) + "\n";
            peer.write(cancel.replace("\"id\":2", "\"id\":3") + &cancel).await;
            let received = messages(&peer.within(Duration::from_secs(1)).await);
            let ends: Vec<&Value> = received
                .iter()
                .filter(|received| received["method"] == "notifications/tasks")
                .map(|received| &received["params"]["status"])
                .filter(|status| ["completed", "failed", "cancelled"].contains(&status.as_str().unwrap()))
                .collect();
            assert_eq!(ends.len(), 1, "after {wait} ms: {ends:?}");
            check_histories(&store);
        }
    });
}

#[test]
fn tasks_end_once_in_a_thousand_races_on_threads() {
    run_threads(async {
        let store = SlowStore::default();
        let server =
            Server::new("s", "1").task_store(store.clone()).tool(long("work"), |_: Anything, _: Cx| async {
                tokio::task::yield_now().await;
                Ok("done")
            });
        let mut peer = Peer::connect(server);
        for round in 0..1_000 {
            peer.write(modern(TASKS, 1, "tools/call", json!({"name": "work"})) + "\n").await;
            let id = peer.next().await["result"]["taskId"].clone();
            for _ in 0..round % 50 {
                std::hint::spin_loop();
            }
            let cancel = modern(TASKS, 2, "tasks/cancel", json!({"taskId": id})) + "\n";
            let twice = cancel.replace("\"id\":2", "\"id\":3") + &cancel;
            peer.write(twice).await;
            peer.next().await;
            peer.next().await;
        }
        // Whatever is left to do has been done by the time that so much else has been.
        for request in 4..1_000 {
            peer.write(modern(TASKS, request, "tasks/get", json!({"taskId": "none"})) + "\n").await;
            peer.next().await;
        }
        check_histories(&store);
    });
}

#[test]
fn a_task_whose_error_panics_when_dropped_still_ends() {
    #[derive(Debug)]
    struct Bomb;
    impl std::fmt::Display for Bomb {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Ok(())
        }
    }
    impl std::error::Error for Bomb {}
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "dropped");
        }
    }
    run(async {
        let server = Server::new("s", "1").tool(long("bomb"), |_: Anything, _: Cx| async {
            tokio::task::yield_now().await;
            Err::<String, _>(ToolError::internal(Bomb))
        });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "bomb"}))).await;
        let id = task["result"]["taskId"].clone();
        let now = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["status"], "failed", "{now}");
    });
}

#[test]
fn a_task_that_panics_fails() {
    run(async {
        let server = Server::new("s", "1").tool(long("panic"), |_: Anything, _: Cx| async {
            tokio::task::yield_now().await;
            if true {
                panic!("on purpose");
            }
            Ok("")
        });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "panic"}))).await;
        let id = task["result"]["taskId"].clone();
        let now = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["status"], "failed", "{now}");
        assert_eq!(now["result"]["error"]["code"], -32603, "{now}");
    });
}

#[test]
fn a_task_sends_no_progress_or_log_messages() {
    run(async {
        let server = Server::new("s", "1").logging().tool(long("chatty"), |_: Anything, cx: Cx| async move {
            for step in 0..5_u32 {
                cx.log(papertape::protocol::LogLevel::Emergency, "fire");
                cx.progress(f64::from(step), 5.0, None);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok("")
        });
        let mut peer = Peer::connect(server);
        let params = json!({"name": "chatty", "_meta": {"progressToken": "p",
            "io.modelcontextprotocol/logLevel": "debug"}});
        let mut received = peer.line(modern(TASKS, 1, "tools/call", params)).await;
        received.extend(messages(&peer.within(Duration::from_secs(10)).await));
        assert_eq!(received.len(), 1, "{received:?}");
    });
}

#[test]
fn middleware_wraps_the_handler_of_a_task() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let server = Server::new("s", "1")
            .tool(long("work"), |_: Anything, _: Cx| async {
                tokio::time::sleep(Duration::from_secs(7)).await;
                Ok("done")
            })
            .middleware(move |request, next| {
                let log = Arc::clone(&log);
                async move {
                    let began = tokio::time::Instant::now();
                    let (kind, name) = (request.kind(), request.name().to_owned());
                    let done = next.run(request).await;
                    log.lock().unwrap().push((kind, name, began.elapsed().as_secs()));
                    done
                }
            });
        let mut peer = Peer::connect(server);
        peer.line(modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        peer.within(Duration::from_secs(20)).await;
        let seen = seen.lock().unwrap();
        assert!(seen.contains(&("tool", "work".to_owned(), 7)), "{seen:?}");
    });
}

#[test]
fn tasks_outlive_the_tool_that_made_them() {
    run(async {
        let mut server = Server::new("s", "1");
        let tools = server.tools();
        tools
            .add(long("wait"), |_: Anything, _: Cx| async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok("done")
            })
            .unwrap();
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "wait"}))).await;
        let id = task["result"]["taskId"].clone();
        assert!(tools.remove("wait"));
        peer.within(Duration::from_secs(2)).await;
        let now = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(now["result"]["status"], "completed", "{now}");
    });
}

/// Every answer of every update arrives, whatever else happens to the task.
#[test]
fn no_update_is_lost_and_no_task_ends_twice() {
    run_threads(async {
        let store = SlowStore::default();
        let server =
            named("s").task_store(store.clone()).tool(long("ask"), |_: Anything, cx: Cx| async move {
                let (a, b) = cx.ask_both(("a", Form::<Name>::new("A?")), ("b", Form::<Name>::new("B?")))?;
                let c = cx.ask("c", Form::<Name>::new("C?"))?;
                let name =
                    |answer: Elicited<Name>| answer.accepted().map_or("-".to_owned(), |answer| answer.name);
                Ok(name(a) + &name(b) + &name(c))
            });
        let mut peer = Peer::connect(server);
        for round in 0..100_u64 {
            peer.write(modern(ALL, 1, "tools/call", json!({"name": "ask"})) + "\n").await;
            let id = peer.next().await["result"]["taskId"].clone();
            let get = modern(ALL, 2, "tasks/get", json!({"taskId": id})) + "\n";
            let update = |request: u64, name: &str| {
                let params = json!({"taskId": id, "inputResponses": {name: accept(name)}});
                modern(ALL, request, "tasks/update", params) + "\n"
            };
            let (mut said_a_and_b, mut said_c) = (false, false);
            let began = std::time::Instant::now();
            let last = loop {
                peer.write(&get).await;
                let now = peer.next().await;
                let asked = now["result"]["inputRequests"].as_object().cloned().unwrap_or_default();
                match now["result"]["status"].as_str().unwrap() {
                    "input_required" if !said_a_and_b => {
                        assert_eq!(asked.len(), 2, "{now}");
                        // Both at once, each twice, in separate requests.
                        let lines = update(3, "a") + &update(4, "b") + &update(5, "b") + &update(6, "a");
                        peer.write(lines).await;
                        said_a_and_b = true;
                        for _ in 0..4 {
                            assert!(peer.next().await["result"].is_object());
                        }
                    }
                    "input_required" if !said_c && asked.contains_key("c") => {
                        said_c = true;
                        let mut lines = update(7, "c");
                        if round % 3 == 0 {
                            lines += &(modern(ALL, 8, "tasks/cancel", json!({"taskId": id})) + "\n");
                        }
                        let count = lines.matches('\n').count();
                        peer.write(lines).await;
                        for _ in 0..count {
                            assert!(peer.next().await["result"].is_object());
                        }
                    }
                    // It takes its time.
                    "working" | "input_required" => tokio::task::yield_now().await,
                    _ => break now,
                }
                assert!(began.elapsed() < Duration::from_secs(10), "an answer was lost: {now}");
            };
            if last["result"]["status"] == "completed" {
                assert_eq!(last["result"]["result"]["content"][0]["text"], "abc", "{last}");
            } else {
                assert_eq!((round % 3, &last["result"]["status"]), (0, &json!("cancelled")), "{last}");
            }
        }
        check_histories(&store);
    });
}

#[test]
fn a_task_goes_on_when_its_client_has_gone() {
    run(async {
        let store = SlowStore::default();
        let server =
            named("s").task_store(store.clone()).tool(long("work"), |_: Anything, cx: Cx| async move {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(format!("{}", cx.cancelled()))
            });
        let mut peer = Peer::connect(server);
        let task = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        let id = task["result"]["taskId"].as_str().unwrap().to_owned();
        assert!(peer.end().await.is_empty());
        tokio::time::sleep(Duration::from_secs(120)).await;
        let task = store.tasks.lock().unwrap()[&id].clone();
        assert_eq!(task.status, TaskStatus::Completed);
        assert_eq!(task.result.unwrap()["content"][0]["text"], "false");
    });
}

/// Not even before the client knows of it.
#[test]
fn a_task_on_threads_sends_no_progress_or_log_messages() {
    run_threads(async {
        let server = named("s").logging().tool(long("chatty"), |_: Anything, cx: Cx| async move {
            cx.log(papertape::protocol::LogLevel::Emergency, "fire");
            cx.progress(1.0, 2.0, None);
            Ok("")
        });
        let mut peer = Peer::connect(server);
        let params = json!({"name": "chatty", "_meta": {"progressToken": "p",
            "io.modelcontextprotocol/logLevel": "debug"}});
        for id in 0..900 {
            peer.write(modern(TASKS, id, "tools/call", params.clone()) + "\n").await;
            let received = peer.next().await;
            assert_eq!(received["id"], id, "{received}");
        }
    });
}

#[test]
fn only_clients_that_declare_tasks_listen_to_tasks() {
    run(async {
        let mut peer = Peer::connect(named("s").tool(long("hello"), hello));
        let wanted = json!({"notifications": {"taskIds": ["x"], "toolsListChanged": true}});
        let reply = one(&mut peer, modern("{}", 1, "subscriptions/listen", wanted.clone())).await;
        assert_eq!(reply["error"]["code"], -32021, "{reply}");
        let required = &reply["error"]["data"]["requiredCapabilities"];
        assert_eq!(*required, json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}), "{reply}");
        // Nothing was opened.
        let reply = one(&mut peer, modern(TASKS, 1, "subscriptions/listen", wanted)).await;
        assert_eq!(reply["params"]["notifications"]["taskIds"], json!(["x"]), "{reply}");
        let without = json!({"notifications": {"taskIds": []}});
        let reply = one(&mut peer, modern("{}", 2, "subscriptions/listen", without)).await;
        assert_eq!(reply["method"], "notifications/subscriptions/acknowledged", "{reply}");
    });
}

#[test]
fn malformed_input_responses_to_a_task_are_rejected() {
    run(async {
        let mut peer = Peer::connect(named("s").tool(long("ask"), ask_name));
        let task = one(&mut peer, modern(ALL, 1, "tools/call", json!({"name": "ask"}))).await;
        let id = &task["result"]["taskId"];
        for bad in [json!([]), json!("x"), json!(null), json!({"who": 5}), json!({"who": []})] {
            let params = json!({"taskId": id, "inputResponses": bad});
            let reply = one(&mut peer, modern(ALL, 2, "tasks/update", params)).await;
            assert_eq!(reply["error"]["code"], -32602, "{bad}: {reply}");
        }
        let task = one(&mut peer, modern(ALL, 3, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(task["result"]["status"], "input_required", "{task}");
    });
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_task_that_outlives_its_time_is_ended_and_forgotten() {
    run(async {
        let ended = Arc::new(AtomicUsize::new(0));
        let flag = Arc::clone(&ended);
        let hang = move |_: Anything, _: Cx| {
            let dropped = Dropped(Arc::clone(&flag));
            async move {
                let _dropped = dropped;
                std::future::pending::<Result<(), ToolError>>().await
            }
        };
        let limits = papertape::server::Limits {
            task_ttl: Duration::from_secs(90),
            ..papertape::server::Limits::default()
        };
        let server = named("s").limits(limits).tool(long("hang"), hang).tool(long("ask"), ask_name);
        let mut peer = Peer::connect(server);
        for (at, tool) in ["hang", "ask"].into_iter().enumerate() {
            peer.write(modern(ALL, 1, "tools/call", json!({"name": tool})) + "\n").await;
            let task = peer.next().await;
            assert_eq!(task["result"]["ttlMs"], 90_000, "{task}");
            let id = task["result"]["taskId"].clone();
            let listen = json!({"notifications": {"taskIds": [id]}});
            peer.write(modern(ALL, at as u64 + 7, "subscriptions/listen", listen) + "\n").await;
            loop {
                let received = peer.next().await;
                if received["params"]["status"] == "failed" {
                    let message = received["params"]["error"]["message"].as_str().unwrap();
                    assert!(message.contains("ttlMs"), "{received}");
                    break;
                }
            }
            for method in ["tasks/get", "tasks/cancel"] {
                peer.write(modern(ALL, 2, method, json!({"taskId": id})) + "\n").await;
                let reply = peer.next().await;
                assert_eq!(reply["error"]["code"], -32602, "{method}: {reply}");
            }
        }
        // One by its expiry, and the other was never more than an input request.
        assert_eq!(ended.load(Ordering::SeqCst), 1);
    });
}
