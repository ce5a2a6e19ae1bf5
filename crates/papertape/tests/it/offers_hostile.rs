//! Everything a server offers but plain tools, against peers and handlers that mean no good.

#![expect(
    clippy::too_many_lines,
    clippy::items_after_statements,
    reason = "a table of bad input is as long as it is, and stands where it is used"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::{Cx, Elicited, Form, Server, Stored, Task, TaskStatus, TaskStore, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peer::{MODERN, Peer, messages, run, run_threads};

/// Takes anything.
#[derive(Deserialize, JsonSchema)]
struct Anything {}

/// One field.
#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const FORM: &str = r#"{"elicitation":{"form":{}}}"#;
const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A modern request of a client that can do what `abilities` say.
fn modern(abilities: &str, id: u64, method: &str, mut params: Value) -> String {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientCapabilities"] = serde_json::from_str(abilities).unwrap();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn plain(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Opens a legacy conversation with a client that can do what `abilities` say.
async fn legacy(server: Server, revision: &str, abilities: &str) -> Peer {
    let mut peer = Peer::connect(server);
    let params = json!({"protocolVersion": revision, "clientInfo": {"name": "t", "version": "1"},
        "capabilities": serde_json::from_str::<Value>(abilities).unwrap()});
    let replies = peer.line(plain(0, "initialize", &params)).await;
    assert_eq!(replies[0]["result"]["protocolVersion"], revision, "{replies:?}");
    assert!(peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await.is_empty());
    peer
}

/// The one message that comes back.
async fn one(peer: &mut Peer, line: String) -> Value {
    let mut all = peer.line(line).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

async fn ask_name(_: Anything, cx: Cx) -> Result<String, ToolError> {
    match cx.ask("who", Form::<Name>::new("Who?"))? {
        Elicited::Accepted(name) => Ok(name.name),
        other => Ok(format!("{other:?}")),
    }
}

fn long(name: &str) -> Tool {
    Tool::new(name).description("Long.").long_running()
}

// Tasks.

/// A store that tells everything it was given, and takes its time.
#[derive(Clone, Default)]
struct SlowStore {
    history: Arc<Mutex<BTreeMap<String, Vec<TaskStatus>>>>,
    tasks: Arc<Mutex<BTreeMap<String, Task>>>,
    delay: Duration,
    fail_from: Option<usize>,
    puts: Arc<AtomicUsize>,
}

impl TaskStore for SlowStore {
    fn put<'a>(&'a self, task: &'a Task) -> Stored<'a, ()> {
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

    fn get<'a>(&'a self, id: &'a str) -> Stored<'a, Option<Task>> {
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
fn a_task_of_a_client_that_cannot_be_asked_does_not_ask() {
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
fn an_update_that_answers_nothing_changes_nothing() {
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
fn duplicate_updates_leave_nothing_behind_for_the_next_question() {
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
fn partial_answers_are_no_longer_asked_for() {
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
fn a_cancelled_task_stays_cancelled_when_its_function_ends_later() {
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
        for request in 3..20 {
            peer.write(modern(TASKS, request, "tasks/get", json!({"taskId": id})) + "\n").await;
            assert_eq!(peer.next().await["result"]["status"], "cancelled");
            tokio::time::sleep(Duration::from_millis(5)).await;
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
            let told = messages(&peer.within(Duration::from_secs(1)).await);
            let ends: Vec<&Value> = told
                .iter()
                .filter(|told| told["method"] == "notifications/tasks")
                .map(|told| &told["params"]["status"])
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
        tokio::time::sleep(Duration::from_millis(50)).await;
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
fn a_store_that_fails_is_no_success() {
    run(async {
        // It fails at once: there is no task.
        let store = SlowStore { fail_from: Some(0), ..SlowStore::default() };
        let server = Server::new("s", "1")
            .task_store(store)
            .tool(long("work"), |_: Anything, _: Cx| async { Ok("done") });
        let mut peer = Peer::connect(server);
        let reply = one(&mut peer, modern(TASKS, 1, "tools/call", json!({"name": "work"}))).await;
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        // It fails later: what it last kept is what is told.
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
fn nothing_is_told_of_a_task_but_that_it_is_a_task() {
    run(async {
        let server = Server::new("s", "1").logging().tool(long("chatty"), |_: Anything, cx: Cx| async move {
            for step in 0..5_u32 {
                cx.log(papertape::LogLevel::Emergency, "fire");
                cx.progress(f64::from(step), 5.0, None);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok("")
        });
        let mut peer = Peer::connect(server);
        let params = json!({"name": "chatty", "_meta": {"progressToken": "p",
            "io.modelcontextprotocol/logLevel": "debug"}});
        let mut told = peer.line(modern(TASKS, 1, "tools/call", params)).await;
        told.extend(messages(&peer.within(Duration::from_secs(10)).await));
        assert_eq!(told.len(), 1, "{told:?}");
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
fn hooks_are_around_the_work_of_a_task() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let server = Server::new("s", "1")
            .tool(long("work"), |_: Anything, _: Cx| async {
                tokio::time::sleep(Duration::from_secs(7)).await;
                Ok("done")
            })
            .around(move |about, next| {
                let log = Arc::clone(&log);
                async move {
                    let began = tokio::time::Instant::now();
                    let done = next.run().await;
                    log.lock().unwrap().push((about.what, about.name, began.elapsed().as_secs()));
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

// Hooks and servers within servers.

fn named(name: &str) -> Server {
    Server::new(name, "1")
}

fn refusing(server: Server) -> Server {
    server.around(|about, _| async move { Err(ToolError::refused(format!("no {}", about.name))) })
}

async fn hello(_: Anything, _: Cx) -> Result<&'static str, ToolError> {
    Ok("hello")
}

#[test]
fn a_hook_of_a_server_within_a_server_within_a_server_stays_with_its_own() {
    run(async {
        let inner = refusing(named("inner").tool("x", hello));
        let middle = named("middle").tool("y", hello).mount("inner", inner);
        let mut peer = Peer::connect(named("outer").tool("z", hello).mount("middle", middle));
        for (id, tool, refused) in [(1, "z", false), (2, "middle_y", false), (3, "middle_inner_x", true)] {
            let reply = one(&mut peer, modern("{}", id, "tools/call", json!({"name": tool}))).await;
            assert_eq!(reply["error"]["code"] == -32602, refused, "{tool}: {reply}");
        }
    });
}

#[test]
fn a_mounted_hook_is_not_for_others_of_the_same_name() {
    run(async {
        // A tool there, and a prompt here, of one name.
        let mounted = refusing(named("mounted").tool("x", hello));
        let server =
            named("outer").prompt("m_x", |_: (), _| async { Ok("hello".to_owned()) }).mount("m", mounted);
        let mut peer = Peer::connect(server);
        let reply = one(&mut peer, modern("{}", 1, "tools/call", json!({"name": "m_x"}))).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let reply = one(&mut peer, modern("{}", 2, "prompts/get", json!({"name": "m_x"}))).await;
        assert!(reply["result"].is_object(), "{reply}");
    });
}

#[test]
fn a_mounted_hook_is_around_completions_of_its_own() {
    run(async {
        let secret =
            papertape::Prompt::new("p").complete("name", |_| async { Ok(vec!["secret".to_owned()]) });
        let mounted = refusing(named("mounted").prompt(secret, |args: Name, _| async move { Ok(args.name) }));
        let mut peer = Peer::connect(named("outer").mount("m", mounted));
        let params =
            json!({"ref": {"type": "ref/prompt", "name": "m_p"}, "argument": {"name": "name", "value": ""}});
        let reply = one(&mut peer, modern("{}", 1, "completion/complete", params)).await;
        assert!(reply["error"].is_object(), "the hook was not asked: {reply}");
    });
}

#[test]
fn hooks_know_what_is_completed() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let prompt = papertape::Prompt::new("p").complete("name", |_| async { Ok(vec![]) });
        let server = named("s").prompt(prompt, |args: Name, _| async move { Ok(args.name) }).around(
            move |about, next| {
                log.lock().unwrap().push((about.what, about.name));
                next.run()
            },
        );
        let mut peer = Peer::connect(server);
        let params =
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "name", "value": ""}});
        one(&mut peer, modern("{}", 1, "completion/complete", params)).await;
        let seen = seen.lock().unwrap();
        assert!(seen.len() == 1 && seen[0].1.contains('p'), "{seen:?}");
    });
}

#[test]
fn a_hook_that_shows_errors_otherwise_does_not_stop_questions() {
    run(async {
        let make = || {
            named("s").tool("ask", ask_name).around(|_, next| async move {
                next.run().await.map_err(|_| ToolError::failed("something went wrong"))
            })
        };
        let mut peer = Peer::connect(make());
        let reply = one(&mut peer, modern(FORM, 1, "tools/call", json!({"name": "ask"}))).await;
        assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
        let mut peer = legacy(make(), "2025-11-25", FORM).await;
        let asked = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
    });
}

#[test]
fn hooks_that_panic_or_never_end_cost_one_answer_at_most() {
    run(async {
        for revision in ["2025-11-25", MODERN] {
            let server = named("s").tool("x", hello).tool("y", hello).around(|about, next| async move {
                match about.name.as_str() {
                    "x" => panic!("on purpose"),
                    "y" => {
                        let done = next.run().await;
                        std::future::pending::<()>().await;
                        done
                    }
                    _ => next.run().await,
                }
            });
            let mut peer =
                if revision == MODERN { Peer::connect(server) } else { legacy(server, revision, "{}").await };
            let call = |id, name| match revision {
                MODERN => modern("{}", id, "tools/call", json!({"name": name})),
                _ => plain(id, "tools/call", &json!({"name": name})),
            };
            let reply = one(&mut peer, call(1, "x")).await;
            assert_eq!(reply["error"]["code"], -32603, "{reply}");
            assert!(peer.line(call(2, "y")).await.is_empty());
            assert!(peer.line(crate::peer::cancel("2")).await.is_empty());
            assert!(peer.line(call(3, "y")).await.is_empty());
            let last = messages(&peer.end().await);
            assert_eq!(last.len(), 1, "{last:?}");
            assert_eq!(last[0]["id"], 3);
        }
    });
}

#[test]
fn outer_hooks_are_outside_of_mounted_ones() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noting = |seen: &Arc<Mutex<Vec<&'static str>>>, who: &'static str, server: Server| {
            let log = Arc::clone(seen);
            server.around(move |_, next| {
                log.lock().unwrap().push(who);
                next.run()
            })
        };
        let mounted = noting(&seen, "mounted", named("mounted").tool("x", hello));
        let server = noting(&seen, "outer", named("outer").mount("m", mounted));
        let mut peer = Peer::connect(server);
        one(&mut peer, modern("{}", 1, "tools/call", json!({"name": "m_x"}))).await;
        assert_eq!(*seen.lock().unwrap(), ["outer", "mounted"]);
    });
}

#[test]
fn prefixes_that_clash_are_found() {
    let one = named("one").tool("b_c", hello);
    let two = named("two").tool("c", hello);
    let error = named("s").mount("a", one).mount("a_b", two).check().unwrap_err();
    assert_eq!(error.to_string(), "tool \"a_b_c\": registered twice");
    let made = || named("r").resource("x:y", |_| async { Ok("") });
    let error = named("s").mount("a", made()).mount("b", made()).check().unwrap_err();
    assert_eq!(error.to_string(), "resource \"x:y\": registered twice");
}

// Dialogues.

#[test]
fn answers_to_what_was_not_asked_are_none() {
    run(async {
        let mut peer = Peer::connect(named("s").tool("ask", ask_name));
        // Nothing was asked yet, so that there is nothing to answer.
        let params =
            json!({"name": "ask", "inputResponses": {"who": {"action": "accept", "content": {"name": "x"}}}});
        let reply = one(&mut peer, modern(FORM, 1, "tools/call", params)).await;
        assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    });
}

async fn quiz(_: Anything, cx: Cx) -> Result<String, ToolError> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let kept: usize = cx.keep("n", || NEXT.fetch_add(1, Ordering::SeqCst))?;
    let mut said = Vec::new();
    for round in 0..3 {
        let answer = cx.ask(&format!("q{round}"), Form::<Name>::new(format!("{kept}: {round}?")))?;
        said.push(answer.accepted().map_or("-".to_owned(), |answer| answer.name));
    }
    Ok(format!("{} {kept}", said.join("")))
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

#[test]
fn a_modern_dialogue_keeps_what_was_said_and_asks_again_for_what_was_not() {
    run(async {
        let mut peer = Peer::connect(named("s").tool("quiz", quiz));
        let mut state = Value::Null;
        let mut kept = None;
        for (id, (answers, next)) in [
            (json!(null), "q0"),
            // Nothing, something else, then the answer and an earlier guess at a later one.
            (json!({}), "q0"),
            (json!({"odd": accept("odd"), "q2": accept("early")}), "q0"),
            (json!({"q0": accept("a"), "q1": accept("early"), "q2": accept("early")}), "q1"),
            // An answer is not changed afterwards.
            (json!({"q0": accept("changed"), "q1": accept("b")}), "q2"),
            (json!({"q0": accept("changed"), "q2": accept("c")}), ""),
        ]
        .into_iter()
        .enumerate()
        {
            let mut params = json!({"name": "quiz", "arguments": {}});
            if !state.is_null() {
                params["requestState"] = state.clone();
                params["inputResponses"] = answers;
            }
            let reply = one(&mut peer, modern(FORM, id as u64, "tools/call", params)).await;
            let result = &reply["result"];
            if next.is_empty() {
                assert_eq!(result["content"][0]["text"], format!("abc {}", kept.take().unwrap()), "{reply}");
                continue;
            }
            assert_eq!(result["resultType"], "input_required", "{reply}");
            let asked: Vec<&String> = result["inputRequests"].as_object().unwrap().keys().collect();
            assert_eq!(asked, [next]);
            let message = result["inputRequests"][next]["params"]["message"].as_str().unwrap();
            let number = message.split_once(':').unwrap().0.to_owned();
            assert_eq!(*kept.get_or_insert(number.clone()), number);
            assert!(result["ttlMs"].is_null() && result["cacheScope"].is_null());
            state = result["requestState"].clone();
        }
    });
}

#[test]
fn a_legacy_dialogue_keeps_what_was_said() {
    run(async {
        for revision in ["2025-06-18", "2025-11-25"] {
            let mut peer = legacy(named("s").tool("quiz", quiz), revision, FORM).await;
            // The client's ids are its own.
            let mut asked = one(&mut peer, plain(1, "tools/call", &json!({"name": "quiz"}))).await;
            for answer in ["a", "b", "c"] {
                assert_eq!(asked["method"], "elicitation/create", "{asked}");
                assert_eq!(asked["params"].get("mode").is_some(), revision == "2025-11-25");
                let answer =
                    json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(answer)}).to_string();
                let replies = peer.line(answer.clone() + "\n" + &answer).await;
                assert_eq!(replies.len(), 1, "{replies:?}");
                asked = replies[0].clone();
            }
            assert_eq!(asked["id"], 1);
            assert!(asked["result"]["content"][0]["text"].as_str().unwrap().starts_with("abc "), "{asked}");
            assert!(peer.end().await.is_empty());
        }
    });
}

#[test]
fn questions_without_end_end() {
    run(async {
        let server = || {
            named("s")
                .tool("endless", |_: Anything, cx: Cx| async move {
                    for n in 0.. {
                        cx.ask(&n.to_string(), Form::<Name>::new("?"))?;
                    }
                    Ok("")
                })
                .prompt("endless", |_: (), cx: Cx| async move {
                    for n in 0.. {
                        cx.ask(&n.to_string(), Form::<Name>::new("?"))?;
                    }
                    Ok(String::new())
                })
        };
        for method in ["tools/call", "prompts/get"] {
            let mut peer = legacy(server(), "2025-11-25", FORM).await;
            let mut reply = one(&mut peer, plain(77, method, &json!({"name": "endless"}))).await;
            let mut rounds = 0;
            while reply["method"] == "elicitation/create" {
                rounds += 1;
                let answer = json!({"jsonrpc": "2.0", "id": reply["id"], "result": accept("x")});
                reply = one(&mut peer, answer.to_string()).await;
            }
            assert_eq!(rounds, 10);
            assert_eq!(reply["id"], 77);
            assert!(reply["result"]["isError"] == true || reply["error"]["code"] == -32603, "{reply}");
        }
    });
}

#[test]
fn one_answer_at_most_whenever_a_question_is_taken_back() {
    run(async {
        let server = || named("s").tool("ask", ask_name);
        // Cancelled while asked, answered afterwards.
        let mut peer = legacy(server(), "2025-11-25", FORM).await;
        let asked = one(&mut peer, plain(5, "tools/call", &json!({"name": "ask"}))).await;
        let taken_back = one(&mut peer, crate::peer::cancel("5")).await;
        assert_eq!(taken_back["method"], "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], asked["id"]);
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")}).to_string();
        assert!(peer.line(&answer).await.is_empty());
        assert!(peer.line(&answer).await.is_empty());
        // The id is free again, and the next question has another.
        let again = one(&mut peer, plain(5, "tools/call", &json!({"name": "ask"}))).await;
        assert_ne!(again["id"], asked["id"]);
        assert!(peer.line(&answer).await.is_empty());
        // The input ends while it is asked.
        let last = messages(&peer.end().await);
        assert_eq!(last.len(), 1, "{last:?}");
        assert_eq!((&last[0]["id"], &last[0]["result"]["isError"]), (&json!(5), &json!(true)));
        // Answer and cancellation at once, in either order.
        for cancel_first in [true, false] {
            let mut peer = legacy(server(), "2025-11-25", FORM).await;
            let asked = one(&mut peer, plain(5, "tools/call", &json!({"name": "ask"}))).await;
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")}).to_string();
            let cancel = crate::peer::cancel("5");
            let both = if cancel_first { [cancel, answer] } else { [answer, cancel] };
            let told = peer.line(both.join("\n")).await;
            assert!(told.iter().all(|told| told["id"].is_null()), "{told:?}");
        }
    });
}

#[test]
fn answers_that_make_no_sense_are_one_failure() {
    run(async {
        for answer in [
            r#""result":{}"#,
            r#""result":{"action":"maybe"}"#,
            r#""result":{"action":"accept"}"#,
            r#""result":{"action":"accept","content":{"name":5}}"#,
            r#""result":{"action":"accept","content":[]}"#,
            r#""result":null"#,
            r#""result":[]"#,
            r#""error":{"code":-32601,"message":"no"}"#,
            r#""error":{"code":"x"}"#,
            r#""error":null"#,
            r#""result":{"action":"accept","content":{"name":"\ud800"}}"#,
        ] {
            let mut peer = legacy(named("s").tool("ask", ask_name), "2025-11-25", FORM).await;
            let asked = one(&mut peer, plain(5, "tools/call", &json!({"name": "ask"}))).await;
            let replies = peer.line(format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, asked["id"])).await;
            let replies: Vec<Value> = replies.into_iter().filter(|reply| reply["id"] == 5).collect();
            assert_eq!(replies.len(), 1, "{answer}: {replies:?}");
            let result = &replies[0]["result"];
            // Whoever answers with an error closes the question.
            let closed = answer.contains("error") && result["content"][0]["text"] == "Cancelled";
            assert!(result["isError"] == true || closed, "{answer}: {result}");
            if !answer.contains("result\":null") && answer.contains("result") && !answer.contains("ud800") {
                let mut peer = Peer::connect(named("s").tool("ask", ask_name));
                let asked = one(&mut peer, modern(FORM, 1, "tools/call", json!({"name": "ask"}))).await;
                let answer: Value = serde_json::from_str(&format!("{{{answer}}}")).unwrap();
                let params = json!({"name": "ask", "requestState": asked["result"]["requestState"],
                    "inputResponses": {"who": answer["result"]}});
                let reply = one(&mut peer, modern(FORM, 2, "tools/call", params)).await;
                assert!(reply["error"].is_object() || reply["result"]["isError"] == true, "{reply}");
            }
        }
        for bad in [json!([]), json!("x"), json!(null), json!(5)] {
            let mut peer = Peer::connect(named("s").tool("ask", ask_name));
            let params = json!({"name": "ask", "inputResponses": bad});
            let reply = one(&mut peer, modern(FORM, 2, "tools/call", params)).await;
            assert_eq!(reply["error"]["code"], -32602, "{bad}: {reply}");
            let params = json!({"name": "ask", "requestState": bad});
            let reply = one(&mut peer, modern(FORM, 3, "tools/call", params)).await;
            assert_eq!(reply["error"]["code"], -32602, "{bad}: {reply}");
        }
    });
}

#[test]
fn a_state_is_bound_to_the_meaning_of_a_request_and_not_to_its_spelling() {
    run(async {
        let server = || {
            named("s")
                .raw_tool(
                    Tool::new("ask").description("Ask.").input_schema(json!({"type": "object"})),
                    |_, cx| async move { ask_name(Anything {}, cx).await },
                )
                .prompt("ask", |_: (), cx: Cx| async move { ask_name(Anything {}, cx).await })
        };
        let line = |id: u64, method: &str, arguments: &str, state: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"ask"{arguments}{state},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{FORM}}}}}}}"#
            )
        };
        let mut peer = Peer::connect(server());
        for (first, second, same) in [
            (
                r#","arguments":{"a":1,"b":{"c":[1,2],"d":null}}"#,
                r#","arguments": { "b": {"d":null, "c":[1, 2]}, "a": 1 }"#,
                true,
            ),
            (r#","arguments":{"a":"é"}"#, r#","arguments":{"\u0061":"\u00e9"}"#, true),
            (r#","arguments":{}"#, "", true),
            ("", r#","arguments":{}"#, true),
            (r#","arguments":{"a":1}"#, r#","arguments":{"a":1.0}"#, true),
            (r#","arguments":{"a":1e2}"#, r#","arguments":{"a":100}"#, true),
            (r#","arguments":{"a":1}"#, r#","arguments":{"a":2}"#, false),
            (r#","arguments":{"a":[1,2]}"#, r#","arguments":{"a":[2,1]}"#, false),
            (r#","arguments":{"a":1}"#, r#","arguments":{"a":"1"}"#, false),
            (r#","arguments":{"a":null}"#, r#","arguments":{}"#, false),
            (r#","arguments":{"a":9007199254740993}"#, r#","arguments":{"a":9007199254740992}"#, false),
        ] {
            let asked = one(&mut peer, line(1, "tools/call", first, "")).await;
            let state = asked["result"]["requestState"].as_str().unwrap();
            let state = format!(r#","requestState":"{state}","inputResponses":{{"who":{}}}"#, accept("x"));
            let reply = one(&mut peer, line(2, "tools/call", second, &state)).await;
            assert_eq!(reply["result"]["content"][0]["text"] == "x", same, "{first} {second}: {reply}");
            if !same {
                assert_eq!(reply["error"]["code"], -32602, "{reply}");
            }
        }
        // Another method of the same subject.
        let asked = one(&mut peer, line(1, "tools/call", "", "")).await;
        let state = asked["result"]["requestState"].as_str().unwrap();
        let state = format!(r#","requestState":"{state}","inputResponses":{{"who":{}}}"#, accept("x"));
        let reply = one(&mut peer, line(2, "prompts/get", "", &state)).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        // The capability is gone when the answer comes.
        let reply = one(&mut peer, line(2, "tools/call", "", &state).replace(FORM, "{}")).await;
        assert!(reply["error"]["code"].is_number(), "{reply}");
    });
}

#[test]
fn a_result_that_depends_on_an_answer_is_not_for_keeping() {
    run(async {
        let server = named("s")
            .cache(Duration::from_secs(3600), papertape::CacheScope::Public)
            .resource("x:y", |cx: Cx| async move { ask_name(Anything {}, cx).await });
        let mut peer = Peer::connect(server);
        let asked = one(&mut peer, modern(FORM, 1, "resources/read", json!({"uri": "x:y"}))).await;
        let params = json!({"uri": "x:y", "requestState": asked["result"]["requestState"],
            "inputResponses": {"who": accept("secret")}});
        let read = one(&mut peer, modern(FORM, 2, "resources/read", params)).await;
        assert_eq!(read["result"]["contents"][0]["text"], "secret");
        assert_eq!((&read["result"]["ttlMs"], &read["result"]["cacheScope"]), (&json!(0), &json!("private")));
    });
}

// Bounds.

/// A URI of a frame's size must not keep the wire, however many templates there are.
#[test]
fn long_uris_are_matched_in_no_time() {
    run(async {
        let mut server = named("s");
        let _resources = server.resources();
        for n in 0..100 {
            let template = format!("x{n}:{{+a}}/{{+b}}/{{+c}}/{{d}}-{{e}}");
            server = server
                .resource_template(template.as_str(), |_: BTreeMap<String, String>, _| async { Ok("found") });
        }
        let server = server
            .resource_template("y:{+a}/{+b}/{+c}/{d}-{e}{.f}{?g}", |_: BTreeMap<String, String>, _| async {
                Ok("found")
            });
        let mut peer = legacy(server, "2025-11-25", "{}").await;
        for uri in [
            format!("y:{}", "/-".repeat(4_000)),
            format!("y:{}b-c", "a/".repeat(4_000)),
            format!("x99:{}", "/".repeat(8_000)),
            "y:/".to_owned() + &"%".repeat(8_000),
            "z".repeat(8_000_000),
        ] {
            for method in ["resources/read", "resources/subscribe"] {
                let reply = one(&mut peer, plain(1, method, &json!({"uri": uri}))).await;
                let found = reply["result"]["contents"][0]["text"] == "found";
                assert!(found || reply.to_string().len() < 10_000, "{:?}", reply.to_string().len());
            }
        }
    });
}

#[test]
fn many_resources_are_registered_in_no_time() {
    let mut server = named("s");
    let resources = server.resources();
    for n in 0..10_000 {
        resources.add(format!("file:///{n}"), |_| async { Ok("x") }).unwrap();
    }
    assert!(resources.remove("file:///9999") && !resources.remove("file:///10000"));
}

#[test]
fn a_million_values_and_a_million_changes_are_nothing() {
    run(async {
        let prompt = papertape::Prompt::new("p")
            .complete("name", |_| async { Ok((0..1_000_000).map(|n| n.to_string()).collect()) });
        let mut server = named("s")
            .prompt(prompt, |args: Name, _| async move { Ok(args.name) })
            .resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let resources = server.resources();
        let mut peer = legacy(server, "2025-11-25", "{}").await;
        let params =
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "name", "value": ""}});
        let reply = one(&mut peer, plain(1, "completion/complete", &params)).await;
        let completion = &reply["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), 100);
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(1_000_000), &json!(true)));
        one(&mut peer, plain(2, "resources/subscribe", &json!({"uri": "x:a"}))).await;
        for n in 0..1_000_000 {
            resources.updated(&format!("x:a/{n}"));
            resources.updated("x:b");
        }
        let told = messages(&peer.settle().await);
        assert!(!told.is_empty() && told.len() <= 2_000, "{}", told.len());
    });
}

/// A client that watches so much that it must be told of a few at a time still hears of everything.
#[test]
fn no_change_of_what_is_watched_is_lost() {
    run(async {
        let mut server =
            named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let resources = server.resources();
        let mut peer = Peer::connect(server);
        for listener in 0..20_u64 {
            let uris: Vec<String> = (0..100).map(|n| format!("x:{listener}/{n}")).collect();
            let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
            one(&mut peer, modern("{}", listener, "subscriptions/listen", wanted)).await;
        }
        for listener in 0..20 {
            for n in 0..100 {
                resources.updated(&format!("x:{listener}/{n}"));
            }
        }
        let told = messages(&peer.settle().await);
        assert_eq!(told.len(), 2_000);
    });
}

/// Runs a test in a process of its own, where nothing else takes memory. `name` is that of the test.
fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "PAPERTAPE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let name = format!("offers_hostile::{name}");
    let mut again = std::process::Command::new("/proc/self/exe");
    let end = crate::process::run(again.args([&name, "--exact"]).env(ALONE, ""), "");
    assert!(end.status.success() && String::from_utf8_lossy(&end.output).contains("1 passed"), "{end:?}");
}

/// The resident memory of this process, in MiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
}

#[test]
fn subscriptions_hold_no_more_than_requests_may() {
    run(async {
        let mut server =
            named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let _resources = server.resources();
        let limits = papertape::Limits { bytes_in_flight: 4 << 20, ..papertape::Limits::default() };
        let mut peer = Peer::connect(server.limits(limits));
        let long = "a".repeat(256 << 10);
        let mut held = 0;
        for listener in 0..100_u64 {
            let wanted = json!({"notifications": {"resourceSubscriptions": [long]}});
            let replies = peer.line(modern("{}", listener, "subscriptions/listen", wanted)).await;
            held +=
                usize::from(replies[0]["method"] == "notifications/subscriptions/acknowledged") * long.len();
        }
        assert!(held <= 5 << 20, "{} MiB are held", held >> 20);
    });
}

#[test]
fn subscriptions_of_old_hold_no_more_than_requests_may() {
    run(async {
        let mut server =
            named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let _resources = server.resources();
        let limits = papertape::Limits { bytes_in_flight: 4 << 20, ..papertape::Limits::default() };
        let mut peer = legacy(server.limits(limits), "2025-11-25", "{}").await;
        let mut held = 0;
        for n in 0..100_u64 {
            let uri = format!("x:{n}{}", "a".repeat(256 << 10));
            let reply = one(&mut peer, plain(n + 1, "resources/subscribe", &json!({"uri": uri}))).await;
            held += usize::from(reply["result"].is_object()) * uri.len();
        }
        assert!(held <= 5 << 20, "{} MiB are held", held >> 20);
    });
}

#[test]
fn a_big_result_of_a_task_is_not_written_a_hundred_times_at_once() {
    alone("a_big_result_of_a_task_is_not_written_a_hundred_times_at_once", || {
        run(async {
            let server = named("s").tool(long("big"), |_: Anything, _: Cx| async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok("x".repeat(4 * 1024 * 1024))
            });
            let mut peer = Peer::connect(server);
            let task = one(&mut peer, modern(TASKS, 1_000, "tools/call", json!({"name": "big"}))).await;
            let id = task["result"]["taskId"].clone();
            for listener in 0..100_u64 {
                let wanted = json!({"notifications": {"taskIds": [id]}});
                peer.line(modern(TASKS, listener, "subscriptions/listen", wanted)).await;
            }
            // Nobody reads: the pipe takes 64 MiB, the outbox what it may.
            let before = resident();
            tokio::time::sleep(Duration::from_secs(5)).await;
            let grown = resident().saturating_sub(before);
            assert!(grown < 200, "grown by {grown} MiB");
        });
    });
}

#[test]
fn a_flood_of_logs_is_cut_off_where_nobody_reads() {
    run(async {
        let server = named("s").logging().tool("flood", |_: Anything, cx: Cx| async move {
            for _ in 0..100_000 {
                cx.log(papertape::LogLevel::Error, "x".repeat(1_000));
            }
            Ok("done")
        });
        let mut peer = legacy(server, "2025-11-25", "{}").await;
        one(&mut peer, plain(1, "logging/setLevel", &json!({"level": "debug"}))).await;
        let told = peer.line(plain(2, "tools/call", &json!({"name": "flood"}))).await;
        assert!(told.len() < 1_000, "{}", told.len());
        assert_eq!(told.last().unwrap()["id"], 2);
    });
}

#[test]
fn questions_are_bounded_as_their_calls_are() {
    run(async {
        let mut peer = legacy(named("s").tool("ask", ask_name), "2025-11-25", FORM).await;
        let calls: String =
            (1..=10_000).map(|id| plain(id, "tools/call", &json!({"name": "ask"})) + "\n").collect();
        let told = messages(&peer.send(calls).await);
        let asked: Vec<&Value> = told.iter().filter(|told| told["method"] == "elicitation/create").collect();
        assert_eq!((asked.len(), told.len()), (1_000, 10_000));
        // All are answered, in another order, each once.
        let answers: String = asked
            .iter()
            .rev()
            .map(|asked| {
                json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")}).to_string() + "\n"
            })
            .collect();
        let told = messages(&peer.send(answers).await);
        assert_eq!(told.len(), 1_000);
        assert!(told.iter().all(|told| told["result"]["content"][0]["text"] == "x"));
    });
}

// Shapes.

fn forbidden(revision: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    if revision < "2025-03-26" {
        names.extend(["completions", "audio"]);
    }
    if revision < "2025-06-18" {
        names.extend(["title", "lastModified", "_meta", "resource_link", "elicitation"]);
    }
    if revision < "2025-11-25" {
        names.extend(["icons", "websiteUrl", "toolChoice", "tools", "mode"]);
    }
    if revision < MODERN {
        names.extend([
            "resultType",
            "ttlMs",
            "cacheScope",
            "extensions",
            "io.modelcontextprotocol/serverInfo",
        ]);
    }
    names
}

fn check_names(value: &Value, path: &str, forbidden: &[&str]) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = format!("{path}/{name}");
                // These are older than others of their name.
                let known = ["/capabilities/tools", "/result/tools", "/annotations/title"];
                let known = known.iter().any(|known| path.ends_with(known));
                assert!(known || !forbidden.contains(&name.as_str()), "{path}: {value}");
                if name == "type" {
                    assert!(!value.as_str().is_some_and(|kind| forbidden.contains(&kind)), "{path}: {value}");
                }
                check_names(value, &path, forbidden);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_names(item, path, forbidden)),
        _ => {}
    }
}

fn rich() -> Server {
    use papertape::protocol::content::{Annotations, Icon, ResourceContents};
    use papertape::protocol::{PromptMessage, PromptResult, Role};
    use papertape::{Content, Prompt, Resource, ResourceTemplate};
    let icon = || Icon { src: "data:,".into(), ..Icon::default() };
    let hints = || Annotations {
        audience: vec![Role::User],
        priority: Some(1.0),
        last_modified: Some("2026-01-01T00:00:00Z".into()),
    };
    let mut server = named("rich")
        .title("Rich")
        .description("d")
        .website("https://example.com")
        .icon(icon())
        .logging()
        .tool(
            Tool::new("t").title("T").icon(icon()).meta("ui", json!({})).long_running(),
            |_: Anything, cx: Cx| async move {
                cx.progress(1.0, 2.0, "half");
                cx.log(papertape::LogLevel::Error, "x");
                Ok(vec![
                    Content::audio(b"x", "audio/wav")
                        .annotated(Annotations { last_modified: Some("x".into()), ..Annotations::default() }),
                    Content::resource_link("x:y", "y"),
                ])
            },
        )
        .resource(
            Resource::new("x:y").title("Y").icon(icon()).annotations(hints()).size(3).meta("ui", json!({})),
            |_| async {
                let meta = json!({"ui": {}, "io.modelcontextprotocol/x": 1}).as_object().cloned();
                Ok(ResourceContents {
                    uri: "x:y".into(),
                    text: Some("x".into()),
                    meta,
                    ..ResourceContents::default()
                })
            },
        )
        .resource_template(
            ResourceTemplate::new("z:{a}")
                .title("Z")
                .icon(icon())
                .annotations(hints())
                .meta("ui", json!({}))
                .complete("a", |_| async { Ok(vec!["b".into()]) }),
            |_: BTreeMap<String, String>, _| async { Ok("") },
        )
        .prompt(Prompt::new("p").title("P").icon(icon()).meta("ui", json!({})), |_: (), _| async move {
            let block = |content| PromptMessage { role: Role::User, content };
            Ok(PromptResult {
                meta: json!({"io.modelcontextprotocol/serverInfo": 1}).as_object().cloned(),
                messages: vec![
                    block(Content::audio(b"x", "audio/wav")),
                    block(Content::resource_link("x:y", "y")),
                    block(Content::text("x").annotated(Annotations {
                        last_modified: Some("x".into()),
                        ..Annotations::default()
                    })),
                ],
                ..PromptResult::default()
            })
        });
    let (_, _, _) = (server.tools(), server.resources(), server.prompts());
    server
}

#[test]
fn no_field_of_a_newer_revision_reaches_an_older_client() {
    run(async {
        for revision in crate::peer::LEGACY {
            let forbidden = forbidden(revision);
            let mut peer = Peer::connect(rich());
            let params = json!({"protocolVersion": revision, "clientInfo": {"name": "t", "version": "1"},
                "capabilities": serde_json::from_str::<Value>(ALL).unwrap()});
            let mut told = peer.line(plain(0, "initialize", &params)).await;
            peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
            for (id, (method, params)) in [
                ("logging/setLevel", json!({"level": "debug"})),
                ("tools/list", json!({})),
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("prompts/list", json!({})),
                ("tools/call", json!({"name": "t", "_meta": {"progressToken": 1}})),
                ("resources/read", json!({"uri": "x:y"})),
                ("resources/read", json!({"uri": "z:1"})),
                ("prompts/get", json!({"name": "p"})),
                (
                    "completion/complete",
                    json!({"ref": {"type": "ref/resource", "uri": "z:{a}"},
                    "argument": {"name": "a", "value": ""}}),
                ),
                ("resources/subscribe", json!({"uri": "x:y"})),
                ("resources/unsubscribe", json!({"uri": "x:y"})),
            ]
            .into_iter()
            .enumerate()
            {
                let replies = peer.line(plain(id as u64 + 1, method, &params)).await;
                assert!(replies.last().unwrap()["result"].is_object(), "{revision} {method}: {replies:?}");
                told.extend(replies);
            }
            for told in &told {
                check_names(told, "", &forbidden);
            }
            for method in ["tasks/get", "tasks/cancel", "server/discover", "subscriptions/listen"] {
                let reply =
                    one(&mut peer, plain(99, method, &json!({"taskId": "x", "notifications": {}}))).await;
                assert_eq!(reply["error"]["code"], -32601, "{method} {reply}");
            }
        }
    });
}

#[test]
fn no_question_of_a_newer_revision_reaches_an_older_client() {
    use papertape::protocol::{Role, SamplingMessage, SamplingRequest};
    run(async {
        let message = |content| SamplingMessage { role: Role::User, content };
        let text = json!({"type": "text", "text": "x"});
        let audio = json!({"type": "audio", "data": "", "mimeType": "audio/wav"});
        let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
        for (content, choice, since) in [
            (text.clone(), None, "2024-11-05"),
            (text.clone(), Some(json!({"mode": "none"})), "2025-11-25"),
            (json!([text]), None, "2025-11-25"),
            (result, None, "2025-11-25"),
            (audio, None, "2025-03-26"),
        ] {
            for revision in crate::peer::LEGACY {
                let (content, choice) = (content.clone(), choice.clone());
                let server = named("s").tool("ask", move |_: Anything, cx: Cx| {
                    let question = SamplingRequest {
                        messages: vec![message(content.clone())],
                        max_tokens: 1,
                        tool_choice: choice.clone(),
                        ..SamplingRequest::default()
                    };
                    async move { Ok(cx.ask("x", question)?.model) }
                });
                let mut peer = legacy(server, revision, ALL).await;
                let told = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
                // Asked in its shape, or refused.
                if told["method"] != "sampling/createMessage" {
                    assert_eq!(told["result"]["isError"], true, "{told}");
                    assert!(revision < since, "{revision}: {told}");
                } else if revision < since {
                    assert!(told["params"].get("toolChoice").is_none(), "{revision}: {told}");
                    let kind = told["params"]["messages"][0]["content"]["type"].as_str();
                    assert!(kind.is_some_and(|kind| ["text", "image"].contains(&kind)), "{revision}: {told}");
                }
            }
        }
    });
}

#[test]
fn a_form_of_any_plain_type_is_one_in_every_revision() {
    /// Either.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        /// By train.
        Train,
        /// By ship.
        Ship,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Only {
        One,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Rich {
        must: Way,
        may: Option<Way>,
        #[serde(default)]
        perhaps: Option<bool>,
        #[serde(default)]
        number: Option<u8>,
        only: Only,
        wide: f32,
        #[serde(default = "seven")]
        count: i64,
        #[schemars(length(min = 1, max = 5))]
        short: String,
    }
    fn seven() -> i64 {
        7
    }
    run(async {
        for revision in ["2025-06-18", "2025-11-25"] {
            let server = named("s").tool("ask", |_: Anything, cx: Cx| async move {
                Ok(format!("{:?}", cx.ask("x", Form::<Rich>::new("?"))?))
            });
            let mut peer = legacy(server, revision, FORM).await;
            let told = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
            assert_eq!(told["method"], "elicitation/create", "{told}");
            let schema = &told["params"]["requestedSchema"];
            for (name, property) in schema["properties"].as_object().unwrap() {
                let kind = property["type"].as_str().unwrap_or_else(|| panic!("{name}: {property}"));
                let mut known = vec!["type", "title", "description"];
                known.extend(match (kind, revision) {
                    ("string", "2025-06-18") => vec!["minLength", "maxLength", "format", "enum", "enumNames"],
                    ("string", _) => vec!["minLength", "maxLength", "format", "enum", "oneOf", "default"],
                    ("number" | "integer", "2025-06-18") => vec!["minimum", "maximum"],
                    ("number" | "integer", _) => vec!["minimum", "maximum", "default"],
                    ("boolean", _) => vec!["default"],
                    _ => panic!("{name}: {property}"),
                });
                for member in property.as_object().unwrap().keys() {
                    assert!(known.contains(&member.as_str()), "{revision} {name}: {member} in {property}");
                }
                assert!(
                    !property["default"].is_null() || property.get("default").is_none(),
                    "{name}: {property}"
                );
            }
        }
    });
}

#[test]
fn what_the_user_says_is_held_against_the_form() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Age {
        #[schemars(range(min = 18, max = 120))]
        age: u32,
    }
    run(async {
        let server = || {
            named("s").tool("ask", |_: Anything, cx: Cx| async move {
                Ok(match cx.ask("x", Form::<Age>::new("?"))? {
                    Elicited::Accepted(age) => age.age.to_string(),
                    _ => String::new(),
                })
            })
        };
        for (said, good) in [(json!(5), false), (json!(20), true), (json!(20.0), true), (json!("20"), false)]
        {
            let mut peer = legacy(server(), "2025-11-25", FORM).await;
            let asked = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"age": said}}});
            let reply = one(&mut peer, answer.to_string()).await;
            assert_eq!(reply["result"]["isError"] == false, good, "{said}: {reply}");
        }
    });
}

