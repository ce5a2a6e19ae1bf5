//! Bounds: what a client can make a server hold.

use std::collections::BTreeMap;
use std::time::Duration;

use papertape::Cx;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Anything, FORM, Name, TASKS, accept, ask_name, hello, legacy, long, modern, named, one, plain};
use crate::own_process::alone;
use crate::peer::{Peer, messages, run};

// Bounds.

/// A URI of a frame's size must not block the connection, however many templates there are.
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
fn a_million_completions_and_changes_are_bounded() {
    run(async {
        let prompt = papertape::server::Prompt::new("p")
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
        let received = messages(&peer.settle().await);
        assert!(!received.is_empty() && received.len() <= 2_000, "{}", received.len());
    });
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
        let limits =
            papertape::server::Limits { bytes_in_flight: 4 << 20, ..papertape::server::Limits::default() };
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
fn legacy_subscriptions_are_bounded_like_requests() {
    run(async {
        let mut server =
            named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let _resources = server.resources();
        let limits =
            papertape::server::Limits { bytes_in_flight: 4 << 20, ..papertape::server::Limits::default() };
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
fn a_large_task_result_is_not_serialised_per_subscriber() {
    alone("features_hostile::bounds::a_large_task_result_is_not_serialised_per_subscriber", || {
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
            // Without a reader: the pipe takes 64 MiB, the outbox what it may.
            let before = resident();
            tokio::time::sleep(Duration::from_secs(5)).await;
            let grown = resident().saturating_sub(before);
            assert!(grown < 200, "grown by {grown} MiB");
        });
    });
}

#[test]
fn a_flood_of_logs_is_dropped_without_a_reader() {
    run(async {
        let server = named("s").logging().tool("flood", |_: Anything, cx: Cx| async move {
            for _ in 0..100_000 {
                cx.log(papertape::protocol::LogLevel::Error, "x".repeat(1_000));
            }
            Ok("done")
        });
        let mut peer = legacy(server, "2025-11-25", "{}").await;
        one(&mut peer, plain(1, "logging/setLevel", &json!({"level": "debug"}))).await;
        let received = peer.line(plain(2, "tools/call", &json!({"name": "flood"}))).await;
        assert!(received.len() < 1_000, "{}", received.len());
        assert_eq!(received.last().unwrap()["id"], 2);
    });
}

#[test]
fn server_requests_are_bounded_like_calls() {
    run(async {
        let mut peer = legacy(named("s").tool("ask", ask_name), "2025-11-25", FORM).await;
        let calls: String =
            (1..=10_000).map(|id| plain(id, "tools/call", &json!({"name": "ask"})) + "\n").collect();
        let received = messages(&peer.send(calls).await);
        let asked: Vec<&Value> =
            received.iter().filter(|received| received["method"] == "elicitation/create").collect();
        assert_eq!((asked.len(), received.len()), (1_000, 10_000));
        // All are answered, in another order, each once.
        let answers: String = asked
            .iter()
            .rev()
            .map(|asked| {
                json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("x")}).to_string() + "\n"
            })
            .collect();
        let received = messages(&peer.send(answers).await);
        assert_eq!(received.len(), 1_000);
        assert!(received.iter().all(|received| received["result"]["content"][0]["text"] == "x"));
    });
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
        let limits =
            papertape::server::Limits { bytes_in_flight: 4 << 20, ..papertape::server::Limits::default() };
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
fn a_long_id_is_not_copied_per_notification() {
    alone("features_hostile::bounds::a_long_id_is_not_copied_per_notification", || {
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
            // Without a reader: the pipe takes 64 MiB, the outbox what it may.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let grown = resident().saturating_sub(before);
            assert!(grown < 150, "grown by {grown} MiB");
        });
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
fn an_invalid_uri_is_truncated_in_errors() {
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

/// S-30: an id of 10,000 characters is one, whatever they are, and one that is too long is still reported by its id.
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
