//! Cancellation, server requests during a call, and the principals that may cancel and respond.

use serde_json::{Value, json};

use crate::connection::Wire;
use crate::fixture::{Act, Site};
use crate::request::{Request, Session};

fn wait(id: u64, name: &str) -> Request {
    Request::call(id, "wait", &json!({"name": name}))
}

fn dropped(name: &str) -> Act {
    Act::Dropped(name.to_owned())
}

fn ended(name: &str) -> Act {
    Act::Ended(name.to_owned())
}

#[tokio::test]
async fn a_modern_client_cancels_by_disconnecting() {
    let mut site = Site::start().await;
    // Before anything was answered: by a reset, by an end, and by an end of sending only.
    for way in 0..3 {
        let mut wire = site.connect().await;
        wire.send(wait(1, "x").bytes()).await;
        site.began("x").await;
        match way {
            0 => wire.reset(),
            1 => drop(wire),
            _ => wire.finish_sending().await,
        }
        assert_eq!(site.act().await, dropped("x"), "{way}");
    }
    // In the middle of a stream.
    let meta = json!({"progressToken": 1});
    let params = json!({"name": "tell", "arguments": {"text": "half"}, "_meta": meta});
    let mut wire = site.connect().await;
    wire.begin(&Request::modern(1, "tools/call", &params)).await;
    wire.message().await.unwrap();
    site.began("tell").await;
    wire.reset();
    assert_eq!(site.act().await, dropped("tell"));
    site.assert_well().await;
}

#[tokio::test]
async fn a_legacy_client_does_not_cancel_by_disconnecting() {
    let mut site = Site::start().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        let mut wire = site.connect().await;
        wire.begin(&session.call(1, "wait", &json!({"name": "x"}))).await;
        site.began("x").await;
        wire.reset();
        // By the time of another response the server may or may not have noticed; either way the call continues.
        assert_eq!(site.ask(&session.request(2, "ping", &json!({}))).await.status, 200);
        site.release(1);
        assert_eq!(site.act().await, ended("x"), "{revision}");
    }
}

#[tokio::test]
async fn a_legacy_client_cancels_by_a_notification() {
    let mut site = Site::start().await;
    let (session, other) = (site.session("2025-11-25").await, site.session("2025-11-25").await);
    let mut wire = site.connect().await;
    wire.begin(&session.call(5, "wait", &json!({"name": "x"}))).await;
    site.began("x").await;
    let cancel =
        |session: &Session, id: Value| session.notify("notifications/cancelled", &json!({"requestId": id}));
    for (who, id) in
        [(&other, json!(5)), (&session, json!(6)), (&session, json!("5")), (&session, json!([5]))]
    {
        assert_eq!(site.ask(&cancel(who, id)).await.status, 202);
    }
    let modern = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    let modern = Request::post(modern.to_string()).header("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(site.ask(&modern).await.status, 202);
    site.assert_no_act();
    assert_eq!(site.ask(&cancel(&session, json!(5))).await.status, 202);
    assert_eq!(site.act().await, dropped("x"));
    assert_eq!(wire.message().await, None, "no answer, but the stream ends");
    // It is over, and a second cancellation has no effect.
    assert_eq!(site.ask(&cancel(&session, json!(5))).await.status, 202);
    assert_eq!(site.ask(&session.request(5, "ping", &json!({}))).await.status, 200, "the id is free again");
}

// Decision 7
#[tokio::test]
async fn request_ids_are_scoped_to_their_exchange() {
    let mut site = Site::start().await;
    let session = site.session("2025-06-18").await;
    let mut wires: Vec<(Wire, String)> = Vec::new();
    for number in 0..6 {
        let name = format!("n{number}");
        let mut wire = site.connect().await;
        if number % 2 == 0 {
            wire.send(wait(1, &name).bytes()).await;
        } else {
            wire.begin(&session.call(1, "wait", &json!({"name": name}))).await;
        }
        site.began(&name).await;
        wires.push((wire, name));
    }
    site.release(6);
    for (number, (mut wire, name)) in wires.into_iter().enumerate() {
        let answer =
            if number % 2 == 0 { wire.response().await.json() } else { wire.message().await.unwrap() };
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["result"]["content"][0]["text"], format!("done {name}"));
    }
}