// Errors and codes.

async fn code(peer: &mut Peer, line: String) -> i64 {
    let reply = one(peer, line).await;
    reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn what_is_not_offered_is_no_method() {
    run(async {
        for revision in crate::peer::LEGACY.into_iter().chain([MODERN]) {
            let server = named("s").tool("x", hello);
            let mut peer = match revision {
                MODERN => Peer::connect(server),
                _ => legacy(server, revision, "{}").await,
            };
            for (method, params) in [
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({"uri": "x:y"})),
                ("resources/subscribe", json!({"uri": "x:y"})),
                ("resources/unsubscribe", json!({"uri": "x:y"})),
                ("prompts/list", json!({})),
                ("prompts/get", json!({"name": "x"})),
                ("completion/complete", json!({})),
                ("logging/setLevel", json!({"level": "error"})),
                ("tasks/get", json!({"taskId": "x"})),
                ("tasks/update", json!({"taskId": "x"})),
                ("tasks/cancel", json!({"taskId": "x"})),
                ("tasks/list", json!({})),
            ] {
                let line = match revision {
                    MODERN => modern(ALL, 1, method, params),
                    _ => plain(1, method, &params),
                };
                assert_eq!(code(&mut peer, line).await, -32601, "{revision} {method}");
            }
        }
    });
}

