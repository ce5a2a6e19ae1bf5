//! Lists that depend on the principal: what it does not see does not exist for it.

use std::time::Duration;

use http::HeaderMap;
use papertape::http::{Auth, Challenge, Options};
use papertape::protocol::CacheScope;
use papertape::server::{Limits, Principal, Prompt, Resource, ResourceTemplate, Skill, Skills, Tool};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::site::{LEGACY, Reply, Site};

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

async fn fine(_: (), _: Cx) -> Result<String, ToolError> {
    Ok("fine".to_owned())
}

/// Items of every kind, one of each for administrators.
fn server() -> Server {
    let skill = |name: &str| Skill::new(name, "For tests.", "Do it.").file("a.txt", "a");
    let complete = |_| async { Ok(vec!["a".to_owned()]) };
    let mut server = Server::new("notes", "1.0.0").cache(Duration::from_secs(60), CacheScope::Public);
    for name in ["echo", "admin_purge", "beta", "admin_audit", "delta", "alpha", "admin_zero"] {
        let scopes: &[&str] = if name.starts_with("admin") { &["admin"] } else { &[] };
        server = server.tool(Tool::new(name).description("For tests.").scopes(scopes.to_vec()), fine);
    }
    let mut server = server
        .resource("notes://open", |_| async { Ok("open".to_owned()) })
        .resource(Resource::new("notes://admin").scopes(["admin"]), |_| async { Ok("secret".to_owned()) })
        .resource_template(
            ResourceTemplate::new("open:{topic}").complete("topic", complete),
            |topic: Topic, _| async move { Ok(topic.topic) },
        )
        .resource_template(
            ResourceTemplate::new("admin:{topic}").scopes(["admin"]).complete("topic", complete),
            |topic: Topic, _| async move { Ok(topic.topic) },
        )
        .prompt(Prompt::new("sum").complete("topic", complete), |topic: Topic, _| async { Ok(topic.topic) })
        .prompt(
            Prompt::new("admin_sum").scopes(["admin"]).complete("topic", complete),
            |topic: Topic, _| async { Ok(topic.topic) },
        )
        .skills(Skills::new().skill(skill("open")).skill(skill("admin").scopes(["admin"])));
    drop(server.resources());
    server
}

/// Bearer tokens are names; `root` has the scope `admin`.
fn options() -> Options {
    Options::new().auth(Auth::verifier(|headers: HeaderMap| async move {
        let token =
            headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        match token.ok_or_else(|| Challenge::unauthorized("sign in"))? {
            "root" => Ok(Principal::new("root").scope("admin")),
            // The same with a token that has fewer scopes.
            "root-without-scopes" => Ok(Principal::new("root")),
            name => Ok(Principal::new(name)),
        }
    }))
}

fn hidden_by_name(server: Server) -> Server {
    server.visible(|item, who| {
        let secret = item.name.contains("admin");
        !secret || who.is_some_and(|who| who.has_scopes(&["admin"]))
    })
}

/// The servers that hide the same items, by name and by scope.
async fn sites() -> [Site; 2] {
    let by_name = Site::serving(hidden_by_name(server()), options()).await;
    [by_name, Site::serving(server().hide_forbidden(), options()).await]
}

async fn listed(site: &Site, who: &str, method: &str, list: &str, key: &str) -> Vec<String> {
    let (mut all, mut params) = (Vec::new(), json!({}));
    loop {
        let reply = site.ask(who, method, params).await;
        let result = &reply.body["result"];
        assert_eq!(result["cacheScope"], "private", "{reply:?}");
        let page = result[list].as_array().unwrap_or_else(|| panic!("{reply:?}"));
        all.extend(page.iter().map(|item| item[key].as_str().unwrap().to_owned()));
        match &result["nextCursor"] {
            Value::Null => return all,
            cursor => params = json!({"cursor": cursor}),
        }
    }
}

