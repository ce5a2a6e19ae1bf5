//! Tools: lists and their pages, changes at run time, schemas, and everything that can go wrong in a handler.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use papertape::{CacheScope, Content, Cx, Json, Limits, Server, Tool, ToolError, Tools};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, cancel, messages, request, run, run_threads, words};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn nothing(_: Nothing, _: Cx) -> Result<(), ToolError> {
    Ok(())
}

/// The one answer to one line.
async fn ask(peer: &mut Peer, line: &str) -> Value {
    let mut answers = peer.line(line).await;
    assert_eq!(answers.len(), 1, "{line}: {answers:?}");
    answers.remove(0)
}

/// What is listed, page by page; every page's cursor is followed.
async fn pages(peer: &mut Peer, revision: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let answer = ask(peer, &request(revision, "1", "tools/list", params)).await;
        let names = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
        pages.push(names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect());
        match answer["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return pages,
        }
    }
}

/// A server with tools `t0`, `t1`, ...
fn numbered(count: usize, page: usize) -> (Server, Tools) {
    let mut server = Server::new("numbered", "1").limits(Limits { page, ..Limits::default() });
    for number in 0..count {
        server = server.tool(format!("t{number}"), nothing);
    }
    let tools = server.tools();
    (server, tools)
}

#[test]
fn all_pages_together_are_the_list() {
    let names: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
    for revision in REVISIONS {
        for (page, count) in [(1, 10), (3, 4), (5, 2), (9, 2), (10, 1), (1_000, 1), (0, 10)] {
            run(async {
                let mut peer = Peer::open(numbered(10, page).0, revision).await;
                let pages = pages(&mut peer, revision).await;
                assert_eq!(pages.len(), count, "{revision}, {page} a page");
                assert_eq!(pages.concat(), names, "{revision}, {page} a page");
            });
        }
        run(async {
            let mut peer = Peer::open(numbered(0, 5).0, revision).await;
            assert_eq!(pages(&mut peer, revision).await, [[""; 0]]);
        });
    }
}

#[test]
fn a_cursor_that_was_not_given_is_refused() {
    // M-18
    let long = "9".repeat(1 << 20);
    for revision in REVISIONS {
        run(async {
            let mut peer = Peer::open(numbered(10, 3).0, revision).await;
            let first = ask(&mut peer, &request(revision, "1", "tools/list", json!({}))).await;
            let good = first["result"]["nextCursor"].as_str().unwrap();
            for cursor in [
                "",
                "x",
                "0",
                "1",
                ".",
                "1.",
                ".1",
                "-1.1",
                &format!("{good}0"),
                &format!(" {good}"),
                &format!("{good}.1"),
                &long,
            ] {
                let answer =
                    ask(&mut peer, &request(revision, "7", "tools/list", json!({"cursor": cursor}))).await;
                assert_eq!(answer["error"]["code"], -32602, "{revision}: {cursor:.40}");
                assert!(answer["error"]["message"].as_str().unwrap().len() < 200);
            }
            for cursor in [json!(1), json!(1.5), json!(true), json!([good]), json!({})] {
                let answer =
                    ask(&mut peer, &request(revision, "7", "tools/list", json!({"cursor": cursor}))).await;
                assert_eq!(answer["error"]["code"], -32602, "{revision}: {cursor}");
            }
            // The same page, as often as it is asked for.
            for _ in 0..2 {
                let answer =
                    ask(&mut peer, &request(revision, "7", "tools/list", json!({"cursor": good}))).await;
                assert_eq!(answer["result"]["tools"][0]["name"], "t3", "{revision}");
            }
        });
    }
}

#[test]
fn a_cursor_into_another_list_is_refused() {
    for revision in REVISIONS {
        run(async {
            let (server, tools) = numbered(10, 3);
            let mut peer = Peer::open(server, revision).await;
            let first = ask(&mut peer, &request(revision, "1", "tools/list", json!({}))).await;
            let cursor = &first["result"]["nextCursor"];
            assert!(tools.remove("t9"));
            peer.settle().await;
            let answer =
                ask(&mut peer, &request(revision, "7", "tools/list", json!({"cursor": cursor}))).await;
            assert_eq!(answer["error"]["code"], -32602, "{revision}");
            // The way out that the message names.
            assert_eq!(pages(&mut peer, revision).await.concat().len(), 9);
        });
    }
}

