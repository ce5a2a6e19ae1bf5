//! Lists and the notifications of their changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::{hello, legacy, modern, named, one, plain};
use crate::peer::{Peer, messages, run, run_threads};

/// A client with so many subscriptions that they are notified a few at a time still gets all notifications.
#[test]
fn no_change_of_what_is_watched_is_lost() {
    run(async {
        let mut server =
            named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
        let resources = server.resources();
        let mut peer = Peer::connect(server);
        for listener in 0..20_u64 {
            let uris: Vec<String> = (0..100).map(|n| format!("x:{listener}/{n}")).collect();
            let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
            one(&mut peer, modern("{}", listener, "subscriptions/listen", wanted)).await;
        }
        for listener in 0..20 {
            for n in 0..100 {
                resources.updated(&format!("x:{listener}/{n}"));
            }
        }
        let received = messages(&peer.settle().await);
        assert_eq!(received.len(), 2_000);
    });
}

/// Notifications pending when a subscription ends do not go to the next one with its id.
#[test]
fn a_subscription_with_the_id_of_another_is_another() {
    run(async {
        let mut server = named("s").resource("x:a", |_| async { Ok("") }).tool("hello", hello);
        let (resources, tools) = (server.resources(), server.tools());
        // A small pipe without a reader.
        let (ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(theirs);
        let served = tokio::spawn(papertape::streams::serve(server, reader, writer));
        let (mut from, mut to) = tokio::io::split(ours);
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let wanted = json!({"notifications": {"resourceSubscriptions": ["x:a"]}});
        to.write_all((modern("{}", 1, "subscriptions/listen", wanted) + "\n").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        for n in 0..5_000 {
            resources.updated(&format!("x:a/{n}{}", "y".repeat(1_000)));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let lines = crate::peer::cancel("1") + "\n" + &modern("{}", 1, "subscriptions/listen", wanted) + "\n";
        let writing = tokio::spawn(async move {
            to.write_all(lines.as_bytes()).await.unwrap();
            to
        });
        let mut bytes = Vec::new();
        while let Ok(Ok(1..)) = tokio::time::timeout(Duration::from_secs(5), from.read_buf(&mut bytes)).await
        {
        }
        assert!(tools.remove("hello"));
        while let Ok(Ok(1..)) = tokio::time::timeout(Duration::from_secs(5), from.read_buf(&mut bytes)).await
        {
        }
        let received = messages(&bytes);
        let acknowledged: Vec<usize> = (0..received.len())
            .filter(|&at| received[at]["method"] == "notifications/subscriptions/acknowledged")
            .collect();
        assert_eq!(acknowledged.len(), 2);
        let odd: Vec<&Value> = received[acknowledged[1] + 1..]
            .iter()
            .filter(|received| received["method"] != "notifications/tools/list_changed")
            .collect();
        assert!(odd.is_empty(), "{} messages that the second did not ask for", odd.len());
        assert_eq!(received.last().unwrap()["method"], "notifications/tools/list_changed");
        drop(writing.await.unwrap());
        drop(from);
        served.await.unwrap().unwrap();
    });
}

// Lists.

#[test]
fn all_lists_have_pages_and_cursors_of_their_own() {
    run(async {
        let limits = papertape::server::Limits { page: 2, ..papertape::server::Limits::default() };
        let mut server = named("s").limits(limits);
        for n in 0..5 {
            server = server
                .resource(format!("r:{n}"), |_| async { Ok("") })
                .resource_template(format!("t{n}:{{x}}").as_str(), |_: BTreeMap<String, String>, _| async {
                    Ok("")
                })
                .prompt(format!("p{n}"), |_: (), _| async { Ok(String::new()) });
        }
        let mut peer = Peer::connect(server);
        let mut cursors = Vec::new();
        for (method, member) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let mut seen = Vec::new();
            let mut params = json!({});
            loop {
                let reply = one(&mut peer, modern("{}", 1, method, params)).await;
                let result = &reply["result"];
                assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
                seen.extend(result[member].as_array().unwrap().iter().map(|item| item["name"].clone()));
                let Some(next) = result.get("nextCursor") else { break };
                cursors.push((method, next.clone()));
                params = json!({"cursor": next});
            }
            assert_eq!(seen.len(), 5, "{seen:?}");
        }
        for (from, cursor) in cursors {
            for to in ["resources/list", "resources/templates/list", "prompts/list"] {
                let reply = one(&mut peer, modern("{}", 1, to, json!({"cursor": cursor}))).await;
                assert_eq!(reply["result"].is_object(), from == to, "a cursor of {from} for {to}: {reply}");
            }
        }
    });
}

#[test]
fn list_changes_match_the_declared_capabilities() {
    run(async {
        for revision in crate::peer::LEGACY {
            for (tools, resources, prompts) in
                [(true, false, false), (false, true, false), (false, false, true)]
            {
                let mut server = named("s")
                    .tool("x", hello)
                    .resource("x:y", |_| async { Ok("") })
                    .prompt("p", |_: (), _| async { Ok(String::new()) });
                let handles = (
                    tools.then(|| server.tools()),
                    resources.then(|| server.resources()),
                    prompts.then(|| server.prompts()),
                );
                let mut peer = Peer::connect(server);
                let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
                let reply = one(&mut peer, plain(0, "initialize", &params)).await;
                let offered = &reply["result"]["capabilities"];
                assert_eq!(offered["tools"]["listChanged"], tools);
                assert_eq!(offered["resources"]["listChanged"], resources);
                assert_eq!(offered["resources"]["subscribe"], resources);
                assert_eq!(offered["prompts"]["listChanged"], prompts);
                let change = |handles: &(
                    Option<papertape::server::Tools>,
                    Option<papertape::server::Resources>,
                    Option<papertape::server::Prompts>,
                )| {
                    if let Some(tools) = &handles.0 {
                        assert!(tools.remove("x"));
                        tools.add("x", hello).unwrap();
                    }
                    if let Some(resources) = &handles.1 {
                        assert!(resources.remove("x:y"));
                        resources.add("x:y", |_| async { Ok("") }).unwrap();
                        resources.updated("x:y");
                    }
                    if let Some(prompts) = &handles.2 {
                        assert!(prompts.remove("p"));
                        prompts.add("p", |_: (), _| async { Ok(String::new()) }).unwrap();
                    }
                };
                // Not before the client is ready, once afterwards.
                change(&handles);
                assert!(peer.settle().await.is_empty());
                peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
                change(&handles);
                let received = messages(&peer.settle().await);
                let method = match (tools, resources) {
                    (true, _) => "notifications/tools/list_changed",
                    (_, true) => "notifications/resources/list_changed",
                    _ => "notifications/prompts/list_changed",
                };
                assert_eq!(received.len(), 1, "{received:?}");
                assert_eq!(received[0]["method"], method);
            }
        }
    });
}

#[test]
fn a_change_below_a_subscribed_uri_notifies_the_subscriber() {
    run(async {
        for (watched, changed, concerned) in [
            ("x:a", "x:a", true),
            ("x:a", "x:a/b", true),
            ("x:a/", "x:a/b", true),
            ("x:a/b", "x:a", false),
            ("x:a", "x:ab", false),
            ("x:a", "x:a?q=1", false),
            ("x:a", "X:a", false),
        ] {
            let mut server =
                named("s").resource_template("x:{+path}", |_: BTreeMap<String, String>, _| async { Ok("") });
            let resources = server.resources();
            let mut peer = legacy(server, "2025-11-25", "{}").await;
            one(&mut peer, plain(1, "resources/subscribe", &json!({"uri": watched}))).await;
            let wanted = json!({"notifications": {"resourceSubscriptions": [watched]}});
            one(&mut peer, modern("{}", 2, "subscriptions/listen", wanted)).await;
            resources.updated(changed);
            let received = messages(&peer.settle().await);
            assert_eq!(received.len(), if concerned { 2 } else { 0 }, "{watched} {changed}: {received:?}");
            assert!(received.iter().all(|received| received["params"]["uri"] == changed));
            one(&mut peer, plain(3, "resources/unsubscribe", &json!({"uri": watched}))).await;
            peer.line(crate::peer::cancel("2")).await;
            resources.updated(changed);
            assert!(peer.settle().await.is_empty());
        }
    });
}

/// A list that changes all the time is still a list, and every page of it is one of some moment.
#[test]
fn lists_that_change_while_they_are_read() {
    run_threads(async {
        let mut server =
            named("s").limits(papertape::server::Limits { page: 10, ..papertape::server::Limits::default() });
        let resources = server.resources();
        for n in 0..100 {
            resources.add(format!("x:{n}"), |_| async { Ok("") }).unwrap();
        }
        let mut peer = Peer::connect(server);
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let changing = std::thread::spawn(move || {
            let mut changes = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                assert!(resources.remove("x:50"));
                resources.add("x:50", |_| async { Ok("") }).unwrap();
                changes += 1;
                std::thread::sleep(Duration::from_micros(200));
            }
            changes
        });
        let stable: Vec<String> = (0..100).filter(|n| *n != 50).map(|n| format!("x:{n}")).collect();
        let (mut cursor, mut seen, mut listings) = (Value::Null, Vec::new(), 0);
        for id in 0..1_000 {
            peer.write(modern("{}", id, "resources/list", json!({"cursor": cursor})) + "\n").await;
            let reply = peer.next().await;
            let page = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}"));
            assert!((9..=10).contains(&page.len()), "{reply}");
            seen.extend(page.iter().map(|item| item["uri"].as_str().unwrap().to_owned()));
            cursor = reply["result"]["nextCursor"].clone();
            if cursor.is_null() {
                seen.retain(|uri| uri != "x:50");
                seen.sort_by_key(|uri| uri.trim_start_matches("x:").parse::<u32>().unwrap());
                assert_eq!(std::mem::take(&mut seen), stable);
                listings += 1;
            }
        }
        assert!(listings >= 99, "{listings}");
        done.store(true, Ordering::Relaxed);
        assert!(changing.join().unwrap() > 0);
    });
}

