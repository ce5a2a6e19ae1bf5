//! Sessions, request state and tasks belong to one principal.

use papertape::http::{Auth, Keys, NewKey, Options};
use serde_json::{Value, json};

use crate::site::{LEGACY, Reply, Site, key, keyed, send, with_token};

async fn pair() -> (Site, String, String) {
    let (site, keys) = keyed(&[("alice", &[]), ("bob", &[])]).await;
    let [alice, bob] = keys.try_into().unwrap();
    (site, alice, bob)
}

/// A request within a session that has no message.
async fn touch(site: &Site, method: &str, token: &str, session: &str, last_event: Option<&str>) -> Reply {
    let request = with_token(site.request(method, "/mcp"), token);
    let request = request.header("mcp-session-id", session).header("mcp-protocol-version", LEGACY);
    send(last_event.map_or(request.try_clone().unwrap(), |id| request.header("last-event-id", id))).await
}

#[tokio::test]
async fn a_session_belongs_to_its_principal() {
    let (site, alice, bob) = pair().await;
    let session = site.open(&alice).await;
    assert_eq!(site.call_within(&alice, &session, "whoami").await.text(), "alice");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [&ping, &answer, &opened] {
        assert_eq!(site.say(&bob, &session, message).await.status, 404, "{message}");
    }
    assert_eq!(site.call_within(&bob, &session, "whoami").await.status, 404);
    assert_eq!(touch(&site, "GET", &bob, &session, None).await.status, 404);
    for event in ["0-0", "1-1"] {
        assert_eq!(touch(&site, "GET", &bob, &session, Some(event)).await.status, 404);
    }
    assert_eq!(touch(&site, "DELETE", &bob, &session, None).await.status, 404);
    // The session is unaffected.
    assert_eq!(site.say(&alice, &session, &ping).await.status, 200);
    assert_eq!(touch(&site, "DELETE", &alice, &session, None).await.status, 204);
    assert_eq!(site.say(&alice, &session, &ping).await.status, 404);
}

// Requests are counted by principal, and not by an address that others share.
#[tokio::test]
async fn concurrent_requests_are_limited_per_principal() {
    let keys = [key("alice", &[]), key("bob", &[])];
    let text: String = keys.iter().map(NewKey::entry).collect();
    let options = Options::new().auth(Auth::new().keys(Keys::parse(&text).unwrap())).requests_per_client(1);
    let site = Site::with(options).await;
    let [alice, bob] = keys.each_ref().map(NewKey::secret);
    let session = site.open(alice).await;
    let stream = with_token(site.request("GET", "/mcp"), alice).header("mcp-session-id", &session);
    let stream = stream.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert_eq!(site.call(alice, "whoami").await.status, 503);
    assert_eq!(site.call(bob, "whoami").await.text(), "bob");
    drop(stream);
}

#[tokio::test]
async fn a_session_id_does_not_authenticate() {
    let (site, alice, _) = pair().await;
    let session = site.open(&alice).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    site.say("", &session, &ping).await.challenge(401);
    touch(&site, "GET", "", &session, None).await.challenge(401);
    touch(&site, "DELETE", "", &session, None).await.challenge(401);
}

#[tokio::test]
async fn request_state_belongs_to_its_principal() {
    let (site, alice, bob) = pair().await;
    let reply = site.call(&alice, "ask").await;
    assert_eq!(reply.body["result"]["resultType"], "input_required", "{reply:?}");
    let state = reply.body["result"]["requestState"].as_str().unwrap();
    let answer: Value = json!({
        "name": "ask", "arguments": {}, "requestState": state,
        "inputResponses": {"colour": {"action": "accept", "content": {"colour": "red"}}},
    });
    let stolen = site.ask(&bob, "tools/call", answer.clone()).await;
    assert_eq!(stolen.body["error"]["code"], json!(-32602), "{stolen:?}");
    assert_eq!(site.ask(&alice, "tools/call", answer).await.text(), "red");
}

#[tokio::test]
async fn a_task_belongs_to_its_principal() {
    let (site, alice, bob) = pair().await;
    let reply = site.call(&alice, "long").await;
    let id = reply.body["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned();
    for (method, params) in [
        ("tasks/get", json!({"taskId": id})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": id})),
    ] {
        let stolen = site.ask(&bob, method, params).await;
        assert_eq!(stolen.body["error"]["code"], json!(-32602), "{method}: {stolen:?}");
    }
    let reply = site.ask(&alice, "tasks/get", json!({"taskId": id})).await;
    assert!(
        ["working", "completed"].contains(&reply.body["result"]["status"].as_str().unwrap()),
        "{reply:?}"
    );
}

#[tokio::test]
async fn tasks_are_limited_per_principal() {
    let (site, alice, bob) = pair().await;
    let most = papertape::server::Limits::default().tasks_per_principal;
    let mut last = Value::Null;
    for _ in 0..most {
        let reply = site.call(&alice, "endless_task").await;
        last = reply.body["result"]["taskId"].clone();
        assert!(last.is_string(), "{reply:?}");
    }
    let refused = site.call(&alice, "endless_task").await;
    assert_eq!(refused.body["result"]["isError"], json!(true), "{refused:?}");
    assert!(refused.text().contains("100 tasks running"), "{refused:?}");
    // The limit is per principal, and a task that ends makes room.
    assert!(site.call(&bob, "endless_task").await.body["result"]["taskId"].is_string());
    site.ask(&alice, "tasks/cancel", json!({"taskId": last})).await;
    assert!(site.call(&alice, "endless_task").await.body["result"]["taskId"].is_string());
}
