//! Resources, prompts, completion, elicitation, logs, tasks: our own client and our own server, in every revision.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{Change, ClientOptions, ErrorKind, SubscriptionFilter};
use papertape::protocol::Content;
use papertape::protocol::{ElicitResult, Reference, Revision, Role, Root, SamplingResult};
use papertape::server::Resource;
use papertape::{Client, Server, ToolError, memory};
use serde_json::{Map, Value, json};

use crate::full_server;
use crate::peer::run;

fn able(options: ClientOptions) -> ClientOptions {
    options
        .on_form(|form| async move {
            assert_eq!(form.message, "Who are you?");
            let content = json!({"name": "Ada", "age": 36, "vegetarian": true, "colour": "green"});
            ElicitResult::accept(content.as_object().cloned().unwrap())
        })
        .on_url(|page| async move {
            assert_eq!(page.url, "https://example.com/in");
            ElicitResult::visit()
        })
        .on_sampling(|_| async {
            let content = json!({"type": "text", "text": "said"});
            Ok(SamplingResult::new(Role::Assistant, content, "parrot"))
        })
        .roots(vec![Root::new("file:///home")])
}

async fn open(server: Server, revision: Revision, options: ClientOptions) -> Client {
    memory::connect_with(server, options.revision(revision)).await.unwrap()
}

async fn call(client: &Client, tool: &str, arguments: Value) -> (String, bool) {
    let result = client.call(tool, arguments).await.unwrap();
    match &result.content[..] {
        [Content::Text(text)] => (text.text.clone(), result.is_error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_handler_elicits_in_every_revision_with_elicitation() {
    run(async {
        for revision in Revision::ALL {
            let client = open(full_server::server(), revision, able(ClientOptions::new())).await;
            let greeted = call(&client, "greet", json!({"greeting": "Hello"})).await;
            if revision.has_elicitation() {
                assert_eq!(
                    greeted,
                    ("Hello Ada Some(36) true Some(Green) 7".to_owned(), false),
                    "{revision}"
                );
            } else {
                assert!(
                    greeted.1 && greeted.0.contains("elicitation in form mode"),
                    "{revision}: {greeted:?}"
                );
            }
            assert_eq!(call(&client, "consult", json!({})).await, ("said 1".to_owned(), false), "{revision}");
            let visited = call(&client, "sign_in", json!({})).await;
            assert_eq!(visited.1, !revision.elicitation_has_modes(), "{revision}: {visited:?}");
            client.close().await;
        }
    });
}

#[test]
fn a_client_without_elicitation_gets_the_missing_capability() {
    run(async {
        for revision in Revision::ALL {
            let client = open(full_server::server(), revision, ClientOptions::new()).await;
            let result = client.call("greet", json!({"greeting": "Hello"})).await;
            if revision.opens_with_handshake() {
                assert!(result.unwrap().is_error);
                continue;
            }
            let error = result.unwrap_err();
            let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error}") };
            assert_eq!(rpc.code, -32021);
            assert_eq!(rpc.data, Some(json!({"requiredCapabilities": {"elicitation": {"form": {}}}})));
        }
    });
}

#[test]
fn an_elicitation_can_be_declined_or_cancelled() {
    run(async {
        for (answer, said) in [(ElicitResult::decline(), "a shy guest"), (ElicitResult::cancel(), "no guest")]
        {
            for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
                let answer = answer.clone();
                let options = ClientOptions::new().on_form(move |_| {
                    let answer = answer.clone();
                    async move { answer }
                });
                let client = open(full_server::server(), revision, options).await;
                assert_eq!(call(&client, "greet", json!({"greeting": ""})).await.0, said);
            }
        }
    });
}

#[test]
fn the_time_that_a_user_takes_is_not_the_servers() {
    run(async {
        for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
            let options = ClientOptions::new().on_form(|_| async {
                // Time is paused: only the clock waits for this.
                tokio::time::sleep(Duration::from_secs(500)).await;
                ElicitResult::decline()
            });
            let client = open(full_server::server(), revision, options).await;
            assert_eq!(call(&client, "greet", json!({"greeting": ""})).await.0, "a shy guest");
            let options = ClientOptions::new().on_form(|_| std::future::pending());
            let client = open(full_server::server(), revision, options).await;
            let result = client.call("greet", json!({"greeting": ""})).await;
            if revision.opens_with_handshake() {
                assert_eq!(result.unwrap().content, [Content::text("no guest")]);
            } else {
                assert!(matches!(result.unwrap_err().kind(), ErrorKind::HandlerFailed(_)));
            }
        }
    });
}

