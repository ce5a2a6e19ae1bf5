//! Sessions of legacy clients: H-24 to H-26, and the sealing of session ids.

use std::time::Duration;

use serde_json::json;

use crate::fixture::{Act, Site};
use crate::request::{Request, Session};
use papertape::http::Options;

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

// H-24
#[tokio::test]
async fn requests_without_a_session_are_rejected() {
    let site = Site::start().await;
    let bare = |method: &str| {
        Request::post(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string())
    };
    let get = Request::new("GET", "/mcp").header("Accept", "text/event-stream");
    let requests = [bare("tools/list"), bare("ping"), get, Request::new("DELETE", "/mcp")];
    for request in &requests {
        for version in [None, Some("2025-03-26"), Some("2025-11-25")] {
            let request = match version {
                Some(version) => request.clone().header("MCP-Protocol-Version", version),
                None => request.clone(),
            };
            assert_eq!(site.ask(&request).await.status, 400, "{request:?}");
        }
        let long = "A".repeat(10_000);
        for unknown in ["x", "", "%00", "\u{e4}", "../..", "null", "AQ", &long] {
            let status = site.ask(&request.clone().header("Mcp-Session-Id", unknown)).await.status;
            let expected = if unknown == "\u{e4}" { 400 } else { 404 };
            assert_eq!(status, expected, "{unknown:?} {request:?}");
        }
    }
    site.assert_well().await;
}

#[tokio::test]
async fn a_session_is_opened_used_and_ended() {
    let site = Site::start().await;
    for revision in LEGACY {
        let session = site.session(revision).await;
        let visible = session.id.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        assert!(visible && session.id.len() >= 32, "{}", session.id);
        let answer = site.ask(&session.call(1, "echo", &json!({"text": revision}))).await;
        assert_eq!(answer.messages()[0]["result"]["content"][0]["text"], revision);
        assert_eq!(answer.header("mcp-session-id"), None);
        let ended = site.ask(&session.delete()).await;
        assert_eq!((ended.status, ended.body.len()), (204, 0));
        for request in [session.request(2, "ping", &json!({})), session.get(), session.delete()] {
            assert_eq!(site.ask(&request).await.status, 404, "{revision} {request:?}");
        }
        let note = session.notify("notifications/initialized", &json!({}));
        assert_eq!(site.ask(&note).await.status, 404);
    }
}