#[test]
fn cache_hints_are_for_modern_lists_only() {
    let hinted = |server: Server| server.cache(Duration::from_secs(60), CacheScope::Public);
    for (server, ttl, scope) in
        [(numbered(3, 2).0, 0, "private"), (hinted(numbered(3, 2).0), 60_000, "public")]
    {
        run(async {
            let mut peer = Peer::connect(server);
            let list = ask(&mut peer, &request(MODERN, "1", "tools/list", json!({}))).await;
            let next = json!({"cursor": list["result"]["nextCursor"]});
            let second = ask(&mut peer, &request(MODERN, "1", "tools/list", next)).await;
            let discovered = ask(&mut peer, &request(MODERN, "1", "server/discover", json!({}))).await;
            for answer in [list, second, discovered] {
                assert_eq!(
                    (&answer["result"]["ttlMs"], &answer["result"]["cacheScope"]),
                    (&json!(ttl), &json!(scope)),
                    "{answer}"
                );
            }
            let called = ask(&mut peer, &call(MODERN, "1", "t0", &json!({}))).await;
            assert_eq!(called["result"].get("ttlMs"), None, "{called}");
            assert_eq!(called["result"].get("cacheScope"), None, "{called}");
        });
    }
    for revision in LEGACY {
        run(async {
            let mut peer = Peer::open(hinted(numbered(3, 2).0), revision).await;
            let answer = ask(&mut peer, &request(revision, "1", "tools/list", json!({}))).await;
            let mut members: Vec<&String> = answer["result"].as_object().unwrap().keys().collect();
            members.sort();
            assert_eq!(members, ["nextCursor", "tools"], "{revision}");
        });
    }
}

const CHANGED: &str = "N(notifications/tools/list_changed)";

#[test]
fn a_legacy_client_hears_of_changes_once_it_is_initialized() {
    for revision in LEGACY {
        run(async {
            let (server, tools) = numbered(2, 10);
            let mut peer = Peer::connect(server);
            tools.add("before", nothing).unwrap();
            assert_eq!(words(&peer.settle().await), "", "{revision}: before the handshake");
            let initialize =
                request("", "0", "initialize", json!({"protocolVersion": revision, "capabilities": {}}));
            let opened = ask(&mut peer, &initialize).await;
            assert_eq!(opened["result"]["capabilities"]["tools"], json!({"listChanged": true}));
            tools.add("between", nothing).unwrap();
            assert_eq!(words(&peer.settle().await), "", "{revision}: within the handshake");
            assert!(peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await.is_empty());
            assert_eq!(pages(&mut peer, revision).await.concat(), ["t0", "t1", "before", "between"]);

            tools.add("after", nothing).unwrap();
            let told = peer.settle().await;
            assert_eq!(words(&told), CHANGED, "{revision}");
            assert_eq!(messages(&told)[0].get("params"), None, "{revision}");
            assert!(tools.remove("t0"));
            assert_eq!(words(&peer.settle().await), CHANGED, "{revision}");
            // Several at once are told once.
            for number in 0..50 {
                tools.add(format!("more{number}"), nothing).unwrap();
            }
            assert_eq!(words(&peer.settle().await), CHANGED, "{revision}");
            // What changes nothing is not told.
            assert!(!tools.remove("t0"));
            assert!(tools.add("t1", nothing).is_err());
            assert!(
                tools
                    .add_raw(
                        Tool::new("bad").input_schema(json!({"type": "objekt"})),
                        async |_: Value, _: Cx| Ok("")
                    )
                    .is_err()
            );
            assert_eq!(words(&peer.settle().await), "", "{revision}");
        });
    }
}