/// The server request on a stream.
async fn question(wire: &mut Wire) -> Value {
    let question = wire.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    question["id"].clone()
}

fn said(id: &Value, name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"name": name}}})
}

#[tokio::test]
async fn server_requests_get_responses_from_the_same_session_only() {
    let site = Site::start().await;
    let (session, other) = (site.session("2025-06-18").await, site.session("2025-06-18").await);
    let (mut one, mut two) = (site.connect().await, site.connect().await);
    one.begin(&session.call(1, "ask", &json!({}))).await;
    two.begin(&session.call(2, "ask", &json!({}))).await;
    let (first, second) = (question(&mut one).await, question(&mut two).await);
    assert_ne!(first, second);
    // Only the session that was asked may respond, and a response needs a pending request.
    assert_eq!(site.ask(&other.post(&said(&first, "eve"))).await.status, 202);
    assert_eq!(site.ask(&session.post(&said(&json!(999), "eve"))).await.status, 202);
    assert_eq!(site.ask(&session.post(&said(&json!(first.to_string()), "eve"))).await.status, 202);
    let alone = Request::post(said(&first, "eve").to_string());
    assert_eq!(site.ask(&alone).await.status, 400);
    assert_eq!(site.ask(&alone.header("MCP-Protocol-Version", "2026-07-28")).await.status, 400);
    assert_eq!(site.ask(&session.post(&said(&second, "bob"))).await.status, 202);
    assert_eq!(site.ask(&session.post(&said(&first, "ann"))).await.status, 202);
    assert_eq!(site.ask(&session.post(&said(&first, "eve"))).await.status, 202);
    for (mut wire, name) in [(one, "ann"), (two, "bob")] {
        let answer = wire.message().await.unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], format!("hello {name}"));
        assert_eq!(wire.message().await, None);
    }
}

#[tokio::test]
async fn a_server_request_is_replayed_to_a_resumed_stream() {
    let site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let mut wire = site.connect().await;
    wire.begin(&session.call(1, "ask", &json!({}))).await;
    let first = wire.event().await.unwrap().id.unwrap();
    question(&mut wire).await;
    wire.reset();
    let mut wire = loop {
        let mut wire = site.connect().await;
        if wire.begin(&session.resume(&first)).await.status == 200 {
            break wire;
        }
    };
    let id = question(&mut wire).await;
    assert_eq!(site.ask(&session.post(&said(&id, "ann"))).await.status, 202);
    assert_eq!(wire.message().await.unwrap()["result"]["content"][0]["text"], "hello ann");
}

// M-09 on HTTP: in any order there is at most one response, and the server stays healthy.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancel_end_disconnect_and_delete_may_meet_in_any_order() {
    let mut site = Site::start().await;
    for round in 0..150_u64 {
        let session = site.session("2025-11-25").await;
        let mut wire = site.connect().await;
        wire.begin(&session.call(1, "wait", &json!({"name": "x"}))).await;
        site.began("x").await;
        let (mut a, mut b) = (site.connect().await, site.connect().await);
        let cancel = session.notify("notifications/cancelled", &json!({"requestId": 1})).bytes();
        let last = if round % 3 == 0 { session.delete().bytes() } else { cancel.clone() };
        tokio::join!(a.send(cancel), b.send(last), async { site.release(1) });
        if round % 2 == 0 {
            wire.reset();
        } else {
            let mut answers = 0;
            while wire.message().await.is_some() {
                answers += 1;
            }
            assert!(answers <= 1, "{answers}");
        }
        assert!([202, 404].contains(&a.response().await.status));
        assert!([202, 204, 404].contains(&b.response().await.status));
        match site.act().await {
            // The permit was not used.
            Act::Dropped(_) => site.withdraw().await,
            Act::Ended(_) => {}
            Act::Began(name) => panic!("{name} began"),
        }
    }
    site.assert_well().await;
}
