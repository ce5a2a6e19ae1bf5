//! Scopes of tools, resources, templates and prompts.

use std::collections::BTreeMap;

use papertape::http::{Auth, Keys, NewKey, Options};
use papertape::server::{Resource, ResourceTemplate, Tool};
use papertape::{Cx, Server};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::site::{Site, key, keyed, send, with_token};

/// Everything that needs `notes:read`.
fn readings() -> [(&'static str, Value); 6] {
    let complete = |reference: Value| json!({"ref": reference, "argument": {"name": "topic", "value": ""}});
    [
        ("resources/read", json!({"uri": "notes://all"})),
        ("resources/read", json!({"uri": "notes://one/x"})),
        ("prompts/get", json!({"name": "sum", "arguments": {"topic": "x"}})),
        ("completion/complete", complete(json!({"type": "ref/prompt", "name": "sum"}))),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "notes://one/{topic}"}))),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "notes://one/x"}))),
    ]
}

async fn forbidden(site: &Site, key: &str, method: &str, params: Value, scopes: &str) {
    let reply = site.ask(key, method, params).await;
    let challenge = reply.challenge(403);
    assert!(challenge.starts_with("Bearer error=\"insufficient_scope\", "), "{reply:?}");
    assert!(challenge.contains(&format!("scope=\"{scopes}\"")), "{reply:?}");
    assert!(!reply.body.to_string().contains("secret"), "{reply:?}");
}

#[tokio::test]
async fn a_tool_needs_all_its_scopes() {
    let (site, keys) = keyed(&[
        ("none", &[]),
        ("reads", &["notes:read"]),
        ("writes", &["notes:write"]),
        ("both", &["notes:write", "notes:read"]),
    ])
    .await;
    let write = || json!({"name": "write", "arguments": {}});
    for key in &keys[..3] {
        forbidden(&site, key, "tools/call", write(), "notes:read notes:write").await;
        assert_eq!(site.call(key, "whoami").await.status, 200, "what needs nothing is for all");
        assert_eq!(site.ask(key, "tools/list", json!({})).await.status, 200);
    }
    assert_eq!(site.call(&keys[3], "write").await.text(), "both");
}

#[tokio::test]
async fn resources_prompts_and_completions_need_scopes_too() {
    let (site, keys) = keyed(&[("none", &["notes"]), ("reads", &["notes:read"])]).await;
    for (method, params) in readings() {
        forbidden(&site, &keys[0], method, params.clone(), "notes:read").await;
        let reply = site.ask(&keys[1], method, params.clone()).await;
        assert_eq!(reply.status, 200, "{method} {params}: {reply:?}");
        assert!(reply.body.get("result").is_some(), "{method} {params}: {reply:?}");
    }
    let listen = |uri: &str| json!({"notifications": {"resourceSubscriptions": ["notes://free", uri]}});
    for uri in ["notes://all", "notes://one/x"] {
        forbidden(&site, &keys[0], "subscriptions/listen", listen(uri), "notes:read").await;
    }
}

#[tokio::test]
async fn an_unknown_target_is_not_a_403() {
    let (site, keys) = keyed(&[("none", &[])]).await;
    let reply = site.call(&keys[0], "nothing").await;
    assert_eq!((reply.status, &reply.body["error"]["code"]), (200, &json!(-32602)), "{reply:?}");
    let long = format!("notes://one/{}", "x".repeat(100_000));
    let reply = site.ask(
        &keys[0],
        "completion/complete",
        json!({
            "ref": {"type": "ref/resource", "uri": long}, "argument": {"name": "topic", "value": ""},
        }),
    );
    let reply = reply.await;
    assert!(reply.body.get("error").is_some(), "{reply:?}");
}