#[test]
fn a_modern_client_hears_of_changes_if_it_listens() {
    run(async {
        let (server, tools) = numbered(2, 10);
        let mut peer = Peer::open(server, MODERN).await;
        tools.add("a", nothing).unwrap();
        assert_eq!(words(&peer.settle().await), "");
        for (id, filter) in [
            ("1", json!({"toolsListChanged": true})),
            ("2", json!({})),
            ("\"1\"", json!({"toolsListChanged": true})),
        ] {
            let line = request(MODERN, id, "subscriptions/listen", json!({"notifications": filter}));
            assert_eq!(words(&peer.send(line + "\n").await), "N(notifications/subscriptions/acknowledged)");
        }
        tools.add("b", nothing).unwrap();
        let told = messages(&peer.settle().await);
        let ids: Vec<&Value> = told
            .iter()
            .map(|message| &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"])
            .collect();
        assert_eq!(ids, [&json!(1), &json!("1")]);
        assert!(told.iter().all(|message| message["method"] == "notifications/tools/list_changed"));
        // Both eras at once: each hears of it in its own way.
        peer.initialize("2025-06-18").await;
        assert!(tools.remove("a"));
        assert_eq!(words(&peer.settle().await), [CHANGED; 3].join(" "));
    });
}

#[test]
fn a_change_is_not_lost_to_a_handshake_in_the_same_breath() {
    run(async {
        let mut peer = Peer::open(fixture::server(), MODERN).await;
        let listen = request(
            MODERN,
            "1",
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        );
        peer.send(listen + "\n").await;
        // A change, and before it is told, what opens a legacy conversation (or is mere noise).
        let grow = call(MODERN, "2", "grow", &json!({}));
        let answers = words(
            &peer.send(grow + "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await,
        );
        assert_eq!(answers, format!("R(2) {CHANGED}"));
    });
}

#[test]
fn a_tool_can_be_called_as_soon_as_it_is_there_and_no_longer() {
    for revision in REVISIONS {
        run(async {
            let (server, tools) = numbered(0, 10);
            let mut peer = Peer::open(server, revision).await;
            let line = call(revision, "7", "new", &json!({}));
            assert_eq!(ask(&mut peer, &line).await["error"]["code"], -32602, "{revision}");
            tools.add("new", async |_: Nothing, _: Cx| Ok("first")).unwrap();
            peer.settle().await;
            assert_eq!(ask(&mut peer, &line).await["result"]["content"][0]["text"], "first", "{revision}");
            assert!(tools.remove("new"));
            tools.add("new", async |_: Nothing, _: Cx| Ok("second")).unwrap();
            peer.settle().await;
            assert_eq!(ask(&mut peer, &line).await["result"]["content"][0]["text"], "second", "{revision}");
        });
    }
}

#[test]
fn a_call_goes_on_when_its_tool_is_removed() {
    run(async {
        let (server, tools) = numbered(0, 10);
        tools
            .add("slow", async |_: Nothing, _: Cx| {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok("done")
            })
            .unwrap();
        let mut peer = Peer::open(server, MODERN).await;
        assert_eq!(words(&peer.send(call(MODERN, "7", "slow", &json!({})) + "\n").await), "");
        assert!(tools.remove("slow"));
        assert_eq!(words(&peer.within(Duration::from_secs(2)).await), "R(7)");
    });
}

#[test]
fn a_server_without_tools_offers_none() {
    for revision in REVISIONS {
        run(async {
            let mut peer = Peer::open(Server::new("empty", "1"), revision).await;
            for (method, params) in [("tools/list", json!({})), ("tools/call", json!({"name": "x"}))] {
                let answer = ask(&mut peer, &request(revision, "7", method, params)).await;
                assert_eq!(answer["error"]["code"], -32601, "{revision}: {method}");
            }
            let discovered = ask(&mut peer, &request(MODERN, "1", "server/discover", json!({}))).await;
            assert_eq!(discovered["result"]["capabilities"], json!({}));
        });
    }
    run(async {
        let mut peer = Peer::connect(Server::new("empty", "1"));
        let line =
            request("", "0", "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
        assert_eq!(ask(&mut peer, &line).await["result"]["capabilities"], json!({}));
    });
}

#[test]
fn a_server_whose_tools_stay_does_not_promise_changes() {
    run(async {
        let mut peer = Peer::connect(Server::new("fixed", "1").tool("t", nothing));
        let discovered = ask(&mut peer, &request(MODERN, "1", "server/discover", json!({}))).await;
        assert_eq!(
            discovered["result"]["capabilities"]["tools"].get("listChanged").cloned().unwrap_or(json!(false)),
            json!(false)
        );
        let listen = request(
            MODERN,
            "2",
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        );
        assert_eq!(ask(&mut peer, &listen).await["params"]["notifications"], json!({}));
    });
}

/// A server with one raw tool, `odd`, of that input and output schema.
fn odd(input: Value, output: Option<Value>) -> Server {
    let mut tool = Tool::new("odd").input_schema(input);
    if let Some(output) = output {
        tool = tool.output_schema(output);
    }
    Server::new("odd", "1").raw_tool(tool, async |_: Value, _: Cx| Ok(Json(json!({}))))
}

#[test]
fn a_bad_schema_is_named_at_the_start() {
    let object = json!({"type": "object"});
    for (input, output, reason) in [
        (json!({}), None, "\"type\": \"object\""),
        (json!({"type": "string"}), None, "\"type\": \"object\""),
        (json!({"type": ["object"]}), None, "\"type\": \"object\""),
        (json!({"properties": {}}), None, "\"type\": \"object\""),
        (json!(null), None, "Tool::input_schema"),
        (json!(true), None, "must be a JSON object"),
        (json!([]), None, "must be a JSON object"),
        (json!({"type": "objekt"}), None, "objekt"),
        (json!({"type": "object", "properties": []}), None, ""),
        (json!({"type": "object", "required": "a"}), None, ""),
        (json!({"type": "object", "properties": {"a": {"pattern": "("}}}), None, "("),
        (json!({"type": "object", "properties": {"a": {"minLength": -1}}}), None, ""),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}),
            None,
            "127.0.0.1",
        ),
        (json!({"type": "object", "$ref": "https://example.com/schema.json"}), None, "example.com"),
        (json!({"type": "object", "properties": {"a": {"$ref": "other.json"}}}), None, "other.json"),
        (json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}), None, "etc/passwd"),
        (json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}), None, "missing"),
        (
            json!({"type": "object", "$schema": "http://json-schema.org/draft-03/schema#"}),
            None,
            "2020-12 or draft-07",
        ),
        (json!({"type": "object", "$schema": "https://example.com/dialect"}), None, "2020-12 or draft-07"),
        (json!({"type": "object", "$schema": 5}), None, "2020-12 or draft-07"),
        (object.clone(), Some(json!({"type": "objekt"})), "objekt"),
        (object.clone(), Some(json!({"$ref": "http://127.0.0.1:1/schema"})), "127.0.0.1"),
        (object.clone(), Some(json!("x")), "must be a JSON object"),
    ] {
        let which = if output.is_some() { "output" } else { "input" };
        let error = odd(input.clone(), output.clone()).check().unwrap_err().to_string();
        assert!(error.contains("\"odd\"") && error.contains(which), "{input} {output:?}: {error}");
        assert!(error.contains(reason), "{input} {output:?}: {error}");
        // Serving says the same.
        let (ours, _theirs) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(ours);
        let served = run(papertape::serve(odd(input, output), reader, writer)).unwrap_err();
        assert_eq!(served.to_string(), error);
    }
}