#[test]
fn parameters_of_the_wrong_kind_are_refused_one_by_one() {
    run(async {
        for revision in crate::peer::LEGACY.into_iter().chain([MODERN]) {
            let mut peer = match revision {
                MODERN => Peer::connect(rich()),
                _ => legacy(rich(), revision, ALL).await,
            };
            let mut cases = Vec::new();
            for bad in [json!(null), json!(5), json!(true), json!([]), json!({}), json!([1]), json!({"a": 1})]
            {
                cases.push(("resources/read", json!({"uri": bad}), -32602));
                cases.push(("prompts/get", json!({"name": bad}), -32602));
                cases.push(("tools/call", json!({"name": bad}), -32602));
                let reference = json!({"type": "ref/resource", "uri": "z:{a}"});
                let argument = json!({"name": "a", "value": ""});
                cases.push(("completion/complete", json!({"ref": bad, "argument": argument}), -32602));
                cases.push(("completion/complete", json!({"ref": reference, "argument": bad}), -32602));
                let part = json!({"name": "a", "value": bad});
                cases.push(("completion/complete", json!({"ref": reference, "argument": part}), -32602));
                if bad != json!({}) && bad != json!(null) {
                    if bad != json!({"a": 1}) {
                        let params = json!({"ref": reference, "argument": argument, "context": bad});
                        cases.push(("completion/complete", params, -32602));
                    }
                    let params =
                        json!({"ref": reference, "argument": argument, "context": {"arguments": bad}});
                    cases.push(("completion/complete", params, -32602));
                    cases.push(("prompts/get", json!({"name": "p", "arguments": bad}), -32602));
                }
                if !bad.is_null() {
                    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
                        cases.push((list, json!({"cursor": bad}), -32602));
                    }
                }
                if revision == MODERN {
                    cases.push(("tasks/get", json!({"taskId": bad}), -32602));
                    cases.push(("tasks/cancel", json!({"taskId": bad}), -32602));
                    cases.push(("tasks/update", json!({"taskId": bad, "inputResponses": {}}), -32602));
                    if bad != json!({}) {
                        let params = json!({"notifications": {"resourceSubscriptions": bad}});
                        if bad != json!([]) {
                            cases.push(("subscriptions/listen", params, -32602));
                        }
                    }
                    let params = json!({"uri": "x:y", "_meta": {"io.modelcontextprotocol/logLevel": bad}});
                    cases.push(("resources/read", params, -32602));
                } else {
                    cases.push(("resources/subscribe", json!({"uri": bad}), -32602));
                    cases.push(("resources/unsubscribe", json!({"uri": bad}), -32602));
                    cases.push(("logging/setLevel", json!({"level": bad}), -32602));
                }
            }
            let unknown = if revision == MODERN { -32602 } else { -32002 };
            cases.push(("resources/read", json!({"uri": "no:such"}), unknown));
            cases.push(("resources/read", json!({"uri": ""}), unknown));
            cases.push(("prompts/get", json!({"name": "no"}), -32602));
            cases.push(("prompts/get", json!({"name": "p", "arguments": {"no": "x"}}), -32602));
            let argument = json!({"name": "a", "value": ""});
            for reference in [
                json!({"type": "ref/prompt", "name": "no"}),
                json!({"type": "ref/resource", "uri": "no:such"}),
                json!({"type": "ref/other", "uri": "z:{a}"}),
                json!({"type": "ref/prompt", "uri": "z:{a}"}),
            ] {
                cases.push(("completion/complete", json!({"ref": reference, "argument": argument}), -32602));
            }
            for cursor in [
                "",
                "0",
                "0.0",
                "1.1",
                "x",
                "9.99999999999999999999",
                "18446744073709551616.1",
                "-1.1",
                "1.-1",
            ] {
                for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
                    cases.push((list, json!({"cursor": cursor}), -32602));
                }
            }
            if revision == MODERN {
                for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
                    cases.push((method, json!({"taskId": "x", "inputResponses": {}}), -32602));
                }
                cases.push(("tasks/update", json!({"taskId": "x"}), -32602));
            } else {
                cases.push(("resources/subscribe", json!({"uri": "no:such"}), -32002));
                for level in ["Error", "", "verbose", "warn"] {
                    cases.push(("logging/setLevel", json!({"level": level}), -32602));
                }
            }
            for (method, params, expected) in cases {
                let line = match revision {
                    MODERN => modern(ALL, 1, method, params.clone()),
                    _ => plain(1, method, &params),
                };
                let reply = one(&mut peer, line).await;
                assert_eq!(reply["error"]["code"], expected, "{revision} {method} {params}: {reply}");
            }
        }
    });
}

