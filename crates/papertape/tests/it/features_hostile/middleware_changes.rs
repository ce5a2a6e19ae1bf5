//! What middleware sees, changes and replaces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use papertape::protocol::{CallToolResult, Completion, PromptResult};
use papertape::server::{Outcome, Prompt, Tool};
use papertape::{Cx, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Name, legacy, modern, named, one, plain};
use crate::peer::{MODERN, Peer, run};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: u128,
    b: i64,
}

/// Requests of one revision.
struct Requests {
    peer: Peer,
    revision: &'static str,
    id: u64,
}

impl Requests {
    async fn open(server: papertape::Server, revision: &'static str) -> Self {
        let peer =
            if revision == MODERN { Peer::connect(server) } else { legacy(server, revision, "{}").await };
        Self { peer, revision, id: 0 }
    }

    async fn send(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let line = match self.revision {
            MODERN => modern("{}", self.id, method, params),
            _ => plain(self.id, method, &params),
        };
        one(&mut self.peer, line).await
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.send("tools/call", json!({"name": name, "arguments": arguments})).await
    }
}

#[test]
fn arguments_can_be_changed_everywhere() {
    let prompt = || Prompt::new("greet").complete("name", |so_far| async move { Ok(vec![so_far.value]) });
    let server = || {
        named("s")
            .tool("hello", async |args: Name, _: Cx| Ok(format!("tool {}", args.name)))
            .resource_template("hello:{name}", async |args: Name, _: Cx| Ok(format!("read {}", args.name)))
            .prompt(prompt(), async |args: Name, _: Cx| Ok(format!("prompt {}", args.name)))
            .middleware(|mut request, next| async move {
                assert!(request.principal().is_none() && !request.cx().cancelled());
                match request.method() {
                    "completion/complete" => {
                        assert_eq!(request.arguments()["argument"]["name"], "name");
                        request.arguments_mut()["argument"]["value"] = json!("Max");
                    }
                    _ => {
                        assert_eq!(request.arguments()["name"], "max");
                        request.set_arguments(json!({"name": "Max"}));
                    }
                }
                next.run(request).await
            })
    };
    run(async {
        for revision in REVISIONS {
            let mut client = Requests::open(server(), revision).await;
            let reply = client.call("hello", json!({"name": "max"})).await;
            assert_eq!(reply["result"]["content"][0]["text"], "tool Max", "{reply}");
            let reply = client.send("resources/read", json!({"uri": "hello:max"})).await;
            assert_eq!(reply["result"]["contents"][0]["text"], "read Max", "{reply}");
            let params = json!({"name": "greet", "arguments": {"name": "max"}});
            let reply = client.send("prompts/get", params).await;
            assert_eq!(reply["result"]["messages"][0]["content"]["text"], "prompt Max", "{reply}");
            let params = json!({"ref": {"type": "ref/prompt", "name": "greet"},
                "argument": {"name": "name", "value": "max"}});
            let reply = client.send("completion/complete", params).await;
            assert_eq!(reply["result"]["completion"]["values"], json!(["Max"]), "{reply}");
        }
    });
}

#[test]
fn what_middleware_makes_invalid_is_refused_like_what_the_client_sends() {
    let plain = || {
        named("s")
            .tool("sum", async |args: Sum, _: Cx| Ok((args.a + args.b.unsigned_abs() as u128).to_string()))
            .resource_template("n:{a}/{b}", async |args: Sum, _: Cx| Ok(args.a.to_string()))
            .prompt("greet", async |args: Name, _: Cx| Ok(args.name))
    };
    let bad = json!({"a": "x"});
    run(async {
        for revision in REVISIONS {
            let mut without = Requests::open(plain(), revision).await;
            let spoilt = plain().middleware(|mut request, next| {
                request.set_arguments(json!({"a": "x"}));
                next.run(request)
            });
            let mut with = Requests::open(spoilt, revision).await;
            let expected = without.call("sum", bad.clone()).await;
            assert_eq!(with.call("sum", json!({"a": 1, "b": 1})).await, expected, "{revision}");
            let params = |arguments| json!({"name": "greet", "arguments": arguments});
            let expected = without.send("prompts/get", params(bad.clone())).await;
            assert_eq!(with.send("prompts/get", params(json!({"name": "x"}))).await, expected, "{revision}");
            let reply = with.send("resources/read", json!({"uri": "n:1/2"})).await;
            let code = if revision == MODERN { -32602 } else { -32002 };
            assert_eq!(reply["error"]["code"], code, "{reply}");
        }
    });
}