#[test]
fn a_good_schema_is_good() {
    for (input, output) in [
        (json!({"type": "object"}), Some(json!({"type": "array"}))),
        (json!({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}), None),
        (
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "definitions": {"a": {}},
                "properties": {"a": {"$ref": "#/definitions/a"}},
            }),
            None,
        ),
        (
            json!({
                "type": "object",
                "$defs": {"a": {"type": "integer"}},
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "x-unknown": 5,
            }),
            None,
        ),
        (
            json!({"type": "object", "$defs": {"a": {"$anchor": "here"}}, "properties": {"a": {"$ref": "#here"}}}),
            None,
        ),
        (json!({"type": "object", "properties": {"child": {"$ref": "#"}}}), None),
        (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), None),
    ] {
        odd(input.clone(), output).check().unwrap_or_else(|error| panic!("{input}: {error}"));
    }
}

#[test]
fn names_are_unique_and_not_empty() {
    let twice = Server::new("twice", "1").tool("same", nothing).tool("other", nothing).tool("same", nothing);
    assert_eq!(twice.check().unwrap_err().to_string(), "tool \"same\": registered twice");
    assert_eq!(
        Server::new("none", "1").tool("", nothing).check().unwrap_err().to_string(),
        "a tool has an empty name"
    );
    let (server, tools) = numbered(1, 10);
    assert!(tools.add("t0", nothing).unwrap_err().to_string().contains("\"t0\""));
    server.check().unwrap();
    // The first problem is the one that is told.
    let both = Server::new("both", "1").tool("", nothing).tool("a", nothing).tool("a", nothing);
    assert_eq!(both.check().unwrap_err().to_string(), "a tool has an empty name");
}

/// What calling `tool` with no arguments leads to in each revision.
///
/// `expected` is the answer in a word; the whole answer must contain one text and lack another.
fn check_call(server: impl Fn() -> Server, tool: &str, expected: &str, contains: &str, lacks: &str) {
    for revision in REVISIONS {
        run(async {
            let mut peer = Peer::open(server(), revision).await;
            let sent = peer.send(call(revision, "7", tool, &json!({})) + "\n").await;
            let answer = [sent, peer.within(Duration::from_millis(50)).await].concat();
            assert_eq!(words(&answer), expected, "{revision}: {tool}");
            let text = String::from_utf8(answer).unwrap();
            assert!(text.contains(contains), "{revision}: {tool}: {text}");
            assert!(lacks.is_empty() || !text.contains(lacks), "{revision}: {tool}: {text}");
            // The server lives on, and so does the tool.
            let again = [
                peer.send(call(revision, "8", tool, &json!({})) + "\n").await,
                peer.within(Duration::from_millis(50)).await,
            ]
            .concat();
            assert_eq!(words(&again), expected.replace('7', "8"), "{revision}: {tool}, again");
            let sentinel = request(revision, "9", "tools/list", json!({}));
            assert_eq!(words(&peer.send(sentinel + "\n").await), "R(9)", "{revision}: {tool}");
            assert_eq!(words(&peer.end().await), "");
        });
    }
}