#[test]
fn a_client_is_told_which_capability_it_lacks() {
    use papertape::protocol::SamplingRequest;
    run(async {
        let server = || {
            named("s")
                .tool("form", ask_name)
                .tool("page", |_: Anything, cx: Cx| async move {
                    Ok(format!("{:?}", cx.ask("x", papertape::Visit::new("?", "https://x"))?))
                })
                .tool("model", |_: Anything, cx: Cx| async move {
                    Ok(cx.ask("x", SamplingRequest::default())?.model)
                })
                .tool("tools", |_: Anything, cx: Cx| async move {
                    let tools = vec![papertape::protocol::ToolDefinition::default()];
                    Ok(cx.ask("x", SamplingRequest { tools, ..SamplingRequest::default() })?.model)
                })
                .tool("roots", |_: Anything, cx: Cx| async move {
                    Ok(format!("{:?}", cx.ask("x", papertape::Roots)?))
                })
                .tool("both", |_: Anything, cx: Cx| async move {
                    cx.ask_both(("x", papertape::Roots), ("y", Form::<Name>::new("?")))?;
                    Ok("")
                })
                .resource(
                    "x:roots",
                    |cx: Cx| async move { Ok(format!("{:?}", cx.ask("x", papertape::Roots)?)) },
                )
        };
        let mut peer = Peer::connect(server());
        for (tool, able, required) in [
            ("form", r#"{"elicitation":{"url":{}}}"#, json!({"elicitation": {"form": {}}})),
            ("page", FORM, json!({"elicitation": {"url": {}}})),
            ("page", r#"{"elicitation":{}}"#, json!({"elicitation": {"url": {}}})),
            ("model", FORM, json!({"sampling": {}})),
            ("tools", r#"{"sampling":{}}"#, json!({"sampling": {"tools": {}}})),
            ("roots", r#"{"roots":[]}"#, json!({"roots": {}})),
            ("both", r#"{"roots":{}}"#, json!({"elicitation": {"form": {}}})),
        ] {
            let reply = one(&mut peer, modern(able, 1, "tools/call", json!({"name": tool}))).await;
            assert_eq!(reply["error"]["code"], -32021, "{tool}: {reply}");
            assert_eq!(reply["error"]["data"], json!({"requiredCapabilities": required}), "{tool}");
        }
        // All that is lacking, not the first of it only.
        let reply = one(&mut peer, modern("{}", 1, "tools/call", json!({"name": "both"}))).await;
        let all = json!({"roots": {}, "elicitation": {"form": {}}});
        assert_eq!(reply["error"]["data"]["requiredCapabilities"], all, "{reply}");
        let reply = one(&mut peer, modern("{}", 1, "resources/read", json!({"uri": "x:roots"}))).await;
        assert_eq!(reply["error"]["code"], -32021, "{reply}");
        let mut peer = legacy(server(), "2025-11-25", "{}").await;
        for tool in ["form", "page", "model", "tools", "roots", "both"] {
            let reply = one(&mut peer, plain(1, "tools/call", &json!({"name": tool}))).await;
            assert_eq!(reply["result"]["isError"], true, "{reply}");
        }
    });
}

#[test]
fn what_a_handler_calls_unknown_is_unknown() {
    run(async {
        // "neither does one for which the function fails with ToolError::refused" (Server::resource_template)
        for (revision, expected) in [("2025-11-25", -32002), (MODERN, -32602)] {
            let server = named("s").resource_template("x:{n}", |_: BTreeMap<String, String>, _| async {
                Err::<String, _>(ToolError::refused("there is none"))
            });
            let mut peer = match revision {
                MODERN => Peer::connect(server),
                _ => legacy(server, revision, "{}").await,
            };
            let line = match revision {
                MODERN => modern("{}", 1, "resources/read", json!({"uri": "x:1"})),
                _ => plain(1, "resources/read", &json!({"uri": "x:1"})),
            };
            assert_eq!(code(&mut peer, line).await, expected, "{revision}");
        }
    });
}

#[test]
fn whatever_an_author_writes_may_panic() {
    #[derive(Debug, JsonSchema)]
    #[expect(dead_code, reason = "never read")]
    struct Panics(String);
    impl<'de> Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("while reading")
        }
    }
    struct Output;
    impl papertape::ReadOutput for Output {
        fn into_contents(self, _: &str, _: Option<&str>) -> Vec<papertape::protocol::ResourceContents> {
            panic!("while writing")
        }
    }
    impl papertape::PromptOutput for Output {
        fn into_prompt(self) -> papertape::protocol::PromptResult {
            panic!("while writing")
        }
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "never read")]
    struct Field {
        name: Panics,
    }
    impl schemars::JsonSchema for Output {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Output".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            panic!("while describing")
        }
    }
    impl<'de> Deserialize<'de> for Output {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("while reading")
        }
    }
    fn now<T>() -> Result<T, ToolError> {
        panic!("at once")
    }
    run(async {
        let server = || {
            named("s")
                .resource("r:now", |_| std::future::ready(now::<String>()))
                .resource("r:later", |_| async {
                    tokio::task::yield_now().await;
                    now::<String>()
                })
                .resource("r:output", |_| async { Ok(Output) })
                .resource_template("t:{name}", |_: Field, _| async { Ok("") })
                .resource_template("u:{name}", |_: Name, _| std::future::ready(now::<String>()))
                .prompt("now", |_: (), _| std::future::ready(now::<String>()))
                .prompt("read", |_: Field, _| async { Ok(String::new()) })
                .prompt("output", |_: (), _| async { Ok(Output) })
                .tool("form", |_: Anything, cx: Cx| async move {
                    Ok(format!("{:?}", cx.ask("x", Form::<Field>::new("?"))?))
                })
                .tool("schema", |_: Anything, cx: Cx| async move {
                    cx.ask("x", Form::<Output>::new("?"))?;
                    Ok("")
                })
                .prompt(panicking_completer(), |args: Name, _| async move { Ok(args.name) })
                .tool("keep", |_: Anything, cx: Cx| async move {
                    cx.keep("x", || -> u8 { panic!("while making") })?;
                    Ok("")
                })
        };
        let complete = |value: &str| json!({"ref": {"type": "ref/prompt", "name": "complete"}, "argument": {"name": "name", "value": value}});
        let mut peer = Peer::connect(server());
        let mut old = legacy(server(), "2025-11-25", FORM).await;
        for (id, (method, params)) in [
            ("resources/read", json!({"uri": "r:now"})),
            ("resources/read", json!({"uri": "r:later"})),
            ("resources/read", json!({"uri": "r:output"})),
            ("resources/read", json!({"uri": "t:x"})),
            ("resources/read", json!({"uri": "u:x"})),
            ("prompts/get", json!({"name": "now"})),
            ("prompts/get", json!({"name": "read", "arguments": {"name": "x"}})),
            ("prompts/get", json!({"name": "output"})),
            ("tools/call", json!({"name": "schema"})),
            ("tools/call", json!({"name": "keep"})),
            ("completion/complete", complete("now")),
            ("completion/complete", complete("first")),
            ("completion/complete", complete("later")),
        ]
        .into_iter()
        .enumerate()
        {
            let id = id as u64 + 1;
            let reply = one(&mut peer, modern(FORM, id, method, params.clone())).await;
            assert_eq!(reply["error"]["code"], -32603, "{method} {params}: {reply}");
            let reply = one(&mut old, plain(id, method, &params)).await;
            assert_eq!(reply["error"]["code"], -32603, "{method} {params}: {reply}");
        }
        let asked = one(&mut old, plain(90, "tools/call", &json!({"name": "form"}))).await;
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")}).to_string();
        assert_eq!(code(&mut old, answer).await, -32603);
        let asked = one(&mut peer, modern(FORM, 90, "tools/call", json!({"name": "form"}))).await;
        let params = json!({"name": "form", "requestState": asked["result"]["requestState"], "inputResponses": {"x": accept("x")}});
        assert_eq!(code(&mut peer, modern(FORM, 91, "tools/call", params)).await, -32603);
    });
}

