//! Tools that come and go at run time.

use std::sync::Arc;
use std::time::Duration;

use papertape::server::Tool;
use papertape::{Cx, Server};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Nothing, REVISIONS, ask, nothing, numbered, pages};
use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, messages, request, run, words};

const CHANGED: &str = "N(notifications/tools/list_changed)";

#[test]
fn a_legacy_client_is_notified_once_it_is_initialized() {
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
            let received = peer.settle().await;
            assert_eq!(words(&received), CHANGED, "{revision}");
            assert_eq!(messages(&received)[0].get("params"), None, "{revision}");
            assert!(tools.remove("t0"));
            assert_eq!(words(&peer.settle().await), CHANGED, "{revision}");
            // Several at once are one notification.
            for number in 0..50 {
                tools.add(format!("more{number}"), nothing).unwrap();
            }
            assert_eq!(words(&peer.settle().await), CHANGED, "{revision}");
            // A change without effect is not notified.
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
fn a_modern_client_is_notified_if_it_subscribes() {
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
        let received = messages(&peer.settle().await);
        let ids: Vec<&Value> = received
            .iter()
            .map(|message| &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"])
            .collect();
        assert_eq!(ids, [&json!(1), &json!("1")]);
        assert!(received.iter().all(|message| message["method"] == "notifications/tools/list_changed"));
        // Modern and legacy clients at once: each is notified as its revision has it.
        peer.initialize("2025-06-18").await;
        assert!(tools.remove("a"));
        assert_eq!(words(&peer.settle().await), [CHANGED; 3].join(" "));
    });
}

#[test]
fn a_change_during_the_handshake_is_not_lost() {
    run(async {
        let mut peer = Peer::open(fixture::server(), MODERN).await;
        let listen = request(
            MODERN,
            "1",
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        );
        peer.send(listen + "\n").await;
        // A change, and before it is sent, what opens a legacy session (or is mere noise).
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
        let is_removed = Arc::new(Notify::new());
        let removal = Arc::clone(&is_removed);
        tools
            .add("slow", move |_: Nothing, _: Cx| {
                let removal = Arc::clone(&removal);
                async move {
                    removal.notified().await;
                    Ok("done")
                }
            })
            .unwrap();
        let mut peer = Peer::open(server, MODERN).await;
        assert_eq!(words(&peer.send(call(MODERN, "7", "slow", &json!({})) + "\n").await), "");
        assert!(tools.remove("slow"));
        is_removed.notify_one();
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