#[test]
fn a_tool_fails_in_three_ways() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    let server = || {
        Server::new("failing", "1")
            .tool("failed", async |_: Nothing, _: Cx| Err::<(), _>(ToolError::failed("no such verb")))
            .tool("refused", async |_: Nothing, _: Cx| Err::<(), _>(ToolError::refused("not today")))
            .tool("internal", async |_: Nothing, _: Cx| {
                Err::<(), _>(ToolError::internal("the password is swordfish"))
            })
            .tool("thrown", async |_: Nothing, _: Cx| Ok("x".parse::<u8>()?.to_string()))
            .tool("caused", async |_: Nothing, _: Cx| {
                "x".parse::<u8>().map_err(Outer)?;
                Ok(())
            })
            .tool("later", async |_: Nothing, _: Cx| {
                tokio::task::yield_now().await;
                Err::<(), _>(ToolError::internal("the password is swordfish"))
            })
    };
    check_call(server, "failed", "F(7)", "no such verb", "");
    check_call(server, "refused", "E(-32602,7)", "not today", "");
    check_call(server, "internal", "E(-32603,7)", "internal error", "swordfish");
    check_call(server, "later", "E(-32603,7)", "internal error", "swordfish");
    check_call(server, "thrown", "F(7)", "invalid digit", "");
    check_call(server, "caused", "F(7)", "outer: invalid digit", "");
}

#[test]
fn a_result_that_breaks_its_own_schema_is_the_servers_fault() {
    let schema =
        || json!({"type": "object", "required": ["truth"], "properties": {"truth": {"type": "boolean"}}});
    let tool = |name: &str| Tool::new(name).input_schema(json!({"type": "object"})).output_schema(schema());
    let server = || {
        Server::new("liars", "1")
            .raw_tool(tool("missing"), async |_: Value, _: Cx| Ok(Json(json!({}))))
            .raw_tool(tool("wrong"), async |_: Value, _: Cx| Ok(Json(json!({"truth": "yes"}))))
            .raw_tool(tool("absent"), async |_: Value, _: Cx| Ok("the truth"))
            .raw_tool(tool("good"), async |_: Value, _: Cx| Ok(Json(json!({"truth": true}))))
            .raw_tool(tool("sorry"), async |_: Value, _: Cx| Err::<(), _>(ToolError::failed("I do not know")))
    };
    for name in ["missing", "wrong", "absent"] {
        check_call(server, name, "E(-32603,7)", name, "");
    }
    check_call(server, "good", "R(7)", "truth", "");
    // What a failure looks like, no schema says.
    check_call(server, "sorry", "F(7)", "I do not know", "");
}

#[test]
fn a_tool_returns_nothing_or_a_block_or_many() {
    let server = || {
        Server::new("outputs", "1")
            .tool("none", nothing)
            .tool("one", async |_: Nothing, _: Cx| Ok(Content::text("x")))
            .tool("static", async |_: Nothing, _: Cx| Ok("x"))
            .tool("no_blocks", async |_: Nothing, _: Cx| Ok(Vec::<Content>::new()))
            .tool("unit", async |(): (), _: Cx| Ok("x"))
    };
    check_call(server, "none", "R(7)", r#""content":[]"#, "structuredContent");
    check_call(server, "no_blocks", "R(7)", r#""content":[]"#, "");
    for name in ["one", "static", "unit"] {
        check_call(server, name, "R(7)", r#""content":[{"type":"text","text":"x"}]"#, "");
    }
}

/// Panics when it is dropped, unless a panic is on its way already.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("in drop");
        }
    }
}

/// A future written by hand that panics when it is dropped, having been ready or not.
struct BombFuture {
    ready: bool,
    _bomb: Bomb,
}

impl Future for BombFuture {
    type Output = Result<&'static str, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ready { Poll::Ready(Ok("done")) } else { Poll::Pending }
    }
}

/// Arguments that panic when they are read.
#[derive(JsonSchema)]
struct Unreadable {}

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("while reading")
    }
}

/// A result that panics when it is written.
#[derive(JsonSchema)]
struct Unwritable {}

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("while writing")
    }
}

fn panicking() -> Server {
    Server::new("panicking", "1")
        .tool("closure", |_: Nothing, _: Cx| -> std::future::Ready<Result<String, ToolError>> {
            panic!("in the closure")
        })
        .tool("first_poll", async |_: Nothing, _: Cx| -> Result<String, ToolError> { panic!("at once") })
        .tool("second_poll", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
            tokio::task::yield_now().await;
            panic!("at the second poll")
        })
        .tool("later", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
            tokio::time::sleep(Duration::from_millis(5)).await;
            panic!("later")
        })
        .tool("spawned", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
            tokio::spawn(async { panic!("in a task") }).await?;
            Ok(String::new())
        })
        .tool("drop", async |_: Nothing, _: Cx| {
            let _bomb = Bomb;
            Ok("done")
        })
        .tool("late_drop", async |_: Nothing, _: Cx| {
            let _bomb = Bomb;
            tokio::task::yield_now().await;
            Ok("done")
        })
        .tool("future_drop", |_: Nothing, _: Cx| BombFuture { ready: true, _bomb: Bomb })
        .tool("reading", async |_: Unreadable, _: Cx| Ok("done"))
        .tool("writing", async |_: Nothing, _: Cx| Ok(Json(Unwritable {})))
        .tool("number", async |_: Nothing, _: Cx| -> Result<String, ToolError> { std::panic::panic_any(5) })
        .tool(
            Tool::new("explain")
                .input_schema(json!({"type": "object", "required": ["x"]}))
                .explain(|_| panic!("lost for words")),
            nothing,
        )
}

