//! Input requests, their responses and the request state that clients carry.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papertape::server::{Form, Tool};
use papertape::{Cx, ToolError};
use serde_json::{Value, json};

use super::{ALL, Anything, FORM, Name, accept, ask_name, code, hello, legacy, modern, named, one, plain};
use crate::peer::{MODERN, Peer, messages, run, run_threads};

// Dialogues.

#[test]
fn a_client_may_send_input_responses_in_advance() {
    run(async {
        let mut peer = Peer::connect(named("s").tool("ask", ask_name));
        let params = json!({"name": "ask", "inputResponses": {"who": accept("x"), "odd": accept("y")}});
        let reply = one(&mut peer, modern(FORM, 1, "tools/call", params)).await;
        assert_eq!(reply["result"]["content"][0]["text"], "x", "{reply}");
        // A response to something else leaves the input request open.
        let params = json!({"name": "ask", "inputResponses": {"odd": accept("y")}});
        let reply = one(&mut peer, modern(FORM, 2, "tools/call", params)).await;
        assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
        // What cannot be read is a fault of the request, not a result of the tool.
        for bad in [
            json!(12345),
            json!("x"),
            json!(null),
            json!([]),
            json!({}),
            json!({"action": "perhaps"}),
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {"name": 5}}),
            json!({"action": "accept", "content": "x"}),
        ] {
            let params = json!({"name": "ask", "inputResponses": {"who": bad}});
            let reply = one(&mut peer, modern(FORM, 3, "tools/call", params)).await;
            assert_eq!(reply["error"]["code"], -32602, "{bad}: {reply}");
            assert!(reply["error"]["message"].as_str().unwrap().contains("inputResponses"), "{reply}");
        }
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

#[test]
fn a_multi_round_request_repeats_only_missing_input_requests() {
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
            // A response is not changed afterwards.
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
fn legacy_elicitation_keeps_earlier_responses() {
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
fn input_request_rounds_are_bounded() {
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
fn a_cancelled_server_request_gets_at_most_one_response() {
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
        // The id is free again, and the next request has another.
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
            let received = peer.line(both.join("\n")).await;
            assert!(received.iter().all(|received| received["id"].is_null()), "{received:?}");
        }
    });
}

#[test]
fn an_invalid_input_response_is_one_error() {
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
            // An error response ends the elicitation.
            let closed = answer.contains("error") && result["content"][0]["text"] == "Cancelled";
            assert!(result["isError"] == true || closed, "{answer}: {result}");
            if !answer.contains("result\":null") && answer.contains("result") && !answer.contains("ud800") {
                let mut peer = Peer::connect(named("s").tool("ask", ask_name));
                let asked = one(&mut peer, modern(FORM, 1, "tools/call", json!({"name": "ask"}))).await;
                let answer: Value = serde_json::from_str(&format!("{{{answer}}}")).unwrap();
                let params = json!({"name": "ask", "requestState": asked["result"]["requestState"],
                    "inputResponses": {"who": answer["result"]}});
                let reply = one(&mut peer, modern(FORM, 2, "tools/call", params)).await;
                assert_eq!(reply["error"]["code"], -32602, "{reply}");
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
fn request_state_is_bound_to_the_value_of_the_arguments() {
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
fn a_result_that_depends_on_input_is_not_cacheable() {
    run(async {
        let server = named("s")
            .cache(Duration::from_secs(3600), papertape::protocol::CacheScope::Public)
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

// Races.

/// Answer and cancellation on their way at once, ten thousand times: one reply at most, and every one is the call's own.
#[test]
fn ten_thousand_races_of_response_and_cancellation() {
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
                let received = peer.next().await;
                if received["id"] == json!(1_u64 << 40) {
                    break;
                }
                if received["method"] == "notifications/cancelled" {
                    assert_eq!(received["params"]["requestId"], asked["id"]);
                    continue;
                }
                // One that was under way when the ping was answered comes in the next round.
                assert_eq!(
                    received["result"]["content"][0]["text"],
                    received["id"].to_string(),
                    "{received}"
                );
                replies += 1;
            }
            assert!(replies <= 1, "{replies} replies in round {round}");
            answered += replies;
        }
        assert!(answered <= 10_000);
        let last = messages(&peer.end().await);
        assert!(last.iter().all(|received| received["method"] == "notifications/cancelled"), "{last:?}");
    });
}

#[test]
fn server_requests_during_a_batch_are_sent_beside_it() {
    run(async {
        let server = || {
            named("s").tool("hello", hello).tool("roots", |_: Anything, cx: Cx| async move {
                Ok(cx.ask("roots", papertape::server::Roots)?.len().to_string())
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
        // One is cancelled, the other loses its client.
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

/// Input responses come back with every further round: they must fit, or get an error.
#[test]
fn a_state_is_never_longer_than_what_is_read() {
    run(async {
        let limits = papertape::server::Limits { frame: 1 << 20, ..papertape::server::Limits::default() };
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
fn a_server_request_without_a_response_times_out() {
    run(async {
        let limits = papertape::server::Limits {
            answer: Duration::from_secs(5),
            ..papertape::server::Limits::default()
        };
        let server = named("s")
            .limits(limits)
            .tool("form", ask_name)
            .tool("roots", |_: Anything, cx: Cx| async move {
                Ok(format!("{:?}", cx.ask("roots", papertape::server::Roots)?))
            });
        let mut peer = legacy(server, "2025-11-25", ALL).await;
        for (id, tool) in [(1, "form"), (2, "roots")] {
            let asked = one(&mut peer, plain(id, "tools/call", &json!({"name": tool}))).await;
            assert!(peer.within(Duration::from_secs(4)).await.is_empty());
            let received = messages(&peer.within(Duration::from_secs(2)).await);
            assert_eq!(received.len(), 2, "{received:?}");
            assert_eq!(received[0]["method"], "notifications/cancelled");
            assert_eq!(received[0]["params"]["requestId"], asked["id"]);
            assert_eq!(received[1]["id"], id);
            let closed = received[1]["result"]["content"][0]["text"] == "Cancelled";
            assert!(closed || received[1]["result"]["isError"] == true, "{received:?}");
            // Too late.
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")});
            assert!(peer.line(answer.to_string()).await.is_empty());
        }
    });
}

#[test]
fn responses_to_unknown_requests_are_ignored() {
    run(async {
        let mut peer = legacy(named("s").tool("ask", ask_name), "2025-11-25", FORM).await;
        let asked = one(&mut peer, plain(5, "tools/call", &json!({"name": "ask"}))).await;
        let id = asked["id"].as_i64().unwrap();
        for other in
            [json!(id + 1), json!(0), json!(-1), json!(5), json!(id.to_string()), json!(""), json!(null)]
        {
            let answer = json!({"jsonrpc": "2.0", "id": other, "result": accept("x")});
            let received = peer.line(answer.to_string()).await;
            assert!(received.iter().all(|received| received["id"] != 5), "{other}: {received:?}");
        }
        // By value, as all ids are.
        let reply = peer.line(format!(r#"{{"jsonrpc":"2.0","id":{id}.0,"result":{}}}"#, accept("x"))).await;
        assert_eq!(reply[0]["result"]["content"][0]["text"], "x", "{reply:?}");
    });
}

/// Concurrent input requests are distinguished.
#[test]
fn concurrent_elicitations_get_their_own_responses() {
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