// Under `serve blog --watch` the list of 2,300 files was never completed while files were saved.
#[test]
fn a_long_list_is_completed_while_it_changes_between_all_pages() {
    run(async {
        let uri = |n: u32| format!("file:///notes/{n:04}.md");
        let mut server = named("s")
            .limits(papertape::server::Limits { page: 100, ..papertape::server::Limits::default() });
        let resources = server.resources();
        let note = |uri: String| (papertape::server::Resource::new(uri), |_| async { Ok("") });
        resources.exchange(&[], (0..2_300).map(|n| note(uri(n)))).unwrap();
        let mut peer = Peer::connect(server);
        for listing in 0..10_u32 {
            let (mut seen, mut cursor, mut page) = (Vec::new(), Value::Null, 0);
            loop {
                let reply =
                    one(&mut peer, modern("{}", 1, "resources/list", json!({"cursor": cursor}))).await;
                let list = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}"));
                seen.extend(list.iter().map(|item| item["uri"].as_str().unwrap().to_owned()));
                cursor = reply["result"]["nextCursor"].clone();
                if cursor.is_null() {
                    break;
                }
                // A file is saved, one is new, and the new one of the page before is gone, which is before or behind.
                let fresh =
                    |page: u32| format!("file:///notes/{:04}-{listing}-{page}.md", (page * 1_777) % 2_300);
                let saved = [uri(page * 97 % 2_300), fresh(page)].map(note);
                let gone = page.checked_sub(1).map(fresh);
                resources.exchange(gone.as_slice(), saved).unwrap();
                page += 1;
            }
            assert!(seen.is_sorted() && page >= 22, "{page}");
            seen.retain(|uri| uri.len() == "file:///notes/0000.md".len());
            assert_eq!(seen, (0..2_300).map(uri).collect::<Vec<_>>(), "listing {listing}");
        }
    });
}
