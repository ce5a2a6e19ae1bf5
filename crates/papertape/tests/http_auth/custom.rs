//! Methods, notifications and fallbacks of one's own, under authentication.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use papertape::http::{Auth, Keys, NewKey, Options};
use papertape::protocol::RawJson;
use papertape::server::Method;
use papertape::{Cx, Server};
use serde_json::{Value, json};

use crate::site::{MODERN, Site, key, send, with_token};

async fn start() -> (Site, Vec<String>, Arc<AtomicUsize>) {
    let noted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&noted);
    let server = Server::new("notes", "1.0.0")
        .method(Method::new("vendor/purge").scopes(["admin"]), async |_: Value, _: Cx| {
            Ok(json!({"purged": 1}))
        })
        .notification(Method::new("notifications/vendor/note").scopes(["admin"]), move |_: Value, _: Cx| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok(()) }
        })
        .fallback_tool(async |name: String, _: RawJson, cx: Cx| {
            Ok(format!("{name} for {}", cx.principal().map_or("none", |principal| &principal.name)))
        });
    let keys = [key("plain", &[]), key("root", &["admin"])];
    let text: String = keys.iter().map(NewKey::entry).collect();
    let options = Options::new().auth(Auth::new().keys(Keys::parse(&text).unwrap()));
    let site = Site::serving(server, options).await;
    (site, keys.iter().map(|key| key.secret().to_owned()).collect(), noted)
}

#[tokio::test]
async fn methods_need_their_scopes() {
    let (site, keys, _) = start().await;
    let reply = site.ask(&keys[0], "vendor/purge", json!({})).await;
    assert!(reply.challenge(403).contains("scope=\"admin\""), "{reply:?}");
    assert_eq!(site.ask("", "vendor/purge", json!({})).await.status, 401);
    let reply = site.ask(&keys[1], "vendor/purge", json!({})).await;
    assert_eq!(reply.body["result"]["purged"], 1, "{reply:?}");
    let session = site.open(&keys[0]).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "vendor/purge"});
    assert_eq!(site.say(&keys[0], &session, &message).await.status, 403);
}

#[tokio::test]
async fn notifications_without_their_scopes_are_ignored() {
    let (site, keys, noted) = start().await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/vendor/note"});
    for (key, expected) in [(&keys[0], 0), (&keys[1], 1)] {
        let request = site.request("POST", "/mcp").header("mcp-protocol-version", MODERN);
        let reply = send(with_token(request, key).body(note.to_string())).await;
        assert_eq!((reply.status, noted.load(Ordering::SeqCst)), (202, expected));
    }
    let session = site.open(&keys[0]).await;
    assert_eq!(site.say(&keys[0], &session, &note).await.status, 202);
    assert_eq!(noted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_fallback_is_for_every_principal_and_knows_which() {
    let (site, keys, _) = start().await;
    assert_eq!(site.call(&keys[0], "anything").await.text(), "anything for plain");
    assert_eq!(site.call("", "anything").await.status, 401);
}