#[tokio::test]
async fn a_principal_lists_what_it_sees() {
    for site in sites().await {
        for (method, list, key, open, hidden) in [
            ("tools/list", "tools", "name", "echo", "admin_purge"),
            ("resources/list", "resources", "uri", "notes://open", "notes://admin"),
            ("resources/list", "resources", "uri", "skill://open/SKILL.md", "skill://admin/SKILL.md"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate", "open:{topic}", "admin:{topic}"),
            ("prompts/list", "prompts", "name", "sum", "admin_sum"),
            ("skills/list", "skills", "uri", "skill://open/SKILL.md", "skill://admin/SKILL.md"),
        ] {
            let (alice, root) = (
                listed(&site, "alice", method, list, key).await,
                listed(&site, "root", method, list, key).await,
            );
            let has = |all: &[String], name: &str| all.iter().any(|item| item == name);
            assert!(has(&alice, open) && !has(&alice, hidden), "{method}: {alice:?}");
            assert!(has(&root, open) && has(&root, hidden), "{method}: {root:?}");
        }
    }
}

#[tokio::test]
async fn pages_are_full_and_complete_whatever_is_hidden() {
    let (mine, all) = (["alpha", "beta", "delta", "echo"], 7);
    for size in 1..=8 {
        let limits = Limits { page: size, ..Limits::default() };
        let site = Site::serving(server().hide_forbidden().limits(limits), options()).await;
        let mut alice = listed(&site, "alice", "tools/list", "tools", "name").await;
        if size >= mine.len() {
            // On one page, in the order of registration.
            assert_eq!(alice, ["echo", "beta", "delta", "alpha"]);
            alice.sort();
        }
        assert_eq!(alice, mine, "{size}");
        assert_eq!(listed(&site, "root", "tools/list", "tools", "name").await.len(), all);
        let first = site.ask("alice", "tools/list", json!({})).await;
        assert_eq!(first.body["result"]["tools"].as_array().unwrap().len(), size.min(mine.len()));
    }
}

/// The response, without the name that the request has.
fn anonymised(reply: &Reply, name: &str) -> (u16, String) {
    assert!(reply.body["error"].is_object(), "{reply:?}");
    (reply.status, reply.body["error"].to_string().replace(name, "NAME"))
}

#[tokio::test]
async fn what_is_hidden_is_unknown() {
    for site in sites().await {
        for (method, hidden, unknown, params) in [
            ("tools/call", "admin_purge", "nothing", json!({"name": "NAME", "arguments": {}})),
            ("resources/read", "notes://admin", "notes://nothing", json!({"uri": "NAME"})),
            ("resources/read", "admin:x", "nothing:x", json!({"uri": "NAME"})),
            ("resources/read", "skill://admin/SKILL.md", "skill://nothing/SKILL.md", json!({"uri": "NAME"})),
            ("resources/read", "skill://admin/a.txt", "skill://nothing/a.txt", json!({"uri": "NAME"})),
            ("prompts/get", "admin_sum", "nothing", json!({"name": "NAME", "arguments": {"topic": "x"}})),
            ("skills/get", "skill://admin/SKILL.md", "skill://nothing/SKILL.md", json!({"uri": "NAME"})),
            ("resources/directory/read", "skill://admin", "skill://nothing", json!({"uri": "NAME"})),
            (
                "completion/complete",
                "admin_sum",
                "nothing",
                json!({"ref": {"type": "ref/prompt", "name": "NAME"}, "argument": {"name": "topic", "value": ""}}),
            ),
            (
                "completion/complete",
                "admin:{topic}",
                "nothing:{topic}",
                json!({"ref": {"type": "ref/resource", "uri": "NAME"}, "argument": {"name": "topic", "value": ""}}),
            ),
        ] {
            let with = |name: &str| serde_json::from_str(&params.to_string().replace("NAME", name)).unwrap();
            let refused = anonymised(&site.ask("alice", method, with(hidden)).await, hidden);
            assert_eq!(
                refused,
                anonymised(&site.ask("alice", method, with(unknown)).await, unknown),
                "{method}"
            );
            assert!(!refused.1.contains("admin"), "{refused:?}");
            let used = site.ask("root", method, with(hidden)).await;
            assert!(used.body["result"].is_object(), "{method}: {used:?}");
        }
        // In a session too.
        let session = site.open("alice").await;
        for (name, uri) in [("admin_purge", "notes://admin"), ("nothing", "notes://nothing")] {
            let call = site.call_within("alice", &session, name).await;
            assert_eq!(call.body["error"]["code"], json!(-32602), "{call:?}");
            let subscribe =
                json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
            let subscribed = site.say("alice", &session, &subscribe).await;
            assert_eq!(subscribed.body["error"]["code"], json!(-32002), "{subscribed:?}");
        }
    }
}

#[tokio::test]
async fn changes_of_hidden_resources_are_not_announced() {
    let mut server = hidden_by_name(server());
    let resources = server.resources();
    let site = Site::serving(server, options()).await;
    let uris =
        json!({"notifications": {"resourceSubscriptions": ["notes://admin", "admin:x", "notes://open"]}});
    let mut stream = site.asking("alice", "subscriptions/listen", uris).send().await.unwrap();
    // Acknowledged first.
    let mut text = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    resources.updated("notes://admin");
    resources.updated("admin:x");
    resources.updated("notes://open");
    while !text.contains("notifications/resources/updated") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let (_, after) = text.split_once("acknowledged").unwrap();
    let (_, updates) = after.split_once("notifications/resources/updated").unwrap();
    assert!(updates.contains("notes://open") && !updates.contains("admin"), "{text}");
}

#[tokio::test]
async fn the_rules_of_a_mounted_server_are_for_its_own_items_by_their_own_names() {
    let inner = Server::new("inner", "1")
        .tool("secret", fine)
        .tool("open", fine)
        .visible(|item, who| item.name != "secret" || who.is_some_and(|who| who.name == "root"));
    let outer = Server::new("outer", "1").tool("secret", fine).mount("in", inner);
    let site = Site::serving(outer, options()).await;
    assert_eq!(listed(&site, "alice", "tools/list", "tools", "name").await, ["secret", "in_open"]);
    assert_eq!(
        listed(&site, "root", "tools/list", "tools", "name").await,
        ["secret", "in_secret", "in_open"]
    );
}

#[tokio::test]
async fn a_rule_that_panics_hides_the_item_and_without_a_principal_there_is_none() {
    let server = Server::new("notes", "1").tool("a", fine).tool("b", fine).visible(|item, who| {
        assert!(item.name != "b", "a bug in a rule");
        who.is_none()
    });
    let client = papertape::memory::connect(server).await.unwrap();
    let tools: Vec<String> =
        client.tools().await.unwrap().iter().map(|tool| tool.item.name.clone()).collect();
    assert_eq!(tools, ["a"]);
    client.close().await;
}

/// A skill within another, which is for administrators, as is a file of the outer one.
fn nested_skills() -> Server {
    let outer = Skill::new("outer", "For tests.", "Do it.").file("private.txt", "p").file("open.txt", "o");
    let inner =
        Skill::new("inner", "For tests.", "Do it.").file("b.txt", "b").under("outer").scopes(["admin"]);
    Server::new("notes", "1").skills(Skills::new().skill(outer).skill(inner)).hide_forbidden().visible(
        |item, who| {
            let private = item.kind == "resource" && item.name.ends_with("/private.txt");
            !private || who.is_some_and(|who| who.has_scopes(&["admin"]))
        },
    )
}

#[tokio::test]
async fn hidden_files_are_not_among_those_of_a_skill() {
    let mounted = Server::new("outer", "1").mount("in", nested_skills());
    for server in [nested_skills(), mounted] {
        let site = Site::serving(server, options()).await;
        for (method, params) in [
            ("skills/list", json!({})),
            ("skills/get", json!({"uri": "skill://outer/SKILL.md"})),
            ("resources/directory/read", json!({"uri": "skill://outer"})),
        ] {
            let alice = site.ask("alice", method, params.clone()).await;
            let text = alice.body["result"].to_string();
            assert!(text.contains("skill://outer/open.txt"), "{method}: {alice:?}");
            assert!(!text.contains("inner") && !text.contains("private.txt"), "{method}: {alice:?}");
            let root = site.ask("root", method, params).await.body["result"].to_string();
            assert!(root.contains("skill://outer/inner") && root.contains("private.txt"), "{method}: {root}");
        }
        for uri in ["skill://outer/private.txt", "skill://outer/inner/b.txt"] {
            let read = site.ask("alice", "resources/read", json!({"uri": uri})).await;
            assert_eq!(read.body["error"]["code"], json!(-32602), "{uri}: {read:?}");
            let read = site.ask("root", "resources/read", json!({"uri": uri})).await;
            assert!(read.body["result"].is_object(), "{uri}: {read:?}");
        }
    }
}

#[tokio::test]
async fn what_not_everyone_may_read_is_not_for_shared_caches() {
    let public = |uri: &str| Resource::new(uri).cache(Duration::from_secs(60), CacheScope::Public);
    let server = || {
        Server::new("notes", "1")
            .resource(public("notes://open"), |_| async { Ok("open".to_owned()) })
            .resource(public("notes://admin").scopes(["admin"]), |_| async { Ok("secret".to_owned()) })
            .resource(public("notes://hidden"), |_| async { Ok("secret".to_owned()) })
    };
    let hidden = server()
        .visible(|item, who| item.name != "notes://hidden" || who.is_some_and(|who| who.name == "root"));
    for (server, open) in [(server(), "public"), (hidden, "private")] {
        let site = Site::serving(server, options()).await;
        for (uri, scope) in [("notes://open", open), ("notes://admin", "private"), ("notes://hidden", open)] {
            let read = site.ask("root", "resources/read", json!({"uri": uri})).await;
            assert_eq!(read.body["result"]["cacheScope"], scope, "{uri}: {read:?}");
            assert_eq!(read.body["result"]["ttlMs"], 60_000, "{uri}: {read:?}");
        }
    }
}

#[tokio::test]
async fn notifications_of_a_session_follow_the_scopes_of_its_latest_request() {
    let mut server = hidden_by_name(server());
    let resources = server.resources();
    let site = Site::serving(server, options()).await;
    let subscribe = |uri: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
    let session = site.open("root").await;
    for uri in ["notes://admin", "notes://open"] {
        let subscribed = site.say("root", &session, &subscribe(uri)).await;
        assert!(subscribed.body["result"].is_object(), "{subscribed:?}");
    }
    let stream = crate::site::with_token(site.request("GET", "/mcp"), "root");
    let stream = stream.header("mcp-session-id", &session).header("mcp-protocol-version", LEGACY);
    let mut stream = stream.send().await.unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for (token, shown) in [("root", true), ("root-without-scopes", false), ("root", true)] {
        assert_eq!(site.say(token, &session, &ping).await.status, 200);
        resources.updated("notes://admin");
        resources.updated("notes://open");
        let mut text = String::new();
        while !text.contains("notes://open") {
            text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
        }
        assert_eq!(text.contains("notes://admin"), shown, "{token}: {text}");
    }
}