#[test]
fn a_panic_anywhere_in_a_handler_is_answered_and_survived() {
    for tool in [
        "closure",
        "first_poll",
        "second_poll",
        "later",
        "drop",
        "late_drop",
        "future_drop",
        "reading",
        "writing",
        "number",
        "explain",
    ] {
        check_call(panicking, tool, "E(-32603,7)", "panicked", "");
    }
    // A task of its own is its own affair; the handler sees an error.
    check_call(panicking, "spawned", "F(7)", "panicked", "");
}

#[test]
fn a_panic_whose_own_payload_panics_is_survived() {
    let server = || {
        Server::new("payload", "1")
            .tool("at_once", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
                std::panic::panic_any(Bomb)
            })
            .tool("later", async |_: Nothing, _: Cx| -> Result<String, ToolError> {
                tokio::task::yield_now().await;
                std::panic::panic_any(Bomb)
            })
    };
    check_call(server, "later", "E(-32603,7)", "panicked", "");
    check_call(server, "at_once", "E(-32603,7)", "panicked", "");
}

/// An error that panics when it is shown, and when it is dropped.
#[derive(Debug)]
struct BombError {
    in_display: bool,
    _bomb: Option<Bomb>,
}

impl std::fmt::Display for BombError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        assert!(!self.in_display, "in display");
        f.write_str("an error")
    }
}

impl std::error::Error for BombError {}

#[test]
fn an_error_that_panics_is_survived() {
    let server = || {
        let shown = async |_: Nothing, _: Cx| {
            Err::<String, _>(ToolError::internal(BombError { in_display: true, _bomb: None }))
        };
        let dropped = async |_: Nothing, _: Cx| {
            Err::<String, _>(ToolError::internal(BombError { in_display: false, _bomb: Some(Bomb) }))
        };
        let dropped_later = async |_: Nothing, _: Cx| {
            tokio::task::yield_now().await;
            Err::<String, _>(ToolError::internal(BombError { in_display: false, _bomb: Some(Bomb) }))
        };
        Server::new("errors", "1")
            .tool("shown", shown)
            .tool("dropped", dropped)
            .tool("dropped_later", dropped_later)
    };
    for tool in ["shown", "dropped", "dropped_later"] {
        check_call(server, tool, "E(-32603,7)", "", "an error");
    }
}

#[test]
fn an_enum_of_structs_and_nothing_can_be_arguments() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }
    run(async {
        let server = Server::new("shapes", "1")
            .tool("area", async |shape: Shape, _: Cx| {
                Ok(match shape {
                    Shape::Circle { radius } => format!("{:.1}", radius * radius * 3.0),
                    Shape::Square { side } => format!("{:.1}", side * side),
                })
            })
            .tool("none", async |(): (), _: Cx| Ok("nothing"));
        let mut peer = Peer::open(server, "2025-06-18").await;
        let mut answer = async |tool: &str, arguments: Value| {
            let answers = peer.line(call("", "7", tool, &arguments)).await;
            let message = answers[0]["error"]["message"].as_str();
            message.or(answers[0]["result"]["content"][0]["text"].as_str()).unwrap().to_owned()
        };
        assert_eq!(answer("area", json!({"kind": "circle", "radius": 2})).await, "12.0");
        assert_eq!(answer("area", json!({"kind": "square", "side": 3})).await, "9.0");
        assert_eq!(answer("none", json!({})).await, "nothing");
        assert!(answer("none", json!({"x": 1})).await.contains("\"x\" is not known to it"));
    });
}

#[test]
fn an_argument_of_any_type_is_listed_as_each_revision_can_read_it() {
    #[derive(Deserialize, JsonSchema)]
    struct Anything {
        #[expect(dead_code, reason = "only its schema matters")]
        value: Value,
    }
    for revision in REVISIONS {
        run(async {
            let server = Server::new("any", "1").tool("take", async |_: Anything, _: Cx| Ok("taken"));
            let mut peer = Peer::open(server, revision).await;
            let list = peer.line(request(revision, "7", "tools/list", json!({}))).await;
            let property = &list[0]["result"]["tools"][0]["inputSchema"]["properties"]["value"];
            assert_eq!(property, &if revision == MODERN { json!(true) } else { json!({}) }, "{revision}");
        });
    }
}