/// Asks for input and gives what the server wants handed back.
async fn state_of(client: &Client, arguments: &Value) -> String {
    let params = json!({"name": "greet", "arguments": arguments, "_meta": declared()});
    let result = client.request("tools/call", params).await.unwrap();
    assert_eq!(result["resultType"], "input_required", "{result}");
    result["requestState"].as_str().unwrap().to_owned()
}

fn declared() -> Value {
    json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}})
}

async fn hand_back(client: &Client, tool: &str, arguments: &Value, state: &str) -> Result<Value, i64> {
    let params = json!({
        "name": tool, "arguments": arguments, "_meta": declared(), "requestState": state,
        "inputResponses": {"guest": {"action": "accept", "content": {"name": "Ada"}}},
    });
    client.request("tools/call", params).await.map_err(|error| match error.kind() {
        ErrorKind::Rpc(error) => error.code,
        other => panic!("{other}"),
    })
}

// M-15
#[test]
fn request_state_is_bound_to_its_request_and_state_key() {
    run(async {
        let client = open(full_server::server(), Revision::MODERN, ClientOptions::new()).await;
        let arguments = json!({"greeting": "Hi", "more": {"b": 1, "a": 2}});
        let state = state_of(&client, &arguments).await;
        let replica = open(full_server::server(), Revision::MODERN, ClientOptions::new()).await;
        // The same arguments, whatever the order they are written in.
        let reversed = json!({"more": {"a": 2, "b": 1}, "greeting": "Hi"});
        assert_ne!(reversed.to_string(), arguments.to_string());
        let result = hand_back(&replica, "greet", &reversed, &state).await.unwrap();
        assert_eq!(result["content"][0]["text"], "Hi Ada None false None 7");
        // For another tool, for other arguments, changed, cut, made up.
        assert_eq!(hand_back(&client, "slowly", &arguments, &state).await, Err(-32602));
        assert_eq!(hand_back(&client, "greet", &json!({"greeting": "Ho"}), &state).await, Err(-32602));
        let (before, after) = state.split_at(40);
        let other = if after.starts_with('A') { 'B' } else { 'A' };
        let changed = format!("{before}{other}{}", after.get(1..).unwrap());
        assert_eq!(hand_back(&client, "greet", &arguments, &changed).await, Err(-32602));
        assert_eq!(hand_back(&client, "greet", &arguments, state.get(..40).unwrap()).await, Err(-32602));
        assert_eq!(hand_back(&client, "greet", &arguments, "").await, Err(-32602));
        // By a server with another key, and too late.
        let other_key = full_server::server().state_key([8; 32], Duration::from_secs(600));
        let other_key = open(other_key, Revision::MODERN, ClientOptions::new()).await;
        assert_eq!(hand_back(&other_key, "greet", &arguments, &state).await, Err(-32602));
    });
}

