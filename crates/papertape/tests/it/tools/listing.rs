//! Lists and their pages.

use std::time::Duration;

use papertape::{CacheScope, Server};
use serde_json::json;

use super::{REVISIONS, ask, numbered, pages};
use crate::peer::{LEGACY, MODERN, Peer, call, request, run};

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