// The revision is negotiated in the body of `initialize`; a header that names another one is ignored.
#[tokio::test]
async fn initialize_negotiates_whatever_its_header_says() {
    let site = Site::start().await;
    for named in ["3000-01-01", "1.0", "", "2025-03-26"] {
        let open = Session::initialize("2025-06-18", &json!({})).header("MCP-Protocol-Version", named);
        let answer = site.ask(&open).await;
        assert_eq!(answer.status, 200, "{named:?}: {}", answer.json());
        assert_eq!(answer.json()["result"]["protocolVersion"], "2025-06-18");
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let session = Session { id, revision: "2025-06-18".to_owned() };
        assert_eq!(site.ask(&session.request(1, "ping", &json!({}))).await.status, 200);
    }
    // A stateless request opens no session, and a stateless server says so.
    let alone = Session::initialize("2025-06-18", &json!({})).header("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(site.ask(&alone).await.status, 400);
    let site = Site::with(Options::new().modern_only(), |server| server).await;
    let open = Session::initialize("2025-06-18", &json!({})).header("MCP-Protocol-Version", "3000-01-01");
    assert_eq!(site.ask(&open).await.error().1, -32022);
}

// H-25
#[tokio::test]
async fn session_ids_are_chosen_by_the_server() {
    let site = Site::start().await;
    let first = site.session("2025-11-25").await;
    for proposed in ["mine", &*first.id] {
        let request = Session::initialize("2025-11-25", &json!({})).header("Mcp-Session-Id", proposed);
        let answer = site.ask(&request).await;
        let id = answer.header("mcp-session-id").unwrap();
        assert!(id != proposed && answer.status == 200);
    }
    assert_eq!(site.ask(&first.request(1, "ping", &json!({}))).await.status, 200);
    // A client that names no version gets a session all the same.
    let bare = Session::initialize("x", &json!({})).changed(|body| body["params"] = json!({}));
    let opened = site.ask(&bare).await;
    assert_eq!(opened.json()["result"]["protocolVersion"], "2025-11-25");
    assert!(opened.header("mcp-session-id").is_some());
    // Nothing was negotiated, so there is no session.
    let refused = bare.changed(|body| body["params"] = json!({"protocolVersion": 5}));
    let refused = site.ask(&refused).await;
    assert_eq!(refused.json()["error"]["code"], -32602);
    assert_eq!(refused.header("mcp-session-id"), None);
    // M-04
    let again = site.ask(&first.request(5, "initialize", &json!({"protocolVersion": "2025-03-26"}))).await;
    assert_ne!(again.header("mcp-session-id"), Some(&*first.id));
}

#[tokio::test]
async fn every_modification_of_a_session_id_is_detected() {
    let site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let mut wire = site.connect().await;
    for at in 0..session.id.len() {
        let mut id = session.id.clone().into_bytes();
        id[at] = if id[at] == b'A' { b'B' } else { b'A' };
        let forged = Session { id: String::from_utf8(id).unwrap(), ..session.clone() };
        assert_eq!(wire.ask(&forged.request(1, "ping", &json!({}))).await.status, 404, "{at}");
    }
    for id in
        [format!("{}A", session.id), session.id.get(1..).unwrap().to_owned(), format!("{0}{0}", session.id)]
    {
        let forged = Session { id, ..session.clone() };
        assert_eq!(wire.ask(&forged.request(1, "ping", &json!({}))).await.status, 404);
    }
    // Two session ids are invalid.
    let other = site.session("2025-11-25").await;
    let both = session.request(1, "ping", &json!({})).header("Mcp-Session-Id", &*other.id);
    assert_eq!(wire.ask(&both).await.status, 400);
    assert_eq!(wire.ask(&session.request(1, "ping", &json!({}))).await.status, 200);
}

#[tokio::test]
async fn a_session_has_one_revision() {
    let site = Site::start().await;
    let session = site.session("2025-06-18").await;
    for request in [
        session.request(1, "ping", &json!({})),
        session.notify("notifications/initialized", &json!({})),
        session.get(),
        session.delete(),
    ] {
        for other in ["2025-11-25", "2025-03-26", "2024-11-05", "1.0.0", "", "2026-07-28", "2099-01-01"] {
            let answer = site.ask(&request.clone().with("MCP-Protocol-Version", other)).await;
            // A stateless notification has no effect.
            let is_note = request.bytes().windows(13).any(|part| part == b"notifications");
            let stands_alone = is_note && other == "2026-07-28";
            let expected = if stands_alone { 202 } else { 400 };
            assert_eq!(answer.status, expected, "{other} {request:?}");
        }
    }
    let silent = session.request(1, "ping", &json!({})).without("MCP-Protocol-Version");
    assert_eq!(site.ask(&silent).await.status, 200, "what was agreed holds");
}

// Any replica with the same state key continues what another one began; one with another key does not.
#[tokio::test]
async fn replicas_share_sessions_and_request_state() {
    let with = |key: u8| {
        Site::with(Options::new(), move |server| server.state_key([key; 32], Duration::from_secs(60)))
    };
    let (one, two, other_key) = (with(1).await, with(1).await, with(2).await);
    let session = one.session_by("2025-06-18", &json!({"elicitation": {}})).await;
    for round in 0..3 {
        for site in [&one, &two] {
            let answer = site.ask(&session.call(round, "echo", &json!({"text": "x"}))).await;
            assert_eq!(answer.messages()[0]["id"], round);
        }
    }
    assert_eq!(other_key.ask(&session.request(1, "ping", &json!({}))).await.status, 404);
    // The client capabilities are known there too.
    let mut wire = two.connect().await;
    wire.begin(&session.call(9, "ask", &json!({}))).await;
    let question = wire.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result":
        {"action": "accept", "content": {"name": "ann"}}});
    assert_eq!(two.ask(&session.post(&answer)).await.status, 202);
    assert_eq!(wire.message().await.unwrap()["result"]["content"][0]["text"], "hello ann");

    let form = json!({"elicitation": {"form": {}}});
    let call = |params| Request::modern_by(&form, 7, "tools/call", &params);
    let asked = one.ask(&call(json!({"name": "ask", "arguments": {}}))).await.json();
    assert_eq!(asked["result"]["resultType"], "input_required");
    let state = asked["result"]["requestState"].as_str().unwrap();
    let back = |tool: &str, state: &str| {
        call(json!({"name": tool, "arguments": {}, "requestState": state,
            "inputResponses": {"guest": {"action": "accept", "content": {"name": "bob"}}}}))
    };
    for site in [&one, &two] {
        let answer = site.ask(&back("ask", state)).await.json();
        assert_eq!(answer["result"]["content"][0]["text"], "hello bob");
    }
    // M-15
    assert_eq!(other_key.ask(&back("ask", state)).await.error(), (200, -32602, json!(7)));
    assert_eq!(one.ask(&back("echo", state)).await.error(), (200, -32602, json!(7)), "for another tool");
    let changed =
        format!("{}{}", state.get(..40).unwrap(), if state.as_bytes()[40] == b'A' { 'B' } else { 'A' });
    assert_eq!(one.ask(&back("ask", &changed)).await.error(), (200, -32602, json!(7)));
    assert_eq!(one.ask(&back("ask", &session.id)).await.error(), (200, -32602, json!(7)), "no state at all");
    let state = Session { id: state.to_owned(), ..session };
    assert_eq!(one.ask(&state.request(1, "ping", &json!({}))).await.status, 404, "no session either");
}

// H-24 and a race: requests that run in a session end with it, and waiting clients get the error at once.
#[tokio::test]
async fn deleting_a_session_ends_its_requests() {
    let mut site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let bystander = site.session("2025-11-25").await;
    let mut calls = Vec::new();
    for id in 0..3 {
        let mut wire = site.connect().await;
        wire.begin(&session.call(id, "wait", &json!({"name": "x"}))).await;
        site.began("x").await;
        calls.push(wire);
    }
    let mut other = site.connect().await;
    other.begin(&bystander.call(1, "wait", &json!({"name": "y"}))).await;
    site.began("y").await;
    let mut stream = site.connect().await;
    stream.begin(&session.get()).await;
    assert_eq!(site.ask(&session.delete()).await.status, 204);
    for mut wire in calls {
        assert_eq!(wire.message().await, None);
        assert_eq!(site.act().await, Act::Dropped("x".to_owned()));
    }
    assert_eq!(stream.message().await, None);
    site.release(1);
    assert_eq!(other.message().await.unwrap()["result"]["content"][0]["text"], "done y");
}
