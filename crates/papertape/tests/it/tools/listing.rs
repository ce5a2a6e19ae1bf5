//! Lists and their pages.

use std::time::Duration;

use papertape::Server;
use papertape::protocol::CacheScope;
use serde_json::{Value, json};

use super::{REVISIONS, ask, nothing, numbered, pages};
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

/// A page of `tools/list`, and the cursor of the next.
async fn page(peer: &mut Peer, revision: &str, cursor: &Value) -> (Vec<String>, Option<Value>) {
    let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
    let answer = ask(peer, &request(revision, "1", "tools/list", params)).await;
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    (names, answer["result"].get("nextCursor").cloned())
}

#[test]
fn a_cursor_outlives_what_it_points_at() {
    for revision in REVISIONS {
        run(async {
            let (server, tools) = numbered(10, 3);
            let mut peer = Peer::open(server, revision).await;
            let (first, cursor) = page(&mut peer, revision, &Value::Null).await;
            assert_eq!(first, ["t0", "t1", "t2"], "{revision}");
            let cursor = cursor.unwrap();
            // What was sent last goes, and so does much before and behind it; one comes between, and one at the end.
            for gone in ["t0", "t2", "t3", "t9"] {
                assert!(tools.remove(gone));
            }
            tools.add("t10", nothing).unwrap();
            tools.add("t55", nothing).unwrap();
            peer.settle().await;
            let (second, next) = page(&mut peer, revision, &cursor).await;
            assert_eq!(second, ["t4", "t5", "t55"], "{revision}");
            let (third, end) = page(&mut peer, revision, &next.unwrap()).await;
            assert_eq!((third.join(" "), end), ("t6 t7 t8".to_owned(), None), "{revision}");
            // The same cursor once more; and when nothing is left behind it, or nothing at all.
            assert_eq!(page(&mut peer, revision, &cursor).await.0, second, "{revision}");
            for gone in ["t4", "t5", "t55", "t6", "t7", "t8"] {
                assert!(tools.remove(gone));
            }
            peer.settle().await;
            assert_eq!(page(&mut peer, revision, &cursor).await, (Vec::new(), None), "{revision}");
            assert!(tools.remove("t1") && tools.remove("t10"));
            peer.settle().await;
            assert_eq!(page(&mut peer, revision, &cursor).await, (Vec::new(), None), "{revision}");
        });
    }
}

#[test]
fn a_list_of_one_page_is_in_the_order_of_registration() {
    run(async {
        let names = ["search", "fetch", "about"];
        let limits = |page| papertape::server::Limits { page, ..papertape::server::Limits::default() };
        for (size, expected) in [(3, &["search fetch about"][..]), (2, &["about fetch", "search"])] {
            let server = names.iter().fold(Server::new("s", "1"), |server, name| server.tool(*name, nothing));
            let mut peer = Peer::open(server.limits(limits(size)), MODERN).await;
            let pages = pages(&mut peer, MODERN).await;
            assert_eq!(pages.iter().map(|page| page.join(" ")).collect::<Vec<_>>(), expected);
        }
    });
}

#[test]
fn a_cursor_of_one_replica_leads_on_in_another() {
    run(async {
        // The same tools, registered in another order and with another history.
        let (server, _) = numbered(10, 3);
        let mut backwards = Server::new("other", "1")
            .limits(papertape::server::Limits { page: 4, ..papertape::server::Limits::default() });
        let tools = backwards.tools();
        for number in (0..20).rev() {
            tools.add(format!("t{number}"), nothing).unwrap();
        }
        for number in 10..20 {
            assert!(tools.remove(&format!("t{number}")));
        }
        let mut replicas = [Peer::open(server, MODERN).await, Peer::open(backwards, MODERN).await];
        let (mut all, mut cursor) = (Vec::new(), Value::Null);
        for turn in 0.. {
            let (names, next) = page(&mut replicas[turn % 2], MODERN, &cursor).await;
            all.extend(names);
            let Some(next) = next else { break };
            cursor = next;
        }
        let expected: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
        assert_eq!(all, expected);
    });
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
