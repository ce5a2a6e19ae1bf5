//! Middleware and mounted servers, and what their authors may do wrong.

use std::sync::{Arc, Mutex};

use papertape::server::Form;
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Anything, FORM, Name, accept, ask_name, code, hello, legacy, modern, named, one, plain};
use crate::peer::{MODERN, Peer, messages, run};

fn refusing(server: Server) -> Server {
    server.middleware(|request, _| async move { Err(ToolError::refused(format!("no {}", request.name()))) })
}

#[test]
fn middleware_of_a_nested_server_applies_to_that_server_only() {
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
fn middleware_of_a_mounted_server_does_not_apply_to_others() {
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
fn middleware_of_a_mounted_server_wraps_its_completions() {
    run(async {
        let secret =
            papertape::server::Prompt::new("p").complete("name", |_| async { Ok(vec!["secret".to_owned()]) });
        let mounted = refusing(named("mounted").prompt(secret, |args: Name, _| async move { Ok(args.name) }));
        let mut peer = Peer::connect(named("outer").mount("m", mounted));
        let params =
            json!({"ref": {"type": "ref/prompt", "name": "m_p"}, "argument": {"name": "name", "value": ""}});
        let reply = one(&mut peer, modern("{}", 1, "completion/complete", params)).await;
        assert!(reply["error"].is_object(), "the middleware did not run: {reply}");
    });
}

#[test]
fn middleware_gets_the_completion_reference() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let prompt = papertape::server::Prompt::new("p").complete("name", |_| async { Ok(vec![]) });
        let server = named("s").prompt(prompt, |args: Name, _| async move { Ok(args.name) }).middleware(
            move |request, next| {
                log.lock().unwrap().push((request.kind(), request.name().to_owned()));
                next.run(request)
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
fn middleware_that_maps_errors_does_not_stop_elicitation() {
    run(async {
        let make = || {
            named("s").tool("ask", ask_name).middleware(|request, next| async move {
                next.run(request).await.map_err(|_| ToolError::failed("something went wrong"))
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
fn middleware_that_panics_or_hangs_affects_one_response_at_most() {
    run(async {
        for revision in ["2025-11-25", MODERN] {
            let server =
                named("s").tool("x", hello).tool("y", hello).middleware(|request, next| async move {
                    match request.name() {
                        "x" => panic!("on purpose"),
                        "y" => {
                            let done = next.run(request).await;
                            std::future::pending::<()>().await;
                            done
                        }
                        _ => next.run(request).await,
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
fn outer_middleware_wraps_mounted_middleware() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noting = |seen: &Arc<Mutex<Vec<&'static str>>>, who: &'static str, server: Server| {
            let log = Arc::clone(seen);
            server.middleware(move |request, next| {
                log.lock().unwrap().push(who);
                next.run(request)
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
    impl papertape::server::ReadOutput for Output {
        fn into_contents(self, _: &str, _: Option<&str>) -> Vec<papertape::protocol::ResourceContents> {
            panic!("while writing")
        }
    }
    impl papertape::server::PromptOutput for Output {
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

fn panicking_completer() -> papertape::server::Prompt {
    papertape::server::Prompt::new("complete").complete("name", |so_far| {
        assert_ne!(so_far.value, "now", "at once");
        async move {
            assert_ne!(so_far.value, "first", "at first");
            tokio::task::yield_now().await;
            assert_ne!(so_far.value, "later", "later");
            Ok(vec![])
        }
    })
}

#[test]
fn instructions_and_logs_of_a_mounted_server_are_sent() {
    run(async {
        let mounted = named("mounted").instructions("Mounted.").logging().tool(
            "log",
            |_: Anything, cx: Cx| async move {
                cx.log(papertape::protocol::LogLevel::Error, "x");
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
        let received = peer.line(plain(2, "tools/call", &json!({"name": "m_log"}))).await;
        assert_eq!(received[0]["params"], json!({"level": "error", "logger": "m_log", "data": "x"}));
    });
}
