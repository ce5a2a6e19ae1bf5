use std::collections::BTreeMap;

use papertape::protocol::{Completion, PromptDefinition, RawJson, ResourceDefinition, ToolDefinition};
use papertape::server::{CompletionRequest, Prompt, Resource, Tool};
use papertape::{Cx, Server, ToolError};
use serde_json::{Value, json};

use super::{ask, revisions, server};
use crate::peer::{MODERN, Peer, run};

async fn any_tool(name: String, arguments: RawJson, cx: Cx) -> Result<String, ToolError> {
    assert!(cx.principal().is_none());
    match name.as_str() {
        "panic" => panic!("on purpose"),
        "none" => Err(ToolError::refused("there is no such tool")),
        name => Ok(format!("{name} {}", arguments.get())),
    }
}

fn any() -> Server {
    server()
        .raw_tool(Tool::new("known").input_schema(json!({"type": "object"})), async |_: Value, _: Cx| {
            Ok("known")
        })
        .fallback_tool(any_tool)
        .fallback_resource(async |uri: String, _| match uri.as_str() {
            "any:none" => Err(ToolError::refused("there is no such resource")),
            uri => Ok(format!("contents of {uri}")),
        })
        .fallback_prompt(async |name: String, arguments: BTreeMap<String, String>, _| {
            Ok(format!("{name} {arguments:?}"))
        })
        .fallback_method(async |name: String, params: RawJson, _| match name.as_str() {
            "vendor/panic" => panic!("on purpose"),
            name => Ok(json!({"method": name, "params": params.to_value().unwrap_or_default()})),
        })
}