fn panicking_completer() -> papertape::Prompt {
    papertape::Prompt::new("complete").complete("name", |so_far| {
        assert_ne!(so_far.value, "now", "at once");
        async move {
            assert_ne!(so_far.value, "first", "at first");
            tokio::task::yield_now().await;
            assert_ne!(so_far.value, "later", "later");
            Ok(vec![])
        }
    })
}

/// A line with an id of 256 KiB in place of a short one.
fn with_long_id(line: &str, id: u64) -> String {
    line.replacen(&format!("\"id\":{id},"), &format!("\"id\":\"{id}{}\",", "i".repeat(256 << 10)), 1)
}

/// Ids count as what they belong to does.
#[test]
fn long_ids_are_held_no_more_than_requests_may_be() {
    run(async {
        let server = named("s").tool("wait", |_: Anything, _: Cx| async {
            std::future::pending::<()>().await;
            Ok("")
        });
        let limits = papertape::Limits { bytes_in_flight: 4 << 20, ..papertape::Limits::default() };
        let mut peer = Peer::connect(server.limits(limits));
        let mut held = 0;
        for id in 0..100 {
            let call = modern("{}", id, "tools/call", json!({"name": "wait"}));
            held += usize::from(peer.line(with_long_id(&call, id)).await.is_empty()) * (256 << 10);
        }
        assert!(held <= 5 << 20, "{} MiB are held", held >> 20);
    });
}