#[test]
fn large_numbers_pass_middleware_that_changes_others() {
    let large = u128::MAX.to_string();
    run(async {
        let server = named("s")
            .tool("sum", async |args: Sum, _: Cx| Ok(format!("{} {}", args.a, args.b)))
            .middleware(|mut request, next| async move {
                request.arguments_mut()["b"] = json!(7);
                next.run(request).await
            });
        let mut peer = Peer::connect(server);
        let line = modern("{}", 1, "tools/call", json!({"name": "sum", "arguments": {"a": 1, "b": 2}}));
        let reply = one(&mut peer, line.replace("\"a\":1", &format!("\"a\":{large}"))).await;
        assert_eq!(reply["result"]["content"][0]["text"], format!("{large} 7"), "{reply}");
    });
}

#[test]
fn large_numbers_in_a_list_pass_middleware_that_changes_others() {
    #[derive(Deserialize, JsonSchema)]
    struct Numbers {
        list: Vec<u128>,
    }
    let large = u128::MAX.to_string();
    run(async {
        for (change, expected) in [
            ("push", format!("[{large}, 2, {large}, 7]")),
            ("first", format!("[2, {large}]")),
            ("insert", format!("[7, {large}, 2, {large}]")),
            ("replace", format!("[{large}, 7, {large}]")),
        ] {
            let server = named("s")
                .tool("sum", async |args: Numbers, _: Cx| Ok(format!("{:?}", args.list)))
                .middleware(move |mut request, next| async move {
                    let list = request.arguments_mut()["list"].as_array_mut().unwrap();
                    match change {
                        "push" => list.push(json!(7)),
                        "first" => drop(list.remove(0)),
                        "insert" => list.insert(0, json!(7)),
                        _ => list[1] = json!(7),
                    }
                    next.run(request).await
                });
            let mut peer = Peer::connect(server);
            let arguments = json!({"list": ["LARGE", 2, "LARGE"]});
            let line = modern("{}", 1, "tools/call", json!({"name": "sum", "arguments": arguments}));
            let reply = one(&mut peer, line.replace("\"LARGE\"", &large)).await;
            assert_eq!(reply["result"]["content"][0]["text"], expected, "{change}: {reply}");
        }
    });
}