#[test]
fn resources_are_listed_and_read_in_every_revision() {
    run(async {
        for revision in Revision::ALL {
            let client = open(full_server::server(), revision, ClientOptions::new()).await;
            let uris: Vec<String> =
                client.resources().await.unwrap().into_iter().map(|r| r.item.uri).collect();
            assert_eq!(uris, ["note:one", "note:bytes", "note:broken"]);
            let templates = client.resource_templates().await.unwrap();
            assert_eq!(templates[0].item.uri_template, "verse:{book}/{number}");
            let one = &client.read("note:one").await.unwrap()[0];
            assert_eq!(
                (one.text.as_deref(), one.mime_type.as_deref()),
                (Some("the first note"), Some("text/plain"))
            );
            assert_eq!(client.read("note:bytes").await.unwrap()[0].blob.as_deref(), Some("AQID"));
            let verse = &client.read("verse:song%20of%20songs/12").await.unwrap()[0];
            assert_eq!(verse.text.as_deref(), Some("song of songs 12"));
            for (uri, code) in [
                ("note:none", revision.resource_not_found_code()),
                ("verse:genesis/many", revision.resource_not_found_code()),
                ("verse:genesis/0", revision.resource_not_found_code()),
                ("note:broken", -32603),
            ] {
                let error = client.read(uri).await.unwrap_err();
                let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error}") };
                assert_eq!(rpc.code, code, "{revision} {uri}");
            }
        }
    });
}

#[test]
fn prompts_are_filled_in_and_completed_in_every_revision() {
    run(async {
        for revision in Revision::ALL {
            let client = open(full_server::server(), revision, ClientOptions::new()).await;
            let prompts = client.prompts().await.unwrap();
            let explain = &prompts[0].item;
            assert_eq!(explain.description.as_deref(), Some("Explain a word."));
            let arguments: Vec<_> = explain.arguments.iter().map(|a| (a.name.as_str(), a.required)).collect();
            assert_eq!(arguments, [("word", true), ("lines", false)]);
            let words = |words: Value| words.as_object().cloned().unwrap();
            let filled =
                client.prompt("explain", words(json!({"word": "tape", "lines": "3"}))).await.unwrap();
            assert_eq!(filled.messages[0].content, Content::text("Explain tape in Some(3) lines."));
            for wrong in [
                json!({}),
                json!({"word": "x", "lines": "many"}),
                json!({"word": "x", "odd": "1"}),
                json!({"word": 1}),
            ] {
                let error = client.prompt("explain", words(wrong)).await.unwrap_err();
                let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error}") };
                assert_eq!(rpc.code, -32602, "{error}");
            }
            let known = words(json!({"lines": "9"}));
            let prompt = Reference::Prompt { name: "explain".into() };
            let completion = client.complete(prompt, "word", "ta", known).await.unwrap();
            assert_eq!(
                (completion.values.len(), completion.total, completion.has_more),
                (100, Some(150), true)
            );
            // Older revisions have no acknowledgement.
            let first = if revision.has_structured_output() { "ta09" } else { "ta0" };
            assert_eq!(completion.values[0], first, "{revision}");
            let template = Reference::Resource { uri: "verse:{book}/{number}".into() };
            let books = client.complete(template.clone(), "book", "g", Map::new()).await.unwrap();
            assert_eq!(books.values, ["genesis", "galatians"]);
            assert!(client.complete(template, "number", "", Map::new()).await.unwrap().values.is_empty());
            let nowhere = Reference::Prompt { name: "none".into() };
            assert!(client.complete(nowhere, "word", "", Map::new()).await.is_err());
        }
    });
}

#[test]
fn changes_of_resources_and_prompts_are_notified() {
    run(async {
        for revision in Revision::ALL {
            let mut server = full_server::server();
            let (resources, prompts) = (server.resources(), server.prompts());
            let client = open(server, revision, ClientOptions::new()).await;
            let filter = SubscriptionFilter::new().prompts().resources().resource("note:one");
            let mut changes = client.listen(filter).await.unwrap();
            resources.updated("note:bytes");
            resources.updated("note:one");
            assert_eq!(
                changes.next().await.unwrap(),
                Some(Change::Resource("note:one".into())),
                "{revision}"
            );
            assert!(resources.remove("note:bytes"));
            assert_eq!(changes.next().await.unwrap(), Some(Change::Resources));
            prompts.add("late", |_: (), _| async { Ok("Late.".to_owned()) }).unwrap();
            assert_eq!(changes.next().await.unwrap(), Some(Change::Prompts));
            assert_eq!(client.prompt("late", Map::new()).await.unwrap().messages.len(), 1);
            assert!(prompts.remove("late"));
            client.close().await;
        }
    });
}