#[test]
fn a_panic_while_a_call_is_taken_back_is_survived() {
    run(async {
        let server = || {
            Server::new("bombs", "1")
                .tool("local", async |_: Nothing, _: Cx| {
                    let _bomb = Bomb;
                    std::future::pending::<Result<String, ToolError>>().await
                })
                .tool("future", |_: Nothing, _: Cx| BombFuture { ready: false, _bomb: Bomb })
        };
        let mut peer = Peer::open(server(), MODERN).await;
        for tool in ["local", "future"] {
            assert_eq!(words(&peer.send(call(MODERN, "7", tool, &json!({})) + "\n").await), "");
            assert_eq!(words(&peer.send(cancel("7") + "\n").await), "");
            assert_eq!(words(&peer.send(request(MODERN, "8", "tools/list", json!({})) + "\n").await), "R(8)");
        }
        // And at the end of the connection.
        peer.send(
            call(MODERN, "7", "local", &json!({})) + "\n" + &call(MODERN, "8", "future", &json!({})) + "\n",
        )
        .await;
        let answers = words(&peer.end().await);
        assert!(["E(-32603,7) E(-32603,8)", "E(-32603,8) E(-32603,7)"].contains(&&*answers), "{answers}");
    });
}

#[test]
fn a_panic_in_a_batch_spoils_no_other_answer() {
    run(async {
        let mut peer = Peer::open(panicking(), "2025-03-26").await;
        let batch = format!(
            "[{},{},{}]\n",
            call("", "1", "first_poll", &json!({})),
            call("", "2", "later", &json!({})),
            request("", "3", "ping", json!({}))
        );
        assert_eq!(words(&peer.send(batch).await), "");
        assert_eq!(words(&peer.within(Duration::from_millis(50)).await), "[E(-32603,1) E(-32603,2) R(3)]");
    });
}

/// A tool that blocks its thread: at first for a while, from then on until the test lets it go; before that, it tells its
/// progress if the client wants to know.
fn blocking(started: mpsc::Sender<()>, go: mpsc::Receiver<()>) -> Server {
    let (go, calls) = (Arc::new(Mutex::new(go)), AtomicUsize::new(0));
    Server::new("blocking", "1").tool("block", move |_: Nothing, cx: Cx| {
        let (started, go) = (started.clone(), Arc::clone(&go));
        let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                std::thread::sleep(Duration::from_millis(20));
            } else {
                cx.progress(1.0, None, None);
                started.send(()).unwrap();
                go.lock().unwrap().recv().unwrap();
            }
            Ok("done")
        }
    })
}

/// Calls a tool that blocks, and pings the server while it does.
async fn ping_while_it_blocks(meta: Value) {
    let (started, has_started) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let mut peer = Peer::connect(blocking(started, wait));
    let initialize =
        request("", "0", "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    peer.write(initialize + "\n").await;
    assert_eq!(peer.next().await["id"], 0);
    // The first call is found out.
    peer.write(call("", "1", "block", &json!({})) + "\n").await;
    assert_eq!(peer.next().await["id"], 1);
    for round in 0..10 {
        let block = request("", "2", "tools/call", json!({"name": "block", "arguments": {}, "_meta": meta}));
        peer.write(block + "\n").await;
        tokio::task::block_in_place(|| has_started.recv().unwrap());
        // The call is under way and goes nowhere until told so.
        peer.write(request("", "3", "ping", json!({})) + "\n").await;
        let mut answer = json!({});
        while answer["id"] != 3 {
            let Ok(next) = tokio::time::timeout(Duration::from_secs(5), peer.next()).await else {
                // Let the thread go before the runtime waits for it.
                go.send(()).unwrap();
                panic!("round {round}: the ping waits for the call");
            };
            assert_ne!(next["id"], 2);
            answer = next;
        }
        go.send(()).unwrap();
        assert_eq!(peer.next().await["id"], 2);
    }
    assert_eq!(words(&peer.end().await), "");
}

#[test]
fn a_tool_that_blocks_its_thread_delays_a_ping_once_at_most() {
    run_threads(ping_while_it_blocks(json!({})));
}

#[test]
fn a_tool_that_tells_its_progress_and_then_blocks_delays_no_ping_either() {
    // The progress wakes the connection just before the thread is gone.
    run_threads(ping_while_it_blocks(json!({"progressToken": 1})));
}

#[test]
fn one_slow_call_of_a_fast_tool_turns_no_later_call_away() {
    // The first call is held up (by the scheduler, say); all the others are as fast as can be.
    run(async {
        let calls = AtomicUsize::new(0);
        let server = Server::new("hiccup", "1").tool("fast", move |_: Nothing, _: Cx| {
            let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok("done")
            }
        });
        let mut peer = Peer::open(server, MODERN).await;
        // One more than may run at once: the first is over when the others come.
        let lines: String =
            (0..=1_100).map(|id| call(MODERN, &format!("{id}"), "fast", &json!({})) + "\n").collect();
        let answers = words(&peer.send(lines).await);
        assert_eq!(
            answers.matches("R(").count(),
            1_101,
            "{} calls were refused",
            answers.matches("E(").count()
        );
    });
}

