use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::{ElicitResult, RawJson, Revision};
use papertape::server::{Elicited, Form, Method};
use papertape::{Cx, Json, Server, ToolError, memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ask, one, revisions, server};
use crate::peer::{MODERN, Peer, messages, request, run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    a: u128,
    b: u128,
}

#[derive(Serialize)]
struct Sum {
    sum: u128,
}

async fn add(params: Add, _: Cx) -> Result<Json<Sum>, ToolError> {
    Ok(Json(Sum { sum: params.a + params.b }))
}

async fn echo(params: RawJson, _: Cx) -> Result<RawJson, ToolError> {
    Ok(params)
}

async fn nothing(_: (), _: Cx) -> Result<(), ToolError> {
    Ok(())
}

fn with_methods() -> Server {
    server()
        .method("vendor/add", add)
        .method("vendor/echo", echo)
        .method("vendor/nothing", nothing)
        .method("vendor/list", async |_: (), _: Cx| Ok(json!([1])))
        .method("vendor/panic", async |_: (), _: Cx| -> Result<(), ToolError> { panic!("on purpose") })
        .method("vendor/fail", async |_: (), _: Cx| -> Result<(), ToolError> {
            Err(ToolError::rpc(7, "seven", json!({"a": 1})))
        })
}

#[test]
fn methods_are_called_in_all_revisions() {
    run(async {
        for revision in revisions() {
            let mut peer = Peer::open(with_methods(), revision).await;
            let reply = ask(&mut peer, revision, "vendor/add", json!({"a": 1, "b": 2})).await;
            assert_eq!(reply["result"]["sum"], 3, "{reply}");
            assert_eq!(reply["result"].get("resultType").is_some(), revision == MODERN, "{reply}");
            assert_eq!(reply["result"].get("_meta").is_some(), revision == MODERN, "{reply}");
            let reply = ask(&mut peer, revision, "vendor/nothing", json!({})).await;
            assert!(reply["result"].is_object(), "{reply}");
            for (params, named) in [(json!({"a": 1}), "`b`"), (json!({"a": 1, "b": 2, "c": 3}), "`c`")] {
                let reply = ask(&mut peer, revision, "vendor/add", params).await;
                assert_eq!(reply["error"]["code"], -32602, "{reply}");
                assert!(reply["error"]["message"].as_str().unwrap().contains(named), "{reply}");
            }
            for (method, code) in [
                ("vendor/list", -32603),
                ("vendor/panic", -32603),
                ("vendor/fail", 7),
                ("vendor/unknown", -32601),
            ] {
                let reply = ask(&mut peer, revision, method, json!({})).await;
                assert_eq!(reply["error"]["code"], code, "{method}: {reply}");
            }
        }
    });
}

#[test]
fn typed_requests_are_the_same_in_all_revisions() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Exact {
        #[serde(default)]
        sum: Option<u128>,
        #[serde(default)]
        seat: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Seat {
        seat: String,
    }

    run(async {
        for revision in Revision::ALL {
            let server = with_methods().method("vendor/seat", async |_: (), cx: Cx| {
                match cx.ask("seat", Form::<Seat>::new("Which seat?"))? {
                    Elicited::Accepted(seat) => Ok(Json(seat)),
                    _ => Err(ToolError::failed("no seat")),
                }
            });
            let options = ClientOptions::new()
                .revision(revision)
                .on_form(async |_| ElicitResult::accept([("seat", json!("12A"))]));
            let client = memory::connect_with(server, options).await.unwrap();
            // More than an `f64` holds.
            let params = json!({"a": u64::MAX, "b": u64::MAX});
            let exact: Exact = client.request_as("vendor/add", params).await.unwrap();
            assert_eq!(exact.sum, Some(u128::from(u64::MAX) * 2));
            client.request_as::<()>("vendor/nothing", ()).await.unwrap();
            if revision.has_elicitation() {
                let exact: Exact = client.request_as("vendor/seat", json!({})).await.unwrap();
                assert_eq!(exact.seat.as_deref(), Some("12A"));
            }
            let error = client.request_as::<u8>("vendor/echo", json!({"a": 1})).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ResultMismatch(_)), "{error}");
            let error = client.request_as::<u8>("vendor/echo", [1]).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::InvalidArguments(_)), "{error}");
            client.close().await;
        }
    });
}