#[test]
fn many_changes_at_once_are_one_notification() {
    run(async {
        for revision in Revision::ALL {
            let mut server = Server::new("many", "1").resource("n:1", |_| async { Ok("first") });
            let (resources, prompts) = (server.resources(), server.prompts());
            let client = open(server, revision, ClientOptions::new()).await;
            let mut changes =
                client.listen(SubscriptionFilter::new().resources().prompts().resource("n:1")).await.unwrap();
            let read = |text: &'static str| move |_| async move { Ok(text) };
            let note = |n: u32| (Resource::new(format!("n:{n}")), read("old"));
            resources.exchange(&[], (0..3_000).map(note)).unwrap();
            assert_eq!(changes.next().await.unwrap(), Some(Change::Resources), "{revision}");
            let gone: Vec<String> = (2..2_000).map(|n| format!("n:{n}")).collect();
            let put = [(Resource::new("n:1").title("new"), read("new")), (Resource::new("n:x"), read("x"))];
            resources.exchange(&gone, put).unwrap();
            assert_eq!(changes.next().await.unwrap(), Some(Change::Resources));
            let listed = client.resources().await.unwrap();
            let uris: Vec<&str> = listed.iter().map(|one| one.item.uri.as_str()).collect();
            assert_eq!((uris.len(), &uris[..3], uris[1002]), (1_003, &["n:0", "n:1", "n:2000"][..], "n:x"));
            assert_eq!(client.read("n:1").await.unwrap()[0].text.as_deref(), Some("new"));
            assert!(client.read("n:2").await.is_err());
            // In place of an old one, so the list is the same; the next notification is another.
            resources.exchange(&["n:none".to_owned()], [(Resource::new("n:1"), read("newer"))]).unwrap();
            resources.updated("n:1");
            assert_eq!(changes.next().await.unwrap(), Some(Change::Resource("n:1".into())));
            assert_eq!(client.read("n:1").await.unwrap()[0].text.as_deref(), Some("newer"));
            let bad = [(Resource::new("n:y"), read("y")), (Resource::new("n:z").scopes(["\""]), read("z"))];
            assert!(resources.exchange(&["n:1".to_owned()], bad).is_err());
            assert!(resources.exchange(&[], [(Resource::new(""), read(""))]).is_err());
            assert_eq!(client.resources().await.unwrap().len(), 1_003);
            prompts.add("last", |_: (), _| async { Ok("Last.".to_owned()) }).unwrap();
            assert_eq!(changes.next().await.unwrap(), Some(Change::Prompts));
            client.close().await;
        }
    });
}

#[test]
fn log_messages_are_sent_at_the_requested_level() {
    run(async {
        for revision in Revision::ALL {
            let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
            let keep = Arc::clone(&seen);
            let options = ClientOptions::new().on_frame(move |frame| {
                let message: Value = serde_json::from_slice(frame.bytes).unwrap();
                if message["method"] == "notifications/message" {
                    keep.lock().unwrap().push(message["params"].clone());
                }
            });
            let client = open(full_server::server(), revision, options).await;
            call(&client, "chat", json!({})).await;
            assert!(seen.lock().unwrap().is_empty(), "{revision}: logs were not requested");
            let mut params = json!({"name": "chat", "arguments": {}});
            if revision.opens_with_handshake() {
                client.request("logging/setLevel", json!({"level": "warning"})).await.unwrap();
            } else {
                params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "warning"});
            }
            client.request("tools/call", params).await.unwrap();
            let seen = seen.lock().unwrap();
            assert_eq!(
                *seen,
                [
                    json!({"level": "warning", "logger": "chat", "data": {"two": 2}}),
                    json!({"level": "emergency", "logger": "chat", "data": "three"}),
                ],
                "{revision}"
            );
        }
    });
}