#[test]
fn a_long_id_is_not_copied_for_everything_that_is_told() {
    alone("a_long_id_is_not_copied_for_everything_that_is_told", || {
        run(async {
            let mut server = named("s").resource("x:a", |_| async { Ok("") });
            let resources = server.resources();
            let mut peer = Peer::connect(server);
            let wanted = json!({"notifications": {"resourceSubscriptions": ["x:a"]}});
            peer.line(with_long_id(&modern("{}", 1, "subscriptions/listen", wanted), 1)).await;
            let before = resident();
            for n in 0..900 {
                resources.updated(&format!("x:a/{n}"));
            }
            // Nobody reads: the pipe takes 64 MiB, the outbox what it may.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let grown = resident().saturating_sub(before);
            assert!(grown < 150, "grown by {grown} MiB");
        });
    });
}

#[test]
fn a_store_that_panics_is_no_end_of_the_world() {
    struct Panics(AtomicUsize);
    impl TaskStore for Panics {
        fn put<'a>(&'a self, _: &'a Task) -> Stored<'a, ()> {
            Box::pin(async move {
                assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0, "on purpose");
                Ok(())
            })
        }
        fn get<'a>(&'a self, id: &'a str) -> Stored<'a, Option<Task>> {
            assert_ne!(id, "panic", "on purpose");
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
            let reply = one(&mut peer, modern(ALL, 5, "tasks/get", json!({"taskId": "panic"}))).await;
            assert_eq!(reply["error"]["code"], -32603, "{reply}");
        }
    });
}

#[test]
fn a_store_that_never_ends_keeps_nobody_from_anything_else() {
    struct Stuck;
    impl TaskStore for Stuck {
        fn put<'a>(&'a self, _: &'a Task) -> Stored<'a, ()> {
            Box::pin(std::future::pending())
        }
        fn get<'a>(&'a self, _: &'a str) -> Stored<'a, Option<Task>> {
            Box::pin(std::future::pending())
        }
    }
    run(async {
        let server = named("s").task_store(Stuck).tool(long("work"), hello).tool("hello", hello);
        let mut peer = Peer::connect(server);
        assert!(peer.line(modern(ALL, 1, "tools/call", json!({"name": "work"}))).await.is_empty());
        assert!(peer.line(modern(ALL, 2, "tasks/get", json!({"taskId": "x"}))).await.is_empty());
        one(&mut peer, modern(ALL, 3, "tools/call", json!({"name": "hello"}))).await;
        assert!(peer.line(crate::peer::cancel("1")).await.is_empty());
        let last = messages(&peer.end().await);
        assert_eq!(last.len(), 1, "{last:?}");
        assert_eq!(last[0]["id"], 2);
    });
}