#[test]
fn what_is_not_registered_goes_to_the_fallback() {
    run(async {
        for revision in revisions() {
            let mut peer = Peer::open(any(), revision).await;
            let reply = ask(&mut peer, revision, "tools/call", json!({"name": "known"})).await;
            assert_eq!(reply["result"]["content"][0]["text"], "known");
            let params = json!({"name": "other", "arguments": {"z": 1, "a": null}});
            let reply = ask(&mut peer, revision, "tools/call", params).await;
            assert_eq!(reply["result"]["content"][0]["text"], r#"other {"z":1,"a":null}"#, "{reply}");
            let reply = ask(&mut peer, revision, "resources/read", json!({"uri": "any:x"})).await;
            assert_eq!(reply["result"]["contents"][0]["text"], "contents of any:x", "{reply}");
            assert_eq!(reply["result"]["contents"][0]["uri"], "any:x");
            let params = json!({"name": "p", "arguments": {"k": "v"}});
            let reply = ask(&mut peer, revision, "prompts/get", params).await;
            assert_eq!(reply["result"]["messages"][0]["content"]["text"], r#"p {"k": "v"}"#, "{reply}");
            let reply = ask(&mut peer, revision, "vendor/any", json!({"p": 1, "_meta": {"q": 1}})).await;
            assert_eq!(reply["result"]["params"], json!({"p": 1}), "{reply}");
            // Only what is registered is listed.
            let list = ask(&mut peer, revision, "tools/list", json!({})).await;
            assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 1);
            let list = ask(&mut peer, revision, "prompts/list", json!({})).await;
            assert_eq!(list["result"]["prompts"], json!([]));
        }
    });
}

#[test]
fn fallbacks_fail_as_handlers_do() {
    run(async {
        for revision in revisions() {
            let mut peer = Peer::open(any(), revision).await;
            let not_found = if revision == MODERN { -32602 } else { -32002 };
            for (method, params, code) in [
                ("tools/call", json!({"name": "panic"}), -32603),
                ("tools/call", json!({"name": "none"}), -32602),
                ("tools/call", json!({"name": 1}), -32602),
                ("tools/call", json!({"name": "x", "arguments": [1]}), -32602),
                ("resources/read", json!({"uri": "any:none"}), not_found),
                ("vendor/panic", json!({}), -32603),
                // MCP's own methods are never the fallback's.
                ("logging/setLevel", json!({"level": "info"}), -32601),
                ("tasks/list", json!({}), -32601),
            ] {
                let reply = ask(&mut peer, revision, method, params).await;
                assert_eq!(reply["error"]["code"], code, "{revision} {method}: {reply}");
            }
            let reply = ask(&mut peer, revision, "tools/call", json!({"name": "panic"})).await;
            assert!(reply["error"]["message"].as_str().unwrap().contains("\"panic\""), "{reply}");
            let reply = ask(&mut peer, revision, "tools/call", json!({"name": "well"})).await;
            assert!(reply["result"].is_object(), "{reply}");
        }
    });
}

// M-26
#[test]
fn what_is_hidden_is_not_the_fallbacks() {
    run(async {
        let server = any()
            .tool("hidden_tool", async |_: (), _: Cx| Ok("secret"))
            .prompt("hidden_prompt", async |_: (), _: Cx| Ok("secret".to_owned()))
            .resource("hidden:resource", async |_: Cx| Ok("secret"))
            .resource_template("hidden:of/{x}", async |_: BTreeMap<String, String>, _: Cx| Ok("secret"))
            .visible(|item, _| !item.name.starts_with("hidden"));
        let mut peer = Peer::open(server, MODERN).await;
        for (method, params) in [
            ("tools/call", json!({"name": "hidden_tool"})),
            // Rules see the names of what is not registered, too.
            ("tools/call", json!({"name": "hidden_unknown"})),
            ("prompts/get", json!({"name": "hidden_prompt"})),
            ("resources/read", json!({"uri": "hidden:resource"})),
            ("resources/read", json!({"uri": "hidden:of/a"})),
            ("resources/read", json!({"uri": "hidden:other"})),
        ] {
            let reply = ask(&mut peer, MODERN, method, params).await;
            assert_eq!(reply["error"]["code"], -32602, "{method}: {reply}");
        }
    });
}

#[test]
fn middleware_runs_around_fallbacks() {
    run(async {
        let server = any().middleware(|request, next| async move {
            if request.name().contains("forbidden") {
                return Err(ToolError::rpc(1403, request.kind(), None));
            }
            next.run(request).await
        });
        let mut peer = Peer::open(server, MODERN).await;
        for (method, params, kind) in [
            ("tools/call", json!({"name": "forbidden"}), "tool"),
            ("prompts/get", json!({"name": "forbidden"}), "prompt"),
            ("resources/read", json!({"uri": "any:forbidden"}), "resource"),
            ("vendor/forbidden", json!({}), "method"),
        ] {
            let reply = ask(&mut peer, MODERN, method, params).await;
            assert_eq!((&reply["error"]["code"], &reply["error"]["message"]), (&json!(1403), &json!(kind)));
        }
    });
}

#[test]
fn definitions_of_other_servers_are_offered_as_they_are() {
    run(async {
        let tool = json!({"name": "t", "title": "T", "description": "d",
            "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "annotations": {"readOnlyHint": true}, "_meta": {"x": 1}});
        let prompt =
            json!({"name": "p", "arguments": [{"name": "a", "description": "A.", "required": true}]});
        let resource = json!({"uri": "r:x", "name": "x", "mimeType": "text/plain", "size": 3});
        let complete = |so_far: CompletionRequest| async move {
            let completion = json!({"values": [so_far.value], "total": 12, "hasMore": true});
            Ok(serde_json::from_value::<Completion>(completion)?)
        };
        let read = |json: &Value| serde_json::from_value::<ToolDefinition>(json.clone()).unwrap();
        let server = server()
            .tool(Tool::from(read(&tool)), async |arguments: RawJson, _: Cx| Ok(arguments.get().to_owned()))
            .prompt(
                Prompt::from(serde_json::from_value::<PromptDefinition>(prompt.clone()).unwrap())
                    .complete_raw("a", complete),
                async |arguments: BTreeMap<String, String>, _: Cx| Ok(format!("{arguments:?}")),
            )
            .resource(
                Resource::from(serde_json::from_value::<ResourceDefinition>(resource.clone()).unwrap()),
                async |cx: Cx| Ok(cx.uri().unwrap_or_default().to_owned()),
            );
        let mut peer = Peer::open(server, MODERN).await;
        let list = ask(&mut peer, MODERN, "tools/list", json!({})).await;
        assert_eq!(list["result"]["tools"], json!([tool]));
        let list = ask(&mut peer, MODERN, "prompts/list", json!({})).await;
        assert_eq!(list["result"]["prompts"], json!([prompt]));
        let list = ask(&mut peer, MODERN, "resources/list", json!({})).await;
        assert_eq!(list["result"]["resources"], json!([resource]));
        let params = json!({"name": "t", "arguments": {"n": 1, "more": [0.5]}});
        let reply = ask(&mut peer, MODERN, "tools/call", params).await;
        assert_eq!(reply["result"]["content"][0]["text"], r#"{"n":1,"more":[0.5]}"#);
        let reply = ask(&mut peer, MODERN, "tools/call", json!({"name": "t", "arguments": {}})).await;
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        let reply =
            ask(&mut peer, MODERN, "prompts/get", json!({"name": "p", "arguments": {"a": "1"}})).await;
        assert_eq!(reply["result"]["messages"][0]["content"]["text"], r#"{"a": "1"}"#);
        for arguments in [json!({}), json!({"a": "1", "b": "2"})] {
            let reply =
                ask(&mut peer, MODERN, "prompts/get", json!({"name": "p", "arguments": arguments})).await;
            assert_eq!(reply["error"]["code"], -32602, "{reply}");
        }
        let params =
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}});
        let reply = ask(&mut peer, MODERN, "completion/complete", params).await;
        assert_eq!(reply["result"]["completion"], json!({"values": ["v"], "total": 12, "hasMore": true}));
        let reply = ask(&mut peer, MODERN, "resources/read", json!({"uri": "r:x"})).await;
        assert_eq!(reply["result"]["contents"][0]["text"], "r:x");
    });
}

#[test]
fn lists_are_replaced_in_one_step() {
    run(async {
        let mut server = server();
        let (tools, prompts, resources) = (server.tools(), server.prompts(), server.resources());
        let tool = |name: &str| Tool::new(name).input_schema(json!({"type": "object"}));
        let say = |text: &'static str| move |_: RawJson, _: Cx| async move { Ok(text) };
        tools.replace_all([(tool("a"), say("1")), (tool("b"), say("2"))]).unwrap();
        let mut peer = Peer::open(server, "2025-11-25").await;
        peer.settle().await;
        for bad in [[Tool::new("no_schema"), tool("c")], [tool("c"), tool("c")]] {
            assert!(tools.replace_all(bad.map(|tool| (tool, say("")))).is_err());
        }
        tools.replace_all([(tool("c"), say("3")), (tool("b"), say("4"))]).unwrap();
        prompts.replace_all([(Prompt::new("p"), async |_: (), _: Cx| Ok("x".to_owned()))]).unwrap();
        resources.replace_all([(Resource::new("r:1"), async |_: Cx| Ok("x"))]).unwrap();
        let changed = crate::peer::messages(&peer.settle().await);
        assert_eq!(changed.len(), 3, "{changed:?}");
        let list = ask(&mut peer, "2025-11-25", "tools/list", json!({})).await;
        let names = list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone());
        assert_eq!(names.collect::<Vec<_>>(), ["c", "b"]);
        let reply = ask(&mut peer, "2025-11-25", "tools/call", json!({"name": "b"})).await;
        assert_eq!(reply["result"]["content"][0]["text"], "4");
    });
}