#[test]
fn a_method_without_params_of_its_own_takes_any() {
    run(async {
        for revision in revisions() {
            let mut peer = Peer::open(with_methods(), revision).await;
            for params in [json!({}), json!({"a": 1}), json!({"_meta": {"x": 1}, "b": [null]})] {
                let reply = ask(&mut peer, revision, "vendor/nothing", params).await;
                assert!(reply["result"].is_object(), "{reply}");
            }
        }
    });
}

#[test]
fn params_and_results_keep_every_digit_and_the_order_of_members() {
    run(async {
        let mut peer = Peer::open(with_methods(), "2025-11-25").await;
        let params = r#"{"z":340282366920938463463374607431768211455,"a":[null,{"k":1e400}],"é":"\n"}"#;
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"vendor/echo","params":{params}}}"#);
        let bytes = peer.send(line.replace("1e400", "0.10") + "\n").await;
        let reply = String::from_utf8(bytes).unwrap();
        assert!(reply.contains(&params.replace("1e400", "0.10")), "{reply}");
        // In the newest revision a result describes itself, unless it does already.
        let mut peer = Peer::open(with_methods(), MODERN).await;
        let params = json!({"a": 1, "resultType": "vendor", "_meta": {"x": 1}});
        let reply = ask(&mut peer, MODERN, "vendor/echo", params).await;
        assert_eq!(reply["result"]["resultType"], "vendor");
        assert_eq!(reply["result"]["a"], 1);
        let meta = reply["result"]["_meta"].as_object().unwrap();
        assert!(meta.keys().eq(["io.modelcontextprotocol/serverInfo"]), "{meta:?}");
    });
}

#[test]
fn no_member_of_a_newer_revision_reaches_an_older_client() {
    run(async {
        let result = json!({"resultType": "complete", "a": 1,
            "_meta": {"io.modelcontextprotocol/serverInfo": {}, "mine": 1}});
        let server = || {
            let result = result.clone();
            server().fallback_method(move |_, _: RawJson, _| {
                let result = result.clone();
                async move { Ok(result) }
            })
        };
        for revision in revisions().filter(|revision| *revision != MODERN) {
            let mut peer = Peer::open(server(), revision).await;
            let reply = ask(&mut peer, revision, "vendor/x", json!({})).await;
            assert_eq!(reply["result"], json!({"a": 1, "_meta": {"mine": 1}}));
        }
    });
}

#[test]
fn names_that_are_not_the_authors_are_setup_errors() {
    let method = |name: &str| server().method(name, nothing).check().unwrap_err().to_string();
    assert!(method("tools/call").contains("tools/call"));
    for name in
        ["initialize", "ping", "tasks/get", "sampling/createMessage", "notifications/cancelled", "rpc.x", ""]
    {
        assert!(!method(name).is_empty());
    }
    let note = |name: &str| server().notification(name, nothing).check().unwrap_err().to_string();
    assert!(note("notifications/initialized").contains("MCP"));
    let twice = server().method("vendor/x", nothing).method("vendor/x", nothing).check().unwrap_err();
    assert!(twice.to_string().contains("twice"), "{twice}");
    let mounted = server().method("vendor/x", nothing).mount("m", server().method("vendor/x", nothing));
    assert!(mounted.check().is_err());
    let scope = server().method(Method::new("vendor/x").scopes(["two words"]), nothing).check();
    assert!(scope.unwrap_err().to_string().contains("not a scope"));
    let settings = server().extension("com.example/x", json!(1)).check().unwrap_err();
    assert!(settings.to_string().contains("com.example/x"), "{settings}");
}

// M-22
#[test]
fn a_method_is_refused_before_a_session_is_open() {
    run(async {
        let server = with_methods().fallback_method(async |_, _: RawJson, _| Ok(json!({})));
        let mut peer = Peer::connect(server);
        for method in ["vendor/nothing", "vendor/unknown"] {
            let line = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
            let reply = one(&mut peer, line).await;
            assert_eq!(reply["error"]["code"], -32602, "{reply}");
            assert!(reply["error"]["message"].as_str().unwrap().contains("initialize"), "{reply}");
        }
    });
}