/// What is still to be told when a subscription ends is not told to the next one of its id.
#[test]
fn a_subscription_with_the_id_of_another_is_another() {
    run(async {
        let mut server = named("s").resource("x:a", |_| async { Ok("") }).tool("hello", hello);
        let (resources, tools) = (server.resources(), server.tools());
        // A pipe that takes little, and nobody who reads.
        let (ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(theirs);
        let served = tokio::spawn(papertape::serve(server, reader, writer));
        let (mut from, mut to) = tokio::io::split(ours);
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let wanted = json!({"notifications": {"resourceSubscriptions": ["x:a"]}});
        to.write_all((modern("{}", 1, "subscriptions/listen", wanted) + "\n").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        for n in 0..5_000 {
            resources.updated(&format!("x:a/{n}{}", "y".repeat(1_000)));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let lines = crate::peer::cancel("1") + "\n" + &modern("{}", 1, "subscriptions/listen", wanted) + "\n";
        let writing = tokio::spawn(async move {
            to.write_all(lines.as_bytes()).await.unwrap();
            to
        });
        let mut bytes = Vec::new();
        while let Ok(Ok(1..)) = tokio::time::timeout(Duration::from_secs(5), from.read_buf(&mut bytes)).await
        {
        }
        assert!(tools.remove("hello"));
        while let Ok(Ok(1..)) = tokio::time::timeout(Duration::from_secs(5), from.read_buf(&mut bytes)).await
        {
        }
        let told = messages(&bytes);
        let acknowledged: Vec<usize> = (0..told.len())
            .filter(|&at| told[at]["method"] == "notifications/subscriptions/acknowledged")
            .collect();
        assert_eq!(acknowledged.len(), 2);
        let odd: Vec<&Value> = told[acknowledged[1] + 1..]
            .iter()
            .filter(|told| told["method"] != "notifications/tools/list_changed")
            .collect();
        assert!(odd.is_empty(), "{} messages that the second did not ask for", odd.len());
        assert_eq!(told.last().unwrap()["method"], "notifications/tools/list_changed");
        drop(writing.await.unwrap());
        drop(from);
        served.await.unwrap().unwrap();
    });
}

// Templates and words.

async fn read(server: Server, uri: &str) -> Option<String> {
    let mut peer = Peer::connect(server);
    let reply = one(&mut peer, modern("{}", 1, "resources/read", json!({"uri": uri}))).await;
    reply["result"]["contents"][0]["text"].as_str().map(str::to_owned)
}

fn showing(template: &str) -> Server {
    named("s").resource_template(template, |values: BTreeMap<String, String>, _| async move {
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(values.join(" "))
    })
}

#[test]
fn templates_match_what_they_expand_to() {
    run(async {
        for (template, uri, expected) in [
            // Reserved characters are escaped in `{x}`, and only there.
            ("a:{x}", "a:b%2Fc", Some("x=b/c")),
            ("a:{x}", "a:b%3Fc%23d%2C", Some("x=b?c#d,")),
            ("a:{x}", "a:b/c", None),
            ("a:{x}", "a:b?c", None),
            ("a:{x}/", "a:b/", Some("x=b")),
            ("a:{x}", "a:%", Some("x=%")),
            ("a:{x}", "a:%zz", Some("x=%zz")),
            ("a:{x}", "a:%ff", None),
            ("a:{x}", "a:%00", Some("x=\0")),
            ("a:{x}", "a:é", Some("x=é")),
            ("a:{+x}", "a:b/c?d#e", Some("x=b/c?d#e")),
            ("a:{+x}", "a:../..", Some("x=../..")),
            ("a:{+x}/end", "a:b/end/end", Some("x=b/end")),
            ("a:{x}-{y}", "a:1-2-3", Some("x=1-2 y=3")),
            ("a:b{/x,y}", "a:b/1/2", Some("x=1 y=2")),
            ("a:b{/x}", "a:b/1/2", None),
            ("a:b{.x,y}", "a:b.1.2", Some("x=1 y=2")),
            ("a:b{#x,y}", "a:b#1,2", Some("x=1 y=2")),
            ("a:b{?x}", "a:b?x=1&x=2", Some("x=2")),
            ("a:b{?x,y}", "a:b?y=1", Some("y=1")),
            ("a:b{?x}", "a:b?x", Some("x=")),
            ("a:b{?x}", "a:b?%78=1", Some("x=1")),
            ("a:b{?x}", "a:b?x=1+1", Some("x=1+1")),
            ("a:b{?x}", "a:b?", Some("")),
            ("a:b{?x}", "a:b#x=1", None),
            ("a(b)[c].:{x}", "a(b)[c].:1", Some("x=1")),
            ("a(b)[c].:{x}", "abc:1", None),
            // A dot is where the extension begins.
            ("a:{x}{.ext}", "a:b.md", Some("ext=md x=b")),
            ("a:{x}{.ext}", "a:b", Some("x=b")),
            ("a:{+x}{.ext}", "a:b/c.tar.gz", Some("ext=gz x=b/c.tar")),
            ("a:{+x}{#part}", "a:b/c#d", Some("part=d x=b/c")),
            ("a:{+x}{?q}", "a:b/c?q=d", Some("q=d x=b/c")),
            ("a:b{/x,y}", "a:b/1", Some("x=1")),
            // What is not given expands to nothing.
            ("a:b{/x}", "a:b", Some("")),
            ("a:b{#x}", "a:b", Some("")),
            ("a:b{.x}", "a:b", Some("")),
        ] {
            assert_eq!(read(showing(template), uri).await.as_deref(), expected, "{template} {uri:?}");
        }
    });
}

#[test]
fn what_is_no_template_is_not_taken_for_one() {
    for template in [
        "a:{++x}",
        "a:{??x}",
        "a:{x",
        "a:x}",
        "a:{{x}}",
        "a:{x}{x}",
        "a:{x,x}",
        "a:{?x}{y}{?x}",
        "a:{}",
        "a:{+}",
        "a:{ x}",
        "a:{x:3}",
        "a:{x*}",
        "a:{;x}",
        "a:{&x}",
        "a:{=x}",
        "a:{!x}",
        "a:{,x}",
        "a:{x,}",
        "a:{x}{?y}{?z}",
    ] {
        assert!(showing(template).check().is_err(), "{template}");
    }
}

#[test]
fn words_are_read_strictly() {
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Words {
        whole: Option<i32>,
        small: Option<u8>,
        big: Option<u128>,
        real: Option<f64>,
        yes: Option<bool>,
        letter: Option<char>,
        text: Option<String>,
        colour: Option<Colour>,
    }
    run(async {
        let server = || {
            named("s").resource_template(
                "a:{?whole,small,big,real,yes,letter,text,colour}",
                |words: Words, _| async move {
                    let Words { whole, small, big, real, yes, letter, text, colour } = words;
                    let shown = format!(
                        "{whole:?} {small:?} {big:?} {real:?} {yes:?} {letter:?} {text:?} {colour:?}"
                    );
                    Ok(shown.split(' ').find(|word| *word != "None").unwrap_or("None").to_owned())
                },
            )
        };
        for (query, expected) in [
            ("whole=1", Some("Some(1)")),
            ("whole=-1", Some("Some(-1)")),
            ("whole=+1", None),
            ("whole=%2B1", None),
            ("whole=%201", None),
            ("whole=1e3", None),
            ("whole=1.0", None),
            ("whole=2147483648", None),
            ("small=256", None),
            ("small=-1", None),
            ("small=0x10", None),
            ("small=", None),
            (
                "big=340282366920938463463374607431768211455",
                Some("Some(340282366920938463463374607431768211455)"),
            ),
            ("real=1e3", Some("Some(1000.0)")),
            ("real=NaN", None),
            ("real=inf", None),
            ("real=1e999", None),
            ("yes=true", Some("Some(true)")),
            ("yes=TRUE", None),
            ("yes=1", None),
            ("yes=", None),
            ("letter=x", Some("Some('x')")),
            ("letter=xy", None),
            ("text=", Some("Some(\"\")")),
            ("text=1", Some("Some(\"1\")")),
            ("colour=red", Some("Some(Red)")),
            ("colour=Red", None),
            ("colour=", None),
            ("other=1", None),
            ("", Some("None")),
        ] {
            assert_eq!(read(server(), &format!("a:?{query}")).await.as_deref(), expected, "{query}");
        }
    });
}

/// A template whose function can never be called is found before anybody calls it, or says why.
#[test]
fn prompts_whose_arguments_cannot_be_filled_in_are_found() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Inner {
        a: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Nested {
        inner: Inner,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Maybe {
        inner: Option<Inner>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct List {
        list: Vec<String>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    enum Either {
        One { a: String },
        Two { b: String },
    }
    async fn fill<A>(_: A, _: Cx) -> Result<String, ToolError> {
        Ok(String::new())
    }
    let checks = [
        ("nested", named("s").prompt("p", fill::<Nested>).check()),
        ("maybe", named("s").prompt("p", fill::<Maybe>).check()),
        ("list", named("s").prompt("p", fill::<List>).check()),
        ("either", named("s").prompt("p", fill::<Either>).check()),
        ("text", named("s").prompt("p", fill::<String>).check()),
        ("number", named("s").prompt("p", fill::<u8>).check()),
    ];
    for (name, check) in checks {
        assert!(check.is_err(), "{name}");
    }
    assert!(named("s").prompt("p", fill::<()>).prompt("q", fill::<Name>).check().is_ok());
}

#[test]
fn a_later_template_is_tried_when_an_earlier_one_cannot_be_read() {
    #[derive(Deserialize)]
    struct Number {
        n: u8,
    }
    run(async {
        let server = named("s")
            .resource_template("a:{n}", |number: Number, _| async move { Ok(format!("number {}", number.n)) })
            .resource_template("a:{name}", |name: Name, _| async move { Ok(format!("name {}", name.name)) });
        assert_eq!(read(server, "a:x").await.as_deref(), Some("name x"));
    });
}

// Lists.

#[test]
fn all_lists_have_pages_and_cursors_of_their_own() {
    run(async {
        let limits = papertape::Limits { page: 2, ..papertape::Limits::default() };
        let mut server = named("s").limits(limits);
        for n in 0..5 {
            server = server
                .resource(format!("r:{n}"), |_| async { Ok("") })
                .resource_template(format!("t{n}:{{x}}").as_str(), |_: BTreeMap<String, String>, _| async {
                    Ok("")
                })
                .prompt(format!("p{n}"), |_: (), _| async { Ok(String::new()) });
        }
        let mut peer = Peer::connect(server);
        let mut cursors = Vec::new();
        for (method, member) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let mut seen = Vec::new();
            let mut params = json!({});
            loop {
                let reply = one(&mut peer, modern("{}", 1, method, params)).await;
                let result = &reply["result"];
                assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
                seen.extend(result[member].as_array().unwrap().iter().map(|item| item["name"].clone()));
                let Some(next) = result.get("nextCursor") else { break };
                cursors.push((method, next.clone()));
                params = json!({"cursor": next});
            }
            assert_eq!(seen.len(), 5, "{seen:?}");
        }
        for (from, cursor) in cursors {
            for to in ["resources/list", "resources/templates/list", "prompts/list"] {
                let reply = one(&mut peer, modern("{}", 1, to, json!({"cursor": cursor}))).await;
                assert_eq!(reply["result"].is_object(), from == to, "a cursor of {from} for {to}: {reply}");
            }
        }
    });
}

#[test]
fn what_is_announced_is_what_is_told() {
    run(async {
        for revision in crate::peer::LEGACY {
            for (tools, resources, prompts) in
                [(true, false, false), (false, true, false), (false, false, true)]
            {
                let mut server = named("s")
                    .tool("x", hello)
                    .resource("x:y", |_| async { Ok("") })
                    .prompt("p", |_: (), _| async { Ok(String::new()) });
                let handles = (
                    tools.then(|| server.tools()),
                    resources.then(|| server.resources()),
                    prompts.then(|| server.prompts()),
                );
                let mut peer = Peer::connect(server);
                let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
                let reply = one(&mut peer, plain(0, "initialize", &params)).await;
                let offered = &reply["result"]["capabilities"];
                assert_eq!(offered["tools"]["listChanged"], tools);
                assert_eq!(offered["resources"]["listChanged"], resources);
                assert_eq!(offered["resources"]["subscribe"], resources);
                assert_eq!(offered["prompts"]["listChanged"], prompts);
                let change = |handles: &(
                    Option<papertape::Tools>,
                    Option<papertape::Resources>,
                    Option<papertape::Prompts>,
                )| {
                    if let Some(tools) = &handles.0 {
                        assert!(tools.remove("x"));
                        tools.add("x", hello).unwrap();
                    }
                    if let Some(resources) = &handles.1 {
                        assert!(resources.remove("x:y"));
                        resources.add("x:y", |_| async { Ok("") }).unwrap();
                        resources.updated("x:y");
                    }
                    if let Some(prompts) = &handles.2 {
                        assert!(prompts.remove("p"));
                        prompts.add("p", |_: (), _| async { Ok(String::new()) }).unwrap();
                    }
                };
                // Not before the client is ready, once afterwards.
                change(&handles);
                assert!(peer.settle().await.is_empty());
                peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
                change(&handles);
                let told = messages(&peer.settle().await);
                let method = match (tools, resources) {
                    (true, _) => "notifications/tools/list_changed",
                    (_, true) => "notifications/resources/list_changed",
                    _ => "notifications/prompts/list_changed",
                };
                assert_eq!(told.len(), 1, "{told:?}");
                assert_eq!(told[0]["method"], method);
            }
        }
    });
}

#[test]
fn a_change_of_a_part_concerns_who_watches_the_whole() {
    run(async {
        for (watched, changed, concerned) in [
            ("x:a", "x:a", true),
            ("x:a", "x:a/b", true),
            ("x:a/", "x:a/b", true),
            ("x:a/b", "x:a", false),
            ("x:a", "x:ab", false),
            ("x:a", "x:a?q=1", false),
            ("x:a", "X:a", false),
        ] {
            let mut server =
                named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
            let resources = server.resources();
            let mut peer = legacy(server, "2025-11-25", "{}").await;
            one(&mut peer, plain(1, "resources/subscribe", &json!({"uri": watched}))).await;
            let wanted = json!({"notifications": {"resourceSubscriptions": [watched]}});
            one(&mut peer, modern("{}", 2, "subscriptions/listen", wanted)).await;
            resources.updated(changed);
            let told = messages(&peer.settle().await);
            assert_eq!(told.len(), if concerned { 2 } else { 0 }, "{watched} {changed}: {told:?}");
            assert!(told.iter().all(|told| told["params"]["uri"] == changed));
            one(&mut peer, plain(3, "resources/unsubscribe", &json!({"uri": watched}))).await;
            peer.line(crate::peer::cancel("2")).await;
            resources.updated(changed);
            assert!(peer.settle().await.is_empty());
        }
    });
}

// Races.

/// Answer and cancellation on their way at once, ten thousand times: one reply at most, and every one is the call's own.
#[test]
fn ten_thousand_races_of_answer_and_cancellation() {
    run_threads(async {
        let server = named("s").tool("ask", |_: Anything, cx: Cx| async move {
            let answer = cx.ask("who", Form::<Name>::new("?"))?;
            tokio::task::yield_now().await;
            Ok(answer.accepted().map_or(String::new(), |answer| answer.name))
        });
        let mut peer = Peer::connect(server);
        let params = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "t", "version": "1"},
            "capabilities": {"elicitation": {"form": {}}}});
        peer.write(plain(0, "initialize", &params) + "\n").await;
        peer.next().await;
        peer.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await;
        let mut answered = 0;
        for round in 1..=10_000_u64 {
            peer.write(plain(round, "tools/call", &json!({"name": "ask"})) + "\n").await;
            let asked = peer.next().await;
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(&round.to_string())})
                .to_string();
            let cancel = crate::peer::cancel(&round.to_string());
            let lines = match round % 3 {
                0 => [answer, cancel],
                1 => [cancel.clone(), answer],
                _ => [answer.clone(), answer + "\n" + &cancel],
            };
            peer.write(lines.join("\n") + "\n" + &plain(1 << 40, "ping", &json!({})) + "\n").await;
            let mut replies = 0;
            loop {
                let told = peer.next().await;
                if told["id"] == json!(1_u64 << 40) {
                    break;
                }
                if told["method"] == "notifications/cancelled" {
                    assert_eq!(told["params"]["requestId"], asked["id"]);
                    continue;
                }
                // One that was under way when the ping was answered comes in the next round.
                assert_eq!(told["result"]["content"][0]["text"], told["id"].to_string(), "{told}");
                replies += 1;
            }
            assert!(replies <= 1, "{replies} replies in round {round}");
            answered += replies;
        }
        assert!(answered <= 10_000);
        let last = messages(&peer.end().await);
        assert!(last.iter().all(|told| told["method"] == "notifications/cancelled"), "{last:?}");
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
fn questions_within_a_batch_go_beside_it() {
    run(async {
        let server = || {
            named("s").tool("hello", hello).tool("roots", |_: Anything, cx: Cx| async move {
                Ok(cx.ask("roots", papertape::Roots)?.len().to_string())
            })
        };
        let batch = |ids: [u64; 3]| {
            let [a, b, c] = ids;
            let calls = [
                plain(a, "tools/call", &json!({"name": "roots"})),
                plain(b, "tools/call", &json!({"name": "hello"})),
                plain(c, "tools/call", &json!({"name": "roots"})),
            ];
            format!("[{}]", calls.join(","))
        };
        let roots = json!({"roots": [{"uri": "file:///x"}]});
        // Answered in a batch of its own, in the other order.
        let mut peer = legacy(server(), "2025-03-26", r#"{"roots":{}}"#).await;
        let asked = peer.line(batch([1, 2, 3])).await;
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert!(asked.iter().all(|asked| asked["method"] == "roots/list"));
        let answers: Vec<Value> = asked
            .iter()
            .rev()
            .map(|asked| json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots}))
            .collect();
        let reply = one(&mut peer, Value::from(answers).to_string()).await;
        let ids: Vec<&Value> = reply.as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
        assert_eq!(ids, [1, 2, 3], "{reply}");
        // One is taken back, the other loses its client.
        peer.line(batch([4, 5, 6])).await;
        let taken_back = one(&mut peer, crate::peer::cancel("4")).await;
        assert_eq!(taken_back["method"], "notifications/cancelled");
        let last = messages(&peer.end().await);
        assert_eq!(last.len(), 1, "{last:?}");
        let ids: Vec<&Value> = last[0].as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
        assert_eq!(ids, [5, 6], "{last:?}");
    });
}

#[test]
fn subscriptions_are_bounded() {
    run(async {
        let mut server =
            named("s").resource_template("x:{n}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let _resources = server.resources();
        let mut peer = legacy(server, "2025-11-25", "{}").await;
        let lines: String = (1..=10_000)
            .map(|n| plain(n, "resources/subscribe", &json!({"uri": format!("x:{n}")})) + "\n")
            .collect();
        let replies = messages(&peer.send(lines).await);
        assert_eq!(replies.len(), 10_000);
        assert_eq!(replies.iter().filter(|reply| reply["result"].is_object()).count(), 100);
        let wanted = json!({"notifications": {"resourcesListChanged": true}});
        let lines: String =
            (1..=10_000).map(|n| modern("{}", n, "subscriptions/listen", wanted.clone()) + "\n").collect();
        let replies = messages(&peer.send(lines).await);
        assert_eq!(replies.len(), 10_000);
        assert_eq!(replies.iter().filter(|reply| reply["id"].is_null()).count(), 100);
    });
}

#[test]
fn a_huge_state_is_only_a_wrong_one() {
    run(async {
        let mut peer = Peer::connect(named("s").tool("ask", ask_name));
        for state in ["A".repeat(8 << 20), "é".repeat(4 << 20), "=".repeat(1000), "AQ".into(), "AQ==".into()]
        {
            let params =
                json!({"name": "ask", "requestState": state, "inputResponses": {"who": accept("x")}});
            assert_eq!(code(&mut peer, modern(FORM, 1, "tools/call", params)).await, -32602);
        }
    });
}

/// What a client says comes back with every further question: it must fit, or be refused in words.
#[test]
fn a_state_is_never_longer_than_what_is_read() {
    run(async {
        let limits = papertape::Limits { frame: 1 << 20, ..papertape::Limits::default() };
        let mut peer = Peer::connect(named("s").limits(limits).tool("quiz", quiz));
        let asked = one(&mut peer, modern(FORM, 1, "tools/call", json!({"name": "quiz"}))).await;
        let params = json!({"name": "quiz", "requestState": asked["result"]["requestState"],
            "inputResponses": {"q0": accept(&"x".repeat(800 << 10))}});
        let reply = one(&mut peer, modern(FORM, 2, "tools/call", params)).await;
        if let Some(state) = reply["result"]["requestState"].as_str() {
            assert!(state.len() < 1 << 20, "{} bytes, which no request can carry", state.len());
        }
    });
}

#[test]
fn a_client_that_never_answers_is_not_waited_for() {
    run(async {
        let limits = papertape::Limits { answer: Duration::from_secs(5), ..papertape::Limits::default() };
        let server = named("s")
            .limits(limits)
            .tool("form", ask_name)
            .tool("roots", |_: Anything, cx: Cx| async move {
                Ok(format!("{:?}", cx.ask("roots", papertape::Roots)?))
            });
        let mut peer = legacy(server, "2025-11-25", ALL).await;
        for (id, tool) in [(1, "form"), (2, "roots")] {
            let asked = one(&mut peer, plain(id, "tools/call", &json!({"name": tool}))).await;
            assert!(peer.within(Duration::from_secs(4)).await.is_empty());
            let told = messages(&peer.within(Duration::from_secs(2)).await);
            assert_eq!(told.len(), 2, "{told:?}");
            assert_eq!(told[0]["method"], "notifications/cancelled");
            assert_eq!(told[0]["params"]["requestId"], asked["id"]);
            assert_eq!(told[1]["id"], id);
            let closed = told[1]["result"]["content"][0]["text"] == "Cancelled";
            assert!(closed || told[1]["result"]["isError"] == true, "{told:?}");
            // Too late.
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")});
            assert!(peer.line(answer.to_string()).await.is_empty());
        }
    });
}

#[test]
fn responses_to_nothing_are_nothing() {
    run(async {
        let mut peer = legacy(named("s").tool("ask", ask_name), "2025-11-25", FORM).await;
        let asked = one(&mut peer, plain(5, "tools/call", &json!({"name": "ask"}))).await;
        let id = asked["id"].as_i64().unwrap();
        for other in
            [json!(id + 1), json!(0), json!(-1), json!(5), json!(id.to_string()), json!(""), json!(null)]
        {
            let answer = json!({"jsonrpc": "2.0", "id": other, "result": accept("x")});
            let told = peer.line(answer.to_string()).await;
            assert!(told.iter().all(|told| told["id"] != 5), "{other}: {told:?}");
        }
        // By value, as all ids are.
        let reply = peer.line(format!(r#"{{"jsonrpc":"2.0","id":{id}.0,"result":{}}}"#, accept("x"))).await;
        assert_eq!(reply[0]["result"]["content"][0]["text"], "x", "{reply:?}");
    });
}

/// Questions asked at once are told apart.
#[test]
fn calls_that_ask_at_once_get_their_own_answers() {
    run(async {
        let tool = Tool::new("ask").description("Ask.").input_schema(json!({"type": "object"}));
        let server = named("s").raw_tool(tool, |args: Value, cx: Cx| async move {
            let answer = cx.ask("who", Form::<Name>::new(args["n"].to_string()))?;
            Ok(answer.accepted().map_or(String::new(), |answer| answer.name))
        });
        let mut peer = legacy(server, "2025-11-25", FORM).await;
        let call = |id: u64| plain(id, "tools/call", &json!({"name": "ask", "arguments": {"n": id}}));
        let asked = peer.line((1..=50).map(call).collect::<Vec<_>>().join("\n")).await;
        assert_eq!(asked.len(), 50);
        let answer = |asked: &Value| {
            let name = asked["params"]["message"].as_str().unwrap();
            json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(name)}).to_string()
        };
        let replies = peer.line(asked.iter().rev().map(answer).collect::<Vec<_>>().join("\n")).await;
        assert_eq!(replies.len(), 50);
        for reply in replies {
            assert_eq!(reply["result"]["content"][0]["text"], reply["id"].to_string());
        }
    });
}

#[test]
fn a_state_of_another_server_with_the_same_key_is_foreign() {
    run(async {
        let server = |name| named(name).state_key([7; 32], Duration::from_secs(60)).tool("ask", ask_name);
        let mut one_server = Peer::connect(server("one"));
        let mut other = Peer::connect(server("other"));
        let asked = one(&mut one_server, modern(FORM, 1, "tools/call", json!({"name": "ask"}))).await;
        let params = json!({"name": "ask", "requestState": asked["result"]["requestState"],
            "inputResponses": {"who": accept("x")}});
        assert_eq!(code(&mut other, modern(FORM, 1, "tools/call", params)).await, -32602);
    });
}

/// Contents that no client could read are the author's mistake, and not the client's.
#[test]
fn contents_that_are_nothing_are_not_sent() {
    use papertape::protocol::ResourceContents;
    run(async {
        let server = named("s").resource("x:y", |_| async { Ok(ResourceContents::default()) }).resource(
            "x:both",
            |_| async {
                let both = Some(String::new());
                Ok(ResourceContents {
                    uri: "x:both".into(),
                    text: both.clone(),
                    blob: both,
                    ..ResourceContents::default()
                })
            },
        );
        let mut peer = Peer::connect(server);
        for uri in ["x:y", "x:both"] {
            assert_eq!(code(&mut peer, modern("{}", 1, "resources/read", json!({"uri": uri}))).await, -32603);
        }
    });
}

#[test]
fn what_is_shown_of_a_bad_uri_is_short() {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "never read")]
    struct Number {
        n: u8,
    }
    run(async {
        let mut server = named("s");
        for template in ["a:{n}", "{+s}:{n}", "a{+s}{n}", "{+s}{n}"] {
            server = server.resource_template(template, |_: Number, _| async { Ok("") });
        }
        let server = server.prompt("p", |_: NumberOf, _| async { Ok(String::new()) });
        let mut peer = Peer::connect(server);
        let uri = format!("a:{}", "\u{1}".repeat(4_000));
        let reply = one(&mut peer, modern("{}", 1, "resources/read", json!({"uri": uri}))).await;
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.chars().count() <= 500, "{} characters", message.chars().count());
        let params = json!({"name": "p", "arguments": {"n": "x".repeat(100_000)}});
        let reply = one(&mut peer, modern("{}", 1, "prompts/get", params)).await;
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.chars().count() <= 500, "{} characters", message.chars().count());
    });
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "never read")]
struct NumberOf {
    n: u8,
}