#[test]
fn servers_can_be_one() {
    run(async {
        let wrapped = full_server::server().middleware(|request, next| async move {
            if request.name() == "b_chat" {
                return Err(ToolError::refused(format!("{} {}", request.kind(), request.name())));
            }
            next.run(request).await
        });
        let server = Server::new("both", "1.0.0").mount("a", everything_tools()).mount("b", wrapped);
        let client = open(server, Revision::MODERN, able(ClientOptions::new())).await;
        let names: Vec<String> =
            client.tools().await.unwrap().into_iter().map(|tool| tool.item.name).collect();
        assert_eq!(names, ["a_chat", "b_greet", "b_consult", "b_sign_in", "b_chat", "b_slowly"]);
        assert_eq!(call(&client, "a_chat", json!({})).await.0, "plain");
        assert!(client.call("b_chat", json!({})).await.is_err());
        assert!(call(&client, "b_greet", json!({"greeting": "Hi"})).await.0.starts_with("Hi Ada"));
        assert_eq!(
            client
                .prompt("b_explain", Map::from_iter([("word".to_owned(), "x".into())]))
                .await
                .unwrap()
                .messages
                .len(),
            1
        );
        let twice =
            Server::new("twice", "1").mount("", full_server::server()).mount("", full_server::server());
        assert_eq!(twice.check().unwrap_err().to_string(), "tool \"greet\": registered twice");
    });
}

fn everything_tools() -> Server {
    Server::new("plain", "1").raw_tool(
        papertape::server::Tool::new("chat").description("Chat.").input_schema(json!({"type": "object"})),
        |_, _| async { Ok("plain") },
    )
}

#[test]
fn a_long_call_becomes_a_task() {
    run(async {
        let client = open(full_server::server(), Revision::MODERN, ClientOptions::new().tasks(false)).await;
        let meta = json!({"io.modelcontextprotocol/clientCapabilities":
            {"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}});
        let ask = |method: &'static str, mut params: Value| {
            params["_meta"] = meta.clone();
            let client = client.clone();
            async move { client.request(method, params).await }
        };
        let task =
            ask("tools/call", json!({"name": "slowly", "arguments": {"greeting": "Hi"}})).await.unwrap();
        assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
        let id = task["taskId"].clone();
        let needs = loop {
            let now = ask("tasks/get", json!({"taskId": id})).await.unwrap();
            assert_eq!(now["resultType"], "complete");
            if now["status"] == "input_required" {
                break now;
            }
        };
        assert_eq!(needs["inputRequests"]["guest"]["method"], "elicitation/create");
        let answers = json!({"taskId": id, "inputResponses":
            {"odd": {}, "guest": {"action": "accept", "content": {"name": "Ada"}}}});
        assert_eq!(ask("tasks/update", answers).await.unwrap()["resultType"], "complete");
        let done = loop {
            let now = ask("tasks/get", json!({"taskId": id})).await.unwrap();
            if now["status"] == "completed" {
                break now;
            }
        };
        assert_eq!(done["result"]["content"][0]["text"], "Hi Ada None false None 7");
        // Cancelled, unknown, not declared, not the client's to see.
        let task =
            ask("tools/call", json!({"name": "slowly", "arguments": {"greeting": "Hi"}})).await.unwrap();
        ask("tasks/cancel", json!({"taskId": task["taskId"]})).await.unwrap();
        assert_eq!(ask("tasks/get", json!({"taskId": task["taskId"]})).await.unwrap()["status"], "cancelled");
        for (method, params, code) in [
            ("tasks/get", json!({"taskId": "none"}), -32602),
            ("tasks/list", json!({}), -32601),
            ("tasks/result", json!({"taskId": id}), -32601),
        ] {
            let error = ask(method, params).await.unwrap_err();
            let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error}") };
            assert_eq!(rpc.code, code, "{method}");
        }
        let error = client.request("tasks/get", json!({"taskId": id})).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Rpc(rpc) if rpc.code == -32021), "{error}");
        // Without the extension it is a call like any other.
        let asked = client.request(
            "tools/call",
            json!({"name": "slowly", "arguments": {"greeting": ""}, "_meta": declared()}),
        );
        assert_eq!(asked.await.unwrap()["resultType"], "input_required");
    });
}