#[test]
fn middleware_sees_and_changes_methods() {
    run(async {
        for revision in revisions() {
            let server = with_methods().middleware(|mut request, next| async move {
                let called = (request.kind(), request.method(), request.name());
                assert_eq!(called, ("method", "vendor/add", "vendor/add"));
                assert_eq!(*request.arguments(), json!({"a": 2, "b": 2}));
                request.arguments_mut()["b"] = json!(40);
                let mut outcome = next.run(request).await?;
                let result: Value = outcome.as_method().unwrap().parse()?;
                *outcome.as_method_mut().unwrap() = json!({"seen": result}).into();
                Ok(outcome)
            });
            let mut peer = Peer::open(server, revision).await;
            let params = json!({"a": 2, "b": 2, "_meta": {"m": 1}});
            let reply = ask(&mut peer, revision, "vendor/add", params).await;
            assert_eq!(reply["result"]["seen"], json!({"sum": 42}), "{reply}");
        }
    });
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[test]
fn a_method_can_elicit_input() {
    run(async {
        let server = || {
            server().method("vendor/greet", async |_: Value, cx: Cx| {
                match cx.ask("who", Form::<Name>::new("Who?"))? {
                    Elicited::Accepted(name) => Ok(json!({"hello": name.name})),
                    other => Ok(json!({"other": format!("{other:?}")})),
                }
            })
        };
        let answer = json!({"action": "accept", "content": {"name": "Ada"}});
        let abilities = json!({"elicitation": {"form": {}}});
        let mut peer = Peer::connect(server());
        let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": abilities});
        let send = |params: Value| {
            json!({"jsonrpc": "2.0", "id": 1, "method": "vendor/greet", "params": params}).to_string()
        };
        let needed = one(&mut peer, send(json!({"x": 1, "_meta": meta}))).await;
        let state = needed["result"]["requestState"].clone();
        assert_eq!(needed["result"]["resultType"], "input_required", "{needed}");
        let again =
            |x: u64| json!({"x": x, "_meta": meta, "requestState": state, "inputResponses": {"who": answer}});
        let reply = one(&mut peer, send(again(1))).await;
        assert_eq!(reply["result"]["hello"], "Ada", "{reply}");
        // It was elicited for other params.
        let reply = one(&mut peer, send(again(2))).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");

        let mut peer = Peer::connect(server());
        let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": abilities, "clientInfo": {"name": "t", "version": "1"}}});
        one(&mut peer, open.to_string()).await;
        peer.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await;
        let asked = one(&mut peer, send(json!({}))).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let reply =
            one(&mut peer, json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}).to_string()).await;
        assert_eq!(reply["result"]["hello"], "Ada", "{reply}");
    });
}

#[test]
fn a_method_is_cancelled_like_a_tool() {
    run(async {
        let server = server().method("vendor/wait", async |_: (), _: Cx| -> Result<(), ToolError> {
            std::future::pending().await
        });
        let mut peer = Peer::open(server, "2025-11-25").await;
        assert!(peer.line(request("", "1", "vendor/wait", json!({}))).await.is_empty());
        let cancel = super::notification("notifications/cancelled", &json!({"requestId": 1}));
        assert!(peer.line(cancel).await.is_empty());
        // Its id is free again.
        assert!(peer.line(request("", "1", "vendor/wait", json!({}))).await.is_empty());
    });
}

#[test]
fn notifications_of_ones_own_arrive_before_the_response() {
    run(async {
        let server = server().method("vendor/work", async |_: (), cx: Cx| {
            cx.notify("notifications/vendor/step", json!({"step": 1}))?;
            assert!(cx.notify("notifications/progress", json!({})).is_err());
            assert!(cx.notify("notifications/vendor/step", json!([1])).is_err());
            let late = cx.clone();
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                late.notify("notifications/vendor/late", json!({})).unwrap();
            });
            Ok(())
        });
        let mut peer = Peer::open(server, "2024-11-05").await;
        let bytes = peer.send(request("", "1", "vendor/work", json!({})) + "\n").await;
        let received = messages(&bytes);
        assert_eq!(received.len(), 2, "{received:?}");
        assert_eq!(
            (&received[0]["method"], &received[0]["params"]["step"]),
            (&json!("notifications/vendor/step"), &json!(1))
        );
        assert_eq!(received[1]["id"], 1);
        assert!(peer.within(std::time::Duration::from_secs(1)).await.is_empty());
    });
}

#[test]
fn extensions_are_declared_to_revisions_that_have_them() {
    run(async {
        let server = || server().extension("com.example/x", json!({"most": 3}));
        let mut peer = Peer::connect(server());
        let reply = ask(&mut peer, MODERN, "server/discover", json!({})).await;
        assert_eq!(reply["result"]["capabilities"]["extensions"], json!({"com.example/x": {"most": 3}}));
        let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let reply = one(&mut Peer::connect(server()), open.to_string()).await;
        assert_eq!(reply["result"]["capabilities"], json!({}), "{reply}");
    });
}