#[test]
fn a_slow_tool_never_delays_a_fast_one() {
    for revision in REVISIONS {
        run(async {
            let mut peer = Peer::open(fixture::server(), revision).await;
            let lines = [
                call(revision, "1", "work", &json!({"steps": 10})),
                call(revision, "2", "echo", &json!({"text": "x"})),
                String::new(),
            ];
            assert_eq!(words(&peer.send(lines.join("\n")).await), "R(2)", "{revision}");
            assert_eq!(words(&peer.within(Duration::from_secs(2)).await), "R(1)", "{revision}");
        });
    }
}

#[test]
fn requests_in_flight_are_bounded() {
    for revision in REVISIONS {
        run(async {
            let mut peer =
                Peer::open(fixture::server().limits(Limits { in_flight: 2, ..Limits::default() }), revision)
                    .await;
            let wait = |id: &str| call(revision, id, "wait", &json!({})) + "\n";
            let echo = |id: &str| call(revision, id, "echo", &json!({"text": "x"})) + "\n";
            assert_eq!(
                words(&peer.send(wait("1") + &wait("2") + &wait("3") + &wait("3") + "hello\n").await),
                if revision < "2025-11-25" {
                    "E(-32600,3) E(-32600,3) E(-32700,null)"
                } else {
                    "E(-32600,3) E(-32600,3) E(-32700,–)"
                }
            );
            // One that is taken back makes room at once.
            assert_eq!(
                words(&peer.send(cancel("1") + "\n" + &echo("4") + &wait("5") + &echo("6")).await),
                "R(4) E(-32600,6)",
                "{revision}"
            );
        });
    }
    // By default, a thousand.
    run(async {
        let mut peer = Peer::open(fixture::server(), MODERN).await;
        let lines: String =
            (0..1_005).map(|id| call(MODERN, &format!("{id}"), "wait", &json!({})) + "\n").collect();
        assert_eq!(
            words(&peer.send(lines).await),
            "E(-32600,1000) E(-32600,1001) E(-32600,1002) E(-32600,1003) E(-32600,1004)"
        );
    });
}

#[test]
fn bytes_in_flight_are_bounded() {
    run(async {
        let mut peer = Peer::open(
            fixture::server().limits(Limits { bytes_in_flight: 10_000, ..Limits::default() }),
            "2025-11-25",
        )
        .await;
        let wait = |id: &str, size: usize| call("", id, "wait", &json!({"x": "y".repeat(size)})) + "\n";
        let answers = peer.send((0..10).map(|id| wait(&format!("{id}"), 3_000)).collect::<String>()).await;
        let refused = words(&answers);
        // Within one request of the limit, all of the rest is refused.
        let count = refused.matches("E(-32600,").count();
        assert!((6..=7).contains(&count), "{refused}");
        assert!(refused.ends_with("E(-32600,9)"), "{refused}");
        // Even a small one; until one of the large ones is over.
        assert_eq!(words(&peer.send(wait("10", 0)).await), "E(-32600,10)");
        assert_eq!(words(&peer.send(cancel("0") + "\n" + &wait("10", 0)).await), "");
        // What is over no longer counts.
        let lines: String = (1..=10).map(|id| cancel(&format!("{id}")) + "\n").collect();
        assert_eq!(words(&peer.send(lines).await), "");
        for id in 20..40 {
            assert_eq!(
                words(
                    &peer
                        .send(call("", &format!("{id}"), "echo", &json!({"text": "y".repeat(9_000)})) + "\n")
                        .await
                ),
                format!("R({id})")
            );
        }
    });
}

#[test]
fn a_recursive_schema_is_checked_to_any_allowed_depth() {
    run(async {
        let schema = json!({
            "type": "object",
            "properties": {"child": {"$ref": "#"}, "leaf": {"type": "integer"}},
            "additionalProperties": false,
        });
        let mut peer = Peer::open(odd(schema, None), MODERN).await;
        let nest = |leaf: Value, levels: usize| {
            (0..levels).fold(json!({"leaf": leaf}), |inner, _| json!({"child": inner}))
        };
        assert_eq!(words(&peer.send(call(MODERN, "7", "odd", &nest(json!(1), 100)) + "\n").await), "R(7)");
        assert_eq!(words(&peer.send(call(MODERN, "8", "odd", &nest(json!("x"), 100)) + "\n").await), "F(8)");
    });
}