#[test]
fn a_completion_has_a_hundred_values_at_most_whoever_made_it() {
    run(async {
        let prompt = Prompt::new("greet").complete("name", |_| async { Ok(vec!["a".to_owned()]) });
        let server = named("s").prompt(prompt, async |args: Name, _: Cx| Ok(args.name)).middleware(
            |request, next| async move {
                let mut outcome = next.run(request).await?;
                if let Some(completion) = outcome.as_completion_mut() {
                    completion.values.extend((0..150).map(|number| number.to_string()));
                }
                Ok(outcome)
            },
        );
        let mut client = Requests::open(server, MODERN).await;
        let params = json!({"ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "name", "value": ""}});
        let reply = client.send("completion/complete", params).await;
        let completion = &reply["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), 100, "{reply}");
        assert_eq!(completion["hasMore"], true, "{reply}");
    });
}

#[test]
fn results_can_be_changed_kept_and_replaced() {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let cache: Arc<Mutex<HashMap<String, Outcome>>> = Arc::default();
    let server = named("s")
        .tool("count", move |args: Name, _: Cx| {
            let mut calls = counted.lock().unwrap();
            *calls += 1;
            let text = format!("{} {calls}", args.name);
            async move { Ok(text) }
        })
        .prompt("greet", async |args: Name, _: Cx| Ok(args.name))
        .middleware(|request, next| async move {
            let mut outcome = next.run(request).await?;
            if let Some(result) = outcome.as_tool_mut() {
                result.meta = Some([("seen".to_owned(), json!(true))].into_iter().collect());
            }
            Ok(outcome)
        })
        .middleware(move |request, next| {
            let cache = Arc::clone(&cache);
            async move {
                let key = format!("{} {}", request.name(), request.arguments());
                if let Some(kept) = cache.lock().unwrap().get(&key) {
                    return Ok(kept.clone());
                }
                let outcome = next.run(request).await?;
                cache.lock().unwrap().insert(key, outcome.clone());
                Ok(outcome)
            }
        })
        .middleware(|request, next| async move {
            match (request.kind(), request.arguments()["name"].as_str()) {
                ("tool", Some("replaced")) => Ok(CallToolResult::failed("replaced").into()),
                ("tool", Some("wrong kind")) => Ok(PromptResult::default().into()),
                ("prompt", _) => Ok(Outcome::from(Completion::default())),
                ("tool", Some("refused")) => Err(ToolError::refused("no")),
                // Once more, as if the first had failed.
                ("tool", Some("twice")) => {
                    let (again, once_more) = (next.clone(), request.clone());
                    next.run(request).await?;
                    again.run(once_more).await
                }
                _ => next.run(request).await,
            }
        });
    run(async {
        let mut client = Requests::open(server, MODERN).await;
        for (name, text) in [("a", "a 1"), ("a", "a 1"), ("b", "b 2"), ("a", "a 1"), ("twice", "twice 4")] {
            let reply = client.call("count", json!({"name": name})).await;
            assert_eq!(reply["result"]["content"][0]["text"], text, "{reply}");
            assert_eq!(reply["result"]["_meta"]["seen"], true, "{reply}");
        }
        assert_eq!(*calls.lock().unwrap(), 4);
        let reply = client.call("count", json!({"name": "replaced"})).await;
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        let reply = client.call("count", json!({"name": "refused"})).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let reply = client.call("count", json!({"name": "wrong kind"})).await;
        assert_eq!(reply["error"]["code"], -32603, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("another kind"), "{reply}");
        let reply = client.send("prompts/get", json!({"name": "greet", "arguments": {"name": "x"}})).await;
        assert_eq!(reply["error"]["code"], -32603, "{reply}");
    });
}

#[test]
fn a_task_gets_the_arguments_that_middleware_has_changed() {
    const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    run(async {
        let server = named("s")
            .tool(Tool::new("work").long_running(), async |args: Name, _: Cx| Ok(args.name))
            .middleware(|mut request, next| {
                request.arguments_mut()["name"] = json!("changed");
                next.run(request)
            });
        let mut peer = Peer::connect(server);
        let call = |id, arguments: Value| {
            modern(TASKS, id, "tools/call", json!({"name": "work", "arguments": arguments}))
        };
        let reply = one(&mut peer, call(1, json!({"name": "sent"}))).await;
        let task = reply["result"]["taskId"].clone();
        let reply = one(&mut peer, modern(TASKS, 2, "tasks/get", json!({"taskId": task}))).await;
        assert_eq!(reply["result"]["result"]["content"][0]["text"], "changed", "{reply}");
        // No task for arguments that were invalid from the start.
        let reply = one(&mut peer, call(3, json!({"name": 1}))).await;
        assert_eq!(
            (&reply["result"]["isError"], reply["result"].get("taskId")),
            (&json!(true), None),
            "{reply}"
        );
    });
}