#[tokio::test]
async fn scopes_apply_within_sessions() {
    let (site, keys) = keyed(&[("none", &[]), ("both", &["notes:read", "notes:write"])]).await;
    let session = site.open(&keys[0]).await;
    let reply = site.call_within(&keys[0], &session, "write").await;
    assert!(reply.challenge(403).contains("scope=\"notes:read notes:write\""), "{reply:?}");
    assert_eq!(site.call_within(&keys[0], &session, "whoami").await.text(), "none");
    for (method, params) in readings() {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        site.say(&keys[0], &session, &message).await.challenge(403);
    }
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "notes://all"}});
    site.say(&keys[0], &session, &subscribe).await.challenge(403);
    let session = site.open(&keys[1]).await;
    assert_eq!(site.call_within(&keys[1], &session, "write").await.text(), "both");
    assert_eq!(site.say(&keys[1], &session, &subscribe).await.status, 200);
}

// 2025-03-26 has batches. What else is in one that is refused does not run on, for nobody would get its response.
#[tokio::test]
async fn a_refused_batch_leaves_nothing_running() {
    let (acts, mut seen) = mpsc::unbounded_channel();
    let server = Server::new("notes", "1.0.0")
        .tool("endless", move |_: (), _: Cx| {
            let acts = acts.clone();
            async move {
                acts.send("began").unwrap();
                std::future::pending::<()>().await;
                Ok("")
            }
        })
        .tool("open", async |_: (), _: Cx| Ok("fine"))
        .tool(Tool::new("write").scopes(["notes:write"]), async |_: (), _: Cx| Ok(""));
    let key = key("none", &[]);
    let auth = Auth::new().keys(Keys::parse(key.entry()).unwrap());
    let site = Site::serving(server, Options::new().auth(auth)).await;
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let reply = site.say(key.secret(), "", &open).await;
    let session = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let call = |id: u64, tool: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
    let batch = json!([call(1, "endless"), call(2, "write")]);
    let request = site.request("POST", "/mcp").header("mcp-session-id", &session);
    let reply = send(with_token(request, key.secret()).body(batch.to_string())).await;
    assert!(reply.challenge(403).contains("notes:write"), "{reply:?}");
    assert_eq!(site.call_within(key.secret(), &site.open(key.secret()).await, "open").await.text(), "fine");
    assert!(seen.try_recv().is_err(), "the rest of the batch runs");
}

// A subscription to a URI includes what is below it.
#[tokio::test]
async fn a_subscription_to_what_is_above_needs_the_scopes_of_what_has_changed() {
    let mut server = Server::new("notes", "1.0.0")
        .resource("notes://a", async |_: Cx| Ok(""))
        .resource("notes://a/open", async |_: Cx| Ok(""))
        .resource(Resource::new("notes://a/secret").scopes(["notes:read"]), async |_: Cx| Ok(""))
        .resource_template(
            ResourceTemplate::new("notes://a/{id}/secret").scopes(["notes:read"]),
            async |_: BTreeMap<String, String>, _: Cx| Ok(""),
        );
    let resources = server.resources();
    let keys = [key("none", &[]), key("reads", &["notes:read"])];
    let text: String = keys.iter().map(NewKey::entry).collect();
    let auth = Auth::new().keys(Keys::parse(&text).unwrap());
    let site = Site::serving(server, Options::new().auth(auth)).await;
    for (key, expected) in [
        (&keys[0], &["notes://a/open"][..]),
        (&keys[1], &["notes://a/1/secret", "notes://a/secret", "notes://a/open"]),
    ] {
        let listen = json!({"notifications": {"resourceSubscriptions": ["notes://a/"]}});
        let mut stream = site.asking(key.secret(), "subscriptions/listen", listen).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        let mut text = String::new();
        while !text.contains("acknowledged") {
            text.push_str(str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
        }
        text.clear();
        for uri in ["notes://a/1/secret", "notes://a/secret", "notes://a/open"] {
            resources.updated(uri);
        }
        while !text.contains("notes://a/open") {
            text.push_str(str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
        }
        for uri in ["notes://a/1/secret", "notes://a/secret", "notes://a/open"] {
            assert_eq!(text.contains(uri), expected.contains(&uri), "{uri}: {text}");
        }
    }
}