/// Absent and null are the same, for what need not be there.
#[test]
fn null_is_as_good_as_absent() {
    run(async {
        let mut peer = Peer::connect(rich());
        let reference = json!({"type": "ref/resource", "uri": "z:{a}"});
        for (method, params) in [
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "a", "value": ""}, "context": null}),
            ),
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "a", "value": ""}, "context": {"arguments": null}}),
            ),
            ("prompts/get", json!({"name": "p", "arguments": null})),
            ("tools/call", json!({"name": "t", "arguments": null})),
            ("resources/list", json!({"cursor": null})),
        ] {
            let replies = peer.line(modern("{}", 1, method, params.clone())).await;
            assert!(replies.last().unwrap()["result"].is_object(), "{method} {params}: {replies:?}");
        }
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

#[test]
fn what_a_mounted_server_says_is_said() {
    run(async {
        let mounted = named("mounted").instructions("Mounted.").logging().tool(
            "log",
            |_: Anything, cx: Cx| async move {
                cx.log(papertape::LogLevel::Error, "x");
                Ok("")
            },
        );
        let server = named("outer").instructions("Outer.").mount("m", mounted);
        let mut peer = Peer::connect(server);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let reply = one(&mut peer, plain(0, "initialize", &params)).await;
        assert_eq!(reply["result"]["instructions"], "Outer.\n\nMounted.");
        assert!(reply["result"]["capabilities"]["logging"].is_object());
        peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        one(&mut peer, plain(1, "logging/setLevel", &json!({"level": "error"}))).await;
        let told = peer.line(plain(2, "tools/call", &json!({"name": "m_log"}))).await;
        assert_eq!(told[0]["params"], json!({"level": "error", "logger": "m_log", "data": "x"}));
    });
}

/// A list that changes all the time is still a list, and every page of it is one of some moment.
#[test]
fn lists_that_change_while_they_are_read() {
    run_threads(async {
        let mut server = named("s").limits(papertape::Limits { page: 10, ..papertape::Limits::default() });
        let resources = server.resources();
        for n in 0..100 {
            resources.add(format!("x:{n}"), |_| async { Ok("") }).unwrap();
        }
        let mut peer = Peer::connect(server);
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let changing = std::thread::spawn(move || {
            let mut changes = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                assert!(resources.remove("x:50"));
                resources.add("x:50", |_| async { Ok("") }).unwrap();
                changes += 1;
                std::thread::sleep(Duration::from_micros(200));
            }
            changes
        });
        let mut cursor = Value::Null;
        for id in 0..1_000 {
            peer.write(modern("{}", id, "resources/list", json!({"cursor": cursor})) + "\n").await;
            let reply = peer.next().await;
            match reply["result"]["resources"].as_array() {
                Some(page) => assert!((9..=10).contains(&page.len()), "{reply}"),
                None => assert_eq!(reply["error"]["code"], -32602, "{reply}"),
            }
            cursor = reply["result"]["nextCursor"].clone();
        }
        done.store(true, Ordering::Relaxed);
        assert!(changing.join().unwrap() > 0);
    });
}

/// S-30: an id of 10,000 characters is one, whatever they are, and one that is too long is still told by its id.
#[test]
fn ids_of_ten_thousand_characters_are_ids() {
    run(async {
        let mut peer = legacy(named("s").tool("hello", hello), "2025-11-25", "{}").await;
        for id in ["i".repeat(10_000), "é".repeat(10_000), "漢".repeat(10_000)] {
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
            let reply = one(&mut peer, line).await;
            assert!(reply["id"] == id && reply["result"].is_object(), "{:.200}", reply.to_string());
        }
    });
}

/// Not even before the client knows of it.
#[test]
fn nothing_is_told_of_a_task_on_threads_either() {
    run_threads(async {
        let server = named("s").logging().tool(long("chatty"), |_: Anything, cx: Cx| async move {
            cx.log(papertape::LogLevel::Emergency, "fire");
            cx.progress(1.0, 2.0, None);
            Ok("")
        });
        let mut peer = Peer::connect(server);
        let params = json!({"name": "chatty", "_meta": {"progressToken": "p",
            "io.modelcontextprotocol/logLevel": "debug"}});
        for id in 0..900 {
            peer.write(modern(TASKS, id, "tools/call", params.clone()) + "\n").await;
            let told = peer.next().await;
            assert_eq!(told["id"], id, "{told}");
        }
    });
}
